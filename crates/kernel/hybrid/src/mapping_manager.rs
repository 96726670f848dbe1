//! Mapping Manager: metadata in flash, so that a power failure neither loses a dirty page nor brings an old
//! version back.
//!
//! Every page in flash has a [`SlotLabel`]; the mapping page at the end of each block repeats the labels of its block.
//! Labels record insertions, but not removals: a page that was destaged, or overwritten past the cache, stays
//! in flash until its block is erased. Therefore removals are recorded in a *journal* before the block is
//! erased or the disk overwritten. Evicted clean pages need no record, since the disk holds the same data.
//! From time to time a *checkpoint* lists all cached pages, and a new journal begins (as in M. Rosenblum & J.
//! K. Ousterhout, "The design and implementation of a log-structured file system", ACM TOCS 10(1), 1992).
//!
//! Flash pages of the tier, by their number for the FTL:
//!
//! ```text
//! 0 … slots          cached pages: slot n is flash page n
//!   … + journal      version, how many, and the pages of the disk that are gone
//!   … + checkpoint   version, its number, and two words for each slot: its page and whether it is dirty, its version
//!   … + checkpoint   the one before, until the next is whole
//! ```
//!
//! Versions number all labels, journal pages and checkpoints. The current copy of a slot is the one
//! programmed last. It is live if the last complete checkpoint lists it or it is newer than that checkpoint,
//! and if no newer journal page lists its page. Among two slots with the same page the one with the newer
//! label is live.

use crate::counters::MappingCounters;
use crate::media::{SlotLabel, TierMedia};
use crate::store::Store;
use coflash_base::{IdSet, IdVec, Index, Lpn, Save};
use coflash_cache::{Cache, PolicyPair, SlotId};
use coflash_ftl::{GcHook, WriteStream};
use coflash_media::{Cause, Oob, Place};

const WORD_BYTES: u64 = 8;
const HEADER_WORDS: usize = 2;
const WORDS_PER_SLOT: usize = 2;

/// The layout of the tier's flash pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct JournalLayout {
    /// The number of pages that may be cached.
    pub slots: u32,
    /// The number of journal pages: as many as in a checkpoint, so that a checkpoint costs no more than the
    /// journal that it ends.
    pub journal_pages: u32,
    /// The number of pages of a checkpoint.
    pub checkpoint_pages: u32,
    page_words: usize,
}

impl JournalLayout {
    /// Create the layout with the maximal number of slots in `logical_pages` pages of the FTL; `None` if none
    /// fits.
    #[must_use]
    pub fn new(logical_pages: u32, page_bytes: u64) -> Option<Self> {
        let page_words = (page_bytes / WORD_BYTES) as usize;
        let slots_per_page = page_words.checked_sub(HEADER_WORDS)? / WORDS_PER_SLOT;
        let slots_per_page = u64::try_from(slots_per_page).ok().filter(|&slots| slots > 0)?;
        // For every `slots_per_page` slots there are three pages of metadata: journal and two checkpoints.
        let most = u64::from(logical_pages) * slots_per_page / (slots_per_page + 3);
        let fits =
            |slots: &u64| slots + 3 * slots.div_ceil(slots_per_page).max(2) <= u64::from(logical_pages);
        let slots = (1..=most).rev().find(fits)?;
        let checkpoint_pages = slots.div_ceil(slots_per_page).max(2) as u32;
        Some(Self { slots: slots as u32, journal_pages: checkpoint_pages, checkpoint_pages, page_words })
    }

    fn journal(&self, page: u32) -> Lpn {
        Lpn::new(self.slots + page)
    }

    fn checkpoint(&self, area: u32, page: u32) -> Lpn {
        Lpn::new(self.slots + self.journal_pages + area * self.checkpoint_pages + page)
    }

    fn journal_entries(&self) -> usize {
        self.page_words - HEADER_WORDS
    }

    fn slots_per_page(&self) -> usize {
        self.journal_entries() / WORDS_PER_SLOT
    }
}

/// A flash page read by recovery.
#[derive(Clone, Debug)]
pub struct Found {
    /// The out-of-band data of the FTL.
    pub oob: Oob,
    /// The label of the tier, for a cached page.
    pub label: Option<SlotLabel>,
    /// The content, for a page of journal or checkpoint.
    pub words: Vec<u64>,
}

