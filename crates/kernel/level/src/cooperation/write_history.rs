//! When the host wrote each page, and for how long a cache keeps what it wrote. The unit of time is a page that the host writes
//! into the cache. 8 bytes a logical page.

use coflash_base::{IdVec, Lpn, Save};

/// The last two writes of a page.
#[derive(Clone, Copy, Default, Save)]
struct Writes {
    /// The time of the last one; 0 if there was none.
    last: u32,
    /// The time between both; 0 if there was one at most.
    interval: u32,
}

/// What is known of the writes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(super) struct Past {
    /// The time since the last write.
    pub(super) age: u32,
    /// The time between the last two writes, if there were two.
    pub(super) interval: Option<u32>,
}

/// The history of all pages.
#[derive(Clone, Save)]
pub struct WriteHistory {
    pages: IdVec<Lpn, Writes>,
    /// The number of writes so far, modulo 2³².
    pub(super) now: u32,
    /// The mean time from the last write of a page to its eviction.
    pub(super) kept: f64,
}

impl WriteHistory {
    /// The memory for each logical page.
    pub(super) const PAGE_BYTES: u64 = size_of::<Writes>() as u64;
    /// The share of a new value in the mean of what came before.
    const NEW: f64 = 1.0 / 256.0;

    pub(super) fn new(logical_pages: u32, slots: u32) -> Self {
        // Before the first eviction a page stays until all slots are written.
        Self {
            pages: IdVec::filled(Writes::default(), logical_pages as usize),
            now: 0,
            kept: f64::from(slots),
        }
    }

    /// The writes of a page; `None` if there was none.
    pub(super) fn past(&self, lpn: Lpn) -> Option<Past> {
        let Writes { last, interval } = self.pages[lpn];
        let interval = (interval > 0).then_some(interval);
        (last > 0).then(|| Past { age: self.now.wrapping_sub(last), interval })
    }

    /// Note a write.
    #[inline]
    pub(super) fn wrote(&mut self, lpn: Lpn) {
        self.now = self.now.wrapping_add(1).max(1);
        let Writes { last, interval } = &mut self.pages[lpn];
        if *last > 0 {
            *interval = self.now.wrapping_sub(*last);
        }
        *last = self.now;
    }

    /// Forget the writes of a page without data.
    pub(super) fn trimmed(&mut self, lpn: Lpn) {
        self.pages[lpn] = Writes::default();
    }

    /// Note that the data of the last write leaves the cache.
    pub(super) fn left(&mut self, lpn: Lpn) {
        if let Some(Past { age, .. }) = self.past(lpn) {
            self.kept += (f64::from(age) - self.kept) * Self::NEW;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_an_age_and_the_interval_of_its_last_two_writes() {
        let mut history = WriteHistory::new(3, 1);
        let page = Lpn::new(1);
        assert_eq!(history.past(page), None);
        for lpn in [1, 0, 0, 1, 2] {
            history.wrote(Lpn::new(lpn));
        }
        assert_eq!(history.past(page), Some(Past { age: 1, interval: Some(3) }));
        assert_eq!(history.past(Lpn::new(2)), Some(Past { age: 0, interval: None }));
        history.trimmed(page);
        assert_eq!(history.past(page), None, "what is written next is another page");
    }

    #[test]
    fn the_cache_keeps_a_page_as_long_as_those_that_left_it() {
        let mut history = WriteHistory::new(2, 10);
        history.wrote(Lpn::new(0));
        for _ in 0..7 {
            history.wrote(Lpn::new(1));
        }
        assert_eq!(history.kept, 10.0);
        (0..5000).for_each(|_| history.left(Lpn::new(0)));
        assert!((history.kept - 7.0).abs() < 1e-6, "{}", history.kept);
    }
}
