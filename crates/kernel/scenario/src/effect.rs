//! Keys that have an effect only under a condition on others. A scenario that changes one without its condition is
//! allowed, as a sweep needs it, and told. Schemes are compared under the same keys, so keys that only another scheme of
//! cooperation or of a flash cache would use are not told.

use crate::replay::ReplayMode;
use crate::scenario::Scenario;
use coflash_base::Duration;
use coflash_ftl::FreeMark;
use coflash_hybrid::{HybridConfig, WritePolicy};
use coflash_level::{ControllerConfig, Placement};

/// Keys, or tables of keys, and the condition under which they act.
struct Condition {
    keys: &'static [&'static str],
    holds: fn(&Scenario) -> bool,
    /// What is missing without it.
    needs: &'static str,
}

impl Condition {
    fn names(&self, key: &str) -> bool {
        let rest = |table: &&str| key.strip_prefix(*table);
        self.keys.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The conditions. The first that does not hold is the reason for a key.
const CONDITIONS: &[Condition] = &[
    Condition {
        keys: &["replay.time_scale"],
        holds: |scenario| scenario.replay_mode() == ReplayMode::Open && !scenario.workload.arrives_at_once(),
        needs: "an open loop of requests with times (replay.mode)",
    },
    Condition {
        keys: &["replay.queue_depth"],
        // A recorded workload may turn out to have no times, which the depth decides.
        holds: |scenario| match scenario.replay.mode {
            None if scenario.workload.is_recorded() => true,
            _ => scenario.replay_mode() == ReplayMode::Closed && !scenario.workload.has_jobs(),
        },
        needs: "a closed loop (replay.mode), which jobs of workload.fio bring along",
    },
    Condition {
        keys: &["restart.shutdown"],
        holds: |scenario| !scenario.restart.at.is_empty(),
        needs: "a restart (restart.at)",
    },
    Condition {
        keys: &["workload.trace_options"],
        holds: |scenario| scenario.workload.is_recorded(),
        needs: "a trace (workload.trace, workload.like)",
    },
    Condition {
        keys: &["timing.planes"],
        holds: |scenario| scenario.flash.planes_per_die > 1,
        needs: "several planes in a die (flash.planes_per_die)",
    },
    Condition {
        keys: &["timing.pages_per_type"],
        holds: |scenario| scenario.timing.page_reads.len() + scenario.timing.page_programs.len() > 0,
        needs: "times by page type (timing.page_reads, timing.page_programs)",
    },
    Condition {
        keys: &["timing.slc_page_read", "timing.slc_page_program", "ftl.slc_cache.while_free"],
        holds: |scenario| scenario.ftl.slc_cache.blocks != FreeMark::Blocks(0),
        needs: "a pSLC cache (ftl.slc_cache.blocks)",
    },
    Condition {
        keys: &["ftl.refresh.power_off"],
        holds: |scenario| {
            scenario.ftl.refresh.retention.is_some() || scenario.ftl.refresh.fast_retention.is_some()
        },
        needs: "a retention time (ftl.refresh.retention, ftl.refresh.fast_retention)",
    },
    Condition {
        keys: &["cooperation"],
        holds: |scenario| scenario.has_cache() || scenario.host_buffer.exists(),
        needs: "a cache or a write buffer (cache.size, host_buffer.size)",
    },
    Condition {
        keys: &[
            "cache.policy",
            "cache.page_read",
            "cache.page_write",
            "cache.read_allocate",
            "cache.write_allocate",
            "cache.eviction",
        ],
        holds: Scenario::has_cache,
        needs: "a cache (cache.size)",
    },
    Condition {
        keys: &["cache.volatile", "cache.fence"],
        holds: |scenario| scenario.hybrid.is_none() || scenario.has_cache(),
        needs: "a cache (cache.size), where flash is one before disks (hybrid)",
    },
    Condition {
        keys: &[
            "host_buffer.policy",
            "host_buffer.page_read",
            "host_buffer.page_write",
            "host_buffer.read_allocate",
            "host_buffer.dirty_age_max",
            "host_buffer.dirty_share_max",
        ],
        holds: |scenario| scenario.host_buffer.exists(),
        needs: "a write buffer in the host (host_buffer.size)",
    },
    Condition {
        keys: &["host"],
        holds: |scenario| match scenario.cache.placement {
            Placement::Host => scenario.caches_in_host(),
            Placement::InStorage => scenario.host_buffer.exists(),
        },
        needs: "a cache in the host (cache.placement), or a write buffer there (host_buffer.size)",
    },
    Condition {
        keys: &["host.protecting"],
        holds: Scenario::caches_in_host,
        needs: "a cache in the host (cache.placement)",
    },
    Condition {
        keys: &["controller.cores"],
        holds: |scenario| {
            let ControllerConfig { read_command, read_4k, write_command, write_4k, .. } = scenario.controller;
            [read_command, read_4k, write_command, write_4k].iter().any(|time| *time > Duration::ZERO)
        },
        needs: "a time of the firmware (controller.read_command, read_4k, write_command, write_4k)",
    },
    Condition {
        keys: &["link.lanes", "link.coding"],
        holds: |scenario| scenario.link.lane_rate.count > 0,
        needs: "a rate of the link (link.lane_rate)",
    },
    Condition {
        keys: &["hybrid.disks.placement"],
        holds: |scenario| scenario.hybrid.as_ref().is_some_and(|hybrid| hybrid.disks.count > 1),
        needs: "several disks (hybrid.disks.count)",
    },
    Condition {
        keys: &["hybrid.sequential_streams"],
        holds: |scenario| scenario.hybrid.as_ref().is_some_and(|hybrid| hybrid.sequential_unit.count > 0),
        needs: "a bypass of sequential runs (hybrid.sequential_unit)",
    },
    Condition {
        keys: &["hybrid.destaging"],
        holds: |scenario| {
            let writes_back = |hybrid: &HybridConfig| hybrid.write_policy == WritePolicy::WriteBack;
            scenario.hybrid.as_ref().is_some_and(writes_back)
        },
        needs: "hybrid.write_policy = \"write-back\"",
    },
];

/// Every key that has an effect only under a condition, or its table, with what the condition needs.
pub fn conditional_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    CONDITIONS.iter().flat_map(|condition| condition.keys.iter().map(|key| (*key, condition.needs)))
}

impl Scenario {
    /// The keys that differ from their defaults and have no effect, given the others: a sentence for each reason.
    #[must_use]
    pub fn without_effect(&self) -> Vec<String> {
        let of_policy = |key: String| key.strip_suffix(".name").map_or(key.clone(), str::to_owned);
        let mut differing: Vec<String> = self.differing().into_keys().map(of_policy).collect();
        let mut told = Vec::new();
        for condition in CONDITIONS.iter().filter(|condition| !(condition.holds)(self)) {
            let (idle, others): (Vec<_>, _) = differing.into_iter().partition(|key| condition.names(key));
            differing = others;
            if let Some((last, others)) = idle.split_last() {
                let keys = if others.is_empty() {
                    last.clone()
                } else {
                    format!("{} and {last}", others.join(", "))
                };
                let verb = if others.is_empty() { "has" } else { "have" };
                told.push(format!("{keys} {verb} no effect without {}", condition.needs));
            }
        }
        told
    }

    /// Whether a key has an effect, given the others.
    pub(crate) fn acts(&self, key: &str) -> bool {
        CONDITIONS.iter().all(|condition| !condition.names(key) || (condition.holds)(self))
    }

    /// Whether there is a cache in the device or in the host.
    #[must_use]
    pub fn has_cache(&self) -> bool {
        self.cache.size.pages(self.page_bytes(), 1 << 31) > 0
    }

    fn caches_in_host(&self) -> bool {
        self.cache.placement == Placement::Host && self.has_cache()
    }
}
