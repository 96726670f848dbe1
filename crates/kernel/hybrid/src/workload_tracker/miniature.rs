//! Ghosts of caches of every size under any eviction policy, in miniature.
//!
//! With some policies a cache may lack pages of a smaller one. Then no single list gives the hits of all
//! sizes: each size needs a cache of its own. Such caches are cheap if they are scaled down and see only a
//! sample of the pages (C. Waldspurger, T. Saemundsson, I. Ahmad & N. Park, "Cache Modeling and Optimization
//! using Miniature Simulations", USENIX ATC 2017). They hold no data, and run the code of the real cache. The
//! sample consists of whole units of the policy (blocks of adjacent pages, if it evicts blocks). One unit is
//! drawn from each run of adjacent units, so that every part of the disk is sampled, and the index of a
//! miniature is dense and scaled down, too.
//!
//! Each miss of the sample represents a number of misses, and all other uses count as hits. Scaling hits
//! instead would give large errors, depending on whether the most used pages are in the sample (the
//! adjustment of C. Waldspurger, N. Park, A. Garthwaite & I. Ahmad, "Efficient MRC Construction with SHARDS",
//! FAST 2015, section 3.4).
//!
//! The sampling rate is one unit per number of segments: then all miniatures together are half as large as
//! flash, and a use takes one step on average. The sample of small flash is larger; then a use takes up to a
//! step for each segment.

use coflash_base::seed::RngExt;
use coflash_base::{Ahead, Lpn, Save, Seed};
use coflash_cache::{Cache, EvictionConfig};

/// The smallest sample, as a number of units, unless flash holds fewer.
const UNITS_MIN: u32 = 4096;

/// The number of units of which one is sampled.
pub(super) fn one_in(policy: &EvictionConfig, segments: u32, segment_pages: u32) -> u32 {
    let units = u64::from(segments) * u64::from(segment_pages) / u64::from(policy.unit_pages());
    (units / u64::from(UNITS_MIN)).clamp(1, u64::from(segments.max(1))) as u32
}

/// A sample of one unit of each run of adjacent units.
#[derive(Clone, Save)]
struct Sample {
    unit_pages: u32,
    one_in: u32,
    /// The index of the drawn unit in each run.
    drawn: Vec<u8>,
}

impl Sample {
    fn new(unit_pages: u32, one_in: u32, disk_pages: usize) -> Self {
        let units = (disk_pages as u32).div_ceil(unit_pages);
        // The sample is always the same, so that runs differ only in their workload.
        let mut stream = Seed(0).stream("miniature caches");
        let runs = (0..units).step_by(one_in as usize);
        let drawn = runs.map(|first| stream.random_range(0..one_in.min(units - first)) as u8).collect();
        Self { unit_pages, one_in, drawn }
    }

    /// The number of its pages, rounded up.
    fn pages(&self) -> usize {
        self.drawn.len() * self.unit_pages as usize
    }

    /// The index of a page in the sample, if it is sampled.
    #[inline]
    fn place_of(&self, lpn: Lpn) -> Option<Lpn> {
        let (unit, offset) = (lpn.get() / self.unit_pages, lpn.get() % self.unit_pages);
        let (run, place) = (unit / self.one_in, unit % self.one_in);
        (u32::from(self.drawn[run as usize]) == place).then(|| Lpn::new(run * self.unit_pages + offset))
    }
}

/// A miniature cache of one size, and its misses, weighted by decay.
#[derive(Clone, Save)]
#[save(in_place)]
struct Sized {
    cache: Cache,
    misses: f64,
}

/// Caches of several sizes with the same uses; they hold no data and count their misses.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct Miniature {
    #[save(each)]
    caches: Vec<Sized>,
}

impl Miniature {
    /// Create empty caches, one for each number of slots, of pages below `pages`.
    #[must_use]
    pub fn new(policy: &EvictionConfig, slots: impl IntoIterator<Item = u32>, pages: usize) -> Self {
        let cache = |slots| Sized { cache: Cache::new(policy, slots, pages), misses: 0.0 };
        Self { caches: slots.into_iter().map(cache).collect() }
    }

    /// Read a page, or write it. Returns whether the last cache had it.
    #[inline]
    pub fn use_page(&mut self, page: Lpn, is_write: bool) -> bool {
        let mut hit = false;
        for Sized { cache, misses } in &mut self.caches {
            let found = cache.lookup(page);
            hit = found.is_some();
            if let Some(slot) = found {
                cache.touch(slot);
                if is_write && !cache.is_dirty(slot) {
                    cache.set_dirty(slot, true);
                }
                continue;
            }
            *misses += 1.0;
            if cache.capacity() == 0 {
                continue;
            }
            if cache.is_full() {
                let victim = cache.victim_for(page).expect("a full cache has a victim");
                cache.remove(victim);
                cache.likely_victims().for_each(|(victim, ahead)| cache.look_ahead(victim, ahead));
            }
            cache.insert(page, is_write);
        }
        hit
    }

