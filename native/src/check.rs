//! How far the bytes are good, and what stands where they are not.

use crate::fault::{Fault, Finding, Found};
use crate::header::{Header, header_at};
use crate::records;

pub struct Check {
    pub batches: u64,
    pub records: u64,
    pub end: usize,
    pub next_offset: i64,
    pub finding: Option<Finding>,
}

pub fn check(data: &[u8], position: usize, next_offset: i64, deep: bool, limit: usize) -> Check {
    let mut state = Check { batches: 0, records: 0, end: position, next_offset, finding: None };
    let mut scratch = Vec::new();
    while state.end < data.len() {
        let checked = batch(data, state.end, state.next_offset).and_then(|header| {
            if deep {
                scratch.clear();
                every_record(data, &header, limit, &mut scratch)?;
            }
            Ok(header)
        });
        match checked {
            Ok(header) => {
                state.batches += 1;
                state.records += header.record_count as u64;
                state.end = header.end();
                state.next_offset = header.next_offset();
            }
            Err(finding) => return Check { finding: Some(finding), ..state },
        }
    }
    state
}

fn batch(data: &[u8], position: usize, next_offset: i64) -> Found<Header> {
    let header = header_at(data, position).map_err(|fault| Finding::new(fault, position))?.modern()?;
    records::verify_checksum(data, &header)?;
    if header.record_count < 0 {
        return Err(header.finding(Fault::Count).figures(0, header.record_count));
    }
    if header.base_offset < next_offset {
        return Err(header.finding(Fault::Order).figures(next_offset, header.base_offset));
    }
    // The offset after the batch must be a number too.
    let room = i64::MAX.saturating_sub(header.base_offset);
    if header.last_offset_delta < 0 || i64::from(header.last_offset_delta) >= room {
        return Err(header.finding(Fault::Order).figures(0, header.last_offset_delta));
    }
    Ok(header)
}

fn every_record(data: &[u8], header: &Header, limit: usize, scratch: &mut Vec<u8>) -> Found<()> {
    let block = records::block(data, header, limit, scratch)?;
    let last = i64::from(header.last_offset_delta);
    let mut least = 0;
    records::walk(block, header, |index, record| {
        let delta = i64::from(record.offset_delta);
        if delta < least || delta > last {
            return Err(header.finding(Fault::Order).of_record(index).figures(least, delta));
        }
        least = delta + 1;
        Ok(())
    })
}
