//! The path of one page through cache and FTL.

use crate::config::CacheConfig;
use crate::consistent::Device;
use crate::cooperation::{CdmConsistent, CommitTally, Cooperation, CooperationConfig, ShadowTally};
use crate::write_back::{CacheTally, Extent, WriteBack};
use coflash_base::{Lpn, Seed, Time};
use coflash_cache::Cache;
use coflash_flash::{DieId, Geometry, Media};
use coflash_ftl::{Ftl, FtlConfig, GcConfig, Io, Tier};

/// Device cache, FTL and the scheme between them.
#[derive(Clone)]
pub struct Controller {
    pub(crate) front: WriteBack,
    pub(crate) ftl: Ftl,
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
        let pages = ftl.logical_pages();
        let mut front = WriteBack::new(cache, cooperation, geometry.page_size.count, pages)?;
        if let Cooperation::CdmConsistent(consistent) = &mut front.scheme {
            consistent.fit(pages, cache)?;
        }
        front.fit(&ftl);
        let mut ftl = ftl;
        if front.knows_host() {
            ftl.track_host();
        }
        Ok(Self { front, ftl })
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
        self.front.cache()
    }

    /// What the cache has done so far.
    #[inline]
    #[must_use]
    pub fn tally(&self) -> &CacheTally {
        self.front.tally()
    }

    /// The bytes of state on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.ftl.heap_bytes() + self.front.cache.heap_bytes() + self.front.scheme.heap_bytes()
    }

    /// What a commit of the consistent scheme has done so far; none for other schemes.
    #[must_use]
    pub fn commits(&self) -> Option<&CommitTally> {
        match &self.front.scheme {
            Cooperation::CdmConsistent(consistent) => Some(&consistent.tally),
            _ => None,
        }
    }

    /// The consistent scheme, which has a page path of its own, and the rest of the device.
    #[inline(always)]
    pub(crate) fn consistent(&mut self) -> Option<(&mut CdmConsistent, Device<'_>)> {
        let Self { front: WriteBack { cache, scheme, config, tally, .. }, ftl, .. } = self;
        match scheme {
            Cooperation::CdmConsistent(consistent) => {
                Some((consistent, Device { cache, ftl, tally, config }))
            }
            _ => None,
        }
    }

    /// What a scheme of ShadowGC has made of shadows so far; none for other schemes.
    #[must_use]
    pub fn shadows(&self) -> Option<&ShadowTally> {
        self.front.scheme.shadows().map(|(_, tally)| tally)
    }

    /// As [`WriteBack::sole_copies_peak`].
    #[must_use]
    pub fn sole_copies_peak(&self) -> Option<u32> {
        self.front.sole_copies_peak()
    }

    /// Whether a restart loses the cache.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.front.config.volatile
    }

    /// The host tells that a page became dirty in its buffer, or that it dropped the page and does not hold it any more.
    /// What it writes it holds dirty no more, which needs no telling.
    #[inline]
    pub fn host_holds(&mut self, lpn: Lpn, dirty: bool) {
        if self.front.knows_host() {
            self.ftl.set_mark(lpn, Tier::Host, dirty);
        }
    }

    /// Passes simulated time: what is due by then, a commit or a refresh, is done at `start`. To be called before each
    /// request.
    #[inline]
    pub fn pass_time<M: Media>(&mut self, now: Time, start: M::When, media: &mut M) {
        if self.ftl.refreshes() {
            let advisor = &mut self.front.answers();
            self.ftl.pass_time(now, &mut Io { media, advisor, start });
        }
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
        let advisor = &mut self.front.answers();
        self.ftl.work_idle(die, &mut Io { media, advisor, start })
    }

    /// Reads a page. One that was never written, or is trimmed, is answered at once.
    #[inline]
    pub fn read<M: Media>(&mut self, lpn: Lpn, start: M::When, media: &mut M) -> M::When {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.read(lpn, start, &mut device, media);
        }
        self.front.read(lpn, start, &mut self.ftl, media)
    }

    /// Writes a page, or a part of it.
    #[inline]
    pub fn write<M: Media>(&mut self, lpn: Lpn, extent: Extent, start: M::When, media: &mut M) -> M::When {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.write(lpn, extent, start, &mut device, media);
        }
        self.front.write(lpn, extent, start, &mut self.ftl, media)
    }

    /// Forgets a page, cached or not.
    #[inline]
    pub fn trim<M: Media>(&mut self, lpn: Lpn, media: &mut M) {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.trim(lpn, &mut device, media);
        }
        self.front.trim(lpn, &mut self.ftl);
    }

    /// Makes everything written so far durable; the parts that the answer waits for are appended. A non-volatile cache is
    /// durable, as flash is; of a volatile one every dirty page is written. The consistent scheme commits, which takes a few
    /// stores and no I/O.
    pub fn flush<M: Media>(&mut self, start: M::When, media: &mut M, parts: &mut Vec<M::When>) {
        if let Some((consistent, mut device)) = self.consistent() {
            return consistent.commit(&mut device, media);
        }
        self.front.flush(start, &mut self.ftl, media, parts);
    }

    /// Panics unless cache and FTL agree with themselves, and with each other as the scheme promises. For tests.
    pub fn assert_invariants(&self) {
        self.ftl.assert_invariants();
        self.front.assert_invariants(&self.ftl);
    }
}
