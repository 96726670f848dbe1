//! Which devices can be simulated in slices side by side: those whose channels know nothing of each other.

use crate::slice::Slice;
use coflash_ftl::{Chips, PlacementConfig, Pools, VictimConfig};
use coflash_level::{CooperationConfig, Placement};
use coflash_media::ProgramDistribution;
use coflash_scenario::{RandomPasses, ReplayMode, Scenario};

/// What couples the channels of a device.
struct Coupling {
    key: &'static str,
    holds: fn(&Scenario) -> bool,
    why: &'static str,
}

/// The policies listed here keep nothing beyond a pool. Another one counts time in programs of the device, or is not known.
const COUPLINGS: &[Coupling] = &[
    Coupling {
        key: "flash.channels",
        holds: |scenario| Slice::channels(scenario) < 2,
        why: "the device has a single channel, and its dies share it",
    },
    Coupling {
        key: "replay.mode",
        holds: |scenario| scenario.replay_mode() == ReplayMode::Closed || scenario.workload.has_jobs(),
        why: "in a closed loop a request waits for answers of all dies; \"open\" goes by arrival times",
    },
    Coupling {
        key: "replay.mode",
        holds: |scenario| scenario.replay.mode.is_none() && scenario.workload.is_recorded(),
        why: "whether a trace has times shows when it is read; \"open\" says that it has",
    },
    Coupling {
        key: "hybrid",
        holds: |scenario| scenario.hybrid.is_some(),
        why: "the disks and the map of a flash cache are shared by all dies",
    },
    Coupling { key: "cache.size", holds: Scenario::has_cache, why: "a cache evicts pages of any die" },
    Coupling {
        key: "cache.placement",
        holds: |scenario| scenario.cache.placement == Placement::Host,
        why: "messages of a cache in the host concern all dies",
    },
    Coupling {
        key: "cache.volatile",
        holds: |scenario| scenario.cache.volatile,
        why: "a flush waits for all dies",
    },
    Coupling {
        key: "host_buffer.size",
        holds: |scenario| scenario.host_buffer.exists(),
        why: "a write buffer holds pages of all dies",
    },
    Coupling {
        key: "cooperation",
        holds: |scenario| scenario.cooperation != CooperationConfig::default(),
        why: "a scheme of cooperation decides for all dies",
    },
    Coupling {
        key: "controller.write_buffer",
        holds: |scenario| scenario.controller.write_buffer.count > 0,
        why: "all dies share the write buffer",
    },
    Coupling {
        key: "ftl.chips",
        holds: |scenario| scenario.ftl.chips != Chips::Static,
        why: "the die of a write depends on the others; with \"static\" it follows from the address",
    },
    Coupling {
        key: "ftl.pools",
        holds: |scenario| scenario.ftl.pools == Pools::Device,
        why: "a superblock lies on all dies",
    },
    Coupling {
        key: "ftl.indirection_unit",
        holds: |scenario| scenario.pages_per_unit() > 1,
        why: "a unit lies on several dies",
    },
    Coupling {
        key: "ftl.placement",
        holds: |scenario| {
            !matches!(scenario.ftl.placement, PlacementConfig::Streams(_) | PlacementConfig::SepGc(_))
        },
        why: "the policy learns from the writes of all dies",
    },
    Coupling {
        key: "ftl.refresh",
        holds: |scenario| {
            scenario.ftl.refresh.retention.is_some() || scenario.ftl.refresh.fast_retention.is_some()
        },
        why: "blocks of all dies wait for their refresh in one queue",
    },
    Coupling {
        key: "gc.victim",
        holds: |scenario| {
            use VictimConfig::{DChoices, Fifo, Greedy, Random, WindowedGreedy};
            !matches!(scenario.gc.victim, Greedy(_) | Fifo(_) | Random(_) | DChoices(_) | WindowedGreedy(_))
        },
        why: "the policy counts the age of a block in programs of the device",
    },
    Coupling {
        key: "timing.program_distribution",
        holds: |scenario| scenario.timing.program_distribution != ProgramDistribution::Fixed,
        why: "all programs draw their times from one stream",
    },
    Coupling {
        key: "precondition.until_free",
        holds: |scenario| scenario.precondition.until_free.is_some(),
        why: "the fill ends when one of all pools is short of free blocks",
    },
    Coupling {
        key: "precondition.random_passes",
        holds: |scenario| scenario.precondition.random_passes == RandomPasses::Steady,
        why: "the writes end by the write amplification of the device",
    },
    Coupling {
        key: "precondition.until_steady",
        holds: |scenario| scenario.precondition.until_steady,
        why: "the writes end by the write amplification of the device",
    },
    Coupling {
        key: "restart.at",
        holds: |scenario| !scenario.restart.at.is_empty(),
        why: "a restart stops all dies at once",
    },
];

/// What keeps a scenario on one thread: the key, and why. `None` if slices of its device can be simulated side by side.
#[must_use]
pub fn coupling(scenario: &Scenario) -> Option<String> {
    let found = COUPLINGS.iter().find(|coupling| (coupling.holds)(scenario))?;
    Some(format!("{}: {}", found.key, found.why))
}
