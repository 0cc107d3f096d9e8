"""The kernel in use: this file alone chooses, and `NAME` says which it is.

ESKER_KERNEL=native asks for the Rust kernel and fails without it; ESKER_KERNEL=reference asks for plain Python.
Unset, the Rust kernel is taken when it was built.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from esker.base.errors import KernelMissing

if TYPE_CHECKING:
    from esker.kernel.contract import Kernel

CHOICE = "ESKER_KERNEL"
BUILD_IT = "install Rust (https://rustup.rs) and run `make setup`, or install Esker's wheel"


def load_reference() -> Kernel:
    """The plain Python kernel."""
    from esker.kernel import reference as kernel

    return kernel


def load_native() -> Kernel:
    """The Rust kernel; raises KernelMissing where it was not built."""
    try:
        from esker.kernel import _native as kernel
    except ImportError as error:
        raise KernelMissing(f"the native kernel is not built: {BUILD_IT}") from error
    return kernel


def choose(asked: str | None) -> Kernel:
    """The kernel that `asked` names; for None the native one if it is there."""
    if asked == "reference":
        return load_reference()
    if asked == "native":
        return load_native()
    if asked:
        raise KernelMissing(f"{CHOICE}={asked} names no kernel: use native or reference")
    try:
        return load_native()
    except KernelMissing:
        return load_reference()


_chosen = choose(os.environ.get(CHOICE))

NAME = _chosen.NAME
check = _chosen.check
compress = _chosen.compress
crc32c = _chosen.crc32c
decode = _chosen.decode
decompress = _chosen.decompress
encode = _chosen.encode
find_offset = _chosen.find_offset
find_timestamp = _chosen.find_timestamp
stamp = _chosen.stamp
unpack = _chosen.unpack
validate = _chosen.validate
walk = _chosen.walk
