"""The kinds of faults: programs with one seeded fault each, and where it was published.

`kinds.py KIND fault|right run|recover|check` runs a program on the device of `COFLASH_SOCKET`, recovers, or checks what
is left of it.
"""

from __future__ import annotations

import sys

import drives
import logs
import pairs
import schedules
import trees
from nbd_disk import Disk

TYPE_CHECKING = False
"""That of `typing`, which takes longer to load than Python itself: this starts in each state of a device."""
if TYPE_CHECKING:
    from collections.abc import Callable


class Kind:
    """A kind of fault."""

    def __init__(
        self,
        run: Callable[[Disk, bool], None],
        check: Callable[[Disk, bool], str | None],
        published: str,
        fault: str = "",
        recover: Callable[[Disk, bool], None] | None = None,
        size: str | None = None,
    ) -> None:
        """Take what a kind of fault is made of."""
        self.run = run
        self.check = check
        self.published = published
        self.fault = fault
        """The fault of the drive under which it shows."""
        self.recover = recover
        """The recovery of the program, where the fault is in the recovery."""
        self.size = size
        """The sizes of its devices, if it has several."""


_TWO = "32MiB+32MiB"
_BLOCK = "Linux, block/writeback_cache_control"
_NBD = "NBD protocol, ordering of messages"
_OSDI94 = "Ganger and Patt, OSDI 1994"
_ALICE = "Pillai et al., OSDI 2014"
_DOUBLE = "MySQL manual, doublewrite buffer"
_SQLITE = "SQLite, atomic commit"
_FSYNCGATE = "Rebello et al., ATC 2020"
_IRON = "Prabhakaran et al., SOSP 2005 (IRON)"
_CORRUPTION = "Bairavasundaram et al., FAST 2008"
_PARITY = "Krioukov et al., FAST 2008"

