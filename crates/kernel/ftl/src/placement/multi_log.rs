//! Multi-log: logs by the estimated update frequency. A page copied by GC goes to the next colder log; a page
//! overwritten much sooner than the average page of its log goes to the next hotter one.
//!
//! Source: Stoica & Ailamaki, "Improving flash write performance by using update frequency", PVLDB 2013;
//! written from the comparison by SepBIT's authors (Wang et al., FAST 2022, and its repository). A page moves up
//! with a probability that falls from one to zero as its interval approaches the expected one. Our choices: no
//! random draws, the probabilities of a log's pages are added up and each whole moves a page; a colder
//! log begins once the coldest holds a block of pages; trimmed pages count in their log until they are
//! written again.

use super::times::Times;
use super::{Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Misfit, Policy, Save};

coflash_base::config! {
    /// The parameters of multi-log.
    #[derive(Eq)]
    pub struct MultiLogConfig {
        /// Number of logs, from 2 to 16.
        pub logs: u32 = 6,
    }
}

/// A page that was never written.
const NEVER: u8 = u8::MAX;

/// Multi-log.
#[derive(Clone, Save)]
pub struct MultiLog {
    pages_per_block: u32,
    written: Times,
    /// The log of each page, from 0 for the hottest, or [`NEVER`].
    logs: Vec<u8>,
    /// The number of pages of each log.
    pages: Vec<u64>,
    /// The number of cleaned blocks of each log, and their valid pages.
    cleaned: Vec<u64>,
    copied: Vec<u64>,
    /// The sum of the probabilities to move up of each log's pages, less the moves.
    due: Vec<f64>,
}

impl MultiLog {
    /// The log of a page, for any state read from a file.
    fn log(&self, page: usize) -> Option<usize> {
        (self.logs[page] != NEVER).then(|| usize::from(self.logs[page]).min(self.pages.len() - 1))
    }

    fn enter(&mut self, page: usize, log: usize) -> Class {
        if let Some(before) = self.log(page) {
            self.pages[before] = self.pages[before].saturating_sub(1);
        }
        self.logs[page] = log as u8;
        self.pages[log] = self.pages[log].saturating_add(1);
        Class::from_index(log)
    }

    /// The mean interval between two writes of a page of a log: half of its pages, times the share of valid
    /// pages in its blocks at GC; not a number before the first of them.
    fn expected(&self, log: usize) -> f64 {
        let all = self.cleaned[log] as f64 * f64::from(self.pages_per_block);
        self.pages[log] as f64 * (self.copied[log] as f64 / all) / 2.0
    }

    /// Whether a page of a log moves up that is written after an interval.
    fn moves_up(&mut self, log: usize, interval: f64) -> bool {
        let probability = 1.0 - interval / self.expected(log);
        if log == 0 || probability.is_nan() || probability <= 0.0 {
            return false;
        }
        self.due[log] += probability;
        let moves = self.due[log] >= 1.0;
        self.due[log] -= f64::from(moves);
        moves
    }
}

impl Policy for MultiLog {
    type Config = MultiLogConfig;
    const SUMMARY: &'static str = "Logs by update frequency: down with each copy by GC, up if overwritten sooner than the log's pages are.";
    const SOURCE: &'static str = "Stoica & Ailamaki 2013";
}

impl PlacementPolicy for MultiLog {
    const BYTES_PER_PAGE: u32 = 5;

    fn classes(config: &MultiLogConfig) -> Result<Classes, Misfit> {
        check_count("logs", config.logs, 2)?;
        Ok(Classes::Own { count: config.logs, gc: 0..config.logs })
    }

    fn new(config: &MultiLogConfig, shape: Shape) -> Self {
        let logs = config.logs as usize;
        Self {
            pages_per_block: shape.pages_per_block,
            written: Times::new(shape.pages),
            logs: vec![NEVER; shape.pages as usize],
            pages: vec![0; logs],
            cleaned: vec![0; logs],
            copied: vec![0; logs],
            due: vec![0.0; logs],
        }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let interval = self.written.age(page.lpn, page.now) as f64;
        self.written.set(page.lpn, page.now);
        let at = page.lpn.index();
        let log = match self.log(at) {
            None => 0,
            Some(log) => log - usize::from(self.moves_up(log, interval)),
        };
        self.enter(at, log)
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        let at = page.lpn.index();
        let log = self.log(at).unwrap_or(0);
        let has_begun = |log: usize| self.pages.get(log).is_some_and(|&pages| pages > 0);
        let is_coldest = !(log + 1..self.pages.len()).any(has_begun);
        let may_begin = self.pages[log] >= u64::from(self.pages_per_block);
        let is_last = log + 1 == self.pages.len();
        let colder = if is_last || is_coldest && !may_begin { log } else { log + 1 };
        self.enter(at, colder)
    }

    fn cleaned(&mut self, block: Cleaned) {
        let log = block.class.index();
        self.cleaned[log] = self.cleaned[log].wrapping_add(1);
        self.copied[log] = self.copied[log].wrapping_add(block.valid.into());
    }
}
