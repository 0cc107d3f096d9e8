"""What every call on a log goes through that touches files: a log out of service refuses it, and a disk that fails in
it takes the log out of service."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from esker.storage.data_file import WriteNotTakenBack

if TYPE_CHECKING:
    from esker.log.log import Log

P = ParamSpec("P")
R = TypeVar("R")
Call = Callable[Concatenate["Log", P], R]


def touching_files(call: Call[P, R]) -> Call[P, R]:
    """A call that leaves the log as it was when a full disk refuses it. A bug that shows stops the log as well: nothing
    is to be written after it."""

    def guarded(log: Log, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if log.out_of_service is not None:
            log.verify_in_service()
        try:
            return call(log, *args, **kwargs)
        except OSError as error:
            raise log.broken_by(error) from error
        except AssertionError as error:
            log.out_of_service = f"{log.place.folder}: stopped by a bug: {error}"
            raise

    update_wrapper(guarded, call)
    return guarded


def all_or_broken(call: Call[P, R]) -> Call[P, R]:
    """A call that cannot be taken back half way: then a full disk breaks the log too."""

    def whole(log: Log, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(log, *args, **kwargs)
        except OSError as error:
            raise WriteNotTakenBack(error.errno, error.strerror, error.filename or log.place.folder) from error

    update_wrapper(whole, call)
    return touching_files(whole)


def reading(call: Call[P, R]) -> Call[P, R]:
    """A call that changes nothing, perhaps of another thread: where a file is gone that was looked at, it was deleted
    meanwhile, and a second look finds the log as it is now."""

    def looked(log: Log, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if log.out_of_service is not None:
            log.verify_in_service()
        try:
            return call(log, *args, **kwargs)
        except FileNotFoundError:
            return again(log, *args, **kwargs)
        except OSError as error:
            raise log.broken_by(error) from error

    again = touching_files(call)
    update_wrapper(looked, call)
    return looked
