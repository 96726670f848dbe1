//! A result: the scenario, its metrics, and the speed of the simulator.

use crate::course::WarmUp;
use crate::host::HostCounters;
use crate::input::Input;
use crate::job_report::JobReport;
use crate::latency::Latency;
use crate::memory::reported_bytes;
use crate::metrics::Metrics;
use crate::series::Series;
use coflash_base::measure::Assumption;
use coflash_scenario::Scenario;
use serde::Serialize;
use serde_json::Value;

/// The kinds of requests whose response times have a histogram.
const KINDS: [&str; 3] = ["all", "read", "write"];

/// The replayed workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// A description.
    pub description: String,
    /// How time was replayed, in words.
    pub replay: String,
    /// Exported capacity of the device in bytes.
    pub logical_bytes: u64,
    /// The input files.
    pub inputs: Vec<Input>,
    /// Remarks.
    #[serde(flatten)]
    pub warm_up: WarmUp,
}

/// The speed of the simulator: the only part of a result that differs between runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub struct Simulator {
    pub wall_seconds: f64,
    pub requests_per_second: f64,
    pub programs_per_second: f64,
    pub state_bytes_per_page: f64,
    pub peak_rss_bytes: Option<u64>,
}

impl Simulator {
    pub(crate) fn new(wall_seconds: f64, metrics: &Metrics, state_bytes_per_page: f64) -> Self {
        Self {
            wall_seconds,
            requests_per_second: metrics.get::<HostCounters>().requests as f64 / wall_seconds,
            programs_per_second: metrics.programs_pages() as f64 / wall_seconds,
            state_bytes_per_page,
            peak_rss_bytes: reported_bytes("/proc/self/status", "VmHWM:"),
        }
    }
}

/// The result of a run.
pub struct RunResult {
    pub(crate) scenario: Scenario,
    pub(crate) workload: Workload,
    /// The metrics.
    pub metrics: Metrics,
    /// Of each of [`KINDS`].
    pub(crate) histograms: [Latency; 3],
    /// The time series.
    pub series: Series,
    /// The erases of each block in the measured part, by block number.
    pub erases: Vec<u32>,
    /// The remarks for a reader of the metrics.
    pub notes: Vec<String>,
    /// The speed of the simulator.
    pub simulator: Simulator,
    pub(crate) jobs: Vec<JobReport>,
}

/// The JSON object of a result, in its order.
#[derive(Serialize)]
struct Report<'a> {
    coflash: &'static str,
    revision: u32,
    scenario: Value,
    scenario_hash: String,
    seed: u64,
    workload: &'a Workload,
    metrics: &'a Metrics,
    assumptions: &'a [Assumption],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    jobs: &'a [JobReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    simulator: Option<&'a Simulator>,
}

impl RunResult {
    /// The histogram of response times for "all", "read" or "write": (highest value in nanoseconds, requests).
    #[must_use]
    pub fn histogram(&self, kind: &str) -> Option<Vec<(u64, u64)>> {
        let place = KINDS.iter().position(|known| *known == kind)?;
        Some(self.histograms[place].buckets().collect())
    }

    /// The whole result as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.json(Some(&self.simulator))
    }

    /// The result without the simulator's speed: byte for byte the same at any time on any machine.
    #[must_use]
    pub fn to_reproducible_json(&self) -> String {
        self.json(None)
    }

    fn json(&self, simulator: Option<&Simulator>) -> String {
        let report = Report {
            coflash: crate::VERSION,
            revision: crate::REVISION,
            scenario: self.scenario.to_json(),
            scenario_hash: self.scenario.hash(),
            seed: self.scenario.seed,
            workload: &self.workload,
            metrics: &self.metrics,
            assumptions: self.metrics.assumptions(),
            notes: &self.notes,
            jobs: &self.jobs,
            simulator,
        };
        serde_json::to_string_pretty(&report).expect("a result is plain data")
    }
}
