//! Transactions of a financial institution, in the shape of the trace Financial1: many small random writes, a log, a
//! read-mostly index, and scans.
//!
//! Published facts of the trace: 5.33 million requests in about 12 hours, 77 % writes, to 24 application
//! storage units; mean size about 3.4 KiB, most from 512 B to 8 KiB, in whole sectors at any sector. Its
//! first 10,000 requests (an example that simulators include) by unit: some units are written sequentially
//! (3.5 KiB, a log; 48 KiB, a batch), two are read sequentially in 8 KiB (a scan), one is mostly read at
//! random in 512 B (an index). The others are written at random in 512 B to 3 KiB, with a quarter to three
//! quarters of the requests on a tenth of the addresses.
//!
//! Here the units are merged into eight tenants, each with a share of the requests and of the space. The
//! other parameters are assumptions: the shares of the units (their totals match), the exponents, and Poisson
//! arrivals (the trace is bursty).
//!
//! Source: UMass Trace Repository, "OLTP application I/O" (2007), trace Financial1.spc, and the SPC trace file format
//! (2002). Cost: merging eight tenants.

use super::PresetWorkload;
use crate::parts::Part;
use crate::synthetic::arrival::PoissonConfig;
use crate::synthetic::runs::RunsConfig;
use crate::synthetic::size::{ChoiceConfig, WeightedSize};
use crate::synthetic::zipf::ZipfConfig;
use crate::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, SyntheticConfig};
use crate::{WorkloadError, refuse};
use coflash_base::policy::NoParameters;
use coflash_base::{Amount, Bytes, Duration, Policy, Share};

coflash_base::config! {
    /// The workload `"oltp-like"`, by its parameters.
    pub struct OltpLikeConfig {
        /// Number of requests, at least 1,000.
        pub requests: u64 = 1_000_000,
        /// Mean interarrival time of the Poisson arrivals.
        pub interarrival: Duration = Duration { ns: 8_190_000 },
        /// Size of the used address range, at least 64 MiB; it begins at 0. Default: the whole device.
        pub space: Option<Bytes>,
        /// Share of reads among all requests, from 0% to 100%. Writes of all units become reads, or reads writes, with the
        /// same probability. Default: that of Financial1, about 23 %.
        pub read_share: Option<Share>,
    }
}

impl Policy for OltpLikeConfig {
    type Config = Self;
    const SUMMARY: &'static str =
        "Transactions in the shape of Financial1: 77% writes, mostly 512 B to 8 KiB, eight units, skewed.";
    const SOURCE: &'static str = "UMass Trace Repository, \"OLTP application I/O\", Financial1 (2007)";
}

/// A kind of application storage unit; shares in percent.
struct Unit {
    name: &'static str,
    /// Share of all requests.
    traffic: u64,
    /// Share of the space.
    space: u64,
    /// Share of reads among its requests.
    reads: u64,
    /// Exponent of the Zipf popularity; `None` for sequential access.
    zipf: Option<f64>,
    /// Share of requests that continue the previous one, for random access.
    runs: u64,
    /// Sizes in sectors, and their weights.
    sizes: &'static [(u64, u32)],
}

const TABLE: Unit = Unit {
    name: "table",
    traffic: 18,
    space: 15,
    reads: 15,
    zipf: Some(1.1),
    runs: 5,
    sizes: &[(1, 10), (2, 25), (6, 50), (8, 10), (16, 5)],
};

const UNITS: [Unit; 8] = [
    Unit { name: "table-1", ..TABLE },
    Unit { name: "table-2", ..TABLE },
    Unit { name: "table-3", ..TABLE },
    Unit {
        name: "pages",
        traffic: 20,
        space: 15,
        reads: 5,
        zipf: Some(1.0),
        runs: 10,
        sizes: &[(1, 20), (4, 30), (8, 20), (16, 30)],
    },
    Unit {
        name: "index",
        traffic: 12,
        space: 15,
        reads: 75,
        zipf: Some(1.1),
        runs: 10,
        sizes: &[(1, 70), (4, 5), (8, 10), (16, 15)],
    },
    Unit {
        name: "log",
        traffic: 8,
        space: 10,
        reads: 0,
        zipf: None,
        runs: 0,
        sizes: &[(7, 75), (3, 17), (24, 5), (56, 3)],
    },
    Unit { name: "scan", traffic: 5, space: 10, reads: 100, zipf: None, runs: 0, sizes: &[(16, 1)] },
    Unit { name: "batch", traffic: 1, space: 5, reads: 0, zipf: None, runs: 0, sizes: &[(96, 1)] },
];

