//! Which records are wanted, and those as columns.

use crate::arrow::{Binary, HeaderLists, Views};
use crate::fault::{Fault, Finding, Found, figure};
use crate::header::{CONTROL, Header, LOG_APPEND_TIME, TRANSACTIONAL, header_at};
use crate::records::{self, Record};

pub const OFFSET: u8 = 1;
pub const TIMESTAMP: u8 = 2;
pub const TIMESTAMP_TYPE: u8 = 4;
pub const KEY: u8 = 8;
pub const VALUE: u8 = 16;
pub const HEADERS: u8 = 32;

pub struct Selection {
    pub columns: u8,
    pub first_offset: i64,
    pub end_offset: i64,
    /// Producer id, first and last offset.
    pub aborted: Vec<(i64, i64, i64)>,
    pub views: bool,
    pub verify_crc: bool,
    pub max_records: usize,
    pub max_bytes: usize,
    pub unpacked_limit: usize,
}

pub enum Bytes {
    Copied(Binary),
    Viewed(Views),
}

impl Bytes {
    fn reserve(&mut self, count: usize, bytes: usize) {
        match self {
            Bytes::Copied(binary) => binary.reserve(count, bytes),
            Bytes::Viewed(views) => views.views.reserve(count),
        }
    }

    fn size(&self) -> usize {
        match self {
            Bytes::Copied(binary) => binary.data.len(),
            Bytes::Viewed(_) => 0,
        }
    }
}

#[derive(Default)]
pub struct Columns {
    pub count: usize,
    pub end: usize,
    pub next_offset: i64,
    pub offset: Option<Vec<i64>>,
    pub timestamp: Option<Vec<i64>>,
    pub timestamp_type: Option<Vec<i32>>,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Option<HeaderLists>,
    /// What the compressed blocks unpacked to; views with buffer number 1 point into it.
    pub unpacked: Vec<u8>,
}

impl Columns {
    fn new(position: usize, selection: &Selection) -> Columns {
        let asked = |column| selection.columns & column != 0;
        let bytes = || if selection.views { Bytes::Viewed(Views::default()) } else { Bytes::Copied(Binary::default()) };
        Columns {
            end: position,
            next_offset: selection.first_offset,
            offset: asked(OFFSET).then(Vec::new),
            timestamp: asked(TIMESTAMP).then(Vec::new),
            timestamp_type: asked(TIMESTAMP_TYPE).then(Vec::new),
            key: asked(KEY).then(bytes),
            value: asked(VALUE).then(bytes),
            headers: asked(HEADERS).then(HeaderLists::default),
            ..Columns::default()
        }
    }

    /// Make place for what is to come, by what one batch of `read` bytes has brought: `times` as much again.
    fn reserve(&mut self, times: usize) {
        // A little more than the guess, so that it need not be made again at the end.
        let more = |size: usize| size.saturating_mul(times).saturating_add(size);
        let count = more(self.count);
        if let Some(column) = &mut self.offset {
            column.reserve(count);
        }
        if let Some(column) = &mut self.timestamp {
            column.reserve(count);
        }
        if let Some(column) = &mut self.timestamp_type {
            column.reserve(count);
        }
        for column in [&mut self.key, &mut self.value].into_iter().flatten() {
            column.reserve(count, more(column.size()));
        }
        if let Some(column) = &mut self.headers {
            column.offsets.reserve(count);
        }
    }
}

/// Where a batch's block lies: in the caller's buffer (0) or among the unpacked (1).
struct Block<'a> {
    bytes: &'a [u8],
    buffer: u32,
    start: usize,
}

pub fn decode(data: &[u8], position: usize, selection: &Selection) -> Found<Columns> {
    let mut columns = Columns::new(position, selection);
    let mut size = 0;
    while columns.end < data.len() && columns.count < selection.max_records && size < selection.max_bytes {
        let header = match header_at(data, columns.end) {
            Err(Fault::Partial | Fault::Zeros) => break,
            other => other.map_err(|fault| Finding::new(fault, columns.end)),
        };
        match header.and_then(|header| take(data, header, selection, &mut columns)) {
            Ok((header, taken)) => {
                if size == 0 && taken > 0 {
                    let left = (data.len() - header.end()).min(selection.max_bytes);
                    columns.reserve(left / taken);
                }
                size += taken;
                columns.end = header.end();
                columns.next_offset = header.next_offset();
            }
            // What was good before is given first; the next call meets the fault again.
            Err(_) if columns.end > position => break,
            Err(finding) => return Err(finding),
        }
    }
    Ok(columns)
}

