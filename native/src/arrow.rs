//! Arrow's buffers of the few array kinds that a record needs.

use crate::records;

/// A view holds so many bytes itself; of longer ones it holds the first four and where they are.
const INLINE_BYTES: usize = 12;

/// A bitmap that exists once there is a null.
#[derive(Default)]
pub struct Validity {
    bits: Option<Vec<u8>>,
    count: usize,
    pub nulls: usize,
}

impl Validity {
    #[inline(always)]
    pub fn push(&mut self, valid: bool) {
        if !valid || self.bits.is_some() {
            self.push_bit(valid);
        }
        self.count += 1;
    }

    #[cold]
    fn push_bit(&mut self, valid: bool) {
        let count = self.count;
        let bits = self.bits.get_or_insert_with(|| vec![0xff; count.div_ceil(8)]);
        if count.is_multiple_of(8) {
            bits.resize(count / 8, 0xff);
            bits.push(0);
        }
        let last = &mut bits[count / 8];
        let bit = 1 << (count % 8);
        if valid {
            *last |= bit;
        } else {
            *last &= !bit;
            self.nulls += 1;
        }
    }

    /// Bits past the end are zero.
    pub fn finish(self) -> Option<Vec<u8>> {
        let mut bits = self.bits?;
        bits.truncate(self.count.div_ceil(8));
        if !self.count.is_multiple_of(8)
            && let Some(last) = bits.last_mut()
        {
            *last &= (1 << (self.count % 8)) - 1;
        }
        Some(bits)
    }
}

/// Copied bytes. All of a column's bytes stay below 2^31: `decode` stops before.
pub struct Binary {
    pub validity: Validity,
    pub offsets: Vec<i32>,
    pub data: Vec<u8>,
}

impl Default for Binary {
    fn default() -> Binary {
        Binary { validity: Validity::default(), offsets: vec![0], data: Vec::new() }
    }
}

impl Binary {
    pub fn reserve(&mut self, count: usize, bytes: usize) {
        self.offsets.reserve(count);
        self.data.reserve(bytes);
    }

    #[inline(always)]
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.validity.push(value.is_some());
        self.data.extend_from_slice(value.unwrap_or_default());
        self.offsets.push(self.data.len() as i32);
    }

    /// As text: what is not UTF-8 is replaced.
    fn push_text(&mut self, value: &[u8]) {
        match String::from_utf8_lossy(value) {
            std::borrow::Cow::Borrowed(text) => self.push(Some(text.as_bytes())),
            std::borrow::Cow::Owned(text) => self.push(Some(text.as_bytes())),
        }
    }
}

#[derive(Default)]
pub struct Views {
    pub validity: Validity,
    pub views: Vec<u128>,
}

impl Views {
    /// `position` is that of the value in the buffer of that number.
    #[inline(always)]
    pub fn push(&mut self, value: Option<&[u8]>, buffer: u32, position: usize) {
        self.validity.push(value.is_some());
        self.views.push(value.map_or(0, |value| view(value, buffer, position)));
    }
}

#[inline(always)]
fn view(value: &[u8], buffer: u32, position: usize) -> u128 {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(value.len() as u32).to_ne_bytes());
    if value.len() <= INLINE_BYTES {
        bytes[4..4 + value.len()].copy_from_slice(value);
    } else {
        bytes[4..8].copy_from_slice(&value[..4]);
        bytes[8..12].copy_from_slice(&buffer.to_ne_bytes());
        bytes[12..].copy_from_slice(&(position as u32).to_ne_bytes());
    }
    u128::from_ne_bytes(bytes)
}

pub struct HeaderLists {
    pub offsets: Vec<i32>,
    pub keys: Binary,
    pub values: Binary,
}

impl Default for HeaderLists {
    fn default() -> HeaderLists {
        HeaderLists { offsets: vec![0], keys: Binary::default(), values: Binary::default() }
    }
}

impl HeaderLists {
    #[inline(always)]
    pub fn push(&mut self, block: &[u8], record: &records::Record) {
        if record.header_count > 0 {
            for (name, value) in records::headers(block, record) {
                self.keys.push_text(name);
                self.values.push(value);
            }
        }
        self.offsets.push(self.keys.offsets.len() as i32 - 1);
    }
}
