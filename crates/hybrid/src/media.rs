//! The outside world of the tier: flash whose pages say what they hold, and disks.

use coflash_base::{Duration, Lpn};
use coflash_cache::SlotId;
use coflash_flash::{Access, BlockId, Cause, DieId, Media, Oob, Place, Ppn, Timeline, When};

/// What the spare area of a flash page says, and the mapping page at the end of its block repeats. A copy by GC keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The page of the disk that is cached.
    pub page: Lpn,
    /// Whether the disk lacks it.
    pub dirty: bool,
    /// Counts what the tier has written: of two versions of a page the higher is newer.
    pub version: u64,
}

/// Flash with spare areas, and disks behind it. In simulation, what is said here takes no time.
pub trait TierMedia: Media {
    /// The page that is programmed next for a slot bears this label.
    fn label(&mut self, slot: SlotId, label: Label) {
        let _ = (slot, label);
    }

    /// The page that is programmed next, from [`Place::Merged`](coflash_flash::Place::Merged), holds these words.
    fn words(&mut self, words: &[u64]) {
        let _ = words;
    }

    /// The page that is programmed next, from [`Place::Host`](coflash_flash::Place::Host), holds what a fetch brought.
    fn fetched(&mut self, fetch: u32, page: Lpn) {
        let _ = (fetch, page);
    }

    /// A page of a group was read from flash into the buffer, and goes to the disk; not before `after`. Pages come in the
    /// order in which an elevator passes them.
    fn destage(&mut self, group: u32, page: Lpn, after: Self::When);
}

/// What a simulated tier wants written to disks, until its driver takes it.
#[derive(Debug)]
pub struct Simulated<'a> {
    /// Flash.
    pub timeline: &'a mut Timeline,
    /// Pages to be destaged: group, page, and when the page is in the buffer.
    pub destages: &'a mut Vec<(u32, Lpn, When)>,
}

impl Media for Simulated<'_> {
    type When = When;

    #[inline(always)]
    fn read(&mut self, page: Ppn, to: Place, cause: Cause, after: When) -> When {
        self.timeline.read(page, to, cause, after)
    }

    #[inline(always)]
    fn program(&mut self, page: Ppn, oob: Oob, from: Place, cause: Cause, after: When) -> When {
        self.timeline.program(page, oob, from, cause, after)
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: When) -> When {
        self.timeline.copy(from, to, oob, cause, after)
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId, cause: Cause, after: When) -> When {
        self.timeline.erase(block, cause, after)
    }

    #[inline(always)]
    fn access(&mut self, slot: u32, access: Access, after: When) -> When {
        self.timeline.access(slot, access, after)
    }

    #[inline(always)]
    fn later(&self, after: When, by: Duration) -> When {
        self.timeline.later(after, by)
    }

    #[inline(always)]
    fn both(&mut self, one: When, other: When) -> When {
        self.timeline.both(one, other)
    }

    #[inline(always)]
    fn backlog(&self, die: DieId, now: When) -> u64 {
        self.timeline.backlog(die, now)
    }
}

impl TierMedia for Simulated<'_> {
    #[inline]
    fn destage(&mut self, group: u32, page: Lpn, after: When) {
        self.destages.push((group, page, after));
    }
}
