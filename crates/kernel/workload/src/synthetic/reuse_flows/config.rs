//! The parameters of `"reuse-flows"`, and their limits.

use super::{OPS, Source};
use crate::WorkloadError;
use crate::synthetic::size::{ByOpConfig, ChoiceConfig, WeightedSize};
use crate::synthetic::{Space, refuse};
use coflash_base::{Bytes, Share};

/// The most windows.
pub const WINDOWS_MAX: u32 = 64;

coflash_base::config! {
    /// The parameters of `"reuse-flows"`.
    // By default a thousand pages are written, then half of them are read and the other half is written again.
    #[derive(Eq)]
    pub struct ReuseFlowsConfig {
        /// Size of a page, a multiple of `align`. Uses are counted in pages.
        pub page: Bytes = Bytes { count: 4096 },
        /// Weights of the alignment units of a page as the first unit of a request to new pages. Default: the first unit only.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub offsets: Vec<u32>,
        /// Share of the requests to new pages that continue a stream; the others lie before the previous ones.
        pub sequential_share: Share = Share::percent(50),
        /// Sizes of requests to pages accessed before, counted in pages.
        pub reused: ByOpConfig = ByOpConfig { read: one_page(), write: one_page(), trim: one_page() },
        /// Share of the runs that may end inside a request; the others go on to its end.
        pub split_runs: Share = Share::ONE,
        /// Number of windows.
        pub windows: u32 = 2,
        /// The flows, in the order of their windows: window, operation (0 read, 1 write, 2 trim), window of the previous
        /// access (`windows` if there is none), 1 if at least eight accesses precede and else 0, window of the next access
        /// (`windows` if there is none), its operation, runs, pages, and the part of the window with runs, from and to, in
        /// thousandths.
        pub flows: Vec<[u32; 10]> = vec![
            [0, 1, 2, 0, 1, 0, 50, 500, 0, 1000],
            [0, 1, 2, 0, 1, 1, 50, 500, 0, 1000],
            [1, 0, 0, 0, 2, 0, 50, 500, 0, 1000],
            [1, 1, 0, 0, 2, 0, 50, 500, 0, 1000],
        ],
        /// Weights of the flow of the next run: the last but one, the last but two, and so on; the last weight is for others.
        pub ranks: Vec<u32> = vec![1],
        /// Weights of distances between two accesses in a window, in pages: 1, 2 to 3, 4 to 7, and so on; by the operation,
        /// three for the next operation read, three for write, three for trim.
        pub within: Vec<Vec<u32>>,
    }
}

fn one_page() -> ChoiceConfig {
    ChoiceConfig { sizes: vec![WeightedSize { size: Bytes { count: 4096 }, weight: 1 }] }
}

impl ReuseFlowsConfig {
    /// The number of pages that are accessed.
    pub(super) fn pages(&self) -> u64 {
        let new = self.flows.iter().filter(|flow| flow[2] == self.windows);
        new.map(|flow| u64::from(flow[7])).sum()
    }

    /// The bytes of all pages that are accessed.
    #[must_use]
    pub fn pages_bytes(&self) -> u64 {
        self.pages() * self.page.count
    }

    /// Check all parameters.
    pub(super) fn check(&self, space: Space) -> Result<(), WorkloadError> {
        self.check_page(space)?;
        self.check_flows(space)?;
        self.check_weights()
    }

    fn check_page(&self, space: Space) -> Result<(), WorkloadError> {
        let page = self.page;
        let page_units = page.count / space.align.count;
        if page_units == 0 || !page.count.is_multiple_of(space.align.count) {
            let problem = format!("{page} was given; a multiple of align, {}, is allowed", space.align);
            return refuse("generator.page", problem);
        }
        let is_all_zero = !self.offsets.is_empty() && self.offsets.iter().all(|&weight| weight == 0);
        if self.offsets.len() as u64 > page_units || is_all_zero {
            let problem = format!(
                "{} weights were given; none, or up to one for each of the {page_units} alignment units of a page, and \
                 not all 0, are allowed",
                self.offsets.len()
            );
            return refuse("generator.offsets", problem);
        }
        Ok(())
    }

    fn check_flows(&self, space: Space) -> Result<(), WorkloadError> {
        if !(1..=WINDOWS_MAX).contains(&self.windows) {
            let problem = format!("{} was given; from 1 to {WINDOWS_MAX} is allowed", self.windows);
            return refuse("generator.windows", problem);
        }
        let windows = self.windows as usize;
        if let Some(wrong) = self.flows.iter().find(|&&flow| !Flow::new(flow).is_valid(windows)) {
            let problem = format!(
                "{wrong:?} was given; a window from 0, an operation up to 2, an earlier window or {windows}, 0 or 1, a \
                 window that is not earlier or {windows}, an operation up to 2, at least one run and as many pages, and \
                 a part within 0 to 1000 are allowed"
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

    fn check_weights(&self) -> Result<(), WorkloadError> {
        if self.ranks.iter().all(|&weight| weight == 0) {
            return refuse("generator.ranks", "no weight above 0 was given");
        }
        let lists = self.within.len();
        if lists > OPS.len() * OPS.len() || self.within.iter().any(|weights| weights.len() > 48) {
            let problem = format!("{lists} lists were given; up to nine of up to 48 weights are allowed");
            return refuse("generator.within", problem);
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
    pub(super) often: usize,
    pub(super) to: usize,
    pub(super) next_op: usize,
    pub(super) runs: u64,
    pub(super) pages: u64,
    begin: u32,
    end: u32,
}

impl Flow {
    pub(super) fn new([window, op, from, often, to, next_op, runs, pages, begin, end]: [u32; 10]) -> Self {
        let [window, op, from, often, to, next_op] =
            [window, op, from, often, to, next_op].map(|number| number as usize);
        Self { window, op, from, often, to, next_op, runs: runs.into(), pages: pages.into(), begin, end }
    }

    fn is_valid(&self, windows: usize) -> bool {
        let is_from = self.from <= self.window || self.from == windows;
        let is_to = (self.window..=windows).contains(&self.to);
        let classes = [self.op, self.next_op].iter().all(|&op| op < OPS.len()) && self.often < 2;
        let runs = (1..=self.pages).contains(&self.runs);
        let part = self.begin <= self.end && self.end <= 1000;
        self.window < windows && is_from && is_to && classes && runs && part
    }

    pub(super) fn is_within(&self) -> bool {
        self.from == self.window
    }

    /// Where its pages come from.
    pub(super) fn source(&self) -> Source {
        (self.from, self.op, self.often)
    }

    /// The time in the window of its run number `done`.
    pub(super) fn due(&self, done: u64) -> f64 {
        let along = (done as f64 + 0.5) / self.runs as f64;
        f64::from(self.begin) + (f64::from(self.end) - f64::from(self.begin)) * along
    }
}
