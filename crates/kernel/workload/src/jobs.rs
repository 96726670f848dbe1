//! Jobs: closed loops of the host side by side, each with requests, a pace and a phase of its own. A reader of job files makes them.

use crate::steady::SteadyState;
use crate::{Request, WorkloadError};
use coflash_base::exponential::exponential;
use coflash_base::{Duration, RandomStream, Seed, Time};

/// Open a job file on a device of a size in bytes, with a number of handles if it takes placement hints; the seed is the workload's.
pub type OpenJobs = fn(&str, u64, Option<u32>, Seed) -> Result<HostJobs, WorkloadError>;

/// The jobs of a host.
pub struct HostJobs {
    /// The jobs, those of a phase side by side.
    pub jobs: Vec<HostJob>,
    /// The files that say what the jobs do, each once.
    pub files: Vec<String>,
    /// Remarks for a reader of the results.
    pub remarks: Vec<String>,
    /// Options of all jobs: (name, value).
    pub global: Vec<(String, String)>,
    /// The jobs in words.
    pub description: String,
}

/// One job of a host.
pub struct HostJob {
    /// The name.
    pub name: String,
    /// The phase, from 0; phases come one after the other.
    pub phase: u32,
    /// The group of jobs reported as one.
    pub report: u32,
    /// When it issues requests.
    pub pace: Pace,
    /// Its own options: (name, value).
    pub options: Vec<(String, String)>,
    /// When the jobs of its group end early.
    pub steady: Option<SteadyState>,
    /// Its requests.
    pub requests: Box<dyn JobSource>,
}

/// The requests of one job, one after the other: the job ends them by its time, so that none is drawn ahead.
pub trait JobSource: Send {
    /// Draw the next request, without a time; `None` at the end.
    fn draw(&mut self) -> Option<Request>;

    /// Progress from 0 to 1; `None` if the job does not end by itself.
    fn progress(&self) -> Option<f64>;
}

/// When a job issues its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Requests under way at most.
    pub queue_depth: u32,
    /// Bytes a second of reads, writes and trims; 0 without a limit.
    pub rate_bytes_per_s: [u64; 3],
    /// With a rate: whether gaps are exponentially distributed (`rate_process=poisson`) rather than constant.
    pub is_poisson: bool,
    /// With a rate: whether requests wait for the answers of all earlier ones when the job is ahead of its rate, as in
    /// fio's default `io_submit_mode=inline`.
    pub waits_for_answers: bool,
    /// Time without requests after every `think_requests`, once all of them are answered.
    pub think: Duration,
    /// Requests between two such times.
    pub think_requests: u64,
    /// Time from the begin of the phase to the begin of the job.
    pub delay: Duration,
    /// Time after which the job issues no more requests.
    pub runtime: Option<Duration>,
    /// Time at the begin of the job; its requests are not in the job's own numbers.
    pub ramp: Duration,
}

/// Draw the gap after a request of `bytes` at a rate with exponentially distributed gaps.
#[must_use]
pub fn gap_of_rate(rate_bytes_per_s: u64, bytes: u64, stream: &mut RandomStream) -> Duration {
    let mean_ns = bytes as f64 * 1e9 / rate_bytes_per_s as f64;
    // Capped, so that sums stay within the clock.
    Duration { ns: ((mean_ns * exponential(stream) + 0.5) as u64).min(Time::LAST.ns) }
}
