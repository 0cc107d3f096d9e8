"""Segments take the place of others, crash-safe: what cleaning and splitting end with.

    write `.cleaned`, cut its indexes, sync, take over the modification time
    rename to `.swap`, the newest segment first; sync the folder after each      from here on the new content is the log
    rename the old ones to `.deleted`, the oldest first; sync the folder
    rename `.swap` to the final names, the oldest first; sync the folder after each
    delete the old ones later

What a load finds after a crash between any two steps, and what it makes of it:

- any `.cleaned`: not all of the new segments got as far as `.swap`. The `.cleaned` go, and with them each `.swap` whose
  base is not below the smallest `.cleaned`. Since the newest is renamed first, that is all of them: the old content.
- `.swap` and no `.cleaned`: the new segments are whole. What stands under a number from the smallest `.swap` base up to
  the largest next offset of a `.swap` goes, be it old or renamed half way, and `.swap` gets its name: the new content.
- neither: the old content before, the new one after.

Kafka syncs the folder once, at the end, and so leans on a file system that keeps the order of renames. The syncs in
between make the same true of one that does not: a newer `.swap` is there before an older one, an old file never loses
its name before all new ones have theirs, a new file never gets its last name beside an old index, and a newer one never
before an older one, whose `.swap` would cover it. A split pays two more for each further segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esker.rules.layout import FileKind, Suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esker.ports.files import Files
    from esker.storage.segment import Segment


def prepare(files: Files, new: Sequence[Segment], modified_ms: int) -> None:
    """The `.cleaned` segments, in order of their bases, become durable and whole. Takes the disk's time; touches
    nothing that the log uses. `modified_ms` is that of the last source: retention goes by it where no record has a
    timestamp."""
    for segment in new:
        assert segment.suffix is Suffix.CLEANED, segment.suffix
        segment.become_inactive()
        files.set_modified_ms(segment.path(FileKind.LOG), modified_ms)
        segment.flush()


def exchange(files: Files, new: Sequence[Segment], old: Sequence[Segment]) -> None:
    """The log's owner lets the prepared segments take the place of the old ones, all of one folder and in order of
    their bases. An OSError half way leaves what a crash there would."""
    folder = new[0].folder
    for segment in reversed(new):
        segment.rename(Suffix.SWAP)
        files.sync_folder(folder)
    for segment in old:
        segment.rename(Suffix.DELETED)
    files.sync_folder(folder)
    for segment in new:
        segment.rename(Suffix.IN_PLACE)
        files.sync_folder(folder)
