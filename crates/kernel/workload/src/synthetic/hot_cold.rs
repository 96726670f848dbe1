//! Zones with different shares of the traffic; inside a zone every position is equally likely.
//!
//! Source: Rosenblum and Ousterhout, "The design and implementation of a log-structured file system" (1992), for hot
//! and cold; JESD219 for more than two zones. Cost: two random numbers per request.

use super::draw::{self, AliasTable};
use super::{AddressPolicy, Space, refuse, scatter::Scatter};
use crate::{Op, WorkloadError};
use coflash_base::{Bytes, Policy, RandomStream, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One zone of `"hot-cold"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the requests.
    pub traffic: Share,
    /// Share of the space; at least one alignment unit.
    pub space: Share,
}

impl Zone {
    /// A zone with these percentages.
    pub(super) const fn percent(traffic: u64, space: u64) -> Self {
        Self { traffic: Share::percent(traffic), space: Share::percent(space) }
    }
}

coflash_base::config! {
    /// The parameters of `"hot-cold"`.
    #[derive(Eq)]
    pub struct HotColdConfig {
        /// The zones in the order of their addresses; traffic and space each sum to 100%.
        pub zones: Vec<Zone> = vec![Zone::percent(90, 10), Zone::percent(10, 90)],
        /// Whether each zone is scattered over the whole space at random; otherwise zones are contiguous.
        pub scattered: bool = true,
        /// Granularity of scattering, a multiple of `align`. With blocks larger than requests, most requests stay
        /// within one zone. Default: one alignment unit.
        pub scatter_block: Option<Bytes>,
    }
}

const KEY: &str = "generator.zones";

fn sums_to_all(what: &str, shares: impl Iterator<Item = Share>) -> Result<(), WorkloadError> {
    let sum = Share { ppb: shares.map(|share| share.ppb).fold(0, u64::saturating_add) };
    if sum != Share::ONE {
        return refuse(KEY, format!("the {what} of the zones sums to {sum}; exactly 100% is allowed"));
    }
    Ok(())
}

/// The generator `"hot-cold"`.
#[derive(Clone, Debug)]
pub struct HotCold {
    space_units: u64,
    traffic: AliasTable,
    /// First unit and number of units of each zone.
    zones: Vec<(u64, u64)>,
    scatter: Option<Scatter>,
}

impl Policy for HotCold {
    type Config = HotColdConfig;
    const SUMMARY: &'static str = "Zones, each with a share of the traffic and a share of the space.";
    const SOURCE: &'static str =
        "Rosenblum and Ousterhout, \"The design and implementation of a log-structured file system\" (1992)";
}

impl AddressPolicy for HotCold {
    fn new(config: &HotColdConfig, space: Space) -> Result<Self, WorkloadError> {
        sums_to_all("traffic", config.zones.iter().map(|zone| zone.traffic))?;
        sums_to_all("space", config.zones.iter().map(|zone| zone.space))?;
        let mut zones = Vec::with_capacity(config.zones.len());
        let (mut end, mut first) = (Share::ZERO, 0);
        for zone in &config.zones {
            // Rounding the ends, not the lengths, makes the zones cover the whole space.
            end.ppb += zone.space.ppb;
            let next = end.part_of(space.units);
            if next == first {
                let problem = format!(
                    "a zone has {} of the space, less than one of its {} alignment units; at least one is \
                     allowed",
                    zone.space, space.units
                );
                return refuse(KEY, problem);
            }
            zones.push((first, next - first));
            first = next;
        }
        let traffic: Vec<u64> = config.zones.iter().map(|zone| zone.traffic.ppb).collect();
        let scatter = Scatter::new(config.scattered, config.scatter_block, space)?;
        Ok(Self { space_units: space.units, traffic: AliasTable::new(&traffic), zones, scatter })
    }

    #[inline]
    fn start(&mut self, _: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let (first, units) = self.zones[self.traffic.draw(stream)];
        let rank = first + draw::below(stream, units);
        let position = self.scatter.as_ref().map_or(rank, |scatter| scatter.position(rank));
        position.min(self.space_units - length_units)
    }
}
