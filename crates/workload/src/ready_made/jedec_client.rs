//! In place of JEDEC's client workload, which is a licensed trace: its operations, with the zones and sizes of the
//! enterprise workload.
//!
//! Known of the trace as the CDM paper replayed it: 5,000,000 commands, of which 89 % write, 6 % trim and 5 % flush, over
//! 31.2 GB. What the trace has beyond that (its sequential runs, its order, trims of what was written before) is not in
//! here, and the remarks of every run say so.
//!
//! Source: JEDEC JESD219A (2012) for what it stands for; the CDM paper's evaluation for the shares; JESD219 for zones and sizes.
//! Cost: as hot-cold.

use super::ReadyMade;
use crate::WorkloadError;
use crate::parts::Part;
use crate::synthetic::hot_cold::HotColdConfig;
use crate::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, SyntheticConfig, jesd219};
use coflash_base::{Bytes, Policy, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of `"jedec-client"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JedecClientConfig {
    /// How many requests there are.
    pub requests: u64,
    /// Every request begins at a multiple of this.
    pub align: Bytes,
    /// Only the first so many bytes are used, rounded down to a multiple of `align`.
    pub space: Bytes,
    /// The blocks of the zones that are scattered over the space, a multiple of `align`.
    pub scatter_block: Bytes,
    /// When requests arrive.
    pub arrival: ArrivalConfig,
}

impl Default for JedecClientConfig {
    fn default() -> Self {
        Self {
            requests: 5_000_000,
            align: Bytes { count: 4096 },
            space: Bytes { count: 31_200_000_000 },
            scatter_block: Bytes { count: 1 << 20 },
            arrival: ArrivalConfig::default(),
        }
    }
}

/// The workload `"jedec-client"`.
#[derive(Clone, Debug)]
pub struct JedecClient(JedecClientConfig);

impl Policy for JedecClient {
    type Config = JedecClientConfig;
    const SUMMARY: &'static str = "In place of the licensed client trace: its shares of writes, trims and flushes, the enterprise zones and sizes.";
    const SOURCE: &'static str = "JEDEC JESD219A (2012), of which this is a substitute";
}

impl ReadyMade for JedecClient {
    const TITLE: Option<&'static str> = Some("jedec-client (a substitute for JEDEC's trace)");

    fn new(config: &JedecClientConfig) -> Self {
        Self(config.clone())
    }

    fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError> {
        let JedecClientConfig { requests, align, space, scatter_block, .. } = self.0;
        let most = Bytes { count: space_bytes };
        if space > most {
            let problem = format!("{space} is set; at most what there is, {most}, is allowed");
            return Err(WorkloadError::Parameters { key: "preset.space", problem });
        }
        let whole = space.count.checked_div(align.count).map_or(space.count, |units| units * align.count);
        let generator =
            HotColdConfig { zones: jesd219::zones(), scattered: true, scatter_block: Some(scatter_block) };
        Ok(Part::from(SyntheticConfig {
            generator: GeneratorConfig::HotCold(generator),
            size: SizeConfig::by_name("jesd219").expect("a name of the list"),
            requests,
            trim_share: Share::percent(6),
            flush_share: Share::percent(5),
            align,
            space: Some(Bytes { count: whole }),
            arrival: self.0.arrival.clone(),
            ..SyntheticConfig::default()
        }))
    }

    fn remarks(&self) -> Vec<String> {
        vec![
            "jedec-client is a substitute for the licensed JESD219A client trace: it has that trace's shares of writes, \
             trims and flushes, and the zones and sizes of the JESD219 enterprise workload."
                .to_owned(),
        ]
    }
}
