//! The memory of a device and of the machine: a scenario that does not fit is refused before the run.

use coflash_base::Bytes;
use coflash_ftl::Weight;
use coflash_level::Placement;
use coflash_media::disk::SECTOR_BYTES;
use coflash_scenario::{Scenario, ScenarioError};
use std::fs;

/// Refuse a device that needs more memory than is available, where the system reports that.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let [tier, disks] = tier_bytes(scenario);
    let flash = device_bytes(scenario).saturating_add(tier);
    let needed = flash.saturating_add(disks);
    match available_bytes() {
        Some(available) if needed > available => {
            let (key, less) = if disks > flash {
                let less = "fewer pages of disks (hybrid.disks.model.capacity, hybrid.disks.count), or hybrid.policy \"lru\"";
                ("hybrid.disks", less.to_owned())
            } else {
                let scale = needed.div_ceil(available.max(1)).next_power_of_two();
                (
                    "flash",
                    format!("fewer blocks (flash.blocks_per_plane, or --scale 1/{scale}), or larger pages"),
                )
            };
            let problem = format!(
                "simulating this device takes about {} of memory, {} is available: {less}",
                human(needed),
                human(available)
            );
            Err(ScenarioError::new(key, problem))
        }
        _ => Ok(()),
    }
}

/// An upper estimate of the heap memory of a scenario's device, before its construction.
fn device_bytes(scenario: &Scenario) -> u64 {
    let ftl = &scenario.ftl;
    let flash = &ftl.erase_units(&scenario.flash);
    let [pages, blocks, dies] = [flash.pages(), flash.blocks(), flash.dies()].map(u64::from);
    let logical_pages = u64::from(ftl.logical_pages(&scenario.flash));
    // Those of the levels above.
    let pages_above = disk_pages(scenario).unwrap_or(logical_pages);
    let slots = scenario.cache.size.pages(flash.page_size.count, pages_above).min(pages_above);
    let requirements = scenario.cooperation.requirements();
    let pools = u64::from(flash.blocks() / ftl.pools.blocks(flash));
    // A policy may keep a list for each possible cost of a block, in sixteenths of a page: two numbers per list.
    let dearest = u64::from(requirements.weight_max.0.max(Weight::SIXTEENTHS));
    let costs = 2 * 4 * dearest * (u64::from(flash.pages_per_block) + 1);
    // A valid bit, and a mark for each tier.
    let block_bits = 3 * 8 * u64::from(flash.pages_per_block).div_ceil(64);
    // Two more bits per page, and their counts.
    let age_classes = if requirements.age_classes { block_bits * 2 / 3 + 8 } else { 0 };
    let index = if slots > 0 { 4 * pages_above } else { 0 };
    // The notified state of each page, and the queued notices.
    let told = if scenario.cache.placement == Placement::Host { 80 } else { 0 };
    // A bit for each trimmed page.
    let metadata = logical_pages / 8;
    // Before disks, three more for what the levels above hold.
    let above = if slots > 0 || scenario.host_buffer.exists() {
        pages_above.saturating_sub(logical_pages) / 2
    } else {
        0
    };
    // A bit for each superseded page, and for a placement policy the class and time of each page's last copy.
    let last_copy = if ftl.placement.targets() > 0 { 8 } else { 0 };
    let needs = scenario.cooperation.memory();
    let superseded = if needs.page_bytes > 0 { last_copy * logical_pages + pages / 8 } else { 0 };
    let cooperation = superseded + needs.page_bytes * logical_pages + needs.slot_bytes * slots + needs.bytes;
    4 * pages
        + (4 + u64::from(ftl.placement.bytes_per_page())) * logical_pages
        + (64 + block_bits + age_classes) * blocks
        + (512 + costs) * pools
        + 256 * dies
        + index
        + (24 + told) * slots
        + metadata
        + above
        + cooperation
}

/// The pages of the disks behind flash, if there are any.
fn disk_pages(scenario: &Scenario) -> Option<u64> {
    let sectors = (scenario.flash.page_size.count / SECTOR_BYTES).max(1);
    Some(scenario.hybrid.as_ref()?.disks.sectors() / sectors)
}

