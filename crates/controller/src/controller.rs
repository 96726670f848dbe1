//! The path of one page through cache and FTL.

use crate::config::{CacheConfig, Eviction};
use crate::consistent::Device;
use crate::cooperation::{Answers, CdmConsistent, CommitTally, Cooperation, CooperationConfig, DropOutcome};
use coflash_base::{Lpn, Seed, Time};
use coflash_cache::{Cache, SlotId};
use coflash_flash::{Access, Cause, DieId, Geometry, Media, Place};
use coflash_ftl::{Ftl, FtlConfig, GcConfig, Io};

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
    /// Of those, pages that were dirty only because GC had dropped their flash copy.
    pub drop_rewrites_pages: u64,
}

/// Device cache, FTL and the scheme between them.
#[derive(Clone)]
pub struct Controller {
    cache: Cache,
    ftl: Ftl,
    scheme: Cooperation,
    config: CacheConfig,
    tally: CacheTally,
}

impl Controller {
    /// An erased device with an empty cache.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem).
    pub fn new(
        geometry: &Geometry,
        ftl: &FtlConfig,
        gc: &GcConfig,
        cache: &CacheConfig,
        cooperation: &CooperationConfig,
        seed: Seed,
    ) -> Result<Self, (&'static str, String)> {
        let ftl = Ftl::new(geometry, ftl, gc, cooperation.demands(), seed)?;
        Self::over(ftl, geometry, cache, cooperation)
    }

    /// An empty cache over an FTL, erased or warmed up, that was made for a cooperation with costs of the same kind.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem).
    pub fn over(
        ftl: Ftl,
        geometry: &Geometry,
        cache: &CacheConfig,
        cooperation: &CooperationConfig,
    ) -> Result<Self, (&'static str, String)> {
        let most = u64::from(ftl.logical_pages());
        let slots = cache.size.pages(geometry.page_size.count, most);
        if slots > most {
            let problem = format!("{} is {slots} pages, more than the {most} of the device", cache.size);
            return Err(("cache.size", problem));
        }
        let mut scheme = cooperation.build(slots as u32);
        if let Cooperation::CdmConsistent(consistent) = &mut scheme {
            consistent.fit(most as u32, cache)?;
        }
        Ok(Self {
            cache: Cache::new(&cache.policy, slots as u32, ftl.logical_pages() as usize),
            ftl,
            scheme,
            config: cache.clone(),
            tally: CacheTally::default(),
        })
    }

