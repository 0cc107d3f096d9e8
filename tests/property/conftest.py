"""The kernels to test: each in turn, or the native one beside the reference."""

import pytest

from esker.base.errors import KernelMissing
from esker.kernel import load_native, load_reference
from esker.kernel.contract import Kernel


@pytest.fixture(scope="session")
def reference() -> Kernel:
    return load_reference()


@pytest.fixture(scope="session")
def native() -> Kernel:
    try:
        return load_native()
    except KernelMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session", params=["reference", "native"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    kernel: Kernel = request.getfixturevalue(request.param)
    return kernel
