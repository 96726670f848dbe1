//! SFS: pages are grouped by hotness, the number of their writes divided by the time since the last one. The
//! centres of the groups follow the hotness of full blocks by iterative quantisation; that of a block is the mean
//! number of writes of its valid pages divided by their mean age. The centre of an empty group is 0, so that the
//! coldest of the other groups is divided next.
//!
//! Source: Min, Kim, Cho, Lee & Eom, "SFS: random write considered harmful in solid state drives", FAST 2012;
//! written from the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository). Our choices:
//! time is counted in pages written, so that results do not depend on speed; groups are quantised once per 16 cleaned
//! blocks, from at most 1024 blocks.

use super::nearest::nearest;
use super::times::Times;
use super::{Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Lpn, Misfit, Policy, Save};
use coflash_media::BlockId;

coflash_base::config! {
    /// The parameters of SFS.
    #[derive(Eq)]
    pub struct SfsConfig {
        /// Number of groups, from 2 to 16.
        pub groups: u32 = 6,
    }
}

/// The number of cleaned blocks between two quantisations.
const BLOCKS: u64 = 16;
/// The maximal number of blocks in the sample.
const SAMPLE: usize = 1024;
/// The number of rounds of a quantisation.
const ROUNDS: usize = 3;

/// SFS.
#[derive(Clone, Save)]
pub struct Sfs {
    written: Times,
    /// The number of writes of each page; 0 for a page never written.
    writes: Vec<u32>,
    /// The sums over the valid pages of each full block: pages, their writes, and the times of their last writes.
    pages: Vec<u32>,
    writes_of: Vec<u64>,
    times_of: Vec<u64>,
    /// The centres of the groups, the hottest first.
    centres: Vec<f64>,
    /// The time, and the number of cleaned blocks.
    now: u64,
    cleaned: u64,
}

impl Sfs {
    fn hotness(&self, lpn: Lpn, now: u64) -> f64 {
        f64::from(self.writes[lpn.index()]) / self.written.age(lpn, now).max(1) as f64
    }

    fn group(&self, hotness: f64) -> Class {
        Class::from_index(nearest(&self.centres, hotness))
    }

    /// The number of writes of a page, and the time of the last one.
    fn record(&self, lpn: Lpn) -> (u64, u64) {
        (self.writes[lpn.index()].into(), self.now.wrapping_sub(self.written.age(lpn, self.now)))
    }

    /// The hotness of a block with valid pages.
    fn hotness_of_block(&self, block: usize) -> Option<f64> {
        let pages = u64::from(self.pages[block]);
        let ages = pages.wrapping_mul(self.now).wrapping_sub(self.times_of[block]);
        (pages > 0).then(|| self.writes_of[block] as f64 / ages.max(1) as f64)
    }

    fn quantise(&mut self) {
        let step = self.pages.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<f64> =
            (0..self.pages.len()).step_by(step).filter_map(|block| self.hotness_of_block(block)).collect();
        for _ in 0..ROUNDS {
            let mut sums = vec![(0.0, 0_u32); self.centres.len()];
            for &hotness in &sample {
                let (sum, count) = &mut sums[nearest(&self.centres, hotness)];
                *sum += hotness;
                *count += 1;
            }
            for (centre, (sum, count)) in self.centres.iter_mut().zip(sums) {
                *centre = sum / f64::from(count.max(1));
            }
        }
        self.centres.sort_by(|one, other| other.total_cmp(one));
    }
}

impl Policy for Sfs {
    type Config = SfsConfig;
    const SUMMARY: &'static str =
        "Groups by hotness: writes of the page divided by the time since the last one.";
    const SOURCE: &'static str = "Min et al. 2012 (SFS, FAST)";
}

impl PlacementPolicy for Sfs {
    const BYTES_PER_PAGE: u32 = 8;

    fn classes(config: &SfsConfig) -> Result<Classes, Misfit> {
        check_count("groups", config.groups, 2)?;
        Ok(Classes::Own { count: config.groups, gc: 0..config.groups })
    }

    fn new(config: &SfsConfig, shape: Shape) -> Self {
        Self {
            written: Times::new(shape.pages),
            writes: vec![0; shape.pages as usize],
            pages: vec![0; shape.blocks as usize],
            writes_of: vec![0; shape.blocks as usize],
            times_of: vec![0; shape.blocks as usize],
            centres: vec![0.0; config.groups as usize],
            now: 0,
            cleaned: 0,
        }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        // A page that was never written counts as hot.
        let is_known = self.writes[page.lpn.index()] > 0;
        let hotness = if is_known { self.hotness(page.lpn, page.now) } else { f64::MAX };
        self.now = page.now;
        self.written.set(page.lpn, page.now);
        let writes = &mut self.writes[page.lpn.index()];
        *writes = writes.saturating_add(1);
        self.group(hotness)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        self.group(self.hotness(page.lpn, page.now))
    }

    const FOLLOWS_BLOCKS: bool = true;

    fn sealed(&mut self, block: BlockId, pages: &mut dyn Iterator<Item = Lpn>) {
        let block = block.index();
        for lpn in pages {
            let (writes, time) = self.record(lpn);
            self.pages[block] = self.pages[block].saturating_add(1);
            self.writes_of[block] = self.writes_of[block].wrapping_add(writes);
            self.times_of[block] = self.times_of[block].wrapping_add(time);
        }
    }

    fn left(&mut self, lpn: Lpn, block: BlockId) {
        let ((writes, time), block) = (self.record(lpn), block.index());
        if self.pages[block] > 0 {
            self.pages[block] -= 1;
            self.writes_of[block] = self.writes_of[block].wrapping_sub(writes);
            self.times_of[block] = self.times_of[block].wrapping_sub(time);
        }
    }

    fn erased(&mut self, block: BlockId) {
        let block = block.index();
        (self.pages[block], self.writes_of[block], self.times_of[block]) = (0, 0, 0);
    }

    fn recorded(&self, block: BlockId) -> u32 {
        self.pages[block.index()]
    }

    fn cleaned(&mut self, block: Cleaned) {
        self.now = block.now;
        if self.cleaned.is_multiple_of(BLOCKS) {
            self.quantise();
        }
        self.cleaned = self.cleaned.wrapping_add(1);
    }
}
