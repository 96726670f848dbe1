//! The fewest flash programs that any cooperation of cache and GC could reach with a cache of this size, the future known.
//!
//! Each version of a page that the host writes is programmed at least once, unless a slot holds it until the page is written again,
//! trimmed, or the workload ends; [`Absorption`] counts the most that slots can hold. So it is a lower bound whatever the cache takes
//! in, evicts, drops or is given by GC, and in whatever state it begins. It knows nothing of GC: with the future known, pages that die
//! together can stand in one block, so that no bound on copies holds for all devices. A flush costs it nothing.

use crate::each_request::each_request;
use crate::error::RunError;
use crate::observer::{Observer, Phase};
use crate::open_workload::open_again;
use crate::traces::Traces;
use coflash_cache::absorption::Absorption;
use coflash_scenario::{Scenario, ScenarioError};
use coflash_workload::Op;
use serde::Serialize;
use std::cell::Cell;

/// The fewest flash programs of a workload with a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FewestPrograms {
    /// The slots of all caches and write buffers.
    pub slots: u64,
    /// The pages that the host writes.
    pub host_writes_pages: u64,
    /// The most of them that need not be programmed.
    pub absorbed_pages: u64,
    /// The others: no run of this workload with as many slots has fewer programs.
    pub programs_pages: u64,
}

/// Compute the fewest flash programs of a scenario's workload, whatever its cooperation, eviction, GC and placement are. The workload is
/// read once more than by a run; the device is not built.
///
/// # Errors
/// An invalid scenario, an error of the workload, or a cancellation; a workload that does not fit, can be read only once, or goes by
/// answers (jobs); disks behind flash; restarts.
pub fn fewest_programs(
    scenario: &Scenario,
    traces: Traces,
    observer: &mut dyn Observer,
) -> Result<FewestPrograms, RunError> {
    scenario.check()?;
    let refuse = |key, problem: &str| Err(ScenarioError::new(key, problem.to_owned()).into());
    if scenario.hybrid.is_some() {
        return refuse("hybrid", "disks behind flash take writes, too, so that nothing bounds its programs");
    }
    if !scenario.restart.at.is_empty() {
        return refuse(
            "restart.at",
            "what a restart loses is never programmed, so that nothing bounds the programs",
        );
    }
    let logical_pages = scenario.ftl.logical_pages(&scenario.flash);
    scenario.levels(logical_pages)?;
    let in_pages =
        |size: coflash_base::Amount| size.pages(scenario.flash.page_size.count, logical_pages.into());
    let slots = in_pages(scenario.cache.size) + in_pages(scenario.host_buffer.size);

    let mut source = open_again(scenario, traces, logical_pages, 0, "workload", observer)?;
    let (mut absorption, mut host_writes_pages, read) =
        (Absorption::new(logical_pages, slots), 0, Cell::new(0));
    let look = |share| observer.progress(Phase::Inputs, share, read.get());
    let is_whole = each_request(scenario, source.as_mut(), logical_pages, look, |request, lpns| {
        read.set(read.get() + 1);
        match request.op {
            Op::Write => {
                host_writes_pages += lpns.len() as u64;
                lpns.iter().for_each(|lpn| absorption.write(lpn));
            }
            Op::Trim => lpns.iter().for_each(|lpn| absorption.trim(lpn)),
            Op::Read | Op::Flush => {}
        }
    })?;
    if !is_whole {
        let problem =
            format!("request {} lies beyond the device; a run tells what device it needs", read.get() + 1);
        return Err(RunError::TooFar(problem));
    }
    let absorbed_pages = absorption.finish();
    Ok(FewestPrograms {
        slots,
        host_writes_pages,
        absorbed_pages,
        programs_pages: host_writes_pages - absorbed_pages,
    })
}
