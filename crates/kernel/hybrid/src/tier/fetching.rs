//! Fetches: pending disk reads of pages to be cached.

use super::TierAtWork;
use crate::media::TierMedia;
use coflash_base::{Lpn, Save};
use coflash_ftl::{GcHook, WriteStream};
use coflash_media::{Cause, Place};
use std::collections::BTreeMap;

/// The maximal number of pages of a fetch.
pub(crate) const FETCH_PAGES: u32 = 64;

/// The pending fetches. A hit only checks whether there are any; a lookup is logarithmic in their number.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Fetches {
    /// The pages of each fetch still to be cached, as a bitmap, by first page and job. No page is in two fetches, and no
    /// fetch is without one: around a page there are few.
    wanted: BTreeMap<(Lpn, u32), u64>,
}

impl Fetches {
    /// Begin a fetch of pages from `first` on, at most [`FETCH_PAGES`].
    pub(crate) fn begin(&mut self, job: u32, first: Lpn, pages: u32) {
        debug_assert!((1..=FETCH_PAGES).contains(&pages), "a fetch of {pages} pages");
        self.wanted.insert((first, job), places(0, pages));
    }

    /// End a fetch. Returns the bitmap of the pages still to be cached.
    fn end(&mut self, job: u32, first: Lpn) -> u64 {
        self.wanted.remove(&(first, job)).unwrap_or(0)
    }

    /// The job of the fetch of a page still to be cached.
    #[inline]
    pub(super) fn bringing(&self, page: Lpn) -> Option<u32> {
        if self.wanted.is_empty() { None } else { self.search(page) }
    }

    fn search(&self, page: Lpn) -> Option<u32> {
        let earliest = Lpn::new(page.get().saturating_sub(FETCH_PAGES - 1));
        let mut around = self.wanted.range((earliest, 0)..=(page, u32::MAX));
        let (&(_, job), _) =
            around.find(|&(&(first, _), wanted)| wanted >> (page.get() - first.get()) & 1 == 1)?;
        Some(job)
    }

    /// Cancel the caching of these pages: the data being read may be out of date.
    #[inline]
    pub(crate) fn cancel(&mut self, first: Lpn, pages: u32) {
        if !self.wanted.is_empty() {
            self.cancel_some(first, pages);
        }
    }

    fn cancel_some(&mut self, first: Lpn, pages: u32) {
        let (first, end) = (first.get(), first.get() + pages);
        let earliest = Lpn::new(first.saturating_sub(FETCH_PAGES - 1));
        let mut nothing = Vec::new();
        for (&key, wanted) in self.wanted.range_mut((earliest, 0)..(Lpn::new(end), 0)) {
            let begin = key.0.get();
            *wanted &= !places(first.max(begin) - begin, end.min(begin + FETCH_PAGES) - begin);
            if *wanted == 0 {
                nothing.push(key);
            }
        }
        for key in nothing {
            self.wanted.remove(&key);
        }
    }
}

/// A bitmap with the bits from `from` to below `to` set.
fn places(from: u32, to: u32) -> u64 {
    let below = |place: u32| if place < u64::BITS { (1 << place) - 1 } else { u64::MAX };
    below(to) & !below(from)
}

impl<M: TierMedia, H: GcHook> TierAtWork<'_, M, H> {
    /// End a fetch: puts the pages still to be cached into the read cache.
    pub(crate) fn fetched(&mut self, job: u32, first: Lpn) -> Result<(), M::Error> {
        let wanted = self.tier.fetches.end(job, first);
        for place in (0..FETCH_PAGES).filter(|place| wanted >> place & 1 == 1) {
            let page = Lpn::new(first.get() + place);
            if self.tier.replacer.cache.lookup(page).is_none() && !self.tier.replacer.is_overwritten(page) {
                self.fill(job, page)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, job: u32, page: Lpn) -> Result<(), M::Error> {
        if self.tier.resizer.limits.read_pages == 0 {
            return Ok(());
        }
        // Make room before the insertion: some policies evict the newest page first if all others were used
        // again.
        self.keep_limits(1)?;
        if self.tier.replacer.cache.is_full() {
            match self.tier.replacer.clean_victim() {
                Some(slot) => self.tier.drop_clean(slot),
                None => return Ok(()),
            }
        }
        let slot = self.tier.replacer.insert(page, false);
        self.tier.counters.fills_pages += 1;
        self.tier.enters(page, slot);
        self.media.fetched(job, page);
        self.program(slot, Place::Host, (Cause::Evict, WriteStream::Evict), self.start)?;
        self.tier.entered(page, slot);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use coflash_base::seed::RngExt;

    #[test]
    fn a_page_is_found_as_long_as_it_is_wanted() {
        const PAGES: u32 = 300;
        let mut stream = Seed(1).stream("fetches");
        let mut fetches = Fetches::default();
        let mut bringing = [None; PAGES as usize];
        let mut under_way: Vec<(u32, Lpn, u32)> = Vec::new();
        let mut longest = 0;
        for step in 0..20_000 {
            let first = stream.random_range(0..PAGES);
            let pages = stream.random_range(1..=FETCH_PAGES).min(PAGES - first);
            let range = first as usize..(first + pages) as usize;
            match stream.random_range(0..4_u32) {
                // No page is fetched twice: a read of a page being fetched joins its fetch.
                0 if bringing[range.clone()].iter().all(Option::is_none) => {
                    fetches.begin(step, Lpn::new(first), pages);
                    bringing[range].fill(Some(step));
                    under_way.push((step, Lpn::new(first), pages));
                }
                1 => {
                    fetches.cancel(Lpn::new(first), pages);
                    bringing[range].fill(None);
                }
                2 if !under_way.is_empty() => {
                    let (job, first, pages) = under_way.swap_remove(stream.random_range(0..under_way.len()));
                    let wanted = fetches.end(job, first);
                    assert_eq!(wanted & !places(0, pages), 0, "only what was asked for is wanted");
                    for place in 0..pages {
                        let was = &mut bringing[(first.get() + place) as usize];
                        assert_eq!(wanted >> place & 1 == 1, *was == Some(job), "step {step}, page {place}");
                        if *was == Some(job) {
                            *was = None;
                        }
                    }
                }
                _ => {}
            }
            longest = longest.max(under_way.len());
            let page = stream.random_range(0..PAGES);
            assert_eq!(fetches.bringing(Lpn::new(page)), bringing[page as usize], "step {step}, page {page}");
        }
        assert!(longest > 5, "many are under way at once: {longest}");
    }
}
