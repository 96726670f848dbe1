//! Popularity: the share of accesses to the hottest pages.
//!
//! The hottest pages are determined among the pages read, the pages written, and all pages. If pages are
//! sampled, they are the hottest of the sample. Their accesses depend strongly on which very hot pages are in
//! the sample; the accesses to the other pages hardly do. So the accesses to the other pages are scaled up,
//! and subtracted from all accesses: the rest goes to the hottest pages. The error of a share is estimated by
//! leaving out one random group of pages after the other (jackknife).

use super::bins::{bin_of, end_of};
use super::groups::GROUPS;
use serde::Serialize;
use std::array;

/// The popularity by reads, by writes and by both; `None` without such accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Popularity {
    /// By reads, over the pages read.
    pub read: Option<Spread>,
    /// By writes, over the pages written.
    pub write: Option<Spread>,
    /// By both, over the pages read or written.
    pub all: Option<Spread>,
}

/// The distribution of accesses of one kind over pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The share of the hottest pages.
    pub hottest_share: Hottest,
    /// Their standard errors; `None` if they are exact.
    pub hottest_share_error: Option<Hottest>,
    /// The shares of all numbers of hottest pages.
    pub curve: PopularityCurve,
}

/// The share of accesses to the hottest 1, 5, 10 and 20 % of the pages, at least one page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "shares of the same kind")]
pub struct Hottest {
    pub of_1_percent: f64,
    pub of_5_percent: f64,
    pub of_10_percent: f64,
    pub of_20_percent: f64,
}

/// The share of accesses to any share of the pages: columns of equal length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PopularityCurve {
    /// The hottest pages as a share of all, ascending to 1.
    pub pages_share: Vec<f64>,
    /// Their share of the accesses.
    pub accesses_share: Vec<f64>,
}

/// A page: its group, and its accesses.
type Counted = (u64, usize);

impl Popularity {
    /// Compute the popularity from the group, the reads and the writes of each tracked page, the numbers of all reads and
    /// writes, and the share of pages that is tracked.
    pub(super) fn count(
        pages: impl Iterator<Item = (usize, [u32; 2])>,
        [reads, writes]: [u64; 2],
        share: f64,
    ) -> Self {
        let pages: Vec<(usize, [u64; 2])> = pages.map(|(group, ops)| (group, ops.map(u64::from))).collect();
        let spread = |count: fn([u64; 2]) -> u64, accesses| {
            let counted = pages.iter().map(|&(group, ops)| (count(ops), group));
            Spread::measure(counted.filter(|page| page.0 > 0).collect(), accesses, share)
        };
        Self {
            read: spread(|ops| ops[0], reads),
            write: spread(|ops| ops[1], writes),
            all: spread(|ops| ops[0] + ops[1], reads + writes),
        }
    }
}

impl Spread {
    fn measure(mut pages: Vec<Counted>, accesses: u64, share: f64) -> Option<Self> {
        pages.sort_unstable_by(|a, b| b.cmp(a));
        let all = Ranked::rank(pages.iter(), accesses as f64, share);
        let count = all.through.len();
        if count == 0 {
            return None;
        }
        let ranks = || (1..=bin_of(count as u64)).map(|bin| (end_of(bin) as usize).min(count));
        Some(Self {
            hottest_share: Hottest::new(all.hottest(Ranked::share_of)),
            hottest_share_error: (share < 1.0).then(|| errors(&pages, accesses as f64, share)),
            curve: PopularityCurve {
                pages_share: ranks().map(|rank| rank as f64 / count as f64).collect(),
                accesses_share: ranks().map(|rank| all.share_of(rank)).collect(),
            },
        })
    }
}

/// The standard errors of the shares of the hottest pages.
fn errors(pages: &[Counted], accesses: f64, share: f64) -> Hottest {
    let groups = GROUPS as f64;
    let others_share = share * (groups - 1.0) / groups;
    let without: [[f64; 4]; GROUPS] = array::from_fn(|left_out| {
        let others = pages.iter().filter(|(_, group)| *group != left_out);
        Ranked::rank(others, accesses, others_share).hottest(Ranked::left_to)
    });
    Hottest::new(array::from_fn(|percent| {
        let mean = without.iter().map(|shares| shares[percent]).sum::<f64>() / groups;
        let squares = without.iter().map(|shares| (shares[percent] - mean).powi(2)).sum::<f64>();
        ((1.0 - share) * squares * (groups - 1.0) / groups).sqrt()
    }))
}

