//! Fetches: reads of the disk under way, and what becomes of what they bring.

use super::Tier;
use crate::media::TierMedia;
use coflash_base::Lpn;
use coflash_flash::{Cause, Place};
use std::collections::BTreeMap;

/// Pages of a fetch, at most.
pub const FETCH_PAGES: u32 = 64;

/// What is under way. Hits look only whether that is anything; a page is found in a number of steps that grows with the
/// logarithm of how much it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetches {
    /// The first page of each, by number.
    first: Vec<Lpn>,
    free: Vec<u32>,
    /// By first page and number: which pages are still to be cached, by their place in it. No page is in two.
    wanted: BTreeMap<(Lpn, u32), u64>,
}

impl Fetches {
    fn begin(&mut self, first: Lpn, pages: u32) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.first.push(first);
            self.first.len() as u32 - 1
        });
        self.first[id as usize] = first;
        self.wanted.insert((first, id), places(0, pages));
        id
    }

    /// Its first page, and what is still wanted of it.
    fn end(&mut self, id: u32) -> (Lpn, u64) {
        let first = self.first[id as usize];
        self.free.push(id);
        (first, self.wanted.remove(&(first, id)).expect("it is under way"))
    }

    /// Which one brings a page that is still wanted.
    #[inline]
    pub(super) fn bringing(&self, page: Lpn) -> Option<u32> {
        if self.wanted.is_empty() { None } else { self.search(page) }
    }

    fn search(&self, page: Lpn) -> Option<u32> {
        let earliest = Lpn::new(page.get().saturating_sub(FETCH_PAGES - 1));
        let mut around = self.wanted.range((earliest, 0)..=(page, u32::MAX));
        let (&(_, id), _) =
            around.find(|&(&(first, _), wanted)| wanted >> (page.get() - first.get()) & 1 == 1)?;
        Some(id)
    }

    /// What they bring of these pages is out of date, or may be.
    #[inline]
    pub(super) fn cancel(&mut self, first: Lpn, pages: u32) {
        if !self.wanted.is_empty() {
            self.cancel_some(first, pages);
        }
    }

    fn cancel_some(&mut self, first: Lpn, pages: u32) {
        let (first, end) = (first.get(), first.get() + pages);
        let earliest = Lpn::new(first.saturating_sub(FETCH_PAGES - 1));
        for (&(begin, _), wanted) in self.wanted.range_mut((earliest, 0)..(Lpn::new(end), 0)) {
            let begin = begin.get();
            *wanted &= !places(first.max(begin) - begin, end.min(begin + FETCH_PAGES) - begin);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.first.capacity() + self.free.capacity()) * size_of::<u32>()
            + self.wanted.len() * size_of::<((Lpn, u32), u64)>()
    }
}

/// The places from one on up to another, as bits.
fn places(from: u32, to: u32) -> u64 {
    let below = |place: u32| if place < u64::BITS { (1 << place) - 1 } else { u64::MAX };
    below(to) & !below(from)
}

impl Tier {
    /// The disk is asked for so many pages from `first` on, at most [`FETCH_PAGES`], to be read and cached.
    pub fn fetch(&mut self, first: Lpn, pages: u32) -> u32 {
        debug_assert!((1..=FETCH_PAGES).contains(&pages), "a fetch of {pages} pages");
        self.fetches.begin(first, pages)
    }

    /// Whether what is read goes into the cache: not so where it goes past it.
    #[must_use]
    pub fn fetches(&self) -> bool {
        !self.bypass
    }

    /// The disk has delivered: what is still wanted is put into the read cache.
    pub fn fetched<M: TierMedia>(&mut self, id: u32, start: M::When, media: &mut M) {
        let (first, wanted) = self.fetches.end(id);
        for place in (0..FETCH_PAGES).filter(|place| wanted >> place & 1 == 1) {
            let page = Lpn::new(first.get() + place);
            if self.replacer.cache.lookup(page).is_none() && !self.replacer.is_overwritten(page) {
                self.fill(id, page, start, media);
            }
        }
    }

    fn fill<M: TierMedia>(&mut self, fetch: u32, page: Lpn, start: M::When, media: &mut M) {
        if self.resizer.limits().read_pages == 0 {
            return;
        }
        // Before it comes: some policies have the newest page leave first where all others were used again.
        self.keep_limits(1, start, media);
        if self.replacer.cache.is_full() {
            match self.replacer.clean_victim() {
                Some(slot) => self.drop_clean(slot),
                None => return,
            }
        }
        let slot = self.replacer.cache.insert(page, false);
        self.tally.fills += 1;
        media.fetched(fetch, page);
        self.program(slot, Place::Host, Cause::Evict, start, start, media);
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
                // No page is fetched that is under way: such a read joins.
                0 if bringing[range.clone()].iter().all(Option::is_none) => {
                    let id = fetches.begin(Lpn::new(first), pages);
                    bringing[range].fill(Some(id));
                    under_way.push((id, Lpn::new(first), pages));
                }
                1 => {
                    fetches.cancel(Lpn::new(first), pages);
                    bringing[range].fill(None);
                }
                2 if !under_way.is_empty() => {
                    let (id, first, pages) = under_way.swap_remove(stream.random_range(0..under_way.len()));
                    let (begin, wanted) = fetches.end(id);
                    assert_eq!(begin, first);
                    assert_eq!(wanted & !places(0, pages), 0, "only what was asked for is wanted");
                    for place in 0..pages {
                        let was = &mut bringing[(first.get() + place) as usize];
                        assert_eq!(wanted >> place & 1 == 1, *was == Some(id), "step {step}, page {place}");
                        if *was == Some(id) {
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
