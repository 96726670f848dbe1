//! The workload of a scenario.

use coflash_workload::Part;
use coflash_workload::disksim_generator::DiskSimConfig;
use coflash_workload::presets::PresetConfig;
use coflash_workload::recorded::TraceOptions;
use coflash_workload::synthetic::SyntheticConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The treatment of addresses beyond the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remap {
    /// Addresses beyond the device are an error, which names the required capacity.
    #[default]
    None,
    /// Pages are renumbered in the order of their first access; the device must hold all accessed pages.
    Dense,
    /// A page number is taken modulo the pages of the device; different pages may collide.
    Modulo,
}

/// The workload: a trace or generated requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadConfig {
    /// Trace files, replayed in sequence. Default: no trace, but generated requests.
    pub trace: Vec<String>,
    /// Options of the trace reader.
    pub trace_options: TraceOptions,
    /// Trace files whose statistics the generated workload follows: number of requests, shares of operations, sizes,
    /// reuse distances, sequential runs and interarrival times. `trace_options` apply; `coflash trace like` compares both.
    pub like: Vec<String>,
    /// A synthetic workload.
    pub synthetic: Option<SyntheticConfig>,
    /// A preset workload: a name, or a table of a name and parameters.
    pub preset: Option<PresetConfig>,
    /// Workloads in sequence.
    pub phases: Vec<Part>,
    /// Workloads side by side in the address space, at the same time.
    pub tenants: Vec<Part>,
    /// A job file of fio: its jobs, with their queue depths, rates and phases, in place of any other workload but a trace.
    pub fio: Option<String>,
    /// The generator of the reference simulator (DiskSim), draw for draw.
    pub disksim: Option<DiskSimConfig>,
    /// Treatment of addresses beyond the device.
    pub remap: Remap,
    /// Number of rounds through the workload: the same requests at the same addresses; each round begins at the last arrival
    /// of the previous one. Default: 1.
    pub repeat: Option<u32>,
    /// Upper limit on the number of requests, all rounds included.
    pub requests_max: Option<u64>,
}

impl WorkloadConfig {
    /// The generated workload as one part.
    #[must_use]
    pub fn generated(&self) -> Part {
        let Self { synthetic, preset, phases, tenants, requests_max, .. } = self.clone();
        let synthetic = if self.is_default() { Some(SyntheticConfig::default()) } else { synthetic };
        Part { synthetic, preset, phases, tenants, requests_max, ..Part::default() }
    }

    /// Whether no workload is given, so that the default applies.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.trace.is_empty() && self.fio.is_none() && self.given().is_empty()
    }

    /// Whether the jobs of a job file make the requests: each waits for its answers.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        self.trace.is_empty() && self.fio.is_some()
    }

    /// Whether a trace is replayed, or followed.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        !self.trace.is_empty() || !self.has_jobs() && !self.like.is_empty()
    }

    /// Whether the workload is generated and all its requests arrive at once, so that it has no times of its own.
    pub(crate) fn arrives_at_once(&self) -> bool {
        self.has_jobs() || !self.is_recorded() && self.disksim.is_none() && self.generated().arrives_at_once()
    }

    /// The keys of the given workloads, without a trace and a job file, which stand for any other.
    pub(crate) fn given(&self) -> Vec<&'static str> {
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

    /// The input files of a run.
    #[must_use]
    pub fn files(&self) -> &[String] {
        match &self.fio {
            _ if !self.trace.is_empty() => &self.trace,
            Some(fio) => std::slice::from_ref(fio),
            None => &self.like,
        }
    }
}