/// Add the batch's records that are wanted; how many bytes all of its records have.
fn take(data: &[u8], header: Header, selection: &Selection, columns: &mut Columns) -> Found<(Header, usize)> {
    let header = header.modern()?;
    if selection.verify_crc {
        records::verify_checksum(data, &header)?;
    }
    if left_out(&header, selection) {
        return Ok((header, 0));
    }
    let mut unpacked = std::mem::take(&mut columns.unpacked);
    let start = unpacked.len();
    let taken = take_block(data, &header, selection, columns, &mut unpacked);
    if taken.is_err() || !selection.views {
        unpacked.truncate(if taken.is_err() { start } else { 0 });
    }
    columns.unpacked = unpacked;
    taken.map(|size| (header, size))
}

fn take_block(
    data: &[u8],
    header: &Header,
    selection: &Selection,
    columns: &mut Columns,
    unpacked: &mut Vec<u8>,
) -> Found<usize> {
    let start = unpacked.len();
    let bytes = records::block(data, header, selection.unpacked_limit, unpacked)?;
    let size = bytes.len();
    if size > selection.unpacked_limit {
        return Err(header.finding(Fault::UnpackedSize).figures(figure(selection.unpacked_limit), 0));
    }
    let block = if header.codec() == 0 {
        Block { bytes, buffer: 0, start: header.end() - size }
    } else {
        Block { bytes, buffer: 1, start }
    };
    // Nothing of a batch that turns out to be bad may stay in the columns.
    records::walk(bytes, header, |_, _| Ok(()))?;
    records::walk(bytes, header, |_, record| {
        let offset = header.base_offset.wrapping_add(record.offset_delta.into());
        if (selection.first_offset..selection.end_offset).contains(&offset) {
            push(columns, header, offset, &block, &record);
        }
        Ok(())
    })?;
    Ok(size)
}

/// Control batches, aborted ones, and those that lie outside the bounds as a whole.
fn left_out(header: &Header, selection: &Selection) -> bool {
    header.has(CONTROL)
        || header.last_offset() < selection.first_offset
        || header.base_offset >= selection.end_offset
        || header.has(TRANSACTIONAL)
            && selection.aborted.iter().any(|(producer_id, first, last)| {
                *producer_id == header.producer_id && (*first..=*last).contains(&header.base_offset)
            })
}

#[inline(always)]
fn push(columns: &mut Columns, header: &Header, offset: i64, block: &Block, record: &Record) {
    let append_time = header.has(LOG_APPEND_TIME);
    columns.count += 1;
    if let Some(column) = &mut columns.offset {
        column.push(offset);
    }
    if let Some(column) = &mut columns.timestamp {
        let created = header.base_timestamp.wrapping_add(record.timestamp_delta);
        column.push(if append_time { header.max_timestamp } else { created });
    }
    if let Some(column) = &mut columns.timestamp_type {
        column.push(append_time.into());
    }
    push_bytes(&mut columns.key, block, record.key.as_ref());
    push_bytes(&mut columns.value, block, record.value.as_ref());
    if let Some(column) = &mut columns.headers {
        column.push(block.bytes, record);
    }
}

#[inline(always)]
fn push_bytes(column: &mut Option<Bytes>, block: &Block, place: Option<&std::ops::Range<usize>>) {
    let value = place.map(|place| &block.bytes[place.clone()]);
    match column {
        None => {}
        Some(Bytes::Copied(binary)) => binary.push(value),
        Some(Bytes::Viewed(views)) => views.push(value, block.buffer, block.start + place.map_or(0, |at| at.start)),
    }
}
