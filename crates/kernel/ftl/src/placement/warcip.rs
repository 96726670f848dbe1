//! WARCIP: writes are clustered by the interval between two writes of a page. The centre of each cluster
//! follows its intervals. A page copied by GC gets a penalty: in its next interval the time up to the copy
//! counts twice.
//!
//! Source: Yang, Pei & Yang, "WARCIP: write amplification reduction by clustering I/O pages", SYSTOR 2019;
//! written from the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository). Our choices:
//! time is counted in pages written; the number of clusters is fixed (the original splits and merges them);
//! the centre is a mean over about a block of writes.

use super::nearest::nearest;
use super::times::Times;
use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Misfit, Policy, Save};

coflash_base::config! {
    /// The parameters of WARCIP.
    #[derive(Eq)]
    pub struct WarcipConfig {
        /// Number of clusters of writes, from 1 to 15; copies of GC have a class of their own.
        pub clusters: u32 = 5,
    }
}

/// WARCIP.
#[derive(Clone, Save)]
pub struct Warcip {
    pages_per_block: u64,
    written: Times,
    /// The time from the last write of each page to its last copy by GC, if that came later; otherwise 0.
    penalties: Vec<u32>,
    /// The mean interval of each cluster, and the number of intervals in it.
    centres: Vec<f64>,
    counts: Vec<u64>,
}

impl Policy for Warcip {
    type Config = WarcipConfig;
    const SUMMARY: &'static str =
        "Clusters of writes by the interval since the page's last write; copies of GC apart.";
    const SOURCE: &'static str = "Yang, Pei & Yang 2019 (WARCIP, SYSTOR)";
}

impl PlacementPolicy for Warcip {
    const BYTES_PER_PAGE: u32 = 8;

    fn classes(config: &WarcipConfig) -> Result<Classes, Misfit> {
        check_count("clusters", config.clusters.saturating_add(1), 2)?;
        Ok(Classes::Own { count: config.clusters + 1, gc: config.clusters..config.clusters + 1 })
    }

    fn new(config: &WarcipConfig, shape: Shape) -> Self {
        let clusters = config.clusters as usize;
        Self {
            pages_per_block: shape.pages_per_block.into(),
            written: Times::new(shape.pages),
            penalties: vec![0; shape.pages as usize],
            centres: vec![0.0; clusters],
            counts: vec![0; clusters],
        }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let penalty = std::mem::take(&mut self.penalties[page.lpn.index()]);
        let age = self.written.age(page.lpn, page.now);
        let interval = if page.replaces.is_some() { (age + u64::from(penalty)) as f64 } else { 0.0 };
        self.written.set(page.lpn, page.now);
        let cluster = nearest(&self.centres, interval);
        let count = &mut self.counts[cluster];
        *count = count.saturating_add(1).min(self.pages_per_block);
        self.centres[cluster] += (interval - self.centres[cluster]) / *count as f64;
        Class::from_index(cluster)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        self.penalties[page.lpn.index()] = self.written.age(page.lpn, page.now) as u32;
        Class::from_index(self.centres.len())
    }
}
