"""A real Kafka for tests, or a skip that names what is missing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from esker.base.errors import KernelMissing
from esker.kernel import load_native, load_reference
from esker.kernel.contract import Kernel
from parity.broker import Broker
from parity.jars import jars, missing


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """The folder with the jars of the newest Kafka."""
    if lack := missing():
        pytest.skip(lack)
    return jars()


@pytest.fixture(scope="session")
def kafka_broker(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker, the same for the whole session: choose topic names of your own."""
    with Broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(params=["reference", "native"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel in turn. Not kept for longer than a test: pytest would run all tests of one first, and with them
    start over what their files share."""
    try:
        return load_native() if request.param == "native" else load_reference()
    except KernelMissing as error:
        pytest.skip(str(error))
