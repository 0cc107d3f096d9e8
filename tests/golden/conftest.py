"""The corpus is read by both kernels."""

import pytest

from esker.base.errors import KernelMissing
from esker.kernel import load_native, load_reference
from esker.kernel.contract import Kernel
from esker.records import batch, builder, control, legacy, walk


@pytest.fixture(params=["reference", "native"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Each kernel in turn, which `esker.records` then stands on as well."""
    try:
        chosen = load_native() if request.param == "native" else load_reference()
    except KernelMissing as error:
        pytest.skip(str(error))
    for module in (batch, builder, control, legacy, walk):
        monkeypatch.setattr(module, "kernel", chosen)
    return chosen
