//! The workload of a scenario.

use coflash_workload::Part;
use coflash_workload::disksim_generator::DiskSimConfig;
use coflash_workload::presets::PresetConfig;
use coflash_workload::recorded::TraceOptions;
use coflash_workload::synthetic::SyntheticConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::num::{NonZeroU32, NonZeroU64};

coflash_base::config! {
    /// The treatment of addresses beyond the device.
    pub enum Remap, default None {
        /// Addresses beyond the device are an error, which names the required capacity.
        None,
        /// Pages, or units of `ftl.indirection_unit`, are renumbered in the order of their first access; the device must hold all that are
        /// accessed.
        Dense,
        /// A page number is taken modulo the pages of the device; different pages may collide.
        Modulo,
    }
}

/// The workload: a trace or generated requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub struct WorkloadConfig {
    /// What makes the requests.
    pub requests: Requests,
    /// Options of the trace reader.
    pub trace_options: TraceOptions,
    /// Treatment of addresses beyond the device.
    pub remap: Remap,
    /// Number of rounds through the workload.
    pub repeat: Option<NonZeroU32>,
    /// Upper limit on the number of requests, all rounds included.
    pub requests_max: Option<NonZeroU64>,
}

/// What makes the requests of a run.
#[allow(clippy::large_enum_variant, reason = "a scenario has one")]
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Requests {
    /// Nothing is given: the default synthetic workload.
    #[default]
    Default,
    /// Trace files, replayed in sequence.
    Trace(Vec<String>),
    /// Trace files whose statistics the generated workload follows.
    Like(Vec<String>),
    /// A synthetic workload.
    Synthetic(SyntheticConfig),
    /// A preset workload.
    Preset(PresetConfig),
    /// Workloads in sequence.
    Phases(Vec<Part>),
    /// Workloads side by side.
    Tenants(Vec<Part>),
    /// A job file of fio.
    Fio(String),
    /// The generator of DiskSim.
    DiskSim(DiskSimConfig),
}

impl Requests {
    /// The keys of which one is given.
    pub(crate) const KEYS: [&str; 8] =
        ["trace", "like", "synthetic", "preset", "phases", "tenants", "fio", "disksim"];
}

/// The keys of a workload.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename = "WorkloadConfig")]
struct Keys {
    /// Trace files, replayed in sequence. Default: no trace, but generated requests.
    trace: Vec<String>,
    /// Options of the trace reader.
    trace_options: TraceOptions,
    /// Trace files whose statistics the generated workload follows: number of requests, shares of operations, sizes,
    /// reuse distances, sequential runs and interarrival times. `trace_options` apply; `coflash trace like` compares both.
    like: Vec<String>,
    /// A synthetic workload.
    synthetic: Option<SyntheticConfig>,
    /// A preset workload: a name, or a table of a name and parameters.
    preset: Option<PresetConfig>,
    /// Workloads in sequence.
    phases: Vec<Part>,
    /// Workloads side by side in the address space, at the same time.
    tenants: Vec<Part>,
    /// A job file of fio: its jobs, with their queue depths, rates and phases.
    fio: Option<String>,
    /// The generator of the reference simulator (DiskSim), draw for draw.
    disksim: Option<DiskSimConfig>,
    /// Treatment of addresses beyond the device.
    remap: Remap,
    /// Number of rounds through the workload: the same requests at the same addresses; each round begins at the last arrival
    /// of the previous one. Default: 1.
    repeat: Option<NonZeroU32>,
    /// Upper limit on the number of requests, all rounds included.
    requests_max: Option<NonZeroU64>,
}

impl TryFrom<Keys> for WorkloadConfig {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Self, String> {
        fn listed<T>(items: Vec<T>, choice: impl FnOnce(Vec<T>) -> Requests) -> Option<Requests> {
            (!items.is_empty()).then(|| choice(items))
        }
        let choices = [
            listed(keys.trace, Requests::Trace),
            listed(keys.like, Requests::Like),
            keys.synthetic.map(Requests::Synthetic),
            keys.preset.map(Requests::Preset),
            listed(keys.phases, Requests::Phases),
            listed(keys.tenants, Requests::Tenants),
            keys.fio.map(Requests::Fio),
            keys.disksim.map(Requests::DiskSim),
        ];
        let (names, mut given): (Vec<_>, Vec<_>) =
            Requests::KEYS.into_iter().zip(choices).filter_map(|(key, choice)| Some((key, choice?))).unzip();
        if given.len() > 1 {
            return Err(format!(
                "{} were given; one of them is allowed: leave out the others, or replace the whole table, as in \
                 workload={{ preset = \"oltp-like\" }}; coflash run puts --trace FILE in their place",
                names.join(" and ")
            ));
        }
        Ok(Self {
            requests: given.pop().unwrap_or_default(),
            trace_options: keys.trace_options,
            remap: keys.remap,
            repeat: keys.repeat,
            requests_max: keys.requests_max,
        })
    }
}

impl From<WorkloadConfig> for Keys {
    fn from(workload: WorkloadConfig) -> Self {
        let WorkloadConfig { requests, trace_options, remap, repeat, requests_max } = workload;
        let mut keys = Self { trace_options, remap, repeat, requests_max, ..Self::default() };
        match requests {
            Requests::Default => {}
            Requests::Trace(files) => keys.trace = files,
            Requests::Like(files) => keys.like = files,
            Requests::Synthetic(config) => keys.synthetic = Some(config),
            Requests::Preset(config) => keys.preset = Some(config),
            Requests::Phases(parts) => keys.phases = parts,
            Requests::Tenants(parts) => keys.tenants = parts,
            Requests::Fio(file) => keys.fio = Some(file),
            Requests::DiskSim(config) => keys.disksim = Some(config),
        }
        keys
    }
}

impl JsonSchema for WorkloadConfig {
    fn schema_name() -> Cow<'static, str> {
        Keys::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Keys::json_schema(generator)
    }
}

impl WorkloadConfig {
    /// The generated workload as one part, if it is one.
    #[must_use]
    pub fn generated(&self) -> Option<Part> {
        let part = match &self.requests {
            Requests::Default => SyntheticConfig::default().into(),
            Requests::Synthetic(config) => config.clone().into(),
            Requests::Preset(config) => config.clone().into(),
            Requests::Phases(phases) => Part { phases: phases.clone(), ..Part::default() },
            Requests::Tenants(tenants) => Part { tenants: tenants.clone(), ..Part::default() },
            Requests::Trace(_) | Requests::Like(_) | Requests::Fio(_) | Requests::DiskSim(_) => return None,
        };
        Some(Part { requests_max: self.requests_max, ..part })
    }

    /// Whether the jobs of a job file make the requests: each waits for its answers.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        matches!(self.requests, Requests::Fio(_))
    }

    /// Whether a trace is replayed, or followed.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        matches!(self.requests, Requests::Trace(_) | Requests::Like(_))
    }

    /// Whether the workload is generated and all its requests arrive at once, so that it has no times of its own.
    pub(crate) fn arrives_at_once(&self) -> bool {
        self.has_jobs() || self.generated().is_some_and(|part| part.arrives_at_once())
    }

    /// The most requests of a run, all rounds included.
    #[must_use]
    pub fn most_requests(&self) -> u64 {
        self.requests_max.map_or(u64::MAX, NonZeroU64::get)
    }

    /// The input files of a run.
    #[must_use]
    pub fn files(&self) -> &[String] {
        match &self.requests {
            Requests::Trace(files) | Requests::Like(files) => files,
            Requests::Fio(file) => std::slice::from_ref(file),
            _ => &[],
        }
    }
}
