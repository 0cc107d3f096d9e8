//! Records to batches.

use crate::checksum::crc32c;
use crate::codecs;
use crate::header::{CRC_AT, CRC_FROM, HEADER_SIZE, LOG_OVERHEAD};
use crate::varint;

pub type Refusal = &'static str;

const TOO_LARGE: Refusal = "the records do not fit into one batch";

pub struct Encoding {
    pub codec: i16,
    pub level: Option<i32>,
    pub attributes: i16,
    pub leader_epoch: i32,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub batch_bytes: Option<usize>,
    pub base_offset: Option<i64>,
    pub last_offset: Option<i64>,
    pub base_timestamp: Option<i64>,
    pub max_timestamp: Option<i64>,
}

/// Records by index, wherever they lie.
pub trait Source {
    fn len(&self) -> usize;
    fn offset(&self, index: usize) -> i64;
    fn timestamp(&self, index: usize) -> i64;
    fn key(&self, index: usize) -> Option<&[u8]>;
    fn value(&self, index: usize) -> Option<&[u8]>;
    fn headers(&self, index: usize) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)>;
}

/// Append the batches to `out`.
pub fn encode(source: &impl Source, encoding: &Encoding, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let count = source.len();
    let first = if count > 0 { source.offset(0) } else { 0 };
    let mut base_offset = encoding.base_offset.unwrap_or(first);
    verify_offsets(source, base_offset, encoding)?;
    if count == 0 && encoding.last_offset.is_none() {
        return Ok(());
    }
    let mut sequence = encoding.base_sequence;
    let mut start = 0;
    loop {
        let begun = out.len();
        let batch = Batch { source, encoding, base_offset, start };
        let end = batch.write(out, sequence)?;
        if end == count {
            return Ok(());
        }
        if start == 0 {
            // The other batches will be much like the first.
            let size = out.len() - begun;
            out.reserve(size.saturating_mul((count - end) / (end - start) + 1));
        }
        if sequence >= 0 {
            sequence = ((sequence as u64 + (end - start) as u64) & 0x7fff_ffff) as i32;
        }
        start = end;
        base_offset = source.offset(start);
    }
}

fn verify_offsets(source: &impl Source, base_offset: i64, encoding: &Encoding) -> Result<(), Refusal> {
    let mut least = Some(base_offset);
    for index in 0..source.len() {
        let offset = source.offset(index);
        if least.is_none_or(|least| offset < least) {
            return Err("offsets must rise, from the base offset on");
        }
        least = offset.checked_add(1);
    }
    match (encoding.last_offset, source.len()) {
        (Some(last), count) if count > 0 && last < source.offset(count - 1) => {
            Err("last_offset lies before the last record")
        }
        _ => Ok(()),
    }
}

/// One batch: the records from `start` on, as many as it takes.
struct Batch<'a, S: Source> {
    source: &'a S,
    encoding: &'a Encoding,
    base_offset: i64,
    start: usize,
}