impl OltpLikeConfig {
    /// The share of reads of a unit, so that all units together have the share that is asked for.
    fn read_share_of(&self, unit: &Unit) -> Share {
        let one = u128::from(Share::ONE.ppb);
        let all: u64 = UNITS.iter().map(|unit| unit.traffic * unit.reads).sum();
        let (all, own) = (u128::from(all) * one / 10_000, u128::from(unit.reads) * one / 100);
        let asked = self.read_share.map_or(all, |share| share.ppb.into());
        let ppb =
            if asked < all { own * asked / all } else { own + (one - own) * (asked - all) / (one - all) };
        Share { ppb: ppb as u64 }
    }
}

impl Unit {
    fn tenant(&self, config: &OltpLikeConfig) -> Part {
        let sector = |count| Bytes { count: count * 512 };
        let generator = match self.zipf {
            None => GeneratorConfig::Sequential(NoParameters {}),
            Some(exponent) => GeneratorConfig::Runs(RunsConfig {
                sequential_share: Share::percent(self.runs),
                // Neighbouring sectors are records of the same block, with similar popularity.
                from: Box::new(GeneratorConfig::Zipf(ZipfConfig {
                    exponent,
                    scatter_block: Some(sector(8)),
                    ..ZipfConfig::default()
                })),
            }),
        };
        let sizes = self.sizes.iter().map(|&(count, weight)| WeightedSize { size: sector(count), weight });
        let mean =
            Duration { ns: (u128::from(config.interarrival.ns) * 100 / u128::from(self.traffic)) as u64 };
        let synthetic = SyntheticConfig {
            generator,
            requests: Share::percent(self.traffic).part_of(config.requests).max(1),
            read_share: config.read_share_of(self),
            size: SizeConfig::Choice(ChoiceConfig { sizes: sizes.collect() }),
            align: sector(1),
            arrival: ArrivalConfig::Poisson(PoissonConfig { mean }),
            ..SyntheticConfig::default()
        };
        Part {
            name: Some(self.name.to_owned()),
            space: Some(Amount::Share(Share::percent(self.space))),
            ..Part::from(synthetic)
        }
    }
}

impl PresetWorkload for OltpLikeConfig {
    fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError> {
        let OltpLikeConfig { requests, interarrival, space, .. } = *self;
        if requests < 1000 {
            return refuse("preset.requests", format!("{requests} was given; at least 1000 is allowed"));
        }
        let longest = Duration { ns: i64::MAX as u64 / requests };
        if interarrival == Duration::ZERO || interarrival > longest {
            let problem = format!("{interarrival} was given; from 1ns to {longest} is allowed");
            return refuse("preset.interarrival", problem);
        }
        let (least, most) = (Bytes { count: 64 << 20 }, Bytes { count: space_bytes });
        let space = space.unwrap_or(most);
        if space < least || space > most {
            let problem =
                format!("{space} was given; from {least} to the available space, {most}, is allowed");
            return refuse("preset.space", problem);
        }
        let mut tenants: Vec<Part> = UNITS.iter().map(|unit| unit.tenant(self)).collect();
        // The first tenant gets the requests lost to rounding.
        let rounded: u64 =
            tenants.iter().flat_map(|tenant| &tenant.synthetic).map(|synthetic| synthetic.requests).sum();
        if let Some(first) = &mut tenants[0].synthetic {
            first.requests += requests - rounded;
        }
        Ok(Part { space: Some(Amount::Bytes(space)), tenants, ..Part::default() })
    }

    fn remarks(&self) -> Vec<String> {
        vec![
            "oltp-like has the shape of the trace Financial1 (shares, sizes, skew, units), not its requests; its \
            arrivals are less bursty."
                .to_owned(),
        ]
    }
}
