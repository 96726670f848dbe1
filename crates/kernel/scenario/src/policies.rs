//! The table of all policies.

use coflash_base::PolicyInfo;
use coflash_workload::presets::PresetConfig;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig};

/// A family of policies: its key, what it decides, its members.
pub type Family = (&'static str, &'static str, Vec<PolicyInfo>);

/// The table of all policy families. The formats of traces belong to the crate that reads traces.
#[must_use]
pub fn policies() -> Vec<Family> {
    vec![
        ("gc.victim", "which sealed block GC cleans next", coflash_ftl::VictimConfig::table()),
        ("ftl.placement", "which open block takes a page", coflash_ftl::PlacementConfig::table()),
        ("cache.policy", "which page a full cache evicts", coflash_cache::EvictionConfig::table()),
        (
            "cooperation",
            "how cache and flash cooperate",
            coflash_level::CooperationConfig::table_with_needs(),
        ),
        (
            "hybrid.scheme",
            "how a flash cache in front of disks divides its flash",
            coflash_hybrid::SchemeConfig::table(),
        ),
        ("hybrid.disks.model", "latency model of a disk", coflash_media::disk::DiskConfig::table()),
        ("workload.synthetic.generator", "addresses of synthetic requests", GeneratorConfig::table()),
        ("workload.synthetic.size", "sizes of synthetic requests", SizeConfig::table()),
        ("workload.synthetic.arrival", "arrival times of synthetic requests", ArrivalConfig::table()),
        ("workload.preset", "preset workloads", PresetConfig::table()),
    ]
}