impl<S: Source> Batch<'_, S> {
    /// The index behind the last record taken.
    fn write(&self, out: &mut Vec<u8>, sequence: i32) -> Result<usize, Refusal> {
        let at = out.len();
        out.resize(at + HEADER_SIZE, 0);
        let base_timestamp = self.base_timestamp();
        let (end, max_timestamp) = self.fill(out, base_timestamp)?;
        let mut attributes = self.encoding.attributes;
        // An emptied batch is written plain.
        if self.encoding.codec != 0 && end > self.start {
            attributes |= self.encoding.codec;
            let block = &out[at + HEADER_SIZE..];
            let packed = codecs::compress(self.encoding.codec, block, self.encoding.level);
            let packed = packed.ok_or("no such codec or level")?;
            out.truncate(at + HEADER_SIZE);
            out.extend_from_slice(&packed);
        }
        let size_field = i32::try_from(out.len() - at - LOG_OVERHEAD).map_err(|_| TOO_LARGE)?;
        let count = i32::try_from(end - self.start).map_err(|_| TOO_LARGE)?;
        let last_offset_delta = self.last_offset_delta(end)?;
        let encoding = self.encoding;
        let mut fields = Fields { bytes: &mut out[at..at + HEADER_SIZE], at: 0 };
        fields.put(self.base_offset.to_be_bytes());
        fields.put(size_field.to_be_bytes());
        fields.put(encoding.leader_epoch.to_be_bytes());
        fields.put([2]);
        fields.put([0; 4]); // the checksum comes last
        fields.put(attributes.to_be_bytes());
        fields.put(last_offset_delta.to_be_bytes());
        fields.put(base_timestamp.to_be_bytes());
        fields.put(encoding.max_timestamp.unwrap_or(max_timestamp).to_be_bytes());
        fields.put(encoding.producer_id.to_be_bytes());
        fields.put(encoding.producer_epoch.to_be_bytes());
        fields.put(sequence.to_be_bytes());
        fields.put(count.to_be_bytes());
        let crc = crc32c(&out[at + CRC_FROM..]);
        out[at + CRC_AT..at + CRC_FROM].copy_from_slice(&crc.to_be_bytes());
        Ok(end)
    }

    fn base_timestamp(&self) -> i64 {
        let first = || if self.start < self.source.len() { self.source.timestamp(self.start) } else { -1 };
        self.encoding.base_timestamp.unwrap_or_else(first)
    }

    fn last_offset_delta(&self, end: usize) -> Result<i32, Refusal> {
        let last = match self.encoding.last_offset {
            Some(last) if end == self.source.len() => last,
            _ if end > self.start => self.source.offset(end - 1),
            _ => self.base_offset,
        };
        let delta = last.checked_sub(self.base_offset).and_then(|delta| i32::try_from(delta).ok());
        delta.filter(|delta| *delta >= 0).ok_or(TOO_LARGE)
    }

    /// Append the records to `out`; the index behind the last one and the largest timestamp.
    fn fill(&self, out: &mut Vec<u8>, base_timestamp: i64) -> Result<(usize, i64), Refusal> {
        let begun = out.len();
        let room = self.encoding.batch_bytes.map_or(usize::MAX, |bytes| bytes.saturating_sub(HEADER_SIZE));
        let mut max_timestamp = -1;
        for index in self.start..self.source.len() {
            let timestamp = self.source.timestamp(index);
            let delta = self.source.offset(index).checked_sub(self.base_offset).ok_or(TOO_LARGE)?;
            let body = self.body_size(index, timestamp.wrapping_sub(base_timestamp), delta);
            let size = varint::size(body as i64) + body;
            if index > self.start && (out.len() - begun + size > room || delta > i32::MAX.into()) {
                return Ok((index, max_timestamp));
            }
            self.write_record(out, index, [body as i64, timestamp.wrapping_sub(base_timestamp), delta]);
            max_timestamp = max_timestamp.max(timestamp);
        }
        Ok((self.source.len(), max_timestamp))
    }

    #[inline(always)]
    fn body_size(&self, index: usize, timestamp_delta: i64, offset_delta: i64) -> usize {
        let headers = self.source.headers(index);
        let mut size = 1 + varint::size(timestamp_delta) + varint::size(offset_delta);
        size += field_size(self.source.key(index)) + field_size(self.source.value(index));
        size += varint::size(headers.len() as i64);
        for (name, value) in headers {
            size += field_size(Some(name)) + field_size(value);
        }
        size
    }

    /// `numbers`: the record's length and its two deltas.
    #[inline(always)]
    fn write_record(&self, out: &mut Vec<u8>, index: usize, numbers: [i64; 3]) {
        let (key, value) = (self.source.key(index), self.source.value(index));
        let headers = self.source.headers(index);
        let mut start = Numbers::default();
        start.put(numbers[0]);
        start.put_byte(0);
        start.put(numbers[1]);
        start.put(numbers[2]);
        start.put(length(key));
        out.extend_from_slice(start.bytes());
        out.extend_from_slice(key.unwrap_or_default());
        let mut middle = Numbers::default();
        middle.put(length(value));
        out.extend_from_slice(middle.bytes());
        out.extend_from_slice(value.unwrap_or_default());
        let mut end = Numbers::default();
        end.put(headers.len() as i64);
        out.extend_from_slice(end.bytes());
        for (name, value) in headers {
            write_field(out, Some(name));
            write_field(out, value);
        }
    }
}

#[inline(always)]
fn field_size(field: Option<&[u8]>) -> usize {
    field.map_or(1, |field| varint::size(field.len() as i64) + field.len())
}

fn write_field(out: &mut Vec<u8>, field: Option<&[u8]>) {
    let mut start = Numbers::default();
    start.put(length(field));
    out.extend_from_slice(start.bytes());
    out.extend_from_slice(field.unwrap_or_default());
}

/// A field's length, -1 for null.
#[inline(always)]
fn length(field: Option<&[u8]>) -> i64 {
    field.map_or(-1, |field| field.len() as i64)
}

/// Up to four varints and a byte, gathered to be appended at once.
#[derive(Default)]
struct Numbers {
    bytes: [u8; 32],
    size: usize,
}

impl Numbers {
    #[inline(always)]
    fn put(&mut self, number: i64) {
        let mut left = varint::zigzag(number);
        while left > 0x7f {
            self.put_byte(left as u8 & 0x7f | 0x80);
            left >>= 7;
        }
        self.put_byte(left as u8);
    }

    #[inline(always)]
    fn put_byte(&mut self, byte: u8) {
        self.bytes[self.size] = byte;
        self.size += 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}

struct Fields<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Fields<'_> {
    fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&field);
        self.at += N;
    }
}
