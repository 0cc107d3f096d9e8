//! Kafka's four codecs, all of them other people's; unpacking is always bounded.

use std::cell::RefCell;
use std::io::{Read, Write};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use lz4::liblz4::BlockChecksum;
use lz4::{BlockMode, BlockSize, ContentChecksum, Decoder, EncoderBuilder};
use zstd_safe::{CCtx, DCtx, InBuffer, OutBuffer};

use crate::xerial;

const GZIP: i16 = 1;
const SNAPPY: i16 = 2;
const LZ4: i16 = 3;
const ZSTD: i16 = 4;

const GZIP_WINDOW: u8 = 15;
const GZIP_DEFAULT: i32 = -1;
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const LZ4_INDEPENDENT: u8 = 0x20;
/// Kafka's level 9 is its default and means the fast compressor; every other level means the high one.
const LZ4_FAST: i32 = 9;
const LZ4_HIGH: std::ops::RangeInclusive<i32> = 3..=12;
const ZSTD_DEFAULT: i32 = 3;
/// The first guess at what a block unpacks to is so many times its size.
const USUAL_RATIO: usize = 4;

thread_local! {
    static ZSTD_PACKER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static ZSTD_UNPACKER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpacked {
    Whole,
    Bad,
    TooLarge,
}

/// Append what the bytes unpack to, at most `limit` of it. On anything but `Whole` what was appended means nothing.
pub fn decompress(codec: i16, packed: &[u8], limit: usize, out: &mut Vec<u8>) -> Unpacked {
    let mut room = Room { start: out.len(), limit, out };
    match codec {
        GZIP => unpack_gzip(packed, &mut room),
        SNAPPY => unpack_snappy(packed, &mut room),
        LZ4 => unpack_lz4(packed, &mut room),
        ZSTD => unpack_zstd(packed, &mut room),
        _ => unpack_none(packed, &mut room),
    }
}

/// The output and how much more it may become.
pub struct Room<'a> {
    start: usize,
    limit: usize,
    pub out: &'a mut Vec<u8>,
}

impl Room<'_> {
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.out.len() - self.start)
    }

    fn passed(&self) -> bool {
        self.out.len() - self.start > self.limit
    }

    /// Make place for more when there is none: for what one guesses, later for as much again, and not for more than
    /// the byte that shows that the limit was passed.
    fn grow(&mut self, guess: usize) {
        if self.out.len() == self.out.capacity() {
            let unpacked = self.out.len() - self.start;
            self.out.reserve_exact(guess.max(unpacked).max(512).min(self.left() + 1));
        }
    }
}

fn unpack_none(packed: &[u8], room: &mut Room) -> Unpacked {
    if packed.len() > room.left() {
        return Unpacked::TooLarge;
    }
    room.out.extend_from_slice(packed);
    Unpacked::Whole
}

fn unpack_gzip(mut packed: &[u8], room: &mut Room) -> Unpacked {
    let guess = packed.len().saturating_mul(USUAL_RATIO);
    loop {
        let mut member = Decompress::new_gzip(GZIP_WINDOW);
        loop {
            room.grow(guess);
            let (before_in, before_out) = (member.total_in(), member.total_out());
            let Ok(status) = member.decompress_vec(packed, room.out, FlushDecompress::None) else {
                return Unpacked::Bad;
            };
            let taken = member.total_in() - before_in;
            packed = &packed[taken as usize..];
            if room.passed() {
                return Unpacked::TooLarge;
            }
            if status == Status::StreamEnd {
                break;
            }
            if taken == 0 && member.total_out() == before_out && room.out.len() < room.out.capacity() {
                return Unpacked::Bad;
            }
        }
        if packed.is_empty() {
            return Unpacked::Whole;
        }
    }
}

fn unpack_snappy(packed: &[u8], room: &mut Room) -> Unpacked {
    xerial::unframe(packed, |block| {
        let Ok(size) = snap::raw::decompress_len(block) else { return Unpacked::Bad };
        if size > room.left() {
            return Unpacked::TooLarge;
        }
        let start = room.out.len();
        room.out.resize(start + size, 0);
        match snap::raw::Decoder::new().decompress(block, &mut room.out[start..]) {
            Ok(_) => Unpacked::Whole,
            Err(_) => Unpacked::Bad,
        }
    })
}

/// One frame, as Java's reader takes it: no skippable ones before, no blocks that need the one before them. What
/// follows the frame would be lost silently.
fn unpack_lz4(packed: &[u8], room: &mut Room) -> Unpacked {
    let flags = packed.get(LZ4_MAGIC.len()).copied().unwrap_or_default();
    if !packed.starts_with(&LZ4_MAGIC) || flags & LZ4_INDEPENDENT == 0 {
        return Unpacked::Bad;
    }
    let Ok(decoder) = Decoder::new(packed) else { return Unpacked::Bad };
    room.grow(packed.len().saturating_mul(USUAL_RATIO));
    let mut bounded = decoder.take(room.left() as u64 + 1);
    if bounded.read_to_end(room.out).is_err() {
        return Unpacked::Bad;
    }
    if room.passed() {
        return Unpacked::TooLarge;
    }
    match bounded.into_inner().finish() {
        ([], Ok(())) => Unpacked::Whole,
        _ => Unpacked::Bad,
    }
}

