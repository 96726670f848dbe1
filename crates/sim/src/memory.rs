//! How much memory a device takes and how much there is: a scenario that does not fit is refused, not killed half-way.

use crate::scenario::{Scenario, ScenarioError};
use coflash_base::Bytes;
use coflash_controller::{CooperationConfig, Placement};
use coflash_ftl::Weight;
use coflash_hybrid::HybridConfig;
use std::fs;

/// Refuses a device whose state does not fit into memory, where the system tells how much there is.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let needed = device_bytes(scenario);
    match available_bytes() {
        Some(available) if needed > available => {
            let problem = format!(
                "simulating this device takes about {} of memory, {} is available: fewer blocks (flash.blocks_per_plane), \
                 or larger pages",
                human(needed),
                human(available)
            );
            Err(ScenarioError::new("flash", problem))
        }
        _ => Ok(()),
    }
}

/// About what the state of a scenario's device takes, never less: what [`coflash_controller::Controller::heap_bytes`]
/// would say, before anything is allocated.
fn device_bytes(scenario: &Scenario) -> u64 {
    let Scenario { flash, ftl, .. } = scenario;
    let [pages, blocks, dies] = [flash.pages(), flash.blocks(), flash.dies()].map(u64::from);
    let logical_pages = ftl.spare.logical_pages(pages / dies, dies);
    let slots = scenario.cache.size.pages(flash.page_size.count, logical_pages).min(logical_pages);
    let pools = match ftl.pools {
        coflash_ftl::Pools::Plane => dies * u64::from(flash.planes_per_die),
        coflash_ftl::Pools::Die => dies,
    };
    // A policy may keep a list for each possible cost of a block: two numbers a sixteenth of a page.
    let dearest = u64::from(scenario.cooperation.demands().weight_max.0.max(Weight::SIXTEENTHS));
    let costs = 2 * 4 * dearest * (u64::from(flash.pages_per_block) + 1);
    // Valid, and a mark for each tier.
    let block_bits = 3 * 8 * u64::from(flash.pages_per_block).div_ceil(64);
    // Two bits a page more, and their counts.
    let grades = if scenario.cooperation.demands().grades { block_bits * 2 / 3 + 8 } else { 0 };
    let index = if slots > 0 { 4 * logical_pages } else { 0 };
    // What the device was told of each, and the notices that wait.
    let told = if scenario.cache.placement == Placement::Host { 80 } else { 0 };
    let cooperation = match &scenario.cooperation {
        CooperationConfig::CdmConsistent(config) => {
            12 * slots + logical_pages / 8 + 4 * u64::from(config.deletions_max.get())
        }
        // The age of each page, and a list of sole copies.
        CooperationConfig::Cdm(_) => 9 * slots,
        _ => 0,
    };
    4 * pages
        + 4 * logical_pages
        + (48 + block_bits + grades) * blocks
        + (512 + costs) * pools
        + 256 * dies
        + index
        + (24 + told) * slots
        + cooperation
        + scenario.hybrid.as_ref().map_or(0, |hybrid| tier_bytes(hybrid, pages))
}

/// About what a flash cache takes beside its FTL: an index and two ghost lists over the pages of disks, and slots, orders,
/// versions and ghosts for those of flash.
fn tier_bytes(hybrid: &HybridConfig, flash_pages: u64) -> u64 {
    let disk_pages = hybrid.disks.sectors() / 8;
    13 * disk_pages + 80 * flash_pages
}

/// The memory that this process may still take.
pub(crate) fn available_bytes() -> Option<u64> {
    let line = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
    };
    let number = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
    let kib = |file, name| Some(number(&line(file, name)?)? << 10);
    let limit = |file| number(&fs::read_to_string(file).ok()?);
    let address_space = || {
        let limit = number(&line("/proc/self/limits", "Max address space")?)?;
        Some(limit.saturating_sub(kib("/proc/self/status", "VmSize:")?))
    };
    [
        kib("/proc/meminfo", "MemAvailable:"),
        limit("/sys/fs/cgroup/memory.max"),
        limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        address_space(),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// A size as a message shows it: exact where that is short, with two decimals otherwise.
pub(crate) fn human(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let exact = Bytes { count: bytes }.to_string();
    match UNITS.iter().find(|(_, log)| bytes >> log > 0) {
        Some((unit, log)) if exact.len() > 7 => format!("{:.2} {unit}", bytes as f64 / (1_u64 << log) as f64),
        _ => exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;

    #[test]
    fn what_is_foretold_is_what_is_taken_or_somewhat_more() {
        for changes in [
            &[][..],
            &[("flash.pages_per_block", "1024"), ("flash.blocks_per_plane", "100")],
            &[("flash.planes_per_die", "4"), ("flash.channels", "32"), ("flash.blocks_per_plane", "64")],
            &[("cache.size", "50%"), ("ftl.wear_levelling", "dynamic")],
            &[
                ("cache.size", "5%"),
                ("cooperation.name", "cdm"),
                ("cooperation.removable_weight", "adaptive"),
            ],
            &[("gc.victim", "cost-benefit"), ("ftl.pools", "die")],
            &[("cache.size", "70%"), ("cooperation", "cdm-consistent")],
            &[("cooperation", "delay"), ("cooperation.lambda", "3.5"), ("cache.size", "1%")],
            &[("cooperation", "sgc"), ("cache.size", "1%"), ("cache.volatile", "true"), ("gc.low_mark", "3")],
        ] {
            let scenario = Scenario::default().set(changes).unwrap();
            let taken = build(&scenario).unwrap().heap_bytes() as u64;
            let foretold = device_bytes(&scenario);
            assert!((taken..taken * 3 / 2).contains(&foretold), "{changes:?}: {foretold} for {taken}");
        }
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(human(31_358_976), "29.91 MiB");
        assert_eq!(human(64 << 30), "64GiB");
        assert_eq!(human(4097), "4097B");
        assert_eq!(human(1 << 62), "4194304.00 TiB");
    }
}
