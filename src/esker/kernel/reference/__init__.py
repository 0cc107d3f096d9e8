"""The plain Python kernel: short and slow on purpose. It is the specification, and the oracle that the native
kernel is compared with. CRC-32C and the codecs come from small binary wheels."""

from crc32c import crc32c

from esker.kernel.reference.append import stamp, validate
from esker.kernel.reference.check import check
from esker.kernel.reference.codecs import compress, decompress
from esker.kernel.reference.columns import decode
from esker.kernel.reference.encode import encode
from esker.kernel.reference.records import unpack
from esker.kernel.reference.walk import find_offset, find_timestamp, walk

NAME = "reference"

__all__ = [
    "NAME",
    "check",
    "compress",
    "crc32c",
    "decode",
    "decompress",
    "encode",
    "find_offset",
    "find_timestamp",
    "stamp",
    "unpack",
    "validate",
    "walk",
]
