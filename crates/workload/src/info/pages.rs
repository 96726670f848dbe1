//! Pages that are followed one by one: how often each is read and written, and which were used since.
//!
//! All of them are while they are few. Beyond a bound only those are whose hash lies below a threshold, which is lowered
//! whenever there are too many again. Where a page lies alone decides whether it is followed, so that each one that is was
//! followed from its first access on, and what happens between two of them is in proportion what happens between all.
//!
//! Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS" (FAST 2015): sampling by a
//! hash of the place (section 3.1), of fixed size with a threshold that is lowered (3.3). There the page with the highest
//! hash goes, one at a time; here the eighth with the highest goes at once, which needs no queue. There the counts so far
//! are scaled down when the threshold falls; here each access weighs as many as it stands for, which is the same.
//!
//! Cost: a hash for each access to a page; a look-up and a few words of a tree for those that are followed. Memory: at most
//! some 80 bytes for each page of the bound, none for accesses.

#![allow(clippy::disallowed_types, reason = "what is read from the table does not depend on its order")]

use super::recency::Recency;
use super::reuse::Reuses;
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Mixes 64 bits so that all depend on all, and none share a place (the finaliser of SplitMix64). Whatever follows a share of
/// all pages goes by this.
#[inline]
pub(crate) fn mix(page: u64) -> u64 {
    let mut x = page.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Pages are known by their hash, whose lower bits are as good as any; the upper ones, alike in all that are followed,
/// are mixed with them.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("hashes of pages are numbers");
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// What is known of a page that is followed.
struct Page {
    /// Of its last use.
    slot: u32,
    /// Reads and writes of it; four billion are as many as any more.
    accesses: [u32; 2],
}

/// How pages were followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sampling {
    /// Whether all were.
    pub method: Method,
    /// The share of all pages that was; 1 where it is exact.
    pub share: f64,
    /// How many pages were, to the end.
    pub pages: u64,
}

/// Whether all pages were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All were.
    Exact,
    /// Those below a threshold were, and stand for all.
    Sampled,
}

/// The pages that are followed.
pub(super) struct Pages {
    followed: HashMap<u64, Page, BuildHasherDefault<Spread>>,
    followed_max: usize,
    /// Pages are followed whose hash is at most this.
    limit: u64,
    /// How many pages a followed one stands for.
    weight: f64,
    recency: Recency,
    reuses: Reuses,
}

impl Pages {
    pub(super) fn new(followed_max: usize) -> Self {
        Self {
            followed: HashMap::default(),
            followed_max,
            limit: u64::MAX,
            weight: 1.0,
            recency: Recency::new(),
            reuses: Reuses::default(),
        }
    }

    /// Reads (`op` 0) or writes (`op` 1) a page.
    #[inline]
    pub(super) fn access(&mut self, page: u64, op: usize) {
        let hash = mix(page);
        if hash <= self.limit {
            self.follow(hash, op);
        }
    }

    fn follow(&mut self, hash: u64, op: usize) {
        if self.recency.is_full() {
            let renumbered = self.recency.renumber();
            self.followed.values_mut().for_each(|page| page.slot = renumbered.of(page.slot));
        }
        if let Some(page) = self.followed.get_mut(&hash) {
            let others = f64::from(self.recency.since(page.slot));
            self.reuses.again(op, others * self.weight, self.weight);
            self.recency.remove(page.slot);
            page.slot = self.recency.push();
            page.accesses[op] = page.accesses[op].saturating_add(1);
            return;
        }
        self.reuses.first(op, self.weight);
        let mut page = Page { slot: self.recency.push(), accesses: [0; 2] };
        page.accesses[op] = 1;
        self.followed.insert(hash, page);
        if self.followed.len() > self.followed_max {
            self.thin();
        }
    }

    /// Lowers the threshold so far that an eighth of the pages goes.
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
        (self.limit as f64 + 1.0) / 2.0_f64.powi(64)
    }

    pub(super) fn sampling(&self) -> Sampling {
        let method = if self.limit == u64::MAX { Method::Exact } else { Method::Sampled };
        Sampling { method, share: self.share(), pages: self.followed.len() as u64 }
    }

    pub(super) fn reuses(&self) -> &Reuses {
        &self.reuses
    }

    /// How often each page that is followed was read and written, in no order.
    pub(super) fn accesses(&self) -> impl Iterator<Item = [u32; 2]> {
        self.followed.values().map(|page| page.accesses)
    }
}
