//! The list of rows of the table.

use crate::row::{Row, family, row};
use crate::simulating::simulate;
use crate::{counting, evicting, generating, parsing, serving, simulating, storing};
use coflash_cache::EvictionConfig;
use coflash_ftl::PlacementConfig;
use coflash_workload::presets::PresetConfig;
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig};

/// Jobs of fio, by the options that take their time.
const FIO_JOBS: &[&str] = &[
    "rw=write",
    "rw=randwrite",
    "rw=randwrite\nnorandommap",
    "rw=randrw\nnorandommap\nbssplit=4k/60:16k/40",
    "rw=randwrite\nrandom_distribution=zoned:60/10:40/90",
    "rw=randwrite\nrandom_distribution=zipf:1.2",
];

/// The formats of the rows of statistics: the usual text, one that is slow to read, one that is fast.
const INSPECTED: &[&str] = &["msr", "blkparse", "blktrace"];

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/traces/pgbench-oltp-400k.iolog.zst");

/// The row that stands for all runs, and the limit that it is held against.
pub(crate) const STANDARD: &str = "standard job";
pub(crate) const COUNTED: &str = "standard job, counted, no time";

const SHARED: &[(&str, &str)] =
    &[("timing.channel", "shared"), ("flash.channels", "4"), ("flash.chips_per_channel", "2")];

/// What a large device needs for the write amplification of the standard job.
const PASS: (&str, &str) = ("precondition.random_passes", "1");

/// All rows, in the order of the table.
pub(crate) fn rows() -> Vec<Row> {
    let standard = |assignments: &'static [(&str, &str)]| move || simulate("random-5g", assignments);
    let mut rows = vec![
        row(STANDARD, standard(&[])),
        row(COUNTED, counting::standard),
        row("standard job, none, cache 5 %", standard(&[("cache.size", "5%")])),
        row("standard job, cdm, cache 5 %", standard(&[("cache.size", "5%"), ("cooperation", "cdm")])),
        row(
            "standard job, cdm, in the host",
            standard(&[("cache.size", "5%"), ("cooperation", "cdm"), ("cache.placement", "host")]),
        ),
        row("standard job, 64 GiB", standard(&[PASS, ("flash.blocks_per_plane", "32768")])),
        row("standard job, 1 TiB", standard(&[PASS, ("flash.blocks_per_plane", "524288")])),
        row("standard job, shared channels", standard(SHARED)),
        row("standard job, superblocks", standard(&[("ftl.pools", "device")])),
        row("sequential writes", standard(&[("workload.synthetic.generator", "sequential")])),
        row("shipped trace, closed loop, cdm", || {
            simulate("demo", &[("workload.trace", &format!("[{TRACE:?}]"))])
        }),
        row("ShadowGC, 1 TB, ggc", || simulate("shadowgc-1t", &[("cooperation", "ggc")])),
        row("ShadowGC, 1 TB, sgc", || simulate("shadowgc-1t", &[])),
        row("ShadowGC, 64 GB, ggc", || simulate("shadowgc-64g", &[("cooperation", "ggc")])),
        row("ShadowGC, 64 GB, sgc", || simulate("shadowgc-64g", &[])),
        row("OP-FCL, 4 GiB, cache hits", || simulating::op_fcl_hits(10_000_000)),
        row("OP-FCL, decisions, constants", || simulating::decisions(false)),
        row("OP-FCL, decisions, measured", || simulating::decisions(true)),
        row("filling 5 GiB", simulating::fill),
    ];
    rows.extend(family("eviction", EvictionConfig::NAMES, evicting::eviction));
    rows.push(row("eviction lru, the peer", evicting::lru_of_peer));
    rows.extend(family("miss ratio", &["lru", "s3-fifo", "sieve", "arc"], evicting::curve));
    let built_in: Vec<_> =
        PlacementConfig::NAMES.iter().copied().filter(|&name| name != "external").collect();
    rows.extend(family("placement", &built_in, simulating::placement));
    rows.extend(family("reading", &parsing::formats(), parsing::generated));
    rows.push(row("reading msr, the peer", parsing::msr_of_peer));
    rows.push(row("reading the shipped trace (zst)", || parsing::file(TRACE)));
    rows.extend(family("trace info", INSPECTED, parsing::inspected));
    rows.push(row("trace info, the shipped trace", || parsing::inspected(TRACE)));
    rows.extend(family("generator", GeneratorConfig::NAMES, generating::generator));
    rows.extend(family("size", SizeConfig::NAMES, generating::size));
    rows.extend(family("arrival", ArrivalConfig::NAMES, generating::arrival));
    rows.extend(family("preset", PresetConfig::NAMES, generating::preset));
    rows.extend(family("fio", FIO_JOBS, generating::job));
    rows.push(row("8 phases", generating::phases));
    rows.push(row("8 tenants", generating::tenants));
    rows.push(row("like", generating::like));
    rows.extend(storing::rows());
    rows.extend(serving::rows());
    rows
}
