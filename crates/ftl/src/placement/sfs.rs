//! SFS: pages are grouped by hotness, the number of their writes divided by the time since the last one. The
//! centres of the groups follow the hotness of the data by iterative quantisation.
//!
//! Source: Min, Kim, Cho, Lee & Eom, "SFS: random write considered harmful in solid state drives", FAST 2012;
//! written from the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository). Our choices:
//! time is counted in pages written, so that results do not depend on speed; the centres come from a sample
//! of pages instead of the segments, so that no sums per block are needed; they begin as quantiles of that
//! sample.

use super::nearest::nearest;
use super::times::Times;
use super::{Class, Classes, Cleaned, Column, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Lpn, Misfit, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of SFS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SfsConfig {
    /// Number of groups, from 2 to 16.
    pub groups: u32,
}

impl Default for SfsConfig {
    fn default() -> Self {
        Self { groups: 6 }
    }
}

/// The number of cleaned blocks between two quantisations.
const BLOCKS: u64 = 16;
/// The maximal number of pages in the sample.
const SAMPLE: usize = 1024;
/// The number of rounds of a quantisation.
const ROUNDS: usize = 3;

/// SFS.
#[derive(Clone)]
pub struct Sfs {
    written: Times,
    /// The number of writes of each page; 0 for a page never written.
    writes: Vec<u32>,
    /// The centres of the groups, the hottest first.
    centres: Vec<f64>,
    /// The number of cleaned blocks.
    cleaned: u64,
}

impl Sfs {
    fn hotness(&self, lpn: Lpn, now: u64) -> f64 {
        f64::from(self.writes[lpn.index()]) / self.written.age(lpn, now).max(1) as f64
    }

    fn group(&self, hotness: f64) -> Class {
        Class::from_index(nearest(&self.centres, hotness))
    }

    fn quantise(&mut self, now: u64) {
        let step = self.writes.len().div_ceil(SAMPLE);
        let pages = (0..self.writes.len()).step_by(step).filter(|&page| self.writes[page] > 0);
        let mut sample: Vec<f64> = pages.map(|page| self.hotness(Lpn::from_index(page), now)).collect();
        sample.sort_by(|one, other| other.total_cmp(one));
        let groups = self.centres.len();
        if sample.len() < groups {
            return;
        }
        if self.centres[0] == 0.0 {
            for (group, centre) in self.centres.iter_mut().enumerate() {
                *centre = sample[(2 * group + 1) * sample.len() / (2 * groups)];
            }
        }
        for _ in 0..ROUNDS {
            let mut sums = vec![(0.0, 0_u32); groups];
            for &hotness in &sample {
                let (sum, count) = &mut sums[nearest(&self.centres, hotness)];
                *sum += hotness;
                *count += 1;
            }
            for (centre, (sum, count)) in self.centres.iter_mut().zip(sums) {
                if count > 0 {
                    *centre = sum / f64::from(count);
                }
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
            centres: vec![0.0; config.groups as usize],
            cleaned: 0,
        }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        // A page that was never written counts as hot.
        let is_known = self.writes[page.lpn.index()] > 0;
        let hotness = if is_known { self.hotness(page.lpn, page.now) } else { f64::MAX };
        self.written.set(page.lpn, page.now);
        let writes = &mut self.writes[page.lpn.index()];
        *writes = writes.saturating_add(1);
        self.group(hotness)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        self.group(self.hotness(page.lpn, page.now))
    }

    fn cleaned(&mut self, block: Cleaned) {
        if self.cleaned.is_multiple_of(BLOCKS) {
            self.quantise(block.now);
        }
        self.cleaned = self.cleaned.wrapping_add(1);
    }

    fn state(&mut self) -> Vec<Column<'_>> {
        vec![
            self.written.column(),
            Column::U32(&mut self.writes),
            Column::F64(&mut self.centres),
            Column::U64(std::slice::from_mut(&mut self.cleaned)),
        ]
    }

    fn heap_bytes(&self) -> usize {
        self.written.heap_bytes() + self.writes.capacity() * size_of::<u32>()
    }
}
