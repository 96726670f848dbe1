//! What waits for the disk, and what may overtake what.

use crate::media::{Data, Destage, Sabotage, Written};
use coflash_base::Lpn;
use coflash_hybrid::LeaveId;

/// What waits for the disk.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// Once `data` is there, the disk has read it, and the tier is to be told. Reads that joined it have their own bounds.
    Fetch {
        id: Option<u32>,
        first: Lpn,
        at_least: Vec<Data>,
        joined: Vec<(Lpn, Data)>,
        data: Option<Vec<Data>>,
    },
    /// Not `sent`: the disk does not have it yet.
    Destage {
        destage: Destage,
        sent: bool,
    },
    Overwrite {
        id: LeaveId,
        first: Lpn,
        data: Vec<Written>,
        done: usize,
    },
}

impl Job {
    /// The pages that the disk has yet to read or write.
    fn range(&self) -> (u32, u32, bool) {
        match self {
            Self::Fetch { data: Some(_), .. } | Self::Destage { sent: false, .. } => (0, 0, false),
            Self::Fetch { first, at_least, .. } => (first.get(), first.get() + at_least.len() as u32, false),
            Self::Destage { destage: Destage { page, .. }, .. } => (page.get(), page.get() + 1, true),
            Self::Overwrite { first, data, .. } => (first.get(), first.get() + data.len() as u32, true),
        }
    }

    /// Whether the disk does not have this one overtake the other, which came before.
    pub(crate) fn waits_for(&self, other: &Self, sabotage: Sabotage) -> bool {
        if let (Self::Fetch { .. }, Self::Overwrite { .. }) = (self, other) {
            // That one may still wait for the journal.
            return false;
        }
        if sabotage == Sabotage::PartsOvertake
            && let (Self::Overwrite { data, .. }, Self::Destage { .. }) = (self, other)
            && data.iter().any(|written| written.only.is_some())
        {
            return false;
        }
        let ((first, end, writes), (other_first, other_end, other_writes)) = (self.range(), other.range());
        (writes || other_writes) && first < other_end && other_first < end
    }

    /// What it has yet to write to a sector.
    pub(crate) fn brings(&self, page: Lpn, sector: usize) -> Option<u64> {
        match self {
            Self::Destage { destage, sent: true } => (destage.page == page).then_some(destage.data[sector]),
            Self::Overwrite { first, data, done, .. } => {
                let at = page.get().checked_sub(first.get())? as usize;
                let written = data.get(at).filter(|written| at >= *done && written.writes(sector))?;
                Some(written.data[sector])
            }
            _ => None,
        }
    }
}
