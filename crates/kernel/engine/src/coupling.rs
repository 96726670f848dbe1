//! Which devices can be simulated in slices side by side: those whose channels know nothing of each other.

use crate::slice::Slice;
use coflash_ftl::VictimConfig::{DChoices, Fifo, Greedy, Random, WindowedGreedy};
use coflash_ftl::{Chips, PlacementConfig, Pools};
use coflash_level::{CooperationConfig, Placement};
use coflash_media::ProgramDistribution;
use coflash_scenario::{RandomPasses, ReplayMode, Scenario};

/// What keeps a scenario on one thread: the key, and why. `None` if slices of its device can be simulated side by side.
#[must_use]
pub fn coupling(scenario: &Scenario) -> Option<String> {
    let Scenario { timing, ftl, gc, cache, host_buffer, cooperation, controller, precondition, .. } =
        scenario;
    let waits = scenario.replay_mode() == ReplayMode::Closed || scenario.workload.has_jobs();
    // The policies named here keep nothing beyond a pool.
    let learns = !matches!(ftl.placement, PlacementConfig::Streams(_) | PlacementConfig::SepGc(_));
    let ages = !matches!(gc.victim, Greedy(_) | Fifo(_) | Random(_) | DChoices(_) | WindowedGreedy(_));
    let refreshes = ftl.refresh.retention.is_some() || ftl.refresh.fast_retention.is_some();
    let draws = timing.program_distribution != ProgramDistribution::Fixed;
    let fills = precondition.random_passes == RandomPasses::Steady;
    let [in_host, schemes] =
        [cache.placement == Placement::Host, *cooperation != CooperationConfig::default()];
    let couplings = [
        (Slice::channels(scenario) < 2, "flash.channels", "there is one, and its dies share it"),
        (
            waits,
            "replay.mode",
            "in a closed loop requests wait for answers of any die; \"open\" goes by their times",
        ),
        (scenario.hybrid.is_some(), "hybrid", "all dies share the disks and the map of a flash cache"),
        (scenario.has_cache(), "cache.size", "a cache evicts pages of any die"),
        (in_host, "cache.placement", "the messages of a cache in the host concern all dies"),
        (cache.volatile, "cache.volatile", "a flush waits for all dies"),
        (cache.fence.ns > 0, "cache.fence", "a request waits for the metadata of all its pages"),
        (host_buffer.exists(), "host_buffer.size", "a write buffer holds pages of all dies"),
        (schemes, "cooperation", "a scheme decides for all dies"),
        (controller.write_buffer.count > 0, "controller.write_buffer", "all dies share it"),
        (
            ftl.chips != Chips::Static,
            "ftl.chips",
            "the die of a write depends on others; under \"static\" on its address",
        ),
        (ftl.pools == Pools::Device, "ftl.pools", "a superblock lies on all dies"),
        (scenario.pages_per_unit() > 1, "ftl.indirection_unit", "a unit lies on several dies"),
        (learns, "ftl.placement", "the policy learns from the writes of all dies"),
        (refreshes, "ftl.refresh", "blocks of all dies wait in one queue"),
        (ages, "gc.victim", "the policy counts the age of a block in programs of the device"),
        (draws, "timing.program_distribution", "all programs draw their times from one stream"),
        (
            precondition.until_free.is_some(),
            "precondition.until_free",
            "the fill ends by the free blocks of any pool",
        ),
        (fills, "precondition.random_passes", "\"steady\" goes by the write amplification of the device"),
        (
            precondition.until_steady,
            "precondition.until_steady",
            "it goes by the write amplification of the device",
        ),
        (!scenario.restart.at.is_empty(), "restart.at", "a restart stops all dies at once"),
    ];
    couplings.into_iter().find(|(holds, ..)| *holds).map(|(_, key, why)| format!("{key}: {why}"))
}
