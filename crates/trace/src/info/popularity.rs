//! Popularity: the share of accesses to the hottest pages.
//!
//! The hottest pages are determined among the pages read, the pages written, and all pages. If pages are sampled, they
//! are the hottest of the sample.

use super::bins::{bin_of, end_of};
use serde::Serialize;

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

impl Popularity {
    /// Compute the popularity from the reads and writes of each page.
    pub(crate) fn of(pages: impl Iterator<Item = [u32; 2]>) -> Self {
        let (reads, writes): (Vec<u64>, Vec<u64>) =
            pages.map(|[reads, writes]| (u64::from(reads), u64::from(writes))).unzip();
        let all = reads.iter().zip(&writes).map(|(reads, writes)| reads + writes).collect();
        Self { read: Spread::of(reads), write: Spread::of(writes), all: Spread::of(all) }
    }
}

impl Spread {
    fn of(mut counts: Vec<u64>) -> Option<Self> {
        counts.retain(|&count| count > 0);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // Running sums: the accesses to the hottest pages.
        let mut sum = 0;
        for count in &mut counts {
            sum += *count;
            *count = sum;
        }
        let pages = counts.len();
        if pages == 0 {
            return None;
        }
        let share_of = |hottest: usize| counts[hottest - 1] as f64 / sum as f64;
        let percent = |hundredths: usize| share_of(((pages * hundredths + 50) / 100).max(1));
        let ranks = || (1..=bin_of(pages as u64)).map(|bin| (end_of(bin) as usize).min(pages));
        Some(Self {
            hottest_share: Hottest {
                of_1_percent: percent(1),
                of_5_percent: percent(5),
                of_10_percent: percent(10),
                of_20_percent: percent(20),
            },
            curve: PopularityCurve {
                pages_share: ranks().map(|rank| rank as f64 / pages as f64).collect(),
                accesses_share: ranks().map(share_of).collect(),
            },
        })
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
        let popularity = Popularity::of(pages);
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

    #[test]
    fn nothing_has_no_popularity() {
        let none = Popularity::of(std::iter::empty());
        assert_eq!((none.read, none.write, none.all), (None, None, None));
        assert_eq!(Popularity::of(std::iter::once([3, 0])).all.unwrap().hottest_share.of_1_percent, 1.0);
    }
}
