//! The reports of jobs.

use crate::latency::Latency;
use serde::Serialize;
use std::collections::BTreeMap;

/// The report of a job, or of a group of jobs (`group_reporting`). Its numbers leave out the ramp.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JobReport {
    /// The name of the (first) job.
    pub name: String,
    /// The phase, from 0.
    pub phase: u32,
    /// The jobs of the report.
    pub jobs: u32,
    /// Requests under way at most, of each job.
    pub queue_depth: u32,
    /// The options of the job, as its file says them.
    pub options: BTreeMap<String, String>,
    /// Begin of the first of its jobs in simulated time.
    pub begin_ns: u64,
    /// The longest run time of its jobs, without the ramp.
    pub runtime_ns: u64,
    /// Reads.
    pub read: OpReport,
    /// Writes.
    pub write: OpReport,
    /// Trims.
    pub trim: OpReport,
    /// Flushes.
    pub flush: OpReport,
}

/// The requests of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpReport {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// The mean response time.
    pub mean_ns: Option<f64>,
    /// The standard deviation of response times.
    pub stddev_ns: Option<f64>,
    /// The shortest response time, to three digits.
    pub min_ns: Option<u64>,
    /// The longest response time.
    pub max_ns: Option<u64>,
    /// Requests by response time: the highest of each bucket in nanoseconds, to three digits.
    pub histogram: Vec<(u64, u64)>,
}

impl OpReport {
    pub(crate) fn new((latency, bytes): &(Latency, u64)) -> Self {
        Self {
            requests: latency.count(),
            bytes: *bytes,
            mean_ns: latency.mean(),
            stddev_ns: latency.stddev(),
            min_ns: latency.min(),
            max_ns: latency.max(),
            histogram: latency.buckets().collect(),
        }
    }
}
