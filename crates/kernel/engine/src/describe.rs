//! The description of a scenario in sentences, without a run.

use crate::error::RunError;
use crate::input::Inputs;
use crate::memory::{self, human};
use crate::observer::NoObserver;
use crate::open_workload::open_workload;
use crate::retention::cautions;
use crate::traces::Traces;
use coflash_base::Save;
use coflash_base::measure::Report;
use coflash_hybrid::{Hybrid, Limits};
use coflash_level::{CacheCounters, HOST_BUFFER, Level, Placement};
use coflash_media::Timeline;
use coflash_scenario::{Scenario, Stack};

/// Build the levels of a scenario, open its workload, and describe both.
///
/// # Errors
/// An invalid scenario, or a workload that cannot be opened.
pub fn describe(scenario: &Scenario, traces: Traces) -> Result<Vec<String>, RunError> {
    scenario.check()?;
    memory::check(scenario)?;
    let (stack, mut sentences) = if let Some(config) = &scenario.hybrid {
        let disks = scenario.disks(config)?;
        let stack = scenario.hybrid_stack(config, &disks)?;
        let flash_pages = stack.hybrid().map_or(0, Hybrid::flash_pages);
        let pages = disks.pages();
        let all = if pages <= flash_pages.into() { ", which holds all that is on them" } else { "" };
        (stack, vec![format!("{pages} pages of disks behind {flash_pages} pages of flash{all}")])
    } else {
        let flash = scenario.erased_flash()?;
        let (bytes, pages) = (flash.logical_bytes(), flash.logical_pages());
        let exports =
            format!("exports {} ({pages} pages) of {}", human(bytes), human(scenario.flash.capacity().count));
        (Stack::Flash(scenario.levels(pages)?.over(flash)), vec![exports])
    };
    let mut report = Report::default();
    Level::<Timeline>::report(&stack, &mut report);
    let logical_pages = Level::<Timeline>::logical_pages(&stack);
    let heap_bytes = stack.heap_bytes();
    sentences.push(describe_caches(scenario, &stack, &report));
    sentences.push(describe_workload(scenario, traces, logical_pages)?);
    let pages = f64::from(scenario.flash.pages());
    sentences.push(format!(
        "state of {}, {:.2} bytes a physical page",
        human(heap_bytes as u64),
        heap_bytes as f64 / pages
    ));
    sentences.extend(scenario.without_effect());
    sentences.extend(cautions(scenario));
    Ok(sentences)
}

fn describe_caches(scenario: &Scenario, stack: &Stack, report: &Report) -> String {
    let buffer = report.find::<CacheCounters>(&HOST_BUFFER).map_or_else(String::new, |buffer| {
        format!("write buffer of {} pages in the host, ", buffer.capacity_pages)
    });
    let above = || {
        let name = if scenario.cache.volatile { "write buffer" } else { "cache" };
        let place = if scenario.cache.placement == Placement::Host { " in the host" } else { "" };
        let pages = report.get::<CacheCounters>().capacity_pages;
        format!("{buffer}{name} of {pages} pages{place}, {}", scenario.cooperation.name())
    };
    if let Some(hybrid) = stack.hybrid() {
        let Limits { read_pages, write_pages } = hybrid.limits();
        let tier = format!("read cache of {read_pages} pages and write cache of {write_pages} at first");
        return if scenario.has_cache() {
            format!("{}, above a {tier}", above())
        } else {
            format!("{buffer}{tier}")
        };
    }
    above()
}

fn describe_workload(scenario: &Scenario, traces: Traces, logical_pages: u32) -> Result<String, RunError> {
    let logical_bytes = u64::from(logical_pages) * scenario.flash.page_size.count;
    let inputs = Inputs::new(scenario.workload.files());
    let workload = match inputs.stream() {
        // A pipe can be read only once: the run needs it.
        Some(stream) => format!("trace {stream}, which can be read only once"),
        None => open_workload(scenario, traces, logical_bytes, 0, &inputs, &mut NoObserver)?.1,
    };
    Ok(format!("workload: {workload}; {}", scenario.replay_told(None)))
}
