//! The scenario: everything that determines a result, in one type.

mod presets;
mod read;
mod set;

use coflash_base::{Bytes, Duration, Share};
use coflash_controller::{CacheConfig, CooperationConfig, Placement};
use coflash_flash::{Geometry, Timing};
use coflash_ftl::{FreeMark, FtlConfig, GcConfig};
use coflash_host::HostConfig;
use coflash_host::write_buffer::WriteBufferConfig;
use coflash_hybrid::HybridConfig;
use coflash_workload::disksim_generator::DiskSimConfig;
use coflash_workload::ready_made::PresetConfig;
use coflash_workload::synthetic::SyntheticConfig;
use coflash_workload::{Part, TraceOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use std::fmt;

pub use presets::{PRESETS, Preset};
pub use read::ScenarioError;
pub use set::settings;

/// Everything that determines a result, inputs aside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// A short name for reports.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// How flash is divided.
    pub flash: Geometry,
    /// How long flash operations take.
    pub timing: Timing,
    /// The flash translation layer.
    pub ftl: FtlConfig,
    /// Garbage collection.
    pub gc: GcConfig,
    /// The cache: NVM, or a volatile write buffer.
    pub cache: CacheConfig,
    /// The host's write buffer, volatile.
    #[serde(skip_serializing_if = "WriteBufferConfig::is_default")]
    pub host_buffer: WriteBufferConfig,
    /// What cache and flash tell each other: its name, or a table of its name and its parameters.
    pub cooperation: CooperationConfig,
    /// A flash cache in front of disks; without it, flash is all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<HybridConfig>,
    /// The link to the host.
    pub link: LinkConfig,
    /// The host's side of the link, where the cache is in the host.
    #[serde(skip_serializing_if = "HostConfig::is_default")]
    pub host: HostConfig,
    /// The state of the device before the workload.
    pub precondition: PreconditionConfig,
    /// What the device is asked to do.
    pub workload: WorkloadConfig,
    /// How the workload is replayed.
    pub replay: ReplayConfig,
}

/// The link between host and device: a cost for each request and each byte of it.
///
/// A write's data crosses before its first page begins, a read's after its last; requests do not wait for each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// Lanes.
    pub lanes: u32,
    /// Bytes a second of one lane, before coding; "0B" for a link that costs nothing.
    pub lane_rate: Bytes,
    /// The share of the rate that coding leaves.
    pub coding: Share,
    /// Cost of a command, whatever its size.
    pub per_command: Duration,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self { lanes: 1, lane_rate: Bytes::ZERO, coding: Share::ONE, per_command: Duration::ZERO }
    }
}

impl LinkConfig {
    /// Nanoseconds a byte takes.
    #[must_use]
    pub fn ns_per_byte(&self) -> f64 {
        let rate = f64::from(self.lanes) * self.lane_rate.count as f64 * self.coding.as_f64();
        if rate > 0.0 { 1e9 / rate } else { 0.0 }
    }
}

/// How the device is filled before the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Not at all: the device is erased.
    None,
    /// Every page is written once, in order.
    #[default]
    Sequential,
    /// Every page is written once, in random order.
    Random,
    /// Every page is mapped, block by block, as in the reference simulator at its start.
    Mapped,
}

/// How many random writes follow the fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RandomPasses {
    /// So many times as many as there are logical pages.
    Passes(f64),
    /// Until write amplification no longer changes.
    Steady,
}

impl Default for RandomPasses {
    fn default() -> Self {
        Self::Passes(0.0)
    }
}

impl Serialize for RandomPasses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Passes(passes) => serializer.serialize_f64(*passes),
            Self::Steady => serializer.serialize_str("steady"),
        }
    }
}

impl<'de> Deserialize<'de> for RandomPasses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = RandomPasses;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0 to 1000, or \"steady\"")
            }
            fn visit_f64<E: de::Error>(self, passes: f64) -> Result<RandomPasses, E> {
                if (0.0..=1000.0).contains(&passes) {
                    Ok(RandomPasses::Passes(passes))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(passes), &self))
                }
            }
            fn visit_i64<E: de::Error>(self, passes: i64) -> Result<RandomPasses, E> {
                self.visit_f64(passes as f64)
            }
            fn visit_u64<E: de::Error>(self, passes: u64) -> Result<RandomPasses, E> {
                self.visit_f64(passes as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RandomPasses, E> {
                match text {
                    "steady" => Ok(RandomPasses::Steady),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for RandomPasses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RandomPasses".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "oneOf": [{ "type": "number", "minimum": 0, "maximum": 1000 }, { "enum": ["steady"] }] })
    }
}

/// The state of the device before the workload; it bypasses the cache, takes no time and is not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreconditionConfig {
    /// How the device is filled.
    pub fill: Fill,
    /// After a sequential fill, go on writing in order until the pool with the fewest free blocks has this many or fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_free: Option<FreeMark>,
    /// Uniform random writes after the fill: so many times the logical pages, or "steady" (until write amplification no
    /// longer changes).
    pub random_passes: RandomPasses,
}

impl PreconditionConfig {
    /// The device stays erased.
    pub(crate) fn nothing() -> Self {
        Self { fill: Fill::None, ..Self::default() }
    }
}

/// What becomes of addresses beyond the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remap {
    /// They are refused, with the size that would be needed.
    #[default]
    None,
    /// Pages are numbered in the order in which they are first touched: the device must hold as many as are touched.
    Dense,
    /// A page goes to its number modulo the device's pages; different pages may then be one.
    Modulo,
}

