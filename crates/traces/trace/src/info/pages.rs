//! A sample of tracked pages, with the reads, writes and reuse distances of each.
//!
//! Up to a bound, all pages are tracked. Beyond, only pages with a hash below a threshold are, and the threshold is
//! lowered whenever the bound is reached again. The address alone decides, so a page in the sample was tracked from
//! its first access on, and the sample is representative.
//!
//! Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS" (FAST 2015):
//! sampling by a hash of the address (section 3.1), of fixed size with a falling threshold (3.3). The paper
//! removes the page with the highest hash, one at a time; here the eighth of the pages with the highest
//! hashes is removed at once, so that no queue is needed. The paper scales counts down when the threshold
//! falls; here each access is weighted by the pages it represents, with the same result.
//!
//! Pages are divided into random groups, by other bits of the hash. The differences between the groups give
//! the error of estimates from the sample. Source: Wolter, "Introduction to variance estimation" (2nd
//! edition, 2007), chapters 2 (random groups) and 4 (jackknife).
//!
//! Cost: a hash per access to a page; a look-up and a few words of a tree for tracked pages. Memory: at most about 80
//! bytes per page of the bound, none for accesses.

use super::groups::group_of;
use super::popularity::Popularity;
use super::reuse::{Reuse, Reuses};
use coflash_workload::recency::Recency;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Hash 64 bits without collisions (the finaliser of SplitMix64). All sampling of pages uses this hash.
#[inline]
pub(crate) fn mix(page: u64) -> u64 {
    let mut x = page.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A tracked page.
struct Page {
    /// The slot of its last use.
    slot: u32,
    /// Reads and writes; saturating at 2^32 − 1.
    accesses: [u32; 2],
}

/// The sample of pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sampling {
    /// Whether all pages were tracked.
    pub method: Method,
    /// The tracked share of pages; 1 if exact.
    pub share: f64,
    /// The tracked pages at the end.
    pub pages: u64,
}

impl Sampling {
    /// A sample of `pages` pages, with the hashes up to a limit.
    pub(crate) fn below(limit: u64, pages: usize) -> Self {
        let method = if limit == u64::MAX { Method::Exact } else { Method::Sampled };
        Self { method, share: (limit as f64 + 1.0) / 2.0_f64.powi(64), pages: pages as u64 }
    }
}

/// Whether all pages were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All pages were tracked.
    Exact,
    /// Pages with a hash below a threshold were tracked.
    Sampled,
}

/// The tracked pages.
#[derive(Default)]
pub(crate) struct Pages {
    /// By hash. No result depends on the order of the table.
    followed: FxHashMap<u64, Page>,
    followed_max: usize,
    /// The threshold of the hash.
    limit: u64,
    /// The weight of a tracked page: the number of pages that it represents.
    weight: f64,
    recency: Recency,
    reuses: Reuses,
    /// Reads and writes of pages, tracked or not.
    accesses: [u64; 2],
}

impl Pages {
    pub(crate) fn new(followed_max: usize) -> Self {
        Self { followed_max, limit: u64::MAX, weight: 1.0, ..Self::default() }
    }

    /// Count a read (`op` 0) or a write (`op` 1) of a page.
    #[inline]
    pub(crate) fn access(&mut self, page: u64, op: usize) {
        self.accesses[op] += 1;
        let hash = mix(page);
        if hash <= self.limit {
            self.follow(hash, op);
        }
    }

    fn follow(&mut self, hash: u64, op: usize) {
        if self.recency.is_full() {
            let renumbered = self.recency.renumber();
            self.followed.values_mut().for_each(|page| page.slot = renumbered.new_number(page.slot));
        }
        let weight = self.weight;
        if let Some(page) = self.followed.get_mut(&hash) {
            // The pages accessed since; an estimate if pages are sampled.
            let others = f64::from(self.recency.since(page.slot)) * weight;
            self.reuses.again(op, group_of(hash), others, weight);
            self.recency.remove(page.slot);
            page.slot = self.recency.push();
            page.accesses[op] = page.accesses[op].saturating_add(1);
            return;
        }
        self.reuses.first(op, group_of(hash), weight);
        let mut page = Page { slot: self.recency.push(), accesses: [0; 2] };
        page.accesses[op] = 1;
        self.followed.insert(hash, page);
        if self.followed.len() > self.followed_max {
            self.thin();
        }
    }

    /// Lower the threshold to remove an eighth of the pages.
    #[cold]
    fn thin(&mut self) {
        let mut hashes: Vec<u64> = self.followed.keys().copied().collect();
        let kept = self.followed_max - self.followed_max / 8;
        let (_, &mut lowest_gone, _) = hashes.select_nth_unstable(kept);
        self.limit = lowest_gone - 1;
        self.weight = 1.0 / self.share();
        let recency = &mut self.recency;
        self.followed.retain(|&hash, page| {
            let stays = hash < lowest_gone;
            if !stays {
                recency.remove(page.slot);
            }
            stays
        });
    }

    fn share(&self) -> f64 {
        self.sampling().share
    }

    pub(crate) fn sampling(&self) -> Sampling {
        Sampling::below(self.limit, self.followed.len())
    }

    /// The reuse of pages; `None` without accesses.
    pub(super) fn reuse(&self) -> Option<Reuse> {
        self.reuses.finish(self.accesses, self.share())
    }

    /// The popularity of pages.
    pub(crate) fn popularity(&self) -> Popularity {
        let pages = self.followed.iter().map(|(&hash, page)| (group_of(hash), page.accesses));
        Popularity::count(pages, self.accesses, self.share())
    }
}
