//! The page path of `none` and `cdm`: a write-back cache over whatever keeps the pages, in the same device or across a link.

use crate::config::{CacheConfig, Eviction};
use crate::cooperation::{Answers, Cooperation, CooperationConfig};
use coflash_base::Lpn;
use coflash_cache::{Cache, SlotId};
use coflash_flash::{Access, Cause, Media, Place};
use coflash_ftl::{Ftl, Grade, Io, Marks, Stream, Tier};

/// How much of a page a request covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// A part: the rest must be kept.
    Part,
}

/// What the cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheTally {
    /// Pages read by the host and found in the cache.
    pub read_hits: u64,
    /// Pages read by the host and not found.
    pub read_misses: u64,
    /// Pages written by the host and found in the cache.
    pub write_hits: u64,
    /// Pages written by the host and not found.
    pub write_misses: u64,
    /// Page reads of the cache memory (hits and evictions).
    pub nvm_reads_pages: u64,
    /// Page writes of the cache memory (host writes and fills).
    pub nvm_writes_pages: u64,
    /// Pages that left without a write.
    pub clean_evictions_pages: u64,
    /// Pages that were written to flash when they left.
    pub dirty_evictions_pages: u64,
    /// Pages that were written to flash and stayed, so that there could be another sole copy.
    pub cleaned_pages: u64,
    /// Of both, pages that were dirty only because GC had dropped their flash copy.
    pub drop_rewrites_pages: u64,
    /// Pages that were written to flash because of a flush; they stay.
    pub flushed_pages: u64,
    /// Pages that were read from flash because a part of them was written.
    pub merged_pages: u64,
    /// Pages written over a dirty copy, which need not be programmed any more.
    pub absorbed_pages: u64,
    /// Dirty pages that were trimmed.
    pub dropped_pages: u64,
}

/// A page that has a copy in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached {
    /// The page.
    pub lpn: Lpn,
    /// Where its copy lies.
    pub slot: SlotId,
}

/// What keeps the pages below a cache: the FTL. In one controller with the cache it is told and answers at once; across a
/// link it is told later.
pub trait Below {
    /// Cache and flash hold the same data (CDM: the flash page is *removable*).
    fn mark(&mut self, page: Cached);

    /// The copy is about to leave the cache clean: flash holds the only one again.
    fn unmark(&mut self, page: Cached);

    /// The cached copy is newer than what flash holds, if anything. Called for each write to it.
    fn invalidate(&mut self, page: Cached);

    /// Whether flash still holds the data of a clean copy, and goes on doing so when that has left.
    fn keeps(&mut self, page: Cached) -> bool;

    /// The mark of a page is of another grade.
    fn grade(&mut self, lpn: Lpn, grade: Grade) {
        let _ = (lpn, grade);
    }

    /// A tier holds newer data of a page than flash does, or does so no more (ShadowGC).
    fn shadow(&mut self, lpn: Lpn, tier: Tier, newer: bool) {
        let _ = (lpn, tier, newer);
    }

    /// The tiers that are known to hold newer data of a page.
    fn shadows(&self, lpn: Lpn) -> Marks {
        let _ = lpn;
        Marks::NONE
    }

    /// Forgets a page, whose copy has left `slot` if it had one.
    fn trim(&mut self, lpn: Lpn, slot: Option<SlotId>);

    /// Reads a page; none where it is not mapped.
    fn read<M: Media>(
        &mut self,
        lpn: Lpn,
        to: Place,
        after: M::When,
        io: &mut Io<'_, M, Answers<'_>>,
    ) -> Option<M::When>;

    /// Writes a page into the blocks of a stream. From a slot, that slot is empty afterwards.
    fn write<M: Media>(
        &mut self,
        stream: Stream,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        io: &mut Io<'_, M, Answers<'_>>,
    ) -> M::When;
}

impl Below for Ftl {
    #[inline(always)]
    fn mark(&mut self, page: Cached) {
        Self::mark(self, page.lpn);
    }

    #[inline(always)]
    fn unmark(&mut self, page: Cached) {
        Self::unmark(self, page.lpn);
    }

    #[inline(always)]
    fn invalidate(&mut self, page: Cached) {
        Self::invalidate(self, page.lpn);
    }

    /// What it drops, it has asked for.
    #[inline(always)]
    fn keeps(&mut self, _: Cached) -> bool {
        true
    }

    #[inline(always)]
    fn grade(&mut self, lpn: Lpn, grade: Grade) {
        Self::grade(self, lpn, grade);
    }

    #[inline(always)]
    fn shadow(&mut self, lpn: Lpn, tier: Tier, newer: bool) {
        self.set_mark(lpn, tier, newer);
    }

