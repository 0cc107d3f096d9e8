"""The checksum in the header of an lz4 frame, which Kafka's producers got wrong in magic 0.

They hashed the frame's magic number along with the descriptor, so a true lz4 reader refuses their frames. Kafka's
reader does not look at this byte in magic 0; here it is set right, and the kernel's strict reader then takes the frame.

The checksum is the second byte of the descriptor's xxHash32. A descriptor has 2 to 14 bytes (FLG, BD, then 8 of
content size and 4 of dictionary id where FLG says so), so the hash's loop over 16 bytes never runs and is not here.
"""

from __future__ import annotations

from struct import Struct

FRAME_MAGIC = bytes.fromhex("04224d18")
DESCRIPTOR_AT = len(FRAME_MAGIC)
CONTENT_SIZE_BIT = 0x08
DICTIONARY_BIT = 0x01

PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
MASK = 2**32 - 1
WORD = Struct("<I")


def repaired(frame: bytes) -> bytes:
    """The frame with the right header checksum. No frame, or too short a one, is left for the codec to refuse."""
    if not frame.startswith(FRAME_MAGIC) or len(frame) <= DESCRIPTOR_AT:
        return frame
    end = DESCRIPTOR_AT + _descriptor_size(frame[DESCRIPTOR_AT])
    if len(frame) <= end:
        return frame
    return frame[:end] + bytes([header_checksum(frame[DESCRIPTOR_AT:end])]) + frame[end + 1 :]


def header_checksum(descriptor: bytes) -> int:
    return short_xxh32(descriptor) >> 8 & 0xFF


def short_xxh32(data: bytes) -> int:
    """xxHash32 with seed 0, of fewer than 16 bytes."""
    words = len(data) // WORD.size * WORD.size
    number = PRIMES[4] + len(data)
    for (word,) in WORD.iter_unpack(data[:words]):
        number = _rotated(number + word * PRIMES[2], 17) * PRIMES[3]
    for byte in data[words:]:
        number = _rotated(number + byte * PRIMES[4], 11) * PRIMES[0]
    number &= MASK
    number = (number ^ number >> 15) * PRIMES[1] & MASK
    number = (number ^ number >> 13) * PRIMES[2] & MASK
    return number ^ number >> 16


def _descriptor_size(flags: int) -> int:
    return 2 + (8 if flags & CONTENT_SIZE_BIT else 0) + (4 if flags & DICTIONARY_BIT else 0)


def _rotated(number: int, bits: int) -> int:
    number &= MASK
    return number << bits | number >> (32 - bits)
