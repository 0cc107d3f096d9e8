//! The framing that Java's snappy puts around raw blocks. What lacks it is one raw block.

use crate::codecs::Unpacked;

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
const BLOCK_BYTES: usize = 32 << 10;

pub fn frame(plain: &[u8], mut pack: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(plain.len() / 2 + 64);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSIONS);
    for piece in plain.chunks(BLOCK_BYTES) {
        let block = pack(piece)?;
        out.extend_from_slice(&u32::try_from(block.len()).ok()?.to_be_bytes());
        out.extend_from_slice(&block);
    }
    Some(out)
}

pub fn unframe(packed: &[u8], mut unpack: impl FnMut(&[u8]) -> Unpacked) -> Unpacked {
    let Some(rest) = packed.strip_prefix(&MAGIC) else { return unpack(packed) };
    let Some(mut rest) = rest.get(VERSIONS.len()..) else { return Unpacked::Bad };
    while !rest.is_empty() {
        let Some((length, after)) = rest.split_first_chunk::<4>() else { return Unpacked::Bad };
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return Unpacked::Bad };
        let Some((block, after)) = after.split_at_checked(length) else { return Unpacked::Bad };
        match unpack(block) {
            Unpacked::Whole => rest = after,
            fault => return fault,
        }
    }
    Unpacked::Whole
}