/// What the device is asked to do: a trace, or a workload that is made up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadConfig {
    /// Trace files, one after the other; without any, the workload is made up.
    pub trace: Vec<String>,
    /// How to read the trace.
    pub trace_options: TraceOptions,
    /// Trace files, one after the other, that the workload is made up to be like: not their requests, but as many with
    /// their shares of operations, sizes, popularity of places, sequential runs and gaps. `trace_options` say how to
    /// read them; `coflash trace like` shows how like it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub like: Vec<String>,
    /// A workload that is made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticConfig>,
    /// A workload that is ready made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetConfig>,
    /// Workloads one after another in time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Part>,
    /// Workloads side by side in the address space, at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Part>,
    /// The generator of the reference simulator, draw for draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disksim: Option<DiskSimConfig>,
    /// What becomes of addresses beyond the device.
    pub remap: Remap,
    /// Go through the workload so many times: the same requests at the same addresses, each round beginning when the last
    /// request of the one before has arrived. Once where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Stop after so many requests, repeated ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_max: Option<u64>,
}

impl WorkloadConfig {
    /// The workload that is put together or made up by a generator, as one part.
    #[must_use]
    pub fn made_up(&self) -> Part {
        let Self { synthetic, preset, phases, tenants, requests_max, .. } = self.clone();
        let synthetic = if self.is_default() { Some(SyntheticConfig::default()) } else { synthetic };
        Part { synthetic, preset, phases, tenants, requests_max, ..Part::default() }
    }

    /// Whether no workload is given, so that it is the one by default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.trace.is_empty() && self.given().is_empty()
    }

    /// The keys of the workloads that are given, of which a trace is not one.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("like", !self.like.is_empty()),
            ("synthetic", self.synthetic.is_some()),
            ("preset", self.preset.is_some()),
            ("phases", !self.phases.is_empty()),
            ("tenants", !self.tenants.is_empty()),
            ("disksim", self.disksim.is_some()),
        ];
        all.into_iter().filter(|&(_, given)| given).map(|(key, _)| key).collect()
    }

    /// The files that a run reads.
    #[must_use]
    pub fn files(&self) -> &[String] {
        if self.trace.is_empty() { &self.like } else { &self.trace }
    }
}

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayMode {
    /// At the times the workload says.
    #[default]
    Open,
    /// As soon as fewer than `queue_depth` are under way; the times of the workload are not used.
    Closed,
}

/// How the workload is replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// When requests are issued.
    pub mode: ReplayMode,
    /// Requests under way at once, in a closed loop.
    pub queue_depth: u32,
    /// Arrival times are multiplied by this, in an open loop; 0.5 is twice as fast.
    pub time_scale: f64,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        Self { mode: ReplayMode::Open, queue_depth: 32, time_scale: 1.0 }
    }
}

