"""Every test here asks both kernels."""

import pytest

from esker.base.errors import KernelMissing
from esker.kernel import load_native, load_reference
from esker.kernel.contract import Kernel


@pytest.fixture(params=["reference", "native"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    try:
        return load_native() if request.param == "native" else load_reference()
    except KernelMissing as error:
        pytest.skip(str(error))
