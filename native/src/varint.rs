//! Zigzag varints as Java reads them: bits beyond 32 or 64 fall off, a sixth or eleventh byte is refused.

/// The number at `at`, which moves behind it; None when the bytes end inside or it is too long.
#[inline(always)]
pub fn read_i32(data: &[u8], at: &mut usize) -> Option<i32> {
    let first = *data.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(i32::from(first >> 1) ^ -i32::from(first & 1));
    }
    let second = *data.get(*at + 1)?;
    if second < 0x80 {
        *at += 2;
        return Some(unzigzag32(u32::from(first & 0x7f) | u32::from(second) << 7));
    }
    read_long(data, at, 5).map(|number| unzigzag32(number as u32))
}

#[inline(always)]
pub fn read_i64(data: &[u8], at: &mut usize) -> Option<i64> {
    let first = *data.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(i64::from(first >> 1) ^ -i64::from(first & 1));
    }
    read_long(data, at, 10).map(unzigzag64)
}

#[cold]
fn read_long(data: &[u8], at: &mut usize, longest: usize) -> Option<u64> {
    let mut number = 0u64;
    for (index, byte) in data[*at..].iter().take(longest).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            *at += index + 1;
            return Some(number);
        }
    }
    None
}

fn unzigzag32(number: u32) -> i32 {
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

fn unzigzag64(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// How many bytes the number takes.
#[inline(always)]
pub fn size(number: i64) -> usize {
    let bits = 64 - (zigzag(number) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}
