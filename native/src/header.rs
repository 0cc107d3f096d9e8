//! From header to header: docs/formats/record-batch.md. All three magics.

use crate::fault::{Fault, Finding, Found};

pub const LOG_OVERHEAD: usize = 12;
pub const HEADER_SIZE: usize = 61;
pub const CRC_AT: usize = 17;
pub const CRC_FROM: usize = 21;
pub const MAX_TIMESTAMP_AT: usize = 35;
pub const CODEC_BITS: i16 = 0x07;
pub const ZSTD: i16 = 4;
pub const LOG_APPEND_TIME: i16 = 0x08;
pub const TRANSACTIONAL: i16 = 0x10;
pub const CONTROL: i16 = 0x20;

const UP_TO_MAGIC: usize = 17;
const SMALLEST_SIZE: [i32; 3] = [14, 22, (HEADER_SIZE - LOG_OVERHEAD) as i32];

#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub position: usize,
    pub base_offset: i64,
    pub size: usize,
    pub leader_epoch: i32,
    pub magic: i8,
    pub crc: u32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub record_count: i32,
}

impl Header {
    pub fn end(&self) -> usize {
        self.position + self.size
    }

    /// For comparisons: beyond the largest number it stays there.
    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(self.last_offset_delta.into())
    }

    pub fn next_offset(&self) -> i64 {
        self.base_offset.wrapping_add(self.last_offset_delta.into()).wrapping_add(1)
    }

    pub fn codec(&self) -> i16 {
        self.attributes & CODEC_BITS
    }

    pub fn has(&self, attribute: i16) -> bool {
        self.attributes & attribute != 0
    }

    pub fn finding(&self, fault: Fault) -> Finding {
        Finding::new(fault, self.position)
    }

    /// The batch's bytes from `from` on; the header was read from this same buffer.
    pub fn bytes<'a>(&self, data: &'a [u8], from: usize) -> &'a [u8] {
        &data[self.position + from..self.end()]
    }

    /// All but magic 2 is refused.
    pub fn modern(self) -> Found<Header> {
        if self.magic == 2 { Ok(self) } else { Err(self.finding(Fault::Legacy).figures(2, self.magic)) }
    }
}

/// Big-endian fields at fixed places. The slice is long enough whenever the caller has looked at its length.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn i8(&self, at: usize) -> i8 {
        self.0[at] as i8
    }

    fn i16(&self, at: usize) -> i16 {
        i16::from_be_bytes(self.array(at))
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_be_bytes(self.array(at))
    }

    fn i64(&self, at: usize) -> i64 {
        i64::from_be_bytes(self.array(at))
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }
}

/// The header of the whole batch at `position`, which lies in the buffer or at its end.
pub fn header_at(data: &[u8], position: usize) -> Result<Header, Fault> {
    let rest = &data[position..];
    if rest.len() < LOG_OVERHEAD {
        return Err(Fault::Partial);
    }
    // Each field is judged as soon as it is there, as Kafka does it.
    let fields = Fields(rest);
    let size_field = fields.i32(8);
    if size_field < SMALLEST_SIZE[0] {
        let zeros = rest.iter().take(UP_TO_MAGIC).all(|byte| *byte == 0);
        return Err(if zeros { Fault::Zeros } else { Fault::Size });
    }
    if rest.len() < UP_TO_MAGIC {
        return Err(Fault::Partial);
    }
    let magic = fields.i8(16);
    let Some(smallest) = usize::try_from(magic).ok().and_then(|magic| SMALLEST_SIZE.get(magic)) else {
        return Err(Fault::Magic);
    };
    if size_field < *smallest {
        return Err(Fault::Size);
    }
    let size = LOG_OVERHEAD + size_field as usize;
    if size > rest.len() {
        return Err(Fault::Partial);
    }
    Ok(if magic == 2 { modern(&fields, position, size) } else { legacy(&fields, position, size, magic) })
}

fn modern(fields: &Fields, position: usize, size: usize) -> Header {
    Header {
        position,
        base_offset: fields.i64(0),
        size,
        leader_epoch: fields.i32(12),
        magic: 2,
        crc: fields.i32(CRC_AT) as u32,
        attributes: fields.i16(21),
        last_offset_delta: fields.i32(23),
        base_timestamp: fields.i64(27),
        max_timestamp: fields.i64(35),
        producer_id: fields.i64(43),
        producer_epoch: fields.i16(51),
        base_sequence: fields.i32(53),
        record_count: fields.i32(57),
    }
}

fn legacy(fields: &Fields, position: usize, size: usize, magic: i8) -> Header {
    let attributes = i16::from(fields.i8(17));
    let timestamp = if magic == 1 { fields.i64(18) } else { -1 };
    Header {
        position,
        base_offset: fields.i64(0),
        size,
        leader_epoch: -1,
        magic,
        crc: fields.i32(12) as u32,
        attributes,
        last_offset_delta: 0,
        base_timestamp: timestamp,
        max_timestamp: timestamp,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        record_count: if attributes & CODEC_BITS == 0 { 1 } else { -1 },
    }
}

/// The headers from `position` on, at most `limit`, where they end and why.
pub fn walk(data: &[u8], mut position: usize, limit: usize) -> (Vec<Header>, usize, Option<Fault>) {
    let mut headers = Vec::new();
    while position < data.len() && headers.len() < limit {
        match header_at(data, position) {
            Ok(header) => {
                position = header.end();
                headers.push(header);
            }
            Err(fault) => return (headers, position, Some(fault)),
        }
    }
    (headers, position, None)
}

/// The first batch that is wanted; none when the bytes end before it.
pub fn find(data: &[u8], mut position: usize, wanted: impl Fn(&Header) -> bool) -> Found<Option<Header>> {
    while position < data.len() {
        match header_at(data, position) {
            Ok(header) if wanted(&header) => return Ok(Some(header)),
            Ok(header) => position = header.end(),
            Err(Fault::Partial | Fault::Zeros) => return Ok(None),
            Err(fault) => return Err(Finding::new(fault, position)),
        }
    }
    Ok(None)
}