    /// Read or write pages one after another, with a look ahead; tell of each whether the last cache had it.
    pub fn use_pages(
        &mut self,
        pages: impl Iterator<Item = (u32, bool)> + Clone,
        mut told: impl FnMut(bool),
    ) {
        let looks = Ahead::that_pay(self.heap_bytes()).iter();
        let mut later: Vec<_> = looks.map(|&ahead| (ahead, pages.clone().skip(ahead.distance()))).collect();
        for (page, is_write) in pages {
            for (ahead, later) in &mut later {
                if let Some((page, _)) = later.next() {
                    self.caches.iter().for_each(|sized| sized.cache.look_ahead(Lpn::new(page), *ahead));
                }
            }
            told(self.use_page(Lpn::new(page), is_write));
        }
    }

    /// Remove a page from all caches.
    #[inline]
    pub fn forget(&mut self, page: Lpn) {
        for Sized { cache, .. } in &mut self.caches {
            if let Some(slot) = cache.lookup(page) {
                cache.remove(slot);
            }
        }
    }

    /// The misses of each cache.
    pub fn misses(&self) -> impl Iterator<Item = f64> {
        self.caches.iter().map(|sized| sized.misses)
    }

    /// Multiply all counts by `kept`.
    fn fade(&mut self, kept: f64) {
        for sized in &mut self.caches {
            sized.misses *= kept;
        }
    }
}

/// Miniature caches of all sizes over a sample of the disk.
#[derive(Clone, Save)]
#[save(in_place)]
pub(super) struct Sampled {
    sample: Sample,
    /// The caches from the smallest to the largest.
    pub(super) miniature: Miniature,
    /// Whether the pages are dirty.
    dirty: bool,
}

impl Sampled {
    /// Create empty caches of one segment, two … of `segment_pages` pages each; at most 255 segments.
    pub(super) fn new(
        policy: &EvictionConfig,
        segments: u32,
        segment_pages: u32,
        disk_pages: usize,
        dirty: bool,
    ) -> Self {
        let one_in = one_in(policy, segments, segment_pages);
        let sample = Sample::new(policy.unit_pages(), one_in, disk_pages);
        let slots = |segment: u32| ((segment * segment_pages + one_in / 2) / one_in).max(1);
        let miniature = Miniature::new(policy, (1..=segments).map(slots), sample.pages());
        Self { sample, miniature, dirty }
    }

    /// Use a page, and count it if it is sampled. Returns whether the largest cache had it, if it is sampled.
    #[inline]
    pub(super) fn use_page(&mut self, lpn: Lpn) -> bool {
        self.sample.place_of(lpn).is_some_and(|page| self.miniature.use_page(page, self.dirty))
    }

    /// Remove a page from all caches.
    #[inline]
    pub(super) fn forget(&mut self, lpn: Lpn) {
        if let Some(page) = self.sample.place_of(lpn) {
            self.miniature.forget(page);
        }
    }

    /// The hits of caches of one segment, two …, among `uses` uses. A cache could leave space unused and so act as a
    /// smaller one, so no size has fewer hits than a smaller one.
    pub(super) fn hits(&self, uses: f64) -> impl Iterator<Item = f64> {
        self.miniature.misses().scan(0.0_f64, move |most, misses| {
            *most = most.max(uses - misses * f64::from(self.sample.one_in));
            Some(*most)
        })
    }

    /// Multiply all counts by `kept`.
    pub(super) fn fade(&mut self, kept: f64) {
        self.miniature.fade(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_of_each_run_is_in_the_sample_with_all_its_pages() {
        for (unit_pages, one_in, disk_pages) in [(1, 1, 50), (1, 7, 1000), (4, 3, 1000), (8, 5, 803)] {
            let sample = Sample::new(unit_pages, one_in, disk_pages);
            let run_pages = unit_pages * one_in;
            let mut seen = vec![false; sample.pages()];
            let mut first_of_run = Vec::new();
            for page in (0..disk_pages as u32).map(Lpn::new) {
                let Some(place) = sample.place_of(page) else { continue };
                assert!(
                    !std::mem::replace(&mut seen[place.get() as usize], true),
                    "{place:?} is of two pages"
                );
                assert_eq!(place.get() / unit_pages, page.get() / run_pages, "{page:?} is in another run");
                assert_eq!(
                    place.get() % unit_pages,
                    page.get() % unit_pages,
                    "{page:?} is moved in its unit"
                );
                first_of_run.push(page.get() % run_pages / unit_pages);
            }
            let missing = seen.iter().filter(|&&seen| !seen).count();
            assert!(missing < unit_pages as usize, "only the last unit may be cut short: {missing}");
            assert_eq!(first_of_run.iter().any(|&unit| unit != first_of_run[0]), one_in > 1, "not in step");
        }
    }
}
