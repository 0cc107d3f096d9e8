"""What the calls of a log answer: everything the caller needs, in one value each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from esker.ports.files import File, Files
    from esker.rules.cursors import Cursors
    from esker.rules.retention import DeleteReason
    from esker.rules.roll import RollReason
    from esker.storage.data_file import Slice
    from esker.storage.segment import Segment
    from esker.storage.txn_index import AbortedTransaction


class Repacked(NamedTuple):
    """A batch was encoded anew, as the topic has another codec."""

    record_count: int
    size_before: int
    size_after: int


class Appended(NamedTuple):
    """One append. Both offsets are inclusive; `append_time` is -1 where the records keep their own times."""

    first_offset: int
    last_offset: int
    max_timestamp: int
    append_time: int
    cursors: Cursors
    flush_due: bool = False  # the caller flushes before it answers, off its loop
    is_duplicate: bool = False  # nothing was written; the offsets are those of the first time
    rolled: RollReason | None = None  # the segment before it is to be synced by and by
    repacked: Repacked | None = None


class Read(NamedTuple):
    """What a reader gets, and the cursors as they were before its bytes were chosen. `slice` is None: nothing yet.
    `aborted` is None unless the reader asked to be told."""

    slice: Slice | None
    cursors: Cursors
    aborted: list[AbortedTransaction] | None = None


class NotSynced(OSError):
    """The disk did not take what was written. Whatever it says was the reason, nothing is known of the bytes now."""


class Flush(NamedTuple):
    """What is to be synced, by whoever may block; it holds the files, so nothing that happens to the log meanwhile
    disturbs it. `generation` tells a flush that a truncation overtook, `names` one that new files did. It may end
    below the log's end where many segments wait: then there is more to flush afterwards."""

    files: tuple[File, ...]
    folder: tuple[Files, str] | None
    end_offset: int
    generation: int
    names: int

    def run(self) -> None:
        """Sync; the owner is told afterwards, with `Log.flushed`, or with `Log.broken_by` when it raises NotSynced."""
        try:
            for file in self.files:
                file.sync()
            if self.folder is not None:
                files, path = self.folder
                files.sync_folder(path)
        except OSError as error:
            raise NotSynced(error.errno, error.strerror, error.filename) from error


class Deleted(NamedTuple):
    """A segment that is no longer part of the log: its files have the suffix `.deleted` and wait to be removed."""

    segment: Segment
    reason: DeleteReason
    size: int
    snapshot: str | None = None

    def remove(self, files: Files) -> None:
        """The end of it."""
        self.segment.delete()
        if self.snapshot is not None and files.exists(self.snapshot):
            files.remove(self.snapshot)