impl Scenario {
    /// What is wrong with the scenario, beyond what its types already exclude and what building the device finds.
    ///
    /// # Errors
    /// The first part that does not fit, with its key.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let refuse = |key: &str, problem: String| Err(ScenarioError::new(key, problem));
        if let Err((key, problem)) = self.flash.check() {
            return refuse(&format!("flash.{key}"), problem);
        }
        if self.replay.queue_depth == 0 || self.replay.queue_depth > 1 << 20 {
            let problem = format!("{} was given; from 1 to 1048576 is allowed", self.replay.queue_depth);
            return refuse("replay.queue_depth", problem);
        }
        if !(1e-9..=1e9).contains(&self.replay.time_scale) {
            let problem = format!("{} was given; from 1e-9 to 1e9 is allowed", self.replay.time_scale);
            return refuse("replay.time_scale", problem);
        }
        if self.link.lanes == 0 {
            return refuse("link.lanes", "0 was given; at least 1 is allowed".to_owned());
        }
        if self.link.coding == Share::ZERO || self.link.coding > Share::ONE {
            let problem = format!("{} was given; more than 0% and at most 100% is allowed", self.link.coding);
            return refuse("link.coding", problem);
        }
        if self.host.grants > Share::ONE {
            let problem = format!("{} was given; from 0% to 100% is allowed", self.host.grants);
            return refuse("host.grants", problem);
        }
        if !self.host_buffer.is_default() {
            let beside = match (&self.hybrid, self.cache.placement) {
                (Some(_), _) => {
                    Some("[hybrid]: a flash cache in front of disks has no write buffer above it")
                }
                (None, Placement::Host) => Some("cache.placement \"host\": one of them is in the host"),
                (None, Placement::InStorage) => None,
            };
            if let Some(beside) = beside {
                return refuse("host_buffer", format!("it was given with {beside}"));
            }
        }
        let workload = &self.workload;
        if workload.requests_max == Some(0) {
            return refuse("workload.requests_max", "0 was given; at least 1 is allowed".to_owned());
        }
        if workload.repeat == Some(0) {
            return refuse("workload.repeat", "0 was given; at least 1 is allowed".to_owned());
        }
        let given = workload.given();
        if workload.trace.is_empty() && given.len() > 1 {
            return refuse("workload", format!("{} were given; one of them is allowed", given.join(" and ")));
        }
        let precondition = &self.precondition;
        if precondition.fill == Fill::None && precondition.random_passes != RandomPasses::default() {
            let problem = "random writes need a filled device: set precondition.fill".to_owned();
            return refuse("precondition.random_passes", problem);
        }
        if precondition.until_free.is_some() && precondition.fill != Fill::Sequential {
            return refuse("precondition.until_free", "it goes with fill = \"sequential\" only".to_owned());
        }
        Ok(())
    }

    /// A digest of everything that determines the result, inputs aside: name and description do not count.
    #[must_use]
    pub fn hash(&self) -> String {
        let bare = Self { name: String::new(), description: String::new(), ..self.clone() };
        let canonical = serde_json::to_vec(&bare).expect("a scenario is plain data");
        Sha256::digest(canonical)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As a TOML document, defaults included.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is plain data")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;
    use crate::run::run;

    fn small(workload: &str) -> Result<Scenario, ScenarioError> {
        let device = "[flash]\nblocks_per_plane = 256\npages_per_block = 32\nchannels = 2";
        Scenario::from_toml(&format!("{device}\n{workload}"))
    }

    #[test]
    fn a_workload_put_together_runs_and_tells_what_it_is() {
        let cases = [
            ("[workload]\npreset = { name = \"jesd219-enterprise\", requests = 2000 }", "jesd219-enterprise"),
            (
                "[[workload.phases]]\nname = \"fill\"\nsynthetic = { generator = \"sequential\", requests = 1000 }\n\
                 [[workload.phases]]\n[[workload.phases.tenants]]\nsynthetic = { requests = 500 }\n\
                 [[workload.phases.tenants]]\nsynthetic = { requests = 500, read_share = \"100%\" }",
                "(fill: synthetic, sequential, then (synthetic, uniform and synthetic, uniform))",
            ),
            ("[workload]\nrequests_max = 2000", "synthetic, uniform"),
        ];
        for (workload, description) in cases {
            let scenario = small(workload).unwrap();
            let result = run(&scenario, &mut Silent).unwrap();
            assert!(result.to_json().contains(description), "{}", result.to_json());
            assert_eq!(Scenario::from_toml(&scenario.to_toml()), Ok(scenario));
        }
    }

    #[test]
    fn a_repeated_workload_is_counted_as_often() {
        let workload = "[workload]\nsynthetic = { requests = 3000, arrival = { name = \"fixed\", interval = \"10ms\" } }";
        let counted = |more: &str| {
            let result = run(&small(&format!("{workload}\n{more}")).unwrap(), &mut Silent).unwrap();
            let metrics = result.metrics();
            (metrics.requests, metrics.host_writes_pages, metrics.simulated_ns)
        };
        let once = counted("");
        assert_eq!(counted("repeat = 1"), once);
        let (requests, pages, time_ns) = counted("repeat = 4");
        assert_eq!((requests, pages), (4 * once.0, 4 * once.1));
        // Each round but the first begins with the last arrival of the one before; the device is never behind.
        assert_eq!(time_ns - once.2, 3 * 3000 * 10_000_000);
        assert_eq!(counted("repeat = 4\nrequests_max = 7000").0, 7000);
        let error = small("[workload]\nrepeat = 0").unwrap_err().to_string();
        assert_eq!(error, "workload.repeat: 0 was given; at least 1 is allowed");
    }

    #[test]
    fn a_mistake_in_a_part_is_named_by_its_whole_key() {
        let cases = [
            (
                "[[workload.phases]]\nsyntetic = {}",
                "workload.phases.0.syntetic: no such key; did you mean \"synthetic\"?",
            ),
            ("[[workload.tenants]]\npreset = \"oltp\"", "workload.tenants.0.preset: \"oltp\" is not known"),
            (
                "[workload]\npreset = \"oltp-like\"\nsynthetic = {}",
                "workload: synthetic and preset were given; one",
            ),
        ];
        for (workload, expected) in cases {
            let error = small(workload).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let wrong = small("[[workload.phases]]\nsynthetic = { requests = 0 }").unwrap();
        let error = run(&wrong, &mut Silent).err().unwrap().to_string();
        assert_eq!(error, "workload.phases.0.synthetic.requests: 0 was given; at least 1 is allowed");
    }
}