/// The mapping manager.
#[derive(Clone, Save)]
pub(crate) struct MappingManager {
    layout: JournalLayout,
    versions: IdVec<SlotId, u64>,
    next_version: u64,
    /// Pages of the disk with a copy in flash, live or not, that recovery would treat as live.
    recorded: IdSet<Lpn>,
    /// These pages, and some that no longer are, while they are fewer than the words of the bitmap: a checkpoint that
    /// clears it must not take the longer, the larger the disk is.
    listed: Vec<Lpn>,
    journal_used: u32,
    /// The area of the next checkpoint.
    area: u32,
    words: Vec<u64>,
    pub(crate) counters: MappingCounters,
}

impl MappingManager {
    pub(crate) fn new(layout: JournalLayout, disk_pages: usize) -> Self {
        Self {
            versions: IdVec::filled(0, layout.slots as usize),
            next_version: 1,
            recorded: IdSet::new(disk_pages),
            listed: Vec::new(),
            journal_used: 0,
            area: 0,
            words: Vec::with_capacity(layout.page_words),
            counters: MappingCounters::default(),
            layout,
        }
    }

    /// Whether recovery might bring back a copy of a page.
    pub(crate) fn is_recorded(&self, page: Lpn) -> bool {
        self.recorded.contains(page)
    }

    fn take_version(&mut self) -> u64 {
        self.next_version += 1;
        self.next_version - 1
    }

    /// Program a slot with its label. Clean pages are of the stream "evict", dirty ones of another.
    #[inline]
    pub(crate) fn program<M: TierMedia, H: GcHook>(
        &mut self,
        slot: SlotId,
        from: Place,
        cause: Cause,
        stream: WriteStream,
        after: M::When,
        store: &mut Store<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let version = self.take_version();
        let cache = &store.io.hook.replacer.cache;
        let label = SlotLabel { page: cache.page_of(slot), dirty: cache.is_dirty(slot), version };
        self.versions[slot] = version;
        self.record(label.page);
        store.io.media.label(slot, label);
        store.program(Lpn::new(slot.get()), from, cause, stream, after)
    }

    /// Record in the journal that pages were removed: all their copies in flash are out of date. Returns the
    /// moment at which the record is durable.
    pub(crate) fn forget<M: TierMedia, H: GcHook>(
        &mut self,
        pages: &[Lpn],
        after: M::When,
        store: &mut Store<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let mut done = after;
        for chunk in pages.chunks(self.layout.journal_entries()) {
            if self.journal_used == self.layout.journal_pages {
                done = self.checkpoint(done, store)?;
            }
            let version = self.take_version();
            self.words.clear();
            self.words.extend([version, chunk.len() as u64]);
            self.words.extend(chunk.iter().map(|page| page.index() as u64));
            let at = self.layout.journal(self.journal_used);
            self.journal_used += 1;
            self.counters.journal_pages += 1;
            done = self.write_words(at, done, store)?;
            // Clear them at once: a checkpoint that ends this journal before the next chunk must not list them again.
            for &page in chunk {
                self.recorded.set(page, false);
            }
        }
        Ok(done)
    }

    /// Write a checkpoint of all cached pages that are not recorded as removed, and begin a new journal.
    pub(crate) fn checkpoint<M: TierMedia, H: GcHook>(
        &mut self,
        after: M::When,
        store: &mut Store<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        let version = self.take_version();
        let slots_per_page = self.layout.slots_per_page();
        let mut done = after;
        for page in 0..self.layout.checkpoint_pages {
            self.words.clear();
            self.words.extend([version, u64::from(page)]);
            let first = page as usize * slots_per_page;
            let end = (first + slots_per_page).min(self.layout.slots as usize);
            let cache = &store.io.hook.replacer.cache;
            for slot in (first..end).map(SlotId::from_index) {
                let stays = cache.is_occupied(slot) && self.recorded.contains(cache.page_of(slot));
                let named = || entry(cache.page_of(slot), cache.is_dirty(slot), self.versions[slot]);
                self.words.extend(if stays { named() } else { [0, 0] });
            }
            done = self.write_words(self.layout.checkpoint(self.area, page), done, store)?;
        }
        self.area = 1 - self.area;
        self.journal_used = 0;
        self.counters.checkpoints += 1;
        let cache = &store.io.hook.replacer.cache;
        let cached = cache.occupied().map(|slot| cache.page_of(slot));
        let stay: Vec<_> = cached.filter(|&page| self.recorded.contains(page)).collect();
        let listed = std::mem::take(&mut self.listed);
        if listed.len() < self.recorded.words().len() {
            listed.into_iter().for_each(|page| self.recorded.set(page, false));
        } else {
            self.recorded.clear();
        }
        stay.into_iter().for_each(|page| self.record(page));
        Ok(done)
    }

    fn record(&mut self, page: Lpn) {
        if !self.recorded.contains(page) && self.listed.len() < self.recorded.words().len() {
            self.listed.push(page);
        }
        self.recorded.set(page, true);
    }

