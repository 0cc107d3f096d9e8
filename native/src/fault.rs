//! What can be wrong with bytes, by the numbers of `esker.base.faults`, where each has its sentence.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    Partial = 1,
    Zeros = 2,
    Size = 3,
    Magic = 4,
    Legacy = 5,
    Crc = 6,
    Codec = 7,
    Compressed = 8,
    UnpackedSize = 9,
    Count = 10,
    Record = 11,
    Order = 12,
    Several = 20,
    BaseOffset = 21,
    BatchSize = 22,
    Control = 23,
    Sequence = 24,
    NoKey = 25,
    Timestamp = 26,
    TimestampType = 27,
}

/// A fault and its place. `record` is -1 when the batch as a whole is meant.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    pub fault: Fault,
    pub position: usize,
    pub record: i64,
    pub expected: i64,
    pub found: i64,
}

impl Finding {
    pub fn new(fault: Fault, position: usize) -> Finding {
        Finding { fault, position, record: -1, expected: 0, found: 0 }
    }

    pub fn of_record(self, index: usize) -> Finding {
        Finding { record: index as i64, ..self }
    }

    pub fn figures(self, expected: impl Into<i64>, found: impl Into<i64>) -> Finding {
        Finding { expected: expected.into(), found: found.into(), ..self }
    }
}

/// A size as a figure of a finding; nothing in memory is too large for it.
pub fn figure(size: usize) -> i64 {
    size as i64
}

pub type Found<T> = Result<T, Finding>;