/// An upper estimate of the memory for a flash cache beside its FTL, and for the pages of its disks.
fn tier_bytes(scenario: &Scenario) -> [u64; 2] {
    let (Some(hybrid), Some(disk_pages)) = (&scenario.hybrid, disk_pages(scenario)) else { return [0, 0] };
    let (flash, page_bytes) = (&scenario.flash, scenario.flash.page_size.count);
    let flash_pages = u64::from(flash.blocks()) * scenario.ftl.data_pages_per_block(flash);
    let [of_flash, of_disks] = hybrid.bytes_per_page(flash_pages as u32, page_bytes);
    [flash_pages.saturating_mul(of_flash), disk_pages.saturating_mul(of_disks)]
}

/// The first number of a text.
fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The number in the line of a file that begins with this name.
fn number_of(file: &str, name: &str) -> Option<u64> {
    number(fs::read_to_string(file).ok()?.lines().find_map(|line| line.strip_prefix(name))?)
}

/// A size that the system reports in KiB, such as of this process.
pub(crate) fn reported_bytes(file: &str, name: &str) -> Option<u64> {
    Some(number_of(file, name)? << 10)
}

/// The memory available to this process.
pub(crate) fn available_bytes() -> Option<u64> {
    let limit = |file| number(&fs::read_to_string(file).ok()?);
    let address_space = || {
        let limit = number_of("/proc/self/limits", "Max address space")?;
        Some(limit.saturating_sub(reported_bytes("/proc/self/status", "VmSize:")?))
    };
    [
        reported_bytes("/proc/meminfo", "MemAvailable:"),
        limit("/sys/fs/cgroup/memory.max"),
        limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        address_space(),
    ]
    .into_iter()
    .flatten()
    .min()
}

/// Format a size: exact if that is short, otherwise with two decimals.
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
    use coflash_base::Save;
    use coflash_level::Tower;

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
            &[("ftl.placement", "score"), ("ftl.pools", "device")],
            &[("cache.size", "70%"), ("cooperation", "cdm-consistent")],
            &[("cache.size", "10%"), ("cooperation", "move-in")],
            &[("cache.size", "1%"), ("cooperation", "expected-cost")],
            &[("cooperation", "delay"), ("cooperation.lambda", "3.5"), ("cache.size", "1%")],
            &[("cooperation", "sgc"), ("cache.size", "1%"), ("cache.volatile", "true"), ("gc.low_mark", "3")],
        ] {
            let scenario = Scenario::default().set(changes).unwrap();
            let device = Tower::erased(scenario.stack_config()).unwrap();
            let taken = device.heap_bytes() as u64;
            let foretold = device_bytes(&scenario);
            assert!((taken..taken * 3 / 2).contains(&foretold), "{changes:?}: {foretold} for {taken}");
        }
    }

    #[test]
    fn the_memory_of_a_flash_cache_goes_by_its_pages_and_those_of_the_disks() {
        let small = ("flash.blocks_per_plane", "128");
        for changes in [
            &[][..],
            &[("flash.page_size", "16KiB"), ("hybrid.segment", "1GiB")],
            &[("flash.blocks_per_plane", "1024"), ("hybrid.segment", "4MiB"), ("hybrid.scheme", "fp-fcl")],
            &[
                small,
                ("hybrid.segment", "512KiB"),
                ("hybrid.policy", "arc"),
                ("hybrid.disks.model.capacity", "64MB"),
            ],
        ] {
            let scenario = Scenario::built_in("opfcl-config1").unwrap().set(changes).unwrap();
            let config = scenario.hybrid.as_ref().unwrap();
            let stack = scenario.hybrid_stack(config, &scenario.disks(config).unwrap()).unwrap();
            let taken = stack.hybrid().unwrap().heap_bytes() as u64;
            let foretold = device_bytes(&scenario) + tier_bytes(&scenario).iter().sum::<u64>();
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
