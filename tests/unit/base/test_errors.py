"""Errors say their sentence, keep their figures and survive a trip to another process."""

import pickle

import pytest

from esker.base.errors import Corrupt, EskerError, InvalidConfig, KernelMissing, Rejected, StorageFailed
from esker.base.faults import Fault, Finding
from esker.base.kafka_errors import ErrorCode
from esker.base.types import TopicPartition

NO_SPACE = OSError(28, "No space left on device")

#    error                                                          its text
ERRORS = [
    (Rejected(ErrorCode.INVALID_RECORD, "no", [(3, "no key")]),      "INVALID_RECORD: no"),
    (Rejected(ErrorCode.OFFSET_OUT_OF_RANGE, "9 is not there"),      "OFFSET_OUT_OF_RANGE: 9 is not there"),
    (StorageFailed("/data/t-0/x.log", NO_SPACE),                     "/data/t-0/x.log: No space left on device"),
    (StorageFailed("/data", OSError("a folder")),                    "/data: a folder"),
    (Corrupt(Finding(Fault.SIZE, 17)),
     "position 17: the size field is smaller than any batch of this magic"),
    (InvalidConfig("flush.ms is 'x'"),                               "flush.ms is 'x'"),
    (KernelMissing("none"),                                          "none"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text"), ERRORS, ids=str)
def test_an_error_says_its_sentence(error: EskerError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize("error", [error for error, _ in ERRORS], ids=str)
def test_an_error_survives_pickling(error: EskerError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert {name: str(value) for name, value in vars(again).items()} == {
        name: str(value) for name, value in vars(error).items()
    }


def test_a_rejection_carries_code_message_and_records() -> None:
    error = Rejected(ErrorCode.INVALID_TIMESTAMP, "too old", [(0, "a"), (4, "b")])
    assert (error.code, error.message, error.records) == (32, "too old", [(0, "a"), (4, "b")])


def test_a_partition_is_written_as_its_folder() -> None:
    assert str(TopicPartition("some-topic", 7)) == "some-topic-7"


#    what the log layer answers            Kafka's number
CODES = [
    ("UNKNOWN_SERVER_ERROR",               -1),
    ("OFFSET_OUT_OF_RANGE",                 1),
    ("CORRUPT_MESSAGE",                     2),
    ("MESSAGE_TOO_LARGE",                  10),
    ("RECORD_LIST_TOO_LARGE",              18),
    ("INVALID_TIMESTAMP",                  32),
    ("INVALID_CONFIG",                     40),
    ("POLICY_VIOLATION",                   44),
    ("OUT_OF_ORDER_SEQUENCE_NUMBER",       45),
    ("INVALID_PRODUCER_EPOCH",             47),
    ("INVALID_TXN_STATE",                  48),
    ("TRANSACTION_COORDINATOR_FENCED",     52),
    ("KAFKA_STORAGE_ERROR",                56),
    ("LOG_DIR_NOT_FOUND",                  57),
    ("INVALID_RECORD",                     87),
]  # fmt: skip


@pytest.mark.parametrize(("name", "number"), CODES)
def test_codes_have_kafkas_numbers(name: str, number: int) -> None:
    assert ErrorCode[name] == number
