//! The table of all policies.

/// The table of all policy families and trace formats: (key, decision, members).
#[must_use]
pub fn policies() -> Vec<(&'static str, &'static str, Vec<coflash_base::PolicyInfo>)> {
    use coflash_trace::formats;
    use coflash_workload::presets::PresetConfig;
    use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig};
    let format = |format: formats::FormatInfo| coflash_base::PolicyInfo {
        name: format.name,
        summary: format.summary,
        source: format.source,
        parameters: Vec::new(),
    };
    vec![
        ("gc.victim", "which sealed block GC cleans next", coflash_ftl::VictimConfig::table()),
        ("ftl.placement", "which open block takes a page", coflash_ftl::PlacementConfig::table()),
        ("cache.policy", "which page a full cache evicts", coflash_cache::EvictionConfig::table()),
        ("cooperation", "how cache and flash cooperate", coflash_level::CooperationConfig::table()),
        (
            "hybrid.scheme",
            "how a flash cache in front of disks divides its flash",
            coflash_hybrid::SchemeConfig::table(),
        ),
        ("hybrid.disks.model", "latency model of a disk", coflash_media::disk::DiskConfig::table()),
        ("workload.synthetic.generator", "addresses of synthetic requests", GeneratorConfig::table()),
        ("workload.synthetic.size", "sizes of synthetic requests", SizeConfig::table()),
        (
            "workload.trace_options.format",
            "format of a trace",
            formats::table().into_iter().map(format).collect(),
        ),
        ("workload.synthetic.arrival", "arrival times of synthetic requests", ArrivalConfig::table()),
        ("workload.preset", "preset workloads", PresetConfig::table()),
    ]
}
