//! A result: what ran, what was measured, and how fast the simulator was.

use crate::engine::{Histograms, Measured};
use crate::input::Input;
use crate::metrics::Metrics;
use crate::scenario::Scenario;
use crate::series::Series;
use serde::Serialize;

/// What was replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// In words.
    pub description: String,
    /// Bytes the device exports.
    pub logical_bytes: u64,
    /// The files of a trace.
    pub inputs: Vec<Input>,
    /// What had to be assumed or was left out.
    pub remarks: Vec<String>,
}

/// How fast the simulator was: the only part of a result that differs from run to run.
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
            requests_per_second: metrics.requests as f64 / wall_seconds,
            programs_per_second: metrics.programs_pages.all() as f64 / wall_seconds,
            state_bytes_per_page,
            peak_rss_bytes: peak_rss_bytes(),
        }
    }
}

/// The high-water mark of the process, where the system tells it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The result of a run.
pub struct RunResult {
    scenario: Scenario,
    workload: Workload,
    metrics: Metrics,
    simulator: Simulator,
    histograms: Histograms,
    series: Series,
    erases: Vec<u32>,
}

/// The one object of `--json`, in its order.
#[derive(Serialize)]
struct Report<'a> {
    coflash: &'static str,
    scenario: &'a Scenario,
    scenario_hash: String,
    seed: u64,
    workload: &'a Workload,
    metrics: &'a Metrics,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulator: Option<&'a Simulator>,
}

impl RunResult {
    pub(crate) fn new(
        scenario: Scenario,
        workload: Workload,
        measured: Measured,
        simulator: Simulator,
    ) -> Self {
        let Measured { metrics, histograms, series, erases } = measured;
        Self { scenario, workload, metrics, simulator, histograms, series, erases }
    }

    /// What was counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How fast the simulator was.
    #[must_use]
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// The time series.
    #[must_use]
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Erases of each block in the measured part, by block number.
    #[must_use]
    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// (Highest response of the bucket in nanoseconds, requests) for "all", "read" or "write".
    #[must_use]
    pub fn histogram(&self, kind: &str) -> Option<Vec<(u64, u64)>> {
        let latency = match kind {
            "all" => &self.histograms.all,
            "read" => &self.histograms.read,
            "write" => &self.histograms.write,
            _ => return None,
        };
        Some(latency.buckets().collect())
    }

    /// The whole result as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.json(Some(&self.simulator))
    }

    /// The result without the simulator's speed: the same byte for byte whenever and wherever it is run.
    #[must_use]
    pub fn to_reproducible_json(&self) -> String {
        self.json(None)
    }

    fn json(&self, simulator: Option<&Simulator>) -> String {
        let report = Report {
            coflash: crate::VERSION,
            scenario: &self.scenario,
            scenario_hash: self.scenario.hash(),
            seed: self.scenario.seed,
            workload: &self.workload,
            metrics: &self.metrics,
            simulator,
        };
        serde_json::to_string_pretty(&report).expect("a result is plain data")
    }
}
