//! Future knowledge, an oracle: the class of a page follows from the time until it is next written or
//! trimmed. The first class takes pages with less than one block of writes left, each further class covers
//! `growth` times as long a time, and the last one takes all other pages.
//!
//! Source: "FK" in Wang et al., "Separating data via block invalidation time inference for write
//! amplification reduction in log-structured storage", FAST 2022; written from the repository of its
//! simulator, where every class covers one block of writes (`growth` 1), so that most pages of a large device
//! are in the last one. Our choice: one block of writes means one block of each pool, since pools fill side
//! by side.

use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{IdVec, Lpn, Misfit, Policy, Save};

coflash_base::config! {
    /// The parameters of future knowledge.
    #[derive(Eq)]
    pub struct FutureKnowledgeConfig {
        /// Number of classes, from 2 to 16.
        pub classes: u32 = 6,
        /// The time of a class over that of the one before, from 1 to 16.
        pub growth: u32 = 1,
    }
}

/// The time of an event that never happens.
const NEVER: u32 = u32::MAX;

/// The future writes and trims. Times count page writes from the beginning; times from 2³² on count as never.
#[derive(Clone, Debug)]
pub struct Future {
    /// The time of death of each page's initial data.
    at_first: IdVec<Lpn, u32>,
    /// The time of death of the data of each write, in order.
    written: Vec<u32>,
    /// The latest write of each page, unless it was trimmed.
    latest: IdVec<Lpn, Option<u32>>,
}

impl Future {
    /// Create the future of `pages` pages, without a write.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        let pages = pages as usize;
        Self {
            at_first: IdVec::filled(NEVER, pages),
            written: Vec::new(),
            latest: IdVec::filled(None, pages),
        }
    }

    /// Add the write of a page.
    pub fn write(&mut self, lpn: Lpn) {
        self.trim(lpn);
        self.latest[lpn] = u32::try_from(self.written.len()).ok();
        self.written.push(NEVER);
    }

    /// Add the trim of a page.
    pub fn trim(&mut self, lpn: Lpn) {
        let now = u32::try_from(self.written.len()).unwrap_or(NEVER);
        match self.latest[lpn].take() {
            Some(write) => self.written[write as usize] = now,
            None => self.at_first[lpn] = self.at_first[lpn].min(now),
        }
    }
}

/// Future knowledge.
#[derive(Clone, Save)]
pub struct FutureKnowledge {
    classes: u32,
    growth: u64,
    /// The pages written while one block of each pool fills.
    block_writes: u32,
    /// The time at the beginning of the future.
    begin: u64,
    /// The time of death of each write; empty without a future.
    written: Vec<u32>,
    /// The time of death of each page.
    dies_at: IdVec<Lpn, u32>,
}

impl FutureKnowledge {
    fn class(&self, lpn: Lpn, now: u64) -> Class {
        let left = u64::from(self.dies_at[lpn]).saturating_sub(now.saturating_sub(self.begin));
        let (mut class, mut time) = (0, u64::from(self.block_writes));
        let mut until = time;
        while class + 1 < self.classes && left >= until {
            time = time.saturating_mul(self.growth);
            until = until.saturating_add(time);
            class += 1;
        }
        Class::new(class)
    }
}

impl Policy for FutureKnowledge {
    type Config = FutureKnowledgeConfig;
    const SUMMARY: &'static str = "An oracle: classes by the time until the page is written again. Needs a workload that can be read ahead.";
    const SOURCE: &'static str = "Wang et al. 2022 (FK in SepBIT, FAST)";
}

impl PlacementPolicy for FutureKnowledge {
    const BYTES_PER_PAGE: u32 = 4;

    fn classes(config: &FutureKnowledgeConfig) -> Result<Classes, Misfit> {
        check_count("classes", config.classes, 2)?;
        check_count("growth", config.growth, 1)?;
        Ok(Classes::Own { count: config.classes, gc: 0..config.classes })
    }

    fn needs_future(_: &FutureKnowledgeConfig) -> bool {
        true
    }

    fn new(config: &FutureKnowledgeConfig, shape: Shape) -> Self {
        Self {
            classes: config.classes,
            growth: config.growth.into(),
            block_writes: shape.pages_per_block.saturating_mul(shape.pools).max(1),
            begin: 0,
            written: Vec::new(),
            dies_at: IdVec::filled(NEVER, shape.pages as usize),
        }
    }

    fn foresee(&mut self, future: Future, now: u64) {
        (self.begin, self.written, self.dies_at) = (now, future.written, future.at_first);
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let write = usize::try_from(page.now.saturating_sub(self.begin)).unwrap_or(usize::MAX);
        self.dies_at[page.lpn] = self.written.get(write).copied().unwrap_or(NEVER);
        self.class(page.lpn, page.now)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        self.class(page.lpn, page.now)
    }
}
