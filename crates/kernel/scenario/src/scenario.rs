//! The scenario: everything that determines a result, in one type.

use crate::endurance::EnduranceConfig;
use crate::energy::EnergyConfig;
use crate::measured::MeasuredConfig;
use crate::precondition::PreconditionConfig;
use crate::replay::{ReplayConfig, ReplayMode};
use crate::restart::RestartConfig;
use crate::workload::{Requests, WorkloadConfig};
use coflash_base::Seed;
use coflash_base::read::without_nulls;
use coflash_ftl::{FtlConfig, GcConfig};
use coflash_hybrid::HybridConfig;
use coflash_level::{
    CacheConfig, ControllerConfig, CooperationConfig, DeviceConfig, HostConfig, LinkConfig, WriteBufferConfig,
};
use coflash_media::{Geometry, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Everything that determines a result, except input files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// A short name for reports.
    pub name: String,
    /// The purpose of the scenario, in a sentence.
    pub description: String,
    /// What results of the scenario do not tell, in sentences: each result repeats them among its notes.
    pub limits: Vec<String>,
    /// The conditions of the measurements to which the scenario was fitted: the result of a run beyond them has a note.
    pub measured: MeasuredConfig,
    /// Seed of all random streams.
    pub seed: u64,
    /// Geometry of the flash.
    pub flash: Geometry,
    /// Latencies of flash operations.
    pub timing: Timing,
    /// Rated life of the flash.
    pub endurance: EnduranceConfig,
    /// Energy of flash operations. Off by default.
    pub energy: EnergyConfig,
    /// Flash translation layer.
    pub ftl: FtlConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// Cache above the flash: NVM, or a volatile write buffer.
    pub cache: CacheConfig,
    /// Volatile write buffer in the host.
    pub host_buffer: WriteBufferConfig,
    /// Cooperation scheme of cache and flash: a name, or a table of a name and parameters.
    pub cooperation: CooperationConfig,
    /// Flash cache in front of disks. Default: flash without disks.
    pub hybrid: Option<HybridConfig>,
    /// Controller of the device: times of its firmware, and a write buffer.
    pub controller: ControllerConfig,
    /// Link between host and device.
    pub link: LinkConfig,
    /// The host's side of the link, for a cache or a write buffer in the host.
    pub host: HostConfig,
    /// State of the device before the workload.
    pub precondition: PreconditionConfig,
    /// Workload: a trace or generated requests.
    pub workload: WorkloadConfig,
    /// Replay of the workload: open or closed loop.
    pub replay: ReplayConfig,
    /// Restarts of host and device during the workload.
    pub restart: RestartConfig,
}

impl Scenario {
    /// The configuration of the device.
    #[must_use]
    pub fn device(&self) -> DeviceConfig<'_> {
        DeviceConfig {
            geometry: &self.flash,
            ftl: &self.ftl,
            gc: &self.gc,
            cache: &self.cache,
            cooperation: &self.cooperation,
            seed: Seed(self.seed),
        }
    }

    /// The scenario with other requests in place of its own.
    #[must_use]
    pub fn with_requests(&self, requests: Requests) -> Self {
        let workload = WorkloadConfig { requests, ..self.workload.clone() };
        Self { workload, ..self.clone() }
    }

    /// Whether requests are issued in an open or a closed loop.
    #[must_use]
    pub fn replay_mode(&self) -> ReplayMode {
        let at_once = self.workload.arrives_at_once();
        self.replay.mode.unwrap_or(if at_once { ReplayMode::Closed } else { ReplayMode::Open })
    }

    /// How time is replayed, in words: in this mode, or as far as the scenario says.
    #[must_use]
    pub fn replay_told(&self, mode: Option<ReplayMode>) -> String {
        let ReplayConfig { queue_depth, time_scale, .. } = self.replay;
        let workload = if self.workload.is_recorded() { "trace" } else { "workload" };
        match mode.unwrap_or(self.replay_mode()) {
            _ if self.workload.has_jobs() => {
                "closed loops of the jobs, each with its depth and its rate".to_owned()
            }
            ReplayMode::Closed => {
                let no_times = self.workload.arrives_at_once() || self.replay.mode.is_none();
                let times = if no_times {
                    String::new()
                } else {
                    format!(": the times of the {workload} are ignored")
                };
                format!("closed loop, {queue_depth} outstanding{times}")
            }
            ReplayMode::Open if self.workload.arrives_at_once() => {
                "open loop: all requests arrive at once".to_owned()
            }
            ReplayMode::Open => {
                let scale = if time_scale == 1.0 { String::new() } else { format!(" × {time_scale}") };
                let is_known = mode.or(self.replay.mode).is_some() || !self.workload.is_recorded();
                let unless = if is_known { "" } else { ", or a closed loop if it has none" };
                format!("open loop: at the times of the {workload}{scale}{unless}")
            }
        }
    }

    /// Digest of the keys whose values differ from their defaults, except those that only describe the scenario: name,
    /// description, limits and measured. So a new key of coflash with its default value changes no digest.
    #[must_use]
    pub fn hash(&self) -> String {
        let bare = Self {
            name: String::new(),
            description: String::new(),
            limits: Vec::new(),
            measured: MeasuredConfig::default(),
            ..self.clone()
        };
        let mut differing = bare.differing();
        if self.hybrid.is_some() {
            differing.insert("hybrid".to_owned(), Value::Bool(true)); // also if all its keys have their defaults
        }
        digest(&differing)
    }

    /// The values that differ from their defaults by their dotted keys, and no value for a default key that is not there.
    pub(crate) fn differing(&self) -> BTreeMap<String, Value> {
        let hybrid = self.hybrid.as_ref().map(|_| HybridConfig::default());
        let (mut differing, defaults) = (self.leaves(), leaves(&Self { hybrid, ..Self::default() }));
        for (key, default) in defaults {
            if differing.get(&key) == Some(&default) {
                differing.remove(&key);
            } else {
                differing.entry(key).or_default();
            }
        }
        differing
    }

    /// The scenario as a TOML document, defaults included.
    #[must_use]
    pub fn to_toml(&self) -> String {
        to_toml(self)
    }

    /// The scenario as JSON, defaults included, without the keys that have no value.
    #[must_use]
    pub fn to_json(&self) -> Value {
        without_nulls(self)
    }

    /// The values of the scenario by their dotted keys, in key order.
    #[must_use]
    pub fn leaves(&self) -> BTreeMap<String, Value> {
        leaves(self)
    }
}

/// Plain data as a TOML document, without the keys that have no value. By way of JSON: a serialiser of each type for either
/// format would be a quarter of this crate.
#[must_use]
pub fn to_toml(data: &impl Serialize) -> String {
    toml::to_string(&without_nulls(data)).expect("plain data")
}

/// The values of plain data by their dotted keys, in key order.
#[must_use]
pub fn leaves(data: &impl Serialize) -> BTreeMap<String, Value> {
    fn collect(key: &str, value: Value, found: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(entries) => {
                for (name, value) in entries {
                    let inner = if key.is_empty() { name } else { format!("{key}.{name}") };
                    collect(&inner, value, found);
                }
            }
            value => {
                found.insert(key.to_owned(), value);
            }
        }
    }
    let mut found = BTreeMap::new();
    collect("", without_nulls(data), &mut found);
    found
}

/// Short digest of plain data.
#[must_use]
pub fn digest(data: &impl Serialize) -> String {
    let canonical = serde_json::to_vec(data).expect("plain data");
    Sha256::digest(canonical)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