/// Pages of a sample in the order of their accesses, most first.
struct Ranked {
    /// The accesses to each page and those before it.
    through: Vec<u64>,
    /// All accesses, to whatever page.
    accesses: f64,
    /// The share of pages that is in the sample.
    share: f64,
}

impl Ranked {
    fn rank<'a>(pages: impl Iterator<Item = &'a Counted>, accesses: f64, share: f64) -> Self {
        let mut sum = 0;
        let through = pages.map(|&(count, _)| {
            sum += count;
            sum
        });
        Self { through: through.collect(), accesses, share }
    }

    /// The share of accesses to the pages up to a rank, from 1: no less than their share of the pages, since none is hotter.
    fn share_of(&self, rank: usize) -> f64 {
        self.left_to(rank).max(rank as f64 / self.through.len() as f64)
    }

    /// The share of accesses that the pages after a rank leave to those up to it, below 0 by chance.
    fn left_to(&self, rank: usize) -> f64 {
        let Some(&sum) = self.through.last() else { return 0.0 };
        let others = (sum - self.through[rank - 1]) as f64 / self.share;
        (self.accesses - others) / self.accesses
    }

    /// The shares of the hottest 1, 5, 10 and 20 % of the pages.
    fn hottest(&self, share: impl Fn(&Self, usize) -> f64) -> [f64; 4] {
        [1, 5, 10, 20].map(|percent| share(self, ((self.through.len() * percent + 50) / 100).max(1)))
    }
}

impl Hottest {
    fn new([of_1_percent, of_5_percent, of_10_percent, of_20_percent]: [f64; 4]) -> Self {
        Self { of_1_percent, of_5_percent, of_10_percent, of_20_percent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_a_hand_count() {
        // A hundred pages: one is written 901 times, the others once; every other one of these is read, and two are
        // read more.
        let pages = (0..100).map(|page| match page {
            0 => [0, 901],
            1 => [30, 1],
            2 => [21, 1],
            _ => [u32::from(page % 2 == 0), 1],
        });
        let popularity = Popularity::count(pages.map(|ops| (0, ops)), [99, 1000], 1.0);
        let write = popularity.write.unwrap().hottest_share;
        assert_eq!((write.of_1_percent, write.of_5_percent, write.of_20_percent), (0.901, 0.905, 0.92));
        let read = popularity.read.unwrap();
        assert_eq!(read.curve.pages_share.len(), 41, "50 pages are read: 32, and 9 bins of two");
        assert_eq!(read.hottest_share.of_1_percent, 30.0 / 99.0, "at least one page");
        assert_eq!(read.hottest_share.of_5_percent, 52.0 / 99.0, "2.5 pages are three");
        let all = popularity.all.unwrap();
        assert_eq!(all.hottest_share.of_1_percent, 901.0 / 1099.0);
        assert_eq!((all.curve.pages_share[0], all.curve.accesses_share[0]), (0.01, 901.0 / 1099.0));
        assert_eq!((all.curve.pages_share.last(), all.curve.accesses_share.last()), (Some(&1.0), Some(&1.0)));
        assert!(all.curve.accesses_share.is_sorted() && all.curve.pages_share.is_sorted());
    }

    /// A page in ten is tracked, and too many of them: each was written once, so that the hottest have no more than others.
    #[test]
    fn sampled_pages_have_no_less_than_their_share_and_an_error() {
        let popularity = Popularity::count((0..120).map(|page| (page % GROUPS, [0, 1])), [0, 1000], 0.1);
        let write = popularity.write.unwrap();
        assert_eq!(write.hottest_share.of_5_percent, 0.05);
        assert!(write.hottest_share_error.unwrap().of_5_percent > 0.01);
        assert!(write.curve.accesses_share.is_sorted());
    }

    #[test]
    fn nothing_has_no_popularity() {
        let none = Popularity::count(std::iter::empty(), [0; 2], 1.0);
        assert_eq!((none.read, none.write, none.all), (None, None, None));
        let one = Popularity::count(std::iter::once((0, [3, 0])), [3, 0], 1.0).all.unwrap();
        assert_eq!((one.hottest_share.of_1_percent, one.hottest_share_error), (1.0, None));
    }
}
