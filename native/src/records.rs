//! The records of one batch: the checksum, the block, the walk from length to length.

use std::ops::Range;

use crate::checksum::crc32c;
use crate::codecs::{self, Unpacked};
use crate::fault::{Fault, Found, figure};
use crate::header::{CRC_FROM, HEADER_SIZE, Header, ZSTD};
use crate::varint::{read_i32, read_i64};

/// Attributes, two deltas, two lengths and the header count, a byte each, behind a length byte.
const SMALLEST_RECORD: usize = 7;

/// One record as places in its block; None where it says null.
pub struct Record {
    pub attributes: i8,
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<Range<usize>>,
    pub value: Option<Range<usize>>,
    pub header_count: usize,
    headers_at: usize,
}

pub fn verify_checksum(data: &[u8], header: &Header) -> Found<()> {
    let found = crc32c(header.bytes(data, CRC_FROM));
    if found == header.crc { Ok(()) } else { Err(header.finding(Fault::Crc).figures(header.crc, found)) }
}

/// The bytes of the records: those of the buffer, or what they unpack to, appended to `scratch`.
pub fn block<'a>(data: &'a [u8], header: &Header, limit: usize, scratch: &'a mut Vec<u8>) -> Found<&'a [u8]> {
    let packed = header.bytes(data, HEADER_SIZE);
    let codec = header.codec();
    if codec == 0 {
        return Ok(packed);
    }
    if codec > ZSTD {
        return Err(header.finding(Fault::Codec).figures(0, codec));
    }
    let start = scratch.len();
    match codecs::decompress(codec, packed, limit, scratch) {
        Unpacked::Whole => Ok(&scratch[start..]),
        Unpacked::Bad => Err(header.finding(Fault::Compressed)),
        Unpacked::TooLarge => Err(header.finding(Fault::UnpackedSize).figures(figure(limit), 0)),
    }
}

/// Hand each record to `each`; the count that the header gives must use up the block.
#[inline(always)]
pub fn walk(block: &[u8], header: &Header, mut each: impl FnMut(usize, Record) -> Found<()>) -> Found<()> {
    let most = block.len() / SMALLEST_RECORD;
    let count = match usize::try_from(header.record_count) {
        Ok(count) if count <= most => count,
        _ => return Err(header.finding(Fault::Count).figures(figure(most), header.record_count)),
    };
    let mut at = 0;
    for index in 0..count {
        match read(block, &mut at) {
            Some(record) => each(index, record)?,
            None => return Err(header.finding(Fault::Record).of_record(index)),
        }
    }
    if at == block.len() { Ok(()) } else { Err(header.finding(Fault::Count).figures(figure(at), figure(block.len()))) }
}

#[inline(always)]
fn read(block: &[u8], at: &mut usize) -> Option<Record> {
    let length = read_i32(block, at)?;
    let length = usize::try_from(length).ok().filter(|length| *length >= SMALLEST_RECORD - 1)?;
    // No length can pass the block, so this cannot overflow.
    let end = *at + length;
    let body = block.get(..end)?;
    let attributes = body[*at] as i8;
    *at += 1;
    let timestamp_delta = read_i64(body, at)?;
    let offset_delta = read_i32(body, at)?;
    let key = field(body, at)?;
    let value = field(body, at)?;
    let header_count = usize::try_from(read_i32(body, at)?).ok().filter(|count| *count <= (end - *at) / 2)?;
    let headers_at = *at;
    for _ in 0..header_count {
        field(body, at)??;
        field(body, at)?;
    }
    (*at == end).then_some(Record { attributes, timestamp_delta, offset_delta, key, value, header_count, headers_at })
}

/// A length and as many bytes. Every negative length is null, as Kafka reads it.
#[inline(always)]
fn field(body: &[u8], at: &mut usize) -> Option<Option<Range<usize>>> {
    let length = read_i32(body, at)?;
    let Ok(length) = usize::try_from(length) else { return Some(None) };
    let start = *at;
    if length > body.len() - start {
        return None;
    }
    *at = start + length;
    Some(Some(start..*at))
}

/// The headers of a record of this block: key and value.
pub fn headers<'a>(block: &'a [u8], record: &Record) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + use<'a> {
    let mut at = record.headers_at;
    // The walk has read these very bytes, so nothing is missing.
    (0..record.header_count).map_while(move |_| {
        let name = field(block, &mut at)??;
        let value = field(block, &mut at)?;
        Some((&block[name], value.map(|value| &block[value])))
    })
}