    fn write_words<M: TierMedia, H: GcHook>(
        &mut self,
        at: Lpn,
        after: M::When,
        store: &mut Store<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        store.io.media.words(&self.words);
        store.program(at, Place::Merged, Cause::Metadata, WriteStream::by_cause(Cause::Metadata), after)
    }

    /// Determine the live pages among all readable ones, but for those that a cache above has, and its own state. Returns the label of each slot.
    /// Among several copies of a slot, or of a page of metadata, the one with the highest sequence number is
    /// current.
    pub(crate) fn recover(
        &mut self,
        found: &[Found],
        is_above: impl Fn(Lpn) -> bool,
    ) -> IdVec<SlotId, Option<SlotLabel>> {
        let JournalLayout { slots, checkpoint_pages, journal_pages, .. } = self.layout;
        let metadata = slots + journal_pages + 2 * checkpoint_pages;
        let mut newest: IdVec<Lpn, Option<&Found>> = IdVec::filled(None, metadata as usize);
        for page in found {
            if let Some(lpn) = page.oob.lpn
                && newest[lpn].is_none_or(|other| other.oob.sequence < page.oob.sequence)
            {
                newest[lpn] = Some(page);
            }
            let version = page.label.map(|label| label.version).or(page.words.first().copied());
            self.next_version = self.next_version.max(version.unwrap_or(0) + 1);
        }
        let whole = |area: u32| {
            let pages = || (0..checkpoint_pages).map(|page| newest[self.layout.checkpoint(area, page)]);
            let version = pages().next()??.words[0];
            pages().all(|page| page.is_some_and(|page| page.words[0] == version)).then_some((version, area))
        };
        let last = [0, 1].into_iter().filter_map(whole).max();
        let since = last.map_or(0, |(version, _)| version);
        self.area = last.map_or(0, |(_, area)| 1 - area);
        let named = |slot: SlotId| {
            let (page, at) =
                (slot.index() / self.layout.slots_per_page(), slot.index() % self.layout.slots_per_page());
            let words = &newest[self.layout.checkpoint(last?.1, page as u32)]?.words;
            words.get(HEADER_WORDS + at * WORDS_PER_SLOT..)?.first_chunk::<WORDS_PER_SLOT>().copied()
        };
        let mut gone: Vec<(Lpn, u64)> = Vec::new();
        for page in (0..journal_pages).filter_map(|page| newest[self.layout.journal(page)]) {
            let (version, pages) =
                (page.words[0], &page.words[HEADER_WORDS..HEADER_WORDS + page.words[1] as usize]);
            if version > since {
                gone.extend(pages.iter().map(|&page| (Lpn::from_index(page as usize), version)));
            }
        }
        gone.sort_unstable();
        let gone_at = |page: Lpn| {
            let end = gone.partition_point(|&(other, _)| other <= page);
            end.checked_sub(1)
                .map(|last| gone[last])
                .filter(|&(other, _)| other == page)
                .map_or(0, |(_, at)| at)
        };
        let mut live: IdVec<SlotId, Option<SlotLabel>> = IdVec::filled(None, slots as usize);
        let mut newer: Vec<(Lpn, u64, SlotId)> = Vec::new();
        for slot in live.ids() {
            let Some(label) = newest[Lpn::new(slot.get())].and_then(|page| page.label) else { continue };
            let is_named = || named(slot) == Some(entry(label.page, label.dirty, label.version));
            if !is_above(label.page)
                && label.version > gone_at(label.page)
                && (label.version > since || is_named())
            {
                live[slot] = Some(label);
                newer.push((label.page, label.version, slot));
            }
        }
        newer.sort_unstable();
        for pair in newer.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            live[pair[0].2] = None;
        }
        for slot in live.ids() {
            self.versions[slot] = live[slot].map_or(0, |label| label.version);
            if let Some(label) = live[slot] {
                self.record(label.page);
            }
        }
        live
    }

    /// Panic unless every cached page is recorded. For tests.
    pub(crate) fn assert_invariants(&self, cache: &Cache<PolicyPair>) {
        for slot in cache.occupied() {
            assert!(
                self.recorded.contains(cache.page_of(slot)),
                "{slot:?} holds a page that is not recorded"
            );
            assert!(self.versions[slot] < self.next_version, "{slot:?} has a version to come");
        }
    }
}

fn entry(page: Lpn, dirty: bool, version: u64) -> [u64; WORDS_PER_SLOT] {
    [page.index() as u64 * 2 + u64::from(dirty), version]
}
