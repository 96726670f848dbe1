//! A run under way, and what a page shows of it.

use crate::recorded::RECORDED;
use crate::victims::Victims;
use coflash_base::Lpn;
use coflash_engine::{NoObserver, RunError, RunInputs, Simulation, begin};
use coflash_ftl::PageView;
use coflash_level::Elsewhere;
use coflash_scenario::Scenario;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A run that goes on step by step.
///
/// A page's word: its two lowest bits are 0 for an erased page, 1 for an invalid one, 2 for a valid one, 3 for one that is invalid
/// early, before flash has the newer data. Of a valid one the next two are 1 where another tier holds the same data and 2 where it
/// holds newer data; bit 4 is its mark of the host's memory, bit 5 that of the device's: what GC knows of it. From bit 8 on it
/// has the logical page of a valid or early invalid one.
pub struct Lab {
    simulation: Simulation<'static>,
    victims: Arc<Mutex<Victims>>,
    /// The pages that GC copied so far though another tier held newer data.
    wasted: u64,
}

/// Where in a page's word its logical page begins.
const LPN_SHIFT: u32 = 8;

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
        Ok(Self { simulation, victims, wasted: 0 })
    }

    /// Serve the next requests; returns how many there were.
    ///
    /// # Errors
    /// An error of the workload.
    pub fn step(&mut self, requests: u64) -> Result<u64, RunError> {
        let before = self.simulation.served();
        while self.simulation.served() - before < requests && self.simulation.step(1, &mut NoObserver)? {
            let wasted = self.victims().settle(|lpn| self.elsewhere(lpn));
            self.wasted += wasted;
        }
        Ok(self.simulation.served() - before)
    }

    /// What a page shows with each picture: the requests and victims so far, the pages that the host wrote and those programmed,
    /// write amplification and mean response time in ns (not a number before there is one), the pages that GC copied, and those
    /// of them for which another tier held newer data after the request.
    #[must_use]
    pub fn numbers(&self) -> [f64; 8] {
        let so_far = self.simulation.so_far();
        [
            self.simulation.served() as f64,
            self.victims().count as f64,
            so_far.host_writes_pages as f64,
            so_far.programs_pages as f64,
            so_far.waf_host.unwrap_or(f64::NAN),
            so_far.response_mean_ns.unwrap_or(f64::NAN),
            self.simulation.ftl().counters().gc_copies_pages as f64,
            self.wasted as f64,
        ]
    }

    /// The interim metrics (JSON).
    #[must_use]
    pub fn metrics(&self) -> String {
        serde_json::json!(self.simulation.metrics()).to_string()
    }

    /// 0 where no other tier holds a logical page, 1 where one has the same data as flash, 2 where it has newer data.
    fn elsewhere(&self, lpn: Lpn) -> u32 {
        self.simulation.elsewhere(lpn).map_or(0, |held| if held == Elsewhere::Same { 1 } else { 2 })
    }

    /// The words of the pages, block by block: see [`Lab`].
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        self.simulation.ftl().page_views().map(|page| match page {
            PageView::Free => 0,
            PageView::Invalid => 1,
            PageView::Superseded(lpn) => 3 | lpn.get() << LPN_SHIFT,
            PageView::Valid(lpn, marks) => {
                let known = u32::from(marks.host) << 4 | u32::from(marks.device) << 5;
                2 | self.elsewhere(lpn) << 2 | known | lpn.get() << LPN_SHIFT
            }
        })
    }

    /// The pages that another tier holds, in words like those of flash.
    pub fn held(&self) -> impl Iterator<Item = u32> {
        let pages = (0..self.simulation.ftl().logical_pages()).map(Lpn::new);
        pages.filter_map(|lpn| match self.elsewhere(lpn) {
            0 => None,
            held => Some(held << 2 | lpn.get() << LPN_SHIFT),
        })
    }

    /// The data pages of a block.
    #[must_use]
    pub fn pages_per_block(&self) -> u32 {
        self.simulation.ftl().data_pages_per_block()
    }

    /// The victims since the last call, and what became of their pages (JSON).
    #[must_use]
    pub fn take_victims(&mut self) -> String {
        serde_json::json!(self.victims().take()).to_string()
    }

    fn victims(&self) -> MutexGuard<'_, Victims> {
        self.victims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serve what is left, and measure. Returns the result (JSON), equal to that of a run anywhere else.
    ///
    /// # Errors
    /// See [`step`](Self::step).
    pub fn finish(self) -> Result<String, RunError> {
        Ok(self.simulation.finish(&mut NoObserver)?.to_reproducible_json())
    }
}