    #[inline(always)]
    fn shadows(&self, lpn: Lpn) -> Marks {
        self.marks(lpn).unwrap_or_default()
    }

    #[inline(always)]
    fn trim(&mut self, lpn: Lpn, _: Option<SlotId>) {
        Self::invalidate(self, lpn);
    }

    #[inline(always)]
    fn read<M: Media>(
        &mut self,
        lpn: Lpn,
        to: Place,
        after: M::When,
        io: &mut Io<'_, M, Answers<'_>>,
    ) -> Option<M::When> {
        Self::read(self, lpn, to, Cause::Host, after, io)
    }

    #[inline(always)]
    fn write<M: Media>(
        &mut self,
        stream: Stream,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        io: &mut Io<'_, M, Answers<'_>>,
    ) -> M::When {
        self.write_among(stream, lpn, from, cause, after, io)
    }
}

/// How a page is served.
struct Act<'a, B, M: Media> {
    below: &'a mut B,
    media: &'a mut M,
    start: M::When,
}

/// A cache and the scheme by which it cooperates with what lies below.
#[derive(Clone)]
pub struct WriteBack {
    pub(crate) cache: Cache,
    pub(crate) scheme: Cooperation,
    pub(crate) config: CacheConfig,
    pub(crate) tally: CacheTally,
    /// Whether the scheme knows of what is dirty in the host.
    host_is_known: bool,
}

impl WriteBack {
    /// An empty cache for a device of `logical_pages`.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem).
    pub fn new(
        config: &CacheConfig,
        cooperation: &CooperationConfig,
        page_bytes: u64,
        logical_pages: u32,
    ) -> Result<Self, (&'static str, String)> {
        let most = u64::from(logical_pages);
        let slots = config.size.pages(page_bytes, most);
        if slots > most {
            let problem = format!("{} is {slots} pages, more than the {most} of the device", config.size);
            return Err(("cache.size", problem));
        }
        let mut scheme = cooperation.build(slots as u32);
        if let Cooperation::Cdm(cdm) = &mut scheme {
            cdm.bound(slots as u32, page_bytes)?;
        }
        if let Some(refused) = scheme.refuses(config.volatile) {
            return Err(refused);
        }
        Ok(Self {
            cache: Cache::new(&config.policy, slots as u32, logical_pages as usize),
            host_is_known: scheme.shadows().is_some_and(|(knows, _)| knows.host),
            scheme,
            config: config.clone(),
            tally: CacheTally::default(),
        })
    }

    /// Enters what depends on the FTL below.
    pub fn fit(&mut self, ftl: &Ftl) {
        if let Cooperation::Cdm(cdm) = &mut self.scheme {
            cdm.fit(ftl);
        }
    }

    /// Why the scheme does not go with a link between cache and flash, as (key in the scenario, problem).
    #[must_use]
    pub fn refuses_link(&self) -> Option<(&'static str, String)> {
        match &self.scheme {
            Cooperation::Cdm(cdm) => cdm.refuses_link(),
            _ => None,
        }
    }

    /// The cache, to look at.
    #[inline]
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// What the cache has done so far.
    #[inline]
    #[must_use]
    pub fn tally(&self) -> &CacheTally {
        &self.tally
    }

    /// The most sole copies (cached pages of which flash has no valid copy) at any time; none where the scheme keeps no
    /// account of them.
    #[must_use]
    pub fn sole_copies_peak(&self) -> Option<u32> {
        match &self.scheme {
            Cooperation::Cdm(cdm) => Some(cdm.sole_copies_peak()),
            _ => None,
        }
    }

    /// Whether the scheme knows of what is dirty in the host.
    #[inline(always)]
    pub(crate) fn knows_host(&self) -> bool {
        self.host_is_known
    }

    /// Flash has dropped the page of a clean copy, as it may: the copy is the only one now.
    #[inline]
    pub fn is_sole(&mut self, slot: SlotId) {
        self.cache.orphan(slot);
        if let Cooperation::Cdm(cdm) = &mut self.scheme {
            cdm.is_sole(slot, &self.cache);
        }
    }

