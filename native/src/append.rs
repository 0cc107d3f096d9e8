//! What a leader asks of a client's batch, and what it writes into it. The order of the questions is Kafka's.

use crate::checksum::{crc32c, shifted};
use crate::fault::{Fault, Finding, Found, figure};
use crate::header::{
    CONTROL, CRC_AT, CRC_FROM, HEADER_SIZE, Header, LOG_APPEND_TIME, MAX_TIMESTAMP_AT, ZSTD, header_at, walk,
};
use crate::records;

pub struct Limits {
    pub max_batch_bytes: i64,
    pub keys_required: bool,
    pub log_append_time: bool,
    pub min_timestamp: i64,
    pub max_timestamp: i64,
    pub unpacked_limit: usize,
}

pub struct Accepted {
    pub header: Header,
    pub max_timestamp: i64,
    pub consecutive: bool,
}

pub struct Refused {
    pub finding: Finding,
    pub records: Vec<(usize, Fault)>,
}

impl From<Finding> for Refused {
    fn from(finding: Finding) -> Refused {
        Refused { finding, records: Vec::new() }
    }
}

pub fn validate(data: &[u8], limits: &Limits) -> Result<Accepted, Refused> {
    let header = the_batch(data)?;
    verify_batch(data, &header, limits)?;
    judge_records(data, header, limits)
}

fn the_batch(data: &[u8]) -> Found<Header> {
    let header = header_at(data, 0).map_err(|fault| Finding::new(fault, 0))?.modern()?;
    match header_at(data, header.end()) {
        Err(Fault::Partial) => Ok(header),
        Err(fault) => Err(Finding::new(fault, header.end())),
        Ok(_) => Err(Finding::new(Fault::Several, header.end())),
    }
}

fn verify_batch(data: &[u8], header: &Header, limits: &Limits) -> Found<()> {
    let size = figure(header.size);
    if header.base_offset != 0 {
        return Err(header.finding(Fault::BaseOffset).figures(0, header.base_offset));
    }
    if size > limits.max_batch_bytes {
        return Err(header.finding(Fault::BatchSize).figures(limits.max_batch_bytes, size));
    }
    records::verify_checksum(data, header)?;
    if header.codec() > ZSTD {
        return Err(header.finding(Fault::Codec).figures(0, header.codec()));
    }
    let count = i64::from(header.last_offset_delta) + 1;
    if header.record_count <= 0 || i64::from(header.record_count) != count {
        return Err(header.finding(Fault::Count).figures(count, header.record_count));
    }
    if header.has(CONTROL) {
        return Err(header.finding(Fault::Control));
    }
    if header.producer_id >= 0 && header.base_sequence < 0 {
        return Err(header.finding(Fault::Sequence).figures(0, header.base_sequence));
    }
    Ok(())
}

fn judge_records(data: &[u8], header: Header, limits: &Limits) -> Result<Accepted, Refused> {
    let mut scratch = Vec::new();
    let block = records::block(data, &header, limits.unpacked_limit, &mut scratch)?;
    let append_time = header.has(LOG_APPEND_TIME);
    let mut accepted = Accepted { header, max_timestamp: -1, consecutive: true };
    let mut refused = Vec::new();
    records::walk(block, &header, |index, record| {
        let created = header.base_timestamp.wrapping_add(record.timestamp_delta);
        let timestamp = if append_time { header.max_timestamp } else { created };
        if let Some(fault) = fault_of(record.key.is_none(), timestamp, append_time, limits) {
            refused.push((index, fault));
        }
        accepted.max_timestamp = accepted.max_timestamp.max(timestamp);
        accepted.consecutive &= usize::try_from(record.offset_delta) == Ok(index);
        Ok(())
    })?;
    match refused.iter().find(|(_, fault)| *fault != Fault::NoKey).or(refused.first()) {
        None => Ok(accepted),
        // One timestamp among the faults decides the answer for all, as in Kafka; else the first one does.
        Some((index, fault)) => Err(Refused { finding: header.finding(*fault).of_record(*index), records: refused }),
    }
}

fn fault_of(keyless: bool, timestamp: i64, append_time: bool, limits: &Limits) -> Option<Fault> {
    if limits.keys_required && keyless {
        return Some(Fault::NoKey);
    }
    if timestamp != -1 && !limits.log_append_time {
        let in_range = (limits.min_timestamp..=limits.max_timestamp).contains(&timestamp);
        return (!in_range).then_some(Fault::Timestamp);
    }
    append_time.then_some(Fault::TimestampType)
}

pub struct Stamp {
    pub base_offset: i64,
    pub leader_epoch: i32,
    pub max_timestamp: Option<i64>,
    pub log_append_time: Option<bool>,
}

/// Write into every batch of the buffer, or into none of them; the next offset.
pub fn stamp(data: &mut [u8], stamp: &Stamp) -> Found<i64> {
    let (headers, end, fault) = walk(data, 0, usize::MAX);
    if let Some(fault) = fault {
        return Err(Finding::new(fault, end));
    }
    for header in &headers {
        header.modern()?;
    }
    let mut offset = stamp.base_offset;
    for header in &headers {
        let batch = &mut data[header.position..header.end()];
        batch[..8].copy_from_slice(&offset.to_be_bytes());
        batch[12..16].copy_from_slice(&stamp.leader_epoch.to_be_bytes());
        stamp_times(batch, header, stamp);
        offset = offset.wrapping_add(header.last_offset_delta.into()).wrapping_add(1);
    }
    Ok(offset)
}

fn stamp_times(batch: &mut [u8], header: &Header, stamp: &Stamp) {
    let attributes = match stamp.log_append_time {
        None => header.attributes,
        Some(true) => header.attributes | LOG_APPEND_TIME,
        Some(false) => header.attributes & !LOG_APPEND_TIME,
    };
    let max_timestamp = stamp.max_timestamp.unwrap_or(header.max_timestamp);
    if attributes == header.attributes && max_timestamp == header.max_timestamp {
        return;
    }
    // A checksum is linear: how it moves follows from the changed fields and the distance to the end alone. So what
    // was wrong with the old one stays wrong with the new one, and the records need not be read.
    let before = crc32c(&batch[CRC_FROM..HEADER_SIZE]);
    batch[CRC_FROM..CRC_FROM + 2].copy_from_slice(&attributes.to_be_bytes());
    batch[MAX_TIMESTAMP_AT..MAX_TIMESTAMP_AT + 8].copy_from_slice(&max_timestamp.to_be_bytes());
    let after = crc32c(&batch[CRC_FROM..HEADER_SIZE]);
    let crc = header.crc ^ shifted(before ^ after, batch.len() - HEADER_SIZE);
    batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
}
