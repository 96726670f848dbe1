//! Retention: whether dies can rewrite data before it fades, and a note if not.
//!
//! A refresh copies a block and erases it. Where all data of the device takes longer than its retention time, the first
//! block fades before the last one is rewritten: each request finds all of them due.

use crate::load::three_digits;
use coflash_base::Duration;
use coflash_base::measure::Report;
use coflash_ftl::Programs;
use coflash_media::Planes;
use coflash_scenario::{Fill, Scenario};

/// What a run of a scenario will suffer from, as far as that is known before: one sentence for each.
#[must_use]
pub fn cautions(scenario: &Scenario) -> Vec<String> {
    let full = scenario.ftl.logical_pages(&scenario.flash);
    too_short(scenario, "retention", scenario.ftl.refresh.retention, full.into()).into_iter().collect()
}

/// The note on a run whose dies could not rewrite its data in time. `report` has the counters of the run.
pub(crate) fn fading(scenario: &Scenario, report: &Report) -> Option<String> {
    let refresh = &scenario.ftl.refresh;
    let programs = report.get::<Programs>();
    let (written, refreshed) = (programs.of_the_host(), programs.refresh);
    let full = u64::from(scenario.ftl.logical_pages(&scenario.flash));
    let held = if scenario.precondition.fill == Fill::None { full.min(written) } else { full };
    // Only a part of the data is programmed fast, and how much depends on the run.
    let fast = refresh.fast_retention.filter(|_| refreshed > written);
    let note = too_short(scenario, "retention", refresh.retention, held)
        .or_else(|| too_short(scenario, "fast_retention", fast, held))?;
    (refreshed > 0)
        .then(|| format!("{note} In this run {refreshed} pages were refreshed, and {written} written."))
}

/// The note if data that is kept for this time fades before `pages` pages of it are rewritten.
fn too_short(scenario: &Scenario, key: &str, retention: Option<Duration>, pages: u64) -> Option<String> {
    let (retention, power_off) = (retention?, scenario.ftl.refresh.power_off);
    let takes = rewriting(scenario, pages);
    (retention < takes + power_off).then(|| {
        format!(
            "Data fades before it can be rewritten: the dies take {} to rewrite {pages} pages, and each page is due within {retention} \
             (ftl.refresh.{key}) less {power_off} (power_off). All data is rewritten again and again, and requests wait for that. A \
             {key} of more than {} leaves time for requests.",
            three_digits(takes),
            three_digits(takes + power_off),
        )
    })
}

/// The least time in which all dies together copy pages from full blocks and erase these.
fn rewriting(scenario: &Scenario, pages: u64) -> Duration {
    let (flash, timing) = (&scenario.flash, &scenario.timing);
    let transfers = if timing.copy_back {
        Duration::ZERO
    } else {
        timing.sector_transfer * (flash.page_size.count / flash.sector_size.count * 2) + timing.ecc_decode
    };
    let copy = |index| {
        let (read, program) = timing.of_page(index);
        read + program + transfers
    };
    let block = (0..flash.pages_per_block).map(copy).fold(timing.block_erase, |all, time| all + time);
    let at_once = match timing.planes {
        Planes::Serial => flash.dies(),
        Planes::Parallel => flash.planes(),
    };
    let ns =
        u128::from(block.ns) * u128::from(pages) / (u128::from(flash.pages_per_block) * u128::from(at_once));
    Duration { ns: u64::try_from(ns).unwrap_or(u64::MAX) }
}