    /// The scheme with the cache at hand, as GC asks it.
    #[inline(always)]
    pub fn answers(&mut self) -> Answers<'_> {
        Answers { scheme: &mut self.scheme, cache: &mut self.cache }
    }

    /// Panics unless the cache agrees with itself, and with an FTL that knows all it should as the scheme promises.
    pub fn assert_invariants(&self, ftl: &Ftl) {
        self.cache.assert_invariants();
        self.scheme.assert_invariants(&self.cache, ftl);
    }

    /// Reads a page. One that was never written, or is trimmed, is answered at once.
    #[inline]
    pub fn read<B: Below, M: Media>(
        &mut self,
        lpn: Lpn,
        start: M::When,
        below: &mut B,
        media: &mut M,
    ) -> M::When {
        if let Some(slot) = self.cache.lookup(lpn) {
            self.tally.read_hits += 1;
            self.tally.nvm_reads_pages += 1;
            self.cache.touch(slot);
            self.scheme.used(Cached { lpn, slot }, &self.cache, below);
            return media.access(slot.get(), Access::Read, start);
        }
        self.tally.read_misses += 1;
        let act = &mut Act { below, media, start };
        let Some(done) = self.read_below(lpn, Place::Host, start, act) else {
            return start;
        };
        if self.config.read_allocate && self.cache.capacity() > 0 {
            // The host has its data: neither the eviction nor the fill delays it, but both occupy the device.
            self.make_room(act);
            let slot = self.cache.insert(lpn, false);
            self.tally.nvm_writes_pages += 1;
            act.media.access(slot.get(), Access::Fill, start);
            self.scheme.cached_clean(Cached { lpn, slot }, act.below);
        }
        done
    }

    /// Writes a page, or a part of it.
    #[inline]
    pub fn write<B: Below, M: Media>(
        &mut self,
        lpn: Lpn,
        extent: Extent,
        start: M::When,
        below: &mut B,
        media: &mut M,
    ) -> M::When {
        let act = &mut Act { below, media, start };
        if let Some(slot) = self.cache.lookup(lpn) {
            self.tally.write_hits += 1;
            self.cache.touch(slot);
            self.scheme.overwritten(slot, &self.cache);
            let waits_for = if self.cache.is_dirty(slot) {
                self.tally.absorbed_pages += 1;
                None
            } else {
                self.clean_for_another(None, act)
            };
            let ready = waits_for.unwrap_or(start);
            self.cache.set_dirty(slot, true);
            return self.write_slot(Cached { lpn, slot }, Access::Write, ready, act);
        }
        self.tally.write_misses += 1;
        if self.config.write_allocate && self.cache.capacity() > 0 {
            self.write_allocating(lpn, extent, act)
        } else {
            self.write_around(lpn, extent, act)
        }
    }

    /// Forgets a page, cached or not.
    #[inline]
    pub fn trim<B: Below>(&mut self, lpn: Lpn, below: &mut B) {
        let slot = self.cache.lookup(lpn);
        if let Some(slot) = slot {
            self.tally.dropped_pages += u64::from(self.cache.is_dirty(slot));
            self.scheme.trimmed(slot, &self.cache);
            self.cache.remove(slot);
        }
        below.trim(lpn, slot);
    }

    fn write_allocating<B: Below, M: Media>(
        &mut self,
        lpn: Lpn,
        extent: Extent,
        act: &mut Act<'_, B, M>,
    ) -> M::When {
        // A sole copy that leaves in the background is one until it is in flash.
        let waits = self.config.eviction == Eviction::Foreground || self.scheme.is_at_bound(&self.cache);
        let evicted = self.make_room(act).filter(|_| waits);
        let written = self.clean_for_another(evicted, act);
        let slot = self.cache.insert(lpn, true);
        let (mut ready, mut access) = (written.unwrap_or(act.start), Access::WriteNew);
        // Read while the page that leaves is written: waiting for that would hold up the die. The slot waits for both.
        if extent == Extent::Part
            && let Some(filled) = self.read_below(lpn, Place::Cache { slot: slot.get() }, act.start, act)
        {
            ready = written.map_or(filled, |written| act.media.both(written, filled));
            access = Access::Write;
            self.tally.nvm_writes_pages += 1;
            self.tally.merged_pages += 1;
        }
        self.write_slot(Cached { lpn, slot }, access, ready, act)
    }

    #[inline]
    fn write_slot<B: Below, M: Media>(
        &mut self,
        page: Cached,
        access: Access,
        after: M::When,
        act: &mut Act<'_, B, M>,
    ) -> M::When {
        self.tally.nvm_writes_pages += 1;
        let done = act.media.access(page.slot.get(), access, after);
        self.scheme.written(page, &self.cache, act.below);
        done
    }

    /// Writes past the cache: read, modify, write where only a part of a mapped page is given.
    #[inline]
    fn write_around<B: Below, M: Media>(
        &mut self,
        lpn: Lpn,
        extent: Extent,
        act: &mut Act<'_, B, M>,
    ) -> M::When {
        let (mut from, mut ready) = (Place::Host, act.start);
        if extent == Extent::Part
            && let Some(read) = self.read_below(lpn, Place::Merged, act.start, act)
        {
            (from, ready) = (Place::Merged, read);
            self.tally.merged_pages += 1;
        }
        self.program(Stream::Host, lpn, from, Cause::Host, ready, act)
    }

    #[inline]
    fn read_below<B: Below, M: Media>(
        &mut self,
        lpn: Lpn,
        to: Place,
        after: M::When,
        act: &mut Act<'_, B, M>,
    ) -> Option<M::When> {
        let (advisor, start) = (&mut self.answers(), act.start);
        act.below.read(lpn, to, after, &mut Io { media: act.media, advisor, start })
    }

    #[inline]
    fn program<B: Below, M: Media>(
        &mut self,
        stream: Stream,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        act: &mut Act<'_, B, M>,
    ) -> M::When {
        let (advisor, start) = (&mut self.answers(), act.start);
        act.below.write(stream, lpn, from, cause, after, &mut Io { media: act.media, advisor, start })
    }

    /// Empties a slot if none is free; tells when, if that took a program.
    #[inline]
    fn make_room<B: Below, M: Media>(&mut self, act: &mut Act<'_, B, M>) -> Option<M::When> {
        if !self.cache.is_full() {
            return None;
        }
        let slot = self.cache.victim().expect("a full cache has a victim");
        let lpn = self.cache.page_of(slot);
        let mut written = None;
        if !self.cache.is_dirty(slot) && !act.below.keeps(Cached { lpn, slot }) {
            self.is_sole(slot);
        }
        self.scheme.evicted(Cached { lpn, slot }, &self.cache, act.below);
        if self.cache.is_dirty(slot) {
            if !self.scheme.discards(Cached { lpn, slot }, false, act.below) {
                self.tally.dirty_evictions_pages += 1;
                written = Some(self.write_out(Cached { lpn, slot }, act.start, act));
            }
        } else {
            self.tally.clean_evictions_pages += 1;
        }
        self.cache.remove(slot);
        written
    }

    /// Before another page becomes a sole copy, after what is written already, if anything: where there may be no more, the
    /// oldest is written to flash. Tells when there is room, if that takes a program.
    #[inline]
    fn clean_for_another<B: Below, M: Media>(
        &mut self,
        after: Option<M::When>,
        act: &mut Act<'_, B, M>,
    ) -> Option<M::When> {
        if !self.scheme.is_at_bound(&self.cache) {
            return after;
        }
        let slot = self.scheme.next_to_clean();
        let page = Cached { lpn: self.cache.page_of(slot), slot };
        let written = self.write_out(page, after.unwrap_or(act.start), act);
        self.tally.cleaned_pages += 1;
        self.cache.set_dirty(slot, false);
        self.scheme.cleaned(page, act.below);
        Some(written)
    }

    /// Programs the copy of a page. If the host holds newer data, that is so of the new flash page too.
    #[inline]
    fn write_out<B: Below, M: Media>(
        &mut self,
        page: Cached,
        after: M::When,
        act: &mut Act<'_, B, M>,
    ) -> M::When {
        self.tally.nvm_reads_pages += 1;
        let mut stream = Stream::Evict;
        if self.cache.is_orphan(page.slot) {
            self.tally.drop_rewrites_pages += 1;
            stream = self.scheme.rewrite_stream();
        }
        let in_host = self.host_is_known && act.below.shadows(page.lpn).host;
        let from = Place::Cache { slot: page.slot.get() };
        let done = self.program(stream, page.lpn, from, Cause::Evict, after, act);
        if in_host {
            act.below.shadow(page.lpn, Tier::Host, true);
        }
        done
    }

    /// Makes everything written so far durable, which a non-volatile cache is: every dirty page goes to flash, and stays
    /// as a clean copy. The parts that the answer waits for are appended, among them programs that are under way: what has
    /// left the cache in the background, or GC has taken from it, is not in flash yet. In the order of slots; the die of
    /// each page decides when it is done.
    pub fn flush<B: Below, M: Media>(
        &mut self,
        start: M::When,
        below: &mut B,
        media: &mut M,
        parts: &mut Vec<M::When>,
    ) {
        if !self.config.volatile {
            return;
        }
        media.await_programs(parts);
        if self.cache.dirty_len() == 0 {
            return;
        }
        let act = &mut Act { below, media, start };
        for slot in (0..self.cache.capacity()).map(SlotId::new) {
            if !self.cache.is_occupied(slot) || !self.cache.is_dirty(slot) {
                continue;
            }
            let page = Cached { lpn: self.cache.page_of(slot), slot };
            if self.scheme.discards(page, true, act.below) {
                self.cache.remove(slot);
            } else {
                self.tally.flushed_pages += 1;
                let written = self.write_out(page, act.start, act);
                parts.push(written);
                self.cache.set_dirty(slot, false);
            }
            if self.cache.dirty_len() == 0 {
                break;
            }
        }
    }
}