KINDS = {
    "record-unflushed": Kind(logs.record_unflushed, logs.counted, "Chidambaram et al., SOSP 2013"),
    "told-before-flush": Kind(logs.told_before_flush, logs.counted, "Zheng et al., OSDI 2014"),
    "commit-by-fua-alone": Kind(logs.commit_by_fua_alone, logs.counted, _BLOCK),
    "fua-of-another-write": Kind(logs.fua_of_another_write, logs.counted, _NBD),
    "fua-of-a-read": Kind(logs.fua_of_a_read, logs.counted, _NBD),
    "fua-of-the-last-part": Kind(logs.fua_of_the_last_part, logs.counted, _BLOCK),
    "flush-sent-too-early": Kind(logs.flush_sent_too_early, logs.counted, _NBD),
    "flush-of-another-thread": Kind(logs.flush_of_another_thread, logs.counted, _NBD),
    "written-after-commit": Kind(logs.written_after_commit, logs.counted, "Mohan et al., TODS 1992 (ARIES)"),
    "torn-append": Kind(logs.torn_append, logs.torn_append_check, _ALICE),
    "checksum-without-order": Kind(
        logs.checksum_without_order, logs.checksum_without_order_check, "Linux, ext4: journal_async_commit"
    ),
    "stale-record": Kind(logs.stale_record, logs.stale_record_check, "RocksDB wiki, recyclable log records"),
    "wrap-around": Kind(logs.wrap_around, logs.at_home_or_logged, "Mohan et al., TODS 1992 (ARIES)"),
    "tail-before-checkpoint": Kind(
        logs.tail_before_checkpoint, logs.at_home_or_logged, "Linux, jbd2, 2012: flush a checkpoint"
    ),
    "page-before-log": Kind(logs.page_before_log, logs.page_before_log_check, "Gray, 1978: write-ahead log"),
    "journal-unflushed": Kind(logs.journal_unflushed, logs.rollback_check, _SQLITE),
    "journal-ended-early": Kind(logs.journal_ended_early, logs.rollback_check, _SQLITE),
    "in-place": Kind(trees.in_place, trees.newest_whole, _DOUBLE),
    "copy-unflushed": Kind(trees.copy_unflushed, trees.newest_whole, _DOUBLE),
    "superblock-in-place": Kind(trees.superblock_in_place, trees.newest_whole, "LMDB, two meta pages"),
    "superblock-unchecked": Kind(trees.superblock_unchecked, trees.newest_by_number, _IRON),
    "reuse-before-commit": Kind(trees.reuse_before_commit, trees.reuse_before_commit_check, "Linux, XFS: busy extents"),
    "trim-before-commit": Kind(
        trees.trim_before_commit, trees.trim_before_commit_check, "Linux, ext4: discard after commit"
    ),
    "pointer-before-block": Kind(trees.pointer_before_block, trees.pointer_before_block_check, _OSDI94),
    "bitmap-after-pointer": Kind(trees.bitmap_after_pointer, trees.bitmap_after_pointer_check, _OSDI94),
    "two-owners": Kind(trees.two_owners, trees.two_owners_check, _OSDI94),
    "move-loses": Kind(trees.move_loses, trees.move_loses_check, _OSDI94),
    "last-answer-alone": Kind(schedules.last_answer_alone, schedules.members, "Linux, device-mapper/log-writes"),
    "stragglers": Kind(schedules.stragglers, schedules.members, "Linux, device-mapper/log-writes"),
    "flush-by-the-clock": Kind(schedules.flush_by_the_clock, logs.counted, _NBD),
    "overlapping": Kind(schedules.overlapping, schedules.versions, _NBD),
    "trim-and-rewrite": Kind(schedules.trim_and_rewrite, schedules.in_turn, _NBD),
    "forgotten-once": Kind(schedules.forgotten_once, schedules.many_counted, "Chidambaram et al., SOSP 2013"),
    "zeroed-segment": Kind(schedules.zeroed_segment, schedules.zeroed_segment_check, "SQLite, write-ahead log"),
    "half-checked-copy": Kind(schedules.half_checked_copy, schedules.half_checked_copy_check, _DOUBLE),
    "needle": Kind(schedules.needle, schedules.needle_check, "Linux, ext4: journal_async_commit"),
    "trusted-epoch": Kind(
        schedules.trusted_epoch, schedules.trusted_epoch_check, "RocksDB wiki, recyclable log records"
    ),
    "newer-overwritten": Kind(trees.newer_overwritten, trees.newest_whole, "LMDB, two meta pages"),
    "failed-flush": Kind(schedules.failed_flush, logs.counted, _FSYNCGATE, "flush-error"),
    "failed-write": Kind(schedules.failed_write, logs.counted, _FSYNCGATE, "write-error"),
    "no-room": Kind(schedules.no_room, schedules.no_room_check, _IRON, "full"),
    "unread-count": Kind(schedules.unread_count, logs.counted, _IRON, "bad-sector"),
    "flush-retried": Kind(drives.flush_retried, logs.counted, _FSYNCGATE, "flush-error"),
    "trim-for-zeros": Kind(
        drives.trim_for_zeros, drives.trim_for_zeros_check, "NVMe, Dataset Management: deallocated blocks", "kept-trim"
    ),
    "recovery-clears-first": Kind(
        drives.clears_first,
        drives.clears_first_check,
        "Mohan et al., TODS 1992 (ARIES)",
        recover=drives.clears_first_recovery,
    ),
    "unchecked": Kind(drives.unchecked, drives.unchecked_check, _CORRUPTION, "bit-rot"),
    "version-unchecked": Kind(drives.version_unchecked, drives.version_unchecked_check, _PARITY, "lost-write"),
    "place-unchecked": Kind(drives.place_unchecked, drives.place_unchecked_check, _PARITY, "misdirected-write"),
    "block-given-away": Kind(schedules.block_given_away, schedules.given_away_check, "ydb, issue 7070", "stuck"),
    "flush-of-another-device": Kind(
        pairs.flush_of_another_device, pairs.at_home_or_logged, "Linux, jbd2: external journals", size=_TWO
    ),
    "newer-half": Kind(pairs.newer_half, pairs.newer_half_check, "Linux, md(4): mirrored pairs", size=_TWO),
    "half-returns": Kind(
        pairs.half_returns, pairs.half_returns_check, "Linux, md(4): event counts", "unplugged", size=_TWO
    ),
}

if __name__ == "__main__":
    _, name, variant, action = sys.argv
    sys.exit(getattr(KINDS[name], action)(Disk(), variant == "right"))