fn unpack_zstd(packed: &[u8], room: &mut Room) -> Unpacked {
    let mut rest = packed;
    loop {
        let unpacked = ZSTD_UNPACKER.with_borrow_mut(|unpacker| unpack_frame(unpacker, &mut rest, room));
        if unpacked != Unpacked::Whole {
            // It may have stopped anywhere: the next block gets a new one.
            ZSTD_UNPACKER.set(DCtx::create());
            return unpacked;
        }
        if rest.is_empty() {
            return Unpacked::Whole;
        }
    }
}

/// The first frame of `packed`, which moves behind it.
fn unpack_frame(unpacker: &mut DCtx, packed: &mut &[u8], room: &mut Room) -> Unpacked {
    let start = room.out.len();
    let Ok(stated) = zstd_safe::get_frame_content_size(packed) else { return Unpacked::Bad };
    if stated.is_some_and(|size| size > room.left() as u64) {
        return Unpacked::TooLarge;
    }
    // The byte more spares a last round that would only find the end.
    let guess = stated.map_or(packed.len().saturating_mul(USUAL_RATIO), |size| size as usize + 1);
    let mut at = 0;
    loop {
        room.grow(guess);
        let before_out = room.out.len();
        // The first byte goes in alone. Given a whole frame at once the library may take a short cut that is stricter,
        // and what counts as a frame would depend on the sizes of buffers.
        let mut input = InBuffer::around(if at == 0 { &packed[..1] } else { &packed[at..] });
        let mut output = OutBuffer::around_pos(&mut *room.out, before_out);
        let Ok(hint) = unpacker.decompress_stream(&mut output, &mut input) else { return Unpacked::Bad };
        at += input.pos();
        if room.passed() {
            return Unpacked::TooLarge;
        }
        if hint == 0 {
            // The library compares the two only in some of its ways through a frame.
            let size = (room.out.len() - start) as u64;
            *packed = &packed[at..];
            return if stated.is_none_or(|stated| stated == size) { Unpacked::Whole } else { Unpacked::Bad };
        }
        let stuck = input.pos() == 0 && room.out.len() == before_out;
        if stuck && room.out.len() < room.out.capacity() {
            return Unpacked::Bad;
        }
    }
}

/// The levels that Kafka's settings allow; codecs without levels take any.
fn allowed(codec: i16, level: i32) -> bool {
    match codec {
        GZIP => level == GZIP_DEFAULT || (1..=9).contains(&level),
        LZ4 => (1..=17).contains(&level),
        ZSTD => (-131_072..=22).contains(&level),
        _ => true,
    }
}

/// None: no such codec or level.
pub fn compress(codec: i16, plain: &[u8], level: Option<i32>) -> Option<Vec<u8>> {
    if level.is_some_and(|level| !allowed(codec, level)) {
        return None;
    }
    match codec {
        0 => Some(plain.to_vec()),
        GZIP => pack_gzip(plain, level.unwrap_or(GZIP_DEFAULT)),
        SNAPPY => xerial::frame(plain, |block| snap::raw::Encoder::new().compress_vec(block).ok()),
        LZ4 => pack_lz4(plain, level.unwrap_or(LZ4_FAST)),
        ZSTD => pack_zstd(plain, level.unwrap_or(ZSTD_DEFAULT)),
        _ => None,
    }
}

fn pack_gzip(mut plain: &[u8], level: i32) -> Option<Vec<u8>> {
    let level = if level == GZIP_DEFAULT { Compression::default() } else { Compression::new(level as u32) };
    let mut packer = Compress::new_gzip(level, GZIP_WINDOW);
    let mut out = Vec::with_capacity(plain.len() / 2 + 64);
    loop {
        let before = packer.total_in();
        let status = packer.compress_vec(plain, &mut out, FlushCompress::Finish).ok()?;
        plain = &plain[(packer.total_in() - before) as usize..];
        if status == Status::StreamEnd {
            return Some(out);
        }
        out.reserve(out.capacity());
    }
}

fn pack_lz4(plain: &[u8], level: i32) -> Option<Vec<u8>> {
    let high = if level == LZ4_FAST { 0 } else { level.clamp(*LZ4_HIGH.start(), *LZ4_HIGH.end()) };
    let mut encoder = EncoderBuilder::new()
        .block_size(BlockSize::Max64KB)
        .block_mode(BlockMode::Independent)
        .block_checksum(BlockChecksum::NoBlockChecksum)
        .checksum(ContentChecksum::NoChecksum)
        .level(high as u32)
        .build(Vec::with_capacity(plain.len() / 2 + 64))
        .ok()?;
    encoder.write_all(plain).ok()?;
    let (out, finished) = encoder.finish();
    finished.ok().map(|()| out)
}

fn pack_zstd(plain: &[u8], level: i32) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(zstd_safe::compress_bound(plain.len()));
    ZSTD_PACKER.with_borrow_mut(|packer| packer.compress(&mut out, plain, level)).ok()?;
    Some(out)
}
