//! What the levels above hold of the pages of the disks. They speak of pages of the disks, GC asks about pages of flash: the tier
//! translates, both ways.
//!
//! A page may be marked while flash lacks it: it takes its marks along when it comes into flash.

use crate::counters::AboveCounters;
use coflash_base::{IdSet, Lpn, Save};
use coflash_ftl::Marks;
use std::collections::BTreeMap;

/// By page of the disks.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Above {
    pub(crate) pages: usize,
    /// Their marks: the host's memory has newer data; the device's cache, or one in the host, has the same or newer data.
    pub(crate) marks: Option<[IdSet<Lpn>; 2]>,
    /// Pages whose newest version GC has dropped: a cache above has it, and no level below.
    pub(crate) sole: Option<IdSet<Lpn>>,
    /// Whether a scheme uses marks for pages that are dirty in the host: otherwise flash has none.
    pub(crate) tracks_host: bool,
    pub(crate) counters: AboveCounters,
    /// Pages that a memory above has written past flash, with the last job that brings them to the disk, and whether that is their
    /// newest version. Their writes are answered: nothing may overtake them.
    pub(crate) leaving: BTreeMap<Lpn, (u32, bool)>,
    /// The page of the last command, where a disk brings it: no memory above can take it in yet.
    pub(crate) brought: Option<Lpn>,
    /// The page that is being read for a slot above, which is part of a write: GC must not drop it meanwhile.
    pub(crate) wanted: Option<Lpn>,
}

impl Above {
    /// Of disks of this many pages: nothing is known.
    pub(crate) fn new(pages: usize) -> Self {
        Self { pages, ..Self::default() }
    }

    pub(crate) fn marks(&self, page: Lpn) -> Marks {
        let [host, device] = self
            .marks
            .as_ref()
            .map_or([false; 2], |[host, device]| [host.contains(page), device.contains(page)]);
        Marks { host, device }
    }

    /// The job that brings the newest version of a page to the disk, if it left a memory above for it.
    #[inline]
    pub(crate) fn newest_leaving(&self, page: Lpn) -> Option<u32> {
        if self.leaving.is_empty() {
            return None;
        }
        self.leaving.get(&page).filter(|leaving| leaving.1).map(|leaving| leaving.0)
    }

    /// Whether only a cache above has the newest version of a page.
    pub(crate) fn is_sole(&self, page: Lpn) -> bool {
        self.sole.as_ref().is_some_and(|sole| sole.contains(page))
    }

    /// GC drops the newest version of a page: a cache above has taken responsibility for it.
    pub(crate) fn dropped(&mut self, page: Lpn) {
        let pages = self.pages;
        self.sole.get_or_insert_with(|| IdSet::new(pages)).set(page, true);
        self.unmarked(page);
    }

    /// GC has cleared the mark of a page for the device's memory.
    pub(crate) fn unmarked(&mut self, page: Lpn) {
        if let Some([_, device]) = &mut self.marks {
            device.set(page, false);
        }
    }

    /// The counters, if a level above has said what it holds.
    pub(crate) fn counters(&self) -> Option<&AboveCounters> {
        (self.marks.is_some() || self.counters.superseded_pages > 0).then_some(&self.counters)
    }
}
