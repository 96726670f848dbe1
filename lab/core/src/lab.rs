//! A run under way, and what a page shows of it.

use crate::recorded::RECORDED;
use crate::victims::Victims;
use coflash_base::Index;
use coflash_engine::{NoObserver, RunError, RunInputs, Simulation, begin};
use coflash_ftl::PageView;
use coflash_level::Elsewhere;
use coflash_media::BlockId;
use coflash_scenario::Scenario;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

/// A run that goes on step by step.
///
/// A page's byte: its two lowest bits are 0 for an erased page, 1 for an invalid one, 2 for a valid one; of a valid one the next
/// two are 1 where another tier holds the same data and 2 where it holds newer data; bit 4 is its mark of the host's memory, bit
/// 5 that of the device's: what GC knows of it.
pub struct Lab {
    simulation: Simulation<'static>,
    victims: Arc<Mutex<Victims>>,
    /// See [`page_bytes`](Self::page_bytes).
    pages: Vec<u8>,
}

impl Lab {
    /// Begin the run of a scenario (TOML).
    ///
    /// # Errors
    /// A scenario that is invalid, or whose workload cannot be opened.
    pub fn begin(scenario: &str) -> Result<Self, RunError> {
        // An instance has one run: what it borrows may stay.
        let scenario: &'static Scenario = Box::leak(Box::new(Scenario::from_toml(scenario)?));
        let victims = Arc::new(Mutex::new(Victims::default()));
        let given = RunInputs { decisions: Some(victims.clone()), ..RunInputs::only(RECORDED) };
        let simulation = begin(scenario, &given, &mut NoObserver)?;
        Ok(Self { simulation, victims, pages: Vec::new() })
    }

    /// Serve the next requests; returns how many there were.
    ///
    /// # Errors
    /// An error of the workload.
    pub fn step(&mut self, requests: u64) -> Result<u64, RunError> {
        let before = self.simulation.served();
        let served = |lab: &Self| lab.simulation.served() - before;
        while served(self) < requests {
            let left = usize::try_from(requests - served(self)).unwrap_or(usize::MAX);
            if !self.simulation.step(left, &mut NoObserver)? {
                break;
            }
        }
        Ok(served(self))
    }

    /// The counters so far (JSON): requests, victims, interim metrics, and each counter of the levels by its path.
    #[must_use]
    pub fn counters(&self) -> String {
        let so_far = self.simulation.so_far();
        let victims = self.victims.lock().unwrap_or_else(PoisonError::into_inner).count;
        json!({
            "requests": self.simulation.served(),
            "victims": victims,
            "simulated_ns": so_far.simulated_ns,
            "host_writes_pages": so_far.host_writes_pages,
            "programs_pages": so_far.programs_pages,
            "waf_host": so_far.waf_host,
            "response_mean_ns": so_far.response_mean_ns,
            "response_p99_ns": so_far.response_p99_ns,
            "metrics": self.simulation.metrics(),
        })
        .to_string()
    }

    /// The pages, a byte each, block by block: see [`Lab`].
    pub fn page_bytes(&mut self) -> &[u8] {
        self.pages.clear();
        let ftl = self.simulation.ftl();
        for block in 0..ftl.block_views().count() {
            for page in ftl.page_views(BlockId::from_index(block)) {
                self.pages.push(match page {
                    PageView::Free => 0,
                    PageView::Invalid => 1,
                    PageView::Valid(lpn, marks) => {
                        let elsewhere = match self.simulation.elsewhere(lpn) {
                            None => 0,
                            Some(Elsewhere::Same) => 1 << 2,
                            Some(Elsewhere::Newer) => 2 << 2,
                        };
                        2 | elsewhere | u8::from(marks.host) << 4 | u8::from(marks.device) << 5
                    }
                });
            }
        }
        &self.pages
    }

    /// The data pages of a block.
    #[must_use]
    pub fn pages_per_block(&self) -> u32 {
        self.simulation.ftl().pages_per_block()
    }

    /// The victims since the last call, and what became of their pages: for each one its block, the number of its pages that
    /// follow, and for each page its index with the answer in the highest byte (0 copied, 1 dropped, 2 taken from a buffer, 3 by
    /// a fast program).
    #[must_use]
    pub fn take_victims(&mut self) -> Vec<u32> {
        let mut victims = self.victims.lock().unwrap_or_else(PoisonError::into_inner);
        let words = victims.words.clone();
        victims.clear();
        words
    }

    /// Serve what is left, and measure. Returns the result (JSON), equal to that of a run anywhere else.
    ///
    /// # Errors
    /// See [`step`](Self::step).
    pub fn finish(self) -> Result<String, RunError> {
        Ok(self.simulation.finish(&mut NoObserver)?.to_reproducible_json())
    }
}