    /// The FTL, to look at.
    #[inline]
    #[must_use]
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The FTL past the cache, for warming up.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        &mut self.ftl
    }

    /// The cache, to look at.
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

    /// The bytes of state on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.ftl.heap_bytes() + self.cache.heap_bytes()
    }

    /// What a commit of the consistent scheme has done so far; none for other schemes.
    #[must_use]
    pub fn commits(&self) -> Option<&CommitTally> {
        match &self.scheme {
            Cooperation::CdmConsistent(consistent) => Some(&consistent.tally),
            _ => None,
        }
    }

    /// The consistent scheme, which has a page path of its own, and the rest of the device.
    #[inline(always)]
    pub(crate) fn consistent(&mut self) -> Option<(&mut CdmConsistent, Device<'_>)> {
        let Self { cache, ftl, scheme, config, tally } = self;
        match scheme {
            Cooperation::CdmConsistent(consistent) => {
                Some((consistent, Device { cache, ftl, tally, config }))
            }
            _ => None,
        }
    }

    /// Passes simulated time: commits that are due are done. To be called before each request.
    #[inline]
    pub fn pass_time<M: Media>(&mut self, now: Time, media: &mut M) {
        if let Some((consistent, mut device)) = self.consistent()
            && consistent.is_due(now)
        {
            consistent.commit_at(now, &mut device, media);
        }
    }

    /// Lets a die that is idle at `start` do one step of GC; false where there is nothing to be done.
    pub fn work_idle<M: Media>(&mut self, die: DieId, start: M::When, media: &mut M) -> bool {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.work_idle(die, start, &mut device, media);
        }
        let advisor = &mut Answers { scheme: &mut self.scheme, cache: &mut self.cache };
        self.ftl.work_idle(die, &mut Io { media, advisor, start })
    }

    /// Reads a page. One that was never written, or is trimmed, is answered at once.
    #[inline]
    pub fn read<M: Media>(&mut self, lpn: Lpn, start: M::When, media: &mut M) -> M::When {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.read(lpn, start, &mut device, media);
        }
        if let Some(slot) = self.cache.lookup(lpn) {
            self.tally.read_hits += 1;
            self.tally.nvm_reads_pages += 1;
            self.cache.touch(slot);
            return media.access(slot.get(), Access::Read, start);
        }
        self.tally.read_misses += 1;
        let Some(done) = self.read_flash(lpn, Place::Host, start, start, media) else {
            return start;
        };
        if self.config.read_allocate && self.cache.capacity() > 0 {
            // The host has its data: neither the eviction nor the fill delays it, but both occupy the device.
            self.make_room(start, media);
            let slot = self.cache.insert(lpn, false);
            self.tally.nvm_writes_pages += 1;
            media.access(slot.get(), Access::Fill, start);
            self.scheme.cached_clean(lpn, &mut self.ftl);
        }
        done
    }

    /// Writes a page, or a part of it.
    #[inline]
    pub fn write<M: Media>(&mut self, lpn: Lpn, extent: Extent, start: M::When, media: &mut M) -> M::When {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.write(lpn, extent, start, &mut device, media);
        }
        if let Some(slot) = self.cache.lookup(lpn) {
            self.tally.write_hits += 1;
            self.cache.touch(slot);
            if self.cache.is_orphan(slot) {
                self.scheme.resolved(DropOutcome::Saved);
            }
            self.cache.set_dirty(slot, true);
            return self.write_slot(lpn, slot, Access::Write, start, media);
        }
        self.tally.write_misses += 1;
        if self.config.write_allocate && self.cache.capacity() > 0 {
            self.write_allocating(lpn, extent, start, media)
        } else {
            self.write_flash(lpn, extent, start, media)
        }
    }

    /// Forgets a page, cached or not.
    #[inline]
    pub fn trim<M: Media>(&mut self, lpn: Lpn, media: &mut M) {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.trim(lpn, &mut device, media);
        }
        if let Some(slot) = self.cache.lookup(lpn) {
            if self.cache.is_orphan(slot) {
                self.scheme.resolved(DropOutcome::Saved);
            }
            self.cache.remove(slot);
        }
        self.ftl.invalidate(lpn);
    }

    /// Makes everything written so far durable: the cache is, and so is flash. The consistent scheme commits, which
    /// takes a few stores and no I/O.
    pub fn flush<M: Media>(&mut self, start: M::When, media: &mut M) -> M::When {
        if let Some((consistent, mut device)) = self.consistent() {
            consistent.commit(&mut device, media);
        }
        start
    }

    fn write_allocating<M: Media>(
        &mut self,
        lpn: Lpn,
        extent: Extent,
        start: M::When,
        media: &mut M,
    ) -> M::When {
        let evicted = self.make_room(start, media);
        let mut ready = match self.config.eviction {
            Eviction::Foreground => evicted.unwrap_or(start),
            Eviction::Background => start,
        };
        let slot = self.cache.insert(lpn, true);
        let mut access = Access::WriteNew;
        if extent == Extent::Part
            && let Some(filled) = self.read_flash(lpn, Place::Cache { slot: slot.get() }, ready, start, media)
        {
            ready = filled;
            access = Access::Write;
            self.tally.nvm_writes_pages += 1;
        }
        self.write_slot(lpn, slot, access, ready, media)
    }

    #[inline]
    fn write_slot<M: Media>(
        &mut self,
        lpn: Lpn,
        slot: SlotId,
        access: Access,
        after: M::When,
        media: &mut M,
    ) -> M::When {
        self.tally.nvm_writes_pages += 1;
        let done = media.access(slot.get(), access, after);
        self.scheme.written(lpn, &mut self.ftl);
        done
    }

    /// Writes past the cache: read, modify, write where only a part of a mapped page is given.
    #[inline]
    fn write_flash<M: Media>(&mut self, lpn: Lpn, extent: Extent, start: M::When, media: &mut M) -> M::When {
        let (mut from, mut ready) = (Place::Host, start);
        if extent == Extent::Part
            && let Some(read) = self.read_flash(lpn, Place::Merged, start, start, media)
        {
            (from, ready) = (Place::Merged, read);
        }
        self.program(lpn, from, Cause::Host, ready, start, media)
    }

    #[inline]
    fn read_flash<M: Media>(
        &mut self,
        lpn: Lpn,
        to: Place,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> Option<M::When> {
        let advisor = &mut Answers { scheme: &mut self.scheme, cache: &mut self.cache };
        self.ftl.read(lpn, to, Cause::Host, after, &mut Io { media, advisor, start })
    }

    #[inline]
    fn program<M: Media>(
        &mut self,
        lpn: Lpn,
        from: Place,
        cause: Cause,
        after: M::When,
        start: M::When,
        media: &mut M,
    ) -> M::When {
        let advisor = &mut Answers { scheme: &mut self.scheme, cache: &mut self.cache };
        self.ftl.write(lpn, from, cause, after, &mut Io { media, advisor, start })
    }

    /// Empties a slot if none is free; tells when, if that took a program.
    #[inline]
    fn make_room<M: Media>(&mut self, start: M::When, media: &mut M) -> Option<M::When> {
        if !self.cache.is_full() {
            return None;
        }
        let slot = self.cache.victim().expect("a full cache has a victim");
        let lpn = self.cache.page_of(slot);
        let mut written = None;
        if self.cache.is_dirty(slot) {
            if self.cache.is_orphan(slot) {
                self.tally.drop_rewrites_pages += 1;
                self.scheme.resolved(DropOutcome::Rewritten);
            }
            self.tally.dirty_evictions_pages += 1;
            self.tally.nvm_reads_pages += 1;
            written =
                Some(self.program(lpn, Place::Cache { slot: slot.get() }, Cause::Evict, start, start, media));
        } else {
            self.tally.clean_evictions_pages += 1;
            self.scheme.evicted_clean(lpn, &mut self.ftl);
        }
        self.cache.remove(slot);
        written
    }

    /// Panics unless cache and FTL agree with themselves, and with each other as the scheme promises. For tests.
    pub fn assert_invariants(&self) {
        self.ftl.assert_invariants();
        self.cache.assert_invariants();
        self.scheme.assert_invariants(&self.cache, &self.ftl);
    }
}
