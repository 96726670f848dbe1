//! Keys that have an effect only under a condition on others. A scenario that changes one without its condition is
//! allowed, as a sweep needs it, and told. Schemes are compared under the same keys, so keys that only another scheme of
//! cooperation or of a flash cache would use are not told.

use crate::replay::ReplayMode;
use crate::scenario::Scenario;
use coflash_hybrid::{HybridConfig, WritePolicy};
use coflash_level::Placement;
use serde_json::Value;
use std::collections::BTreeMap;

/// The keys whose values differ from their defaults.
type Differing = BTreeMap<String, Value>;

/// What keys need to have an effect.
enum Need {
    /// One of these keys, with a value that is neither its default nor nothing.
    AnyOf(&'static str),
    Holds(fn(&Scenario) -> bool),
}
use Need::{AnyOf, Holds};

/// Keys, or tables of keys, what they need, and its name in a sentence. The first that is missing is the reason for a key.
/// Between keys are spaces.
const NEEDS: &[(&str, Need, &str)] = &[
    (
        "replay.time_scale",
        Holds(|scenario| scenario.replay_mode() == ReplayMode::Open && !scenario.workload.arrives_at_once()),
        "an open loop of requests with times (replay.mode)",
    ),
    (
        "replay.queue_depth",
        // A recorded workload may turn out to have no times, which the depth decides.
        Holds(|scenario| match scenario.replay.mode {
            None if scenario.workload.is_recorded() => true,
            _ => scenario.replay_mode() == ReplayMode::Closed && !scenario.workload.has_jobs(),
        }),
        "a closed loop (replay.mode), which jobs of workload.fio bring along",
    ),
    ("restart.shutdown", AnyOf("restart.at"), "a restart"),
    ("workload.trace_options", AnyOf("workload.trace workload.like"), "a trace"),
    ("timing.planes", AnyOf("flash.planes_per_die"), "several planes in a die"),
    ("timing.pages_per_type", AnyOf("timing.page_reads timing.page_programs"), "times by page type"),
    (
        "timing.slc_page_read timing.slc_page_program ftl.slc_cache.while_free",
        AnyOf("ftl.slc_cache.blocks"),
        "a pSLC cache",
    ),
    ("ftl.refresh.power_off", AnyOf("ftl.refresh.retention ftl.refresh.fast_retention"), "a retention time"),
    ("cooperation", AnyOf("cache.size host_buffer.size"), "a cache or a write buffer"),
    (
        "cache.policy cache.page_read cache.page_write cache.read_allocate cache.write_allocate cache.eviction",
        AnyOf("cache.size"),
        "a cache",
    ),
    (
        "cache.volatile cache.fence",
        Holds(|scenario| scenario.hybrid.is_none() || scenario.has_cache()),
        "a cache (cache.size), where flash is one before disks (hybrid)",
    ),
    (
        "host_buffer.policy host_buffer.page_read host_buffer.page_write host_buffer.read_allocate host_buffer.dirty_age_max host_buffer.dirty_share_max",
        AnyOf("host_buffer.size"),
        "a write buffer in the host",
    ),
    (
        "host",
        Holds(|scenario| match scenario.cache.placement {
            Placement::Host => scenario.caches_in_host(),
            Placement::InStorage => scenario.host_buffer.exists(),
        }),
        "a cache in the host (cache.placement), or a write buffer there (host_buffer.size)",
    ),
    ("host.protecting", Holds(Scenario::caches_in_host), "a cache in the host (cache.placement)"),
    (
        "controller.cores",
        AnyOf("controller.read_command controller.read_4k controller.write_command controller.write_4k"),
        "a time of the firmware",
    ),
    ("link.lanes link.coding", AnyOf("link.lane_rate"), "a rate of the link"),
    ("hybrid.disks.placement", AnyOf("hybrid.disks.count"), "several disks"),
    (
        "hybrid.sequential_streams",
        Holds(|scenario| scenario.hybrid.as_ref().is_some_and(|hybrid| hybrid.sequential_unit.count > 0)),
        "a bypass of sequential runs (hybrid.sequential_unit)",
    ),
    (
        "hybrid.destaging",
        Holds(|scenario| {
            let writes_back = |hybrid: &HybridConfig| hybrid.write_policy == WritePolicy::WriteBack;
            scenario.hybrid.as_ref().is_some_and(writes_back)
        }),
        "hybrid.write_policy = \"write-back\"",
    ),
];

impl Need {
    fn is_met(&self, scenario: &Scenario, differing: &Differing) -> bool {
        match self {
            AnyOf(keys) => {
                keys.split(' ').any(|key| differing.get(key).is_some_and(|value| !is_nothing(value)))
            }
            Holds(holds) => holds(scenario),
        }
    }

    /// Its name in a sentence, with the keys that would bring it.
    fn named(&self, name: &str) -> String {
        match self {
            AnyOf(keys) => format!("{name} ({})", keys.replace(' ', ", ")),
            Holds(_) => name.to_owned(),
        }
    }
}

/// Whether a value is none, or a quantity of zero.
fn is_nothing(value: &Value) -> bool {
    let is_zero = |text: &str| text.trim_end_matches(|letter: char| !letter.is_ascii_digit()) == "0";
    value.is_null() || value.as_str().is_some_and(is_zero)
}

/// Whether a key is one of these, or in one of these tables.
fn is_among(key: &str, keys: &str) -> bool {
    let mut rests = keys.split(' ').filter_map(|table| key.strip_prefix(table));
    rests.any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Every key that has an effect only under a condition, or its table, with what it needs.
pub fn conditional_keys() -> impl Iterator<Item = (&'static str, String)> {
    NEEDS.iter().flat_map(|(keys, need, name)| keys.split(' ').map(|key| (key, need.named(name))))
}

impl Scenario {
    /// The keys that differ from their defaults and have no effect, given the others: a sentence for each reason.
    #[must_use]
    pub fn without_effect(&self) -> Vec<String> {
        let differing = self.differing();
        let mut left: Vec<&str> =
            differing.keys().map(|key| key.strip_suffix(".name").unwrap_or(key)).collect();
        let missing = NEEDS.iter().filter(|(_, need, _)| !need.is_met(self, &differing));
        let sentences = missing.filter_map(|(keys, need, name)| {
            let idle = left.extract_if(.., |key| is_among(key, keys)).collect::<Vec<_>>();
            let (last, others) = idle.split_last()?;
            let subject = match others {
                [] => format!("{last} has"),
                _ => format!("{} and {last} have", others.join(", ")),
            };
            Some(format!("{subject} no effect without {}", need.named(name)))
        });
        sentences.collect()
    }

    /// Whether a key has an effect, given the others.
    pub(crate) fn acts(&self, key: &str) -> bool {
        let differing = self.differing();
        NEEDS.iter().all(|(keys, need, _)| !is_among(key, keys) || need.is_met(self, &differing))
    }

    /// Whether there is a cache in the device or in the host.
    #[must_use]
    pub fn has_cache(&self) -> bool {
        self.cache.size.pages(self.page_bytes(), 1 << 31) > 0
    }

    pub(crate) fn caches_in_host(&self) -> bool {
        self.cache.placement == Placement::Host && self.has_cache()
    }
}
