//! The parameters of `"reuse-flows"`, and their limits.

use super::{OPS, Source};
use crate::WorkloadError;
use crate::synthetic::{Space, refuse};
use coflash_base::{Bytes, Share};

/// The most windows.
const WINDOWS_MAX: u32 = 64;
/// The most weights.
const WEIGHTS_MAX: usize = 64;

coflash_base::config! {
    /// The parameters of `"reuse-flows"`.
    // By default a thousand pages are written, then half of them are read and the other half is written again.
    #[derive(Eq)]
    pub struct ReuseFlowsConfig {
        /// Size of a page, a multiple of `align`. Uses are counted in pages.
        pub page: Bytes = Bytes { count: 4096 },
        /// Share of the requests that begin with a page; the others begin anywhere in one.
        pub aligned_share: Share = Share::ONE,
        /// Number of windows.
        pub windows: u32 = 2,
        /// The flows, in the order of their windows: window, operation (0 read, 1 write, 2 trim), window of the previous
        /// access (`windows` if there is none), window of the next access (`windows` if there is none), its operation, runs,
        /// pages, and the part of the window with runs, from and to, in thousandths.
        pub flows: Vec<[u32; 9]> = vec![
            [0, 1, 2, 1, 0, 50, 500, 0, 1000],
            [0, 1, 2, 1, 1, 50, 500, 0, 1000],
            [1, 0, 0, 2, 0, 50, 500, 0, 1000],
            [1, 1, 0, 2, 0, 50, 500, 0, 1000],
        ],
        /// Weights of the flow of the next run: the last but one, the last but two, and so on; the last weight is for others.
        pub ranks: Vec<u32> = vec![1],
        /// Weights of distances between two accesses in a window, in pages: 1, 2 to 3, 4 to 7, and so on.
        pub within: Vec<u32> = vec![1],
    }
}

impl ReuseFlowsConfig {
    /// The number of pages that are accessed.
    pub(super) fn pages(&self) -> u64 {
        let new = self.flows.iter().filter(|flow| flow[2] == self.windows);
        new.map(|flow| u64::from(flow[6])).sum()
    }

    /// The bytes of all pages that are accessed.
    #[must_use]
    pub fn pages_bytes(&self) -> u64 {
        self.pages() * self.page.count
    }

    /// Check all parameters.
    pub(super) fn check(&self, space: Space) -> Result<(), WorkloadError> {
        let Self { page, windows, .. } = *self;
        if page.count == 0 || !page.count.is_multiple_of(space.align.count) {
            let problem = format!("{page} was given; a multiple of align, {}, is allowed", space.align);
            return refuse("generator.page", problem);
        }
        if !(1..=WINDOWS_MAX).contains(&windows) {
            let problem = format!("{windows} was given; from 1 to {WINDOWS_MAX} is allowed");
            return refuse("generator.windows", problem);
        }
        for (key, weights) in [("generator.ranks", &self.ranks), ("generator.within", &self.within)] {
            if weights.len() > WEIGHTS_MAX || weights.iter().all(|&weight| weight == 0) {
                let count = weights.len();
                let problem =
                    format!("{count} weights were given; up to {WEIGHTS_MAX}, and not all 0, are allowed");
                return refuse(key, problem);
            }
        }
        self.check_flows(space)
    }

    fn check_flows(&self, space: Space) -> Result<(), WorkloadError> {
        let windows = self.windows as usize;
        if let Some(wrong) = self.flows.iter().find(|&&flow| !Flow::new(flow).is_valid(windows)) {
            let problem = format!(
                "{wrong:?} was given; a window from 0, an operation up to 2, an earlier window or {windows}, a window \
                 that is not earlier or {windows}, an operation up to 2, at least one run and as many pages, and a part \
                 within 0 to 1000 are allowed"
            );
            return refuse("generator.flows", problem);
        }
        if !self.flows.is_sorted_by_key(|flow| flow[0]) {
            return refuse("generator.flows", "flows not in the order of windows were given");
        }
        let most = (space.units * space.align.count / self.page.count).min(u32::MAX.into());
        let pages = self.pages();
        if pages == 0 || pages > most {
            let problem = format!(
                "flows with {pages} new pages were given; from 1 to those of the space, {most}, are allowed"
            );
            return refuse("generator.flows", problem);
        }
        Ok(())
    }
}

/// Where pages come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) window: usize,
    pub(super) op: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) next_op: usize,
    pub(super) runs: u64,
    pub(super) pages: u64,
    begin: u32,
    end: u32,
}

impl Flow {
    pub(super) fn new([window, op, from, to, next_op, runs, pages, begin, end]: [u32; 9]) -> Self {
        let [window, op, from, to, next_op] = [window, op, from, to, next_op].map(|number| number as usize);
        Self { window, op, from, to, next_op, runs: runs.into(), pages: pages.into(), begin, end }
    }

    fn is_valid(&self, windows: usize) -> bool {
        let is_from = self.from <= self.window || self.from == windows;
        let is_to = (self.window..=windows).contains(&self.to);
        let operations = [self.op, self.next_op].iter().all(|&op| op < OPS.len());
        let runs = (1..=self.pages).contains(&self.runs);
        let part = self.begin <= self.end && self.end <= 1000;
        self.window < windows && is_from && is_to && operations && runs && part
    }

    /// Where its pages come from.
    pub(super) fn source(&self) -> Source {
        (self.from, self.op)
    }

    /// The time in the window of its run number `done`.
    pub(super) fn due(&self, done: u64) -> f64 {
        let along = (done as f64 + 0.5) / self.runs as f64;
        f64::from(self.begin) + f64::from(self.end - self.begin) * along
    }
}
