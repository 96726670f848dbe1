//! The metadata of a device in non-volatile memory: the input of recovery, in addition to flash.
//!
//! Every device has it. With a volatile cache, or none, it is the bits alone: then all data in flash that is
//! not trimmed is recovered. With a non-volatile cache a slot has a label while it holds the only current
//! version of its page: from a write, or a drop by GC, until that version is in flash. `cdm-consistent`
//! labels clean copies and deletions, too; with the other schemes every write is an epoch of its own,
//! committed by its label, and word 0 stays 0.
//!
//! ```text
//! word 0                    the committed epoch C
//! word 1 … S                a label for each slot: the page it holds, and since when
//! word S+1 … S+D            deletions that are not committed, or not carried out
//! word S+D+1 …              a bit for each logical page: set, the page is absent whatever flash says
//!
//! a label:   63            32 31                       2 1  0
//!            │ page + 1       │ epoch                    │ kind │        0: the slot is free
//!            kind: 1 clean (flash has the same), 2 data, 3 deleted
//! ```
//!
//! A word is stored whole or not at all, and in any order between two fences. A data label with an epoch up to C is
//! committed; one with a later epoch is uncommitted, and void after a crash.

mod metadata;
mod recovery;

use coflash_base::{Index, Lpn, Save};
pub(crate) use metadata::Metadata;
pub use metadata::MetadataCounters;

/// The epoch of a write: all writes of an epoch become durable by one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Save)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The largest epoch: a label has thirty bits for it.
    pub const MAX: Self = Self((1 << 30) - 1);

    /// The epoch after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A label of a slot or of a deletion entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The slot or entry is free.
    Free,
    /// A copy of the flash page. Void after a crash, since it may have been half overwritten.
    Clean(Lpn),
    /// A version of the page, written in the epoch.
    Data(Lpn, Epoch),
    /// The page was deleted in the epoch.
    Deleted(Lpn, Epoch),
}

impl Label {
    /// Encode the label as a word.
    #[must_use]
    pub fn encode(self) -> u64 {
        let word = |lpn: Lpn, epoch: Epoch, kind: u64| {
            (u64::from(lpn.get()) + 1) << 32 | u64::from(epoch.0) << 2 | kind
        };
        match self {
            Self::Free => 0,
            Self::Clean(lpn) => word(lpn, Epoch(0), 1),
            Self::Data(lpn, epoch) => word(lpn, epoch, 2),
            Self::Deleted(lpn, epoch) => word(lpn, epoch, 3),
        }
    }

    /// Decode a word. Returns `None` if it is no label.
    #[must_use]
    pub fn decode(word: u64) -> Option<Self> {
        let epoch = Epoch((word as u32) >> 2);
        let lpn = || (word >> 32).checked_sub(1).map(|page| Lpn::from_index(page as usize));
        match word & 3 {
            0 => (word == 0).then_some(Self::Free),
            1 => (epoch == Epoch(0)).then_some(Self::Clean(lpn()?)),
            2 => Some(Self::Data(lpn()?, epoch)),
            _ => Some(Self::Deleted(lpn()?, epoch)),
        }
    }
}

/// The layout of the words.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Layout {
    /// The number of cache slots with labels.
    pub slots: u32,
    /// The number of deletions that can wait for their commit.
    pub deletions: u32,
    /// The number of logical pages of the device.
    pub logical_pages: u32,
}

impl Layout {
    /// The word of the committed epoch.
    pub const COMMITTED: u32 = 0;

    /// Whether writes wait for commits. Otherwise a trim is carried out at once, and needs no entry.
    pub(crate) fn has_commits(self) -> bool {
        self.deletions > 0
    }

    /// The word of a slot's label.
    #[must_use]
    pub fn slot(self, slot: u32) -> u32 {
        1 + slot
    }

    /// The word of a deletion entry.
    #[must_use]
    pub fn deletion(self, entry: u32) -> u32 {
        1 + self.slots + entry
    }

    /// The word and the bit of a page's absence.
    #[must_use]
    pub fn absence(self, lpn: Lpn) -> (u32, u64) {
        (1 + self.slots + self.deletions + lpn.get() / 64, 1 << (lpn.get() % 64))
    }

    /// The total number of words.
    #[must_use]
    pub fn words(self) -> u32 {
        1 + self.slots + self.deletions + self.logical_pages.div_ceil(64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let page = Lpn::new(u32::MAX - 1);
        for label in [
            Label::Free,
            Label::Clean(Lpn::new(0)),
            Label::Clean(page),
            Label::Data(Lpn::new(0), Epoch(0)),
            Label::Data(page, Epoch::MAX),
            Label::Deleted(page, Epoch(5)),
        ] {
            assert_eq!(Label::decode(label.encode()), Some(label));
        }
        assert_eq!(Label::decode(4), None, "a free label is all zero");
        assert_eq!(Label::decode(1 << 32 | 5), None, "a clean label has no epoch");
        assert_eq!(Label::decode(2), None, "a label of data has a page");
    }

    #[test]
    fn words_do_not_overlap() {
        let layout = Layout { slots: 3, deletions: 2, logical_pages: 65 };
        assert_eq!((layout.slot(2), layout.deletion(0), layout.deletion(1)), (3, 4, 5));
        assert_eq!(layout.absence(Lpn::new(64)), (7, 1));
        assert_eq!(layout.words(), 8);
    }
}
