//! Where the records to encode come from: Python lists, or Arrow buffers.

use std::borrow::Cow;

use bytemuck::AnyBitPattern;

use crate::encode::{Refusal, Source};

const SHORT: Refusal = "a column is shorter than the count";
const DIFFER: Refusal = "the columns differ in length";

type Header<'a> = (&'a [u8], Option<&'a [u8]>);

/// Given offsets, or consecutive ones from `first` on.
pub struct Offsets<'a> {
    pub given: Option<Cow<'a, [i64]>>,
    pub first: i64,
}

impl Offsets<'_> {
    fn get(&self, index: usize) -> i64 {
        match &self.given {
            Some(offsets) => offsets[index],
            None => self.first.saturating_add(index as i64),
        }
    }
}

pub struct Lists<'a> {
    pub offsets: Offsets<'a>,
    pub timestamps: Vec<i64>,
    pub keys: Vec<Option<&'a [u8]>>,
    pub values: Vec<Option<&'a [u8]>>,
    pub headers: Option<Vec<Vec<Header<'a>>>>,
}

impl Lists<'_> {
    pub fn verify(&self) -> Result<(), Refusal> {
        let count = self.timestamps.len();
        let headers = self.headers.as_ref().map_or(count, Vec::len);
        let offsets = self.offsets.given.as_ref().map_or(count, |offsets| offsets.len());
        let lengths = [self.keys.len(), self.values.len(), headers, offsets];
        if lengths.iter().all(|length| *length == count) { Ok(()) } else { Err(DIFFER) }
    }
}

impl Source for Lists<'_> {
    fn len(&self) -> usize {
        self.timestamps.len()
    }

    fn offset(&self, index: usize) -> i64 {
        self.offsets.get(index)
    }

    fn timestamp(&self, index: usize) -> i64 {
        self.timestamps[index]
    }

    fn key(&self, index: usize) -> Option<&[u8]> {
        self.keys[index]
    }

    fn value(&self, index: usize) -> Option<&[u8]> {
        self.values[index]
    }

    fn headers(&self, index: usize) -> impl ExactSizeIterator<Item = Header<'_>> {
        let headers = self.headers.as_ref().map_or(&[][..], |headers| &headers[index]);
        headers.iter().copied()
    }
}

/// The numbers of a buffer, copied only when they do not lie as numbers must.
pub fn numbers<T: AnyBitPattern + bytemuck::NoUninit>(bytes: &[u8], count: usize) -> Result<Cow<'_, [T]>, Refusal> {
    let size = count.checked_mul(size_of::<T>()).ok_or(SHORT)?;
    let bytes = bytes.get(..size).ok_or(SHORT)?;
    Ok(match bytemuck::try_cast_slice(bytes) {
        Ok(numbers) => Cow::Borrowed(numbers),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    })
}

/// An Arrow binary array whose offsets are known to rise within its data.
pub struct BinaryArray<'a> {
    validity: Option<&'a [u8]>,
    offsets: Cow<'a, [i32]>,
    data: &'a [u8],
}

impl<'a> BinaryArray<'a> {
    pub fn new(
        count: usize,
        validity: Option<&'a [u8]>,
        offsets: &'a [u8],
        data: &'a [u8],
    ) -> Result<BinaryArray<'a>, Refusal> {
        if validity.is_some_and(|bits| bits.len() < count.div_ceil(8)) {
            return Err(SHORT);
        }
        let offsets = spans(offsets, count, data.len())?;
        Ok(BinaryArray { validity, offsets, data })
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<&[u8]> {
        if self.validity.is_some_and(|bits| bits[index >> 3] >> (index & 7) & 1 == 0) {
            return None;
        }
        Some(&self.data[self.offsets[index] as usize..self.offsets[index + 1] as usize])
    }
}

fn spans(offsets: &[u8], count: usize, size: usize) -> Result<Cow<'_, [i32]>, Refusal> {
    let offsets = numbers::<i32>(offsets, count + 1)?;
    let rise = offsets[0] >= 0 && offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if rise && offsets[count] as usize <= size {
        Ok(offsets)
    } else {
        Err("a column's offsets do not rise within its data")
    }
}

pub struct HeaderArray<'a> {
    offsets: Cow<'a, [i32]>,
    keys: BinaryArray<'a>,
    values: BinaryArray<'a>,
}

impl<'a> HeaderArray<'a> {
    pub fn new(
        count: usize,
        offsets: &'a [u8],
        keys: BinaryArray<'a>,
        values: BinaryArray<'a>,
    ) -> Result<HeaderArray<'a>, Refusal> {
        let flat = keys.offsets.len() - 1;
        if (0..flat).any(|index| keys.get(index).is_none()) {
            return Err("a header without a key cannot be encoded");
        }
        Ok(HeaderArray { offsets: spans(offsets, count, flat)?, keys, values })
    }
}

pub struct Arrays<'a> {
    pub offsets: Offsets<'a>,
    pub timestamps: Cow<'a, [i64]>,
    pub keys: Option<BinaryArray<'a>>,
    pub values: Option<BinaryArray<'a>>,
    pub headers: Option<HeaderArray<'a>>,
}

impl Source for Arrays<'_> {
    fn len(&self) -> usize {
        self.timestamps.len()
    }

    fn offset(&self, index: usize) -> i64 {
        self.offsets.get(index)
    }

    fn timestamp(&self, index: usize) -> i64 {
        self.timestamps[index]
    }

    #[inline(always)]
    fn key(&self, index: usize) -> Option<&[u8]> {
        self.keys.as_ref().and_then(|keys| keys.get(index))
    }

    #[inline(always)]
    fn value(&self, index: usize) -> Option<&[u8]> {
        self.values.as_ref().and_then(|values| values.get(index))
    }

    fn headers(&self, index: usize) -> impl ExactSizeIterator<Item = Header<'_>> {
        let range = self
            .headers
            .as_ref()
            .map_or(0..0, |headers| headers.offsets[index] as usize..headers.offsets[index + 1] as usize);
        range.map(|at| {
            let headers = self.headers.as_ref();
            headers.map_or((&[][..], None), |one| (one.keys.get(at).unwrap_or_default(), one.values.get(at)))
        })
    }
}
