//! A result: what ran, what was measured, and how fast the simulator was.

use crate::engine::{Histograms, Measured};
use crate::metrics::Metrics;
use crate::run::{Observer, Phase, RunError};
use crate::scenario::Scenario;
use crate::series::Series;
use coflash_workload::WorkloadError;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// As the user named it.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// The digest of its bytes.
    pub sha256: String,
}

impl Input {
    /// Refuses what cannot be read twice, first for its digest: a pipe would give the run what the digest left.
    pub(crate) fn check(files: &[String]) -> Result<(), WorkloadError> {
        if files.iter().any(|file| file == "-") {
            let problem = "a run reads its trace twice, once for its digest: give a file".to_owned();
            return Err(WorkloadError::Trace { file: "standard input".to_owned(), problem });
        }
        // What is not there, or is a folder, is refused where it is opened.
        let special =
            |file: &&String| std::fs::metadata(file).is_ok_and(|about| !about.is_file() && !about.is_dir());
        files.iter().find(special).map_or(Ok(()), |file| {
            let problem = "a pipe or a device; a file is expected, which can be read twice".to_owned();
            Err(WorkloadError::Trace { file: file.clone(), problem })
        })
    }

    pub(crate) fn digest(files: &[String], observer: &mut dyn Observer) -> Result<Vec<Self>, RunError> {
        files.iter().map(|file| Self::digest_one(file, observer)).collect()
    }

    fn digest_one(file: &str, observer: &mut dyn Observer) -> Result<Self, RunError> {
        let failed = |error: std::io::Error| WorkloadError::Trace {
            file: file.to_owned(),
            problem: error.to_string(),
        };
        let mut reader = File::open(file).map_err(failed)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            observer.progress(Phase::Inputs, None, 0)?;
            let read = reader.read(&mut buffer).map_err(failed)?;
            if read == 0 {
                break;
            }
            digest.update(&buffer[..read]);
            bytes += read as u64;
        }
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { file: file.to_owned(), bytes, sha256 })
    }
}

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
