//! Workloads put together: one after another in time, or side by side in the address space.
//!
//! ```toml
//! [[workload.phases]]                      # first fill a quarter of the device ...
//! space = "25%"
//! synthetic = { generator = "sequential", requests = 100_000 }
//!
//! [[workload.phases]]                      # ... then an hour with two tenants
//! duration = "1h"
//!
//! [[workload.phases.tenants]]
//! name = "database"
//! preset = "oltp-like"
//!
//! [[workload.phases.tenants]]
//! name = "backup"
//! delay = "10min"
//! synthetic = { generator = "sequential", read_share = "100%", arrival = "on-off" }
//! ```
//!
//! A [`Part`] is one workload (`synthetic`, or a `preset` of [`ready_made`](crate::ready_made)) or is put together from
//! parts again (`phases`, `tenants`). It sees the range of addresses it is given as a device of its own, and counts its
//! time from its own beginning. Every part draws from random streams of its own, known by its name or else its place:
//! changing one part leaves the requests of the others as they were.
//!
//! Cost: a few instructions a request and level, for tenants as many comparisons as halving their number takes.

mod bounds;
mod extent;
mod phases;
mod tenants;
#[cfg(test)]
mod tests;

pub use bounds::PartSource;
pub use extent::Extent;

use crate::WorkloadError;
use crate::ready_made::PresetConfig;
use crate::synthetic::{Synthetic, SyntheticConfig};
use bounds::Inner;
use coflash_base::{Bytes, Duration, Seed};
use phases::Phases;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenants::Tenants;

/// A part of a workload: what it is (exactly one of `synthetic`, `preset`, `phases` and `tenants`), where it lies, when
/// it begins and how long it lasts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Part {
    /// What its random streams and its remarks are called, in place of its number; no other part beside it has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where its addresses begin, as bytes or as a share of the space around it; by default where those of the tenant
    /// before end, and at the beginning for a phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Extent>,
    /// How much room it has, as bytes or as a share of the space around it; by default all that is left for a phase, an
    /// equal share with the tenants after it for a tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Extent>,
    /// It begins so long after the phase before has ended, or after the tenants around it have begun.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay: Duration,
    /// It lasts so long: what would come later is left out, and the phase after it begins then. By default it lasts to
    /// its last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// No more than so many of its requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_max: Option<u64>,
    /// A workload that is made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticConfig>,
    /// A workload that is ready made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetConfig>,
    /// Parts one after another in time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Part>,
    /// Parts side by side in the address space, at the same time. Requests of the same time take turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Part>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(duration: &Duration) -> bool {
    *duration == Duration::ZERO
}

impl From<SyntheticConfig> for Part {
    fn from(synthetic: SyntheticConfig) -> Self {
        Self { synthetic: Some(synthetic), ..Self::default() }
    }
}

impl From<PresetConfig> for Part {
    fn from(preset: PresetConfig) -> Self {
        Self { preset: Some(preset), ..Self::default() }
    }
}

/// A parameter that is not allowed.
fn refuse<T>(key: &'static str, problem: String) -> Result<T, WorkloadError> {
    Err(WorkloadError::Parameters { key, problem })
}

/// Each holds a batch.
const TENANTS_MAX: usize = 4096;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    offset: u64,
    bytes: u64,
}

impl Part {
    /// The requests of the part, over the first `device_bytes` of a device.
    ///
    /// # Errors
    /// The first parameter that is not allowed, by its key, with what was given and what is allowed.
    pub fn open(&self, device_bytes: u64, seed: Seed) -> Result<PartSource, WorkloadError> {
        // An address must stay below 2^63.
        let device_bytes = device_bytes.min(1 << 63);
        let opened =
            self.range(device_bytes, 0, device_bytes).and_then(|range| self.open_in(range, seed, ""));
        // Also a key of the part itself is said by its whole path.
        opened.map_err(|error| error.at(str::to_owned))
    }

    /// In words, for the head of a report.
    #[must_use]
    pub fn description(&self) -> String {
        let list = |parts: &[Self], between: &str| {
            let each = parts.iter().map(|part| match &part.name {
                Some(name) => format!("{name}: {}", part.description()),
                None => part.description(),
            });
            format!("({})", each.collect::<Vec<_>>().join(between))
        };
        match (&self.synthetic, &self.preset) {
            (Some(synthetic), _) => format!("synthetic, {}", synthetic.generator.name()),
            (_, Some(preset)) => preset.title().to_owned(),
            _ if self.phases.is_empty() => list(&self.tenants, " and "),
            _ => list(&self.phases, ", then "),
        }
    }

    /// Where the part lies in a space of `around` bytes, given where and how large it is by default.
    fn range(&self, around: u64, offset: u64, bytes: u64) -> Result<Range, WorkloadError> {
        let offset = self.offset.map_or(offset, |given| given.of(around));
        if offset >= around {
            let [offset, around] = [offset, around].map(|count| Bytes { count });
            let problem =
                format!("it begins at {offset}; less than the space around it, {around}, is allowed");
            return refuse("offset", problem);
        }
        let left = around - offset;
        let bytes = self.space.map_or(bytes.min(left), |given| given.of(around));
        if bytes == 0 || bytes > left {
            let [bytes, left] = [bytes, left].map(|count| Bytes { count });
            return refuse("space", format!("it is {bytes}; from 1B to what is left, {left}, is allowed"));
        }
        Ok(Range { offset, bytes })
    }

    fn open_in(&self, range: Range, seed: Seed, path: &str) -> Result<PartSource, WorkloadError> {
        if self.requests_max == Some(0) {
            return refuse("requests_max", "0 was given; at least 1 is allowed".to_owned());
        }
        if self.duration == Some(Duration::ZERO) {
            return refuse("duration", "0ns was given; at least 1ns is allowed".to_owned());
        }
        let kinds = [
            self.synthetic.is_some(),
            self.preset.is_some(),
            !self.phases.is_empty(),
            !self.tenants.is_empty(),
        ];
        let given = kinds.into_iter().filter(|&given| given).count();
        if given != 1 {
            let key = if self.tenants.is_empty() { "synthetic" } else { "tenants" };
            let problem = format!(
                "{given} of synthetic, preset, phases and tenants were given; exactly one of them is allowed"
            );
            return refuse(key, problem);
        }
        let mut remarks = Vec::new();
        let (inner, requests) = if let Some(config) = &self.synthetic {
            let seed = if path.is_empty() { seed } else { seed.child(path) };
            let source =
                Synthetic::new(config, range.bytes, seed).map_err(|error| error.inside("synthetic"))?;
            (Inner::Synthetic(Box::new(source)), config.requests)
        } else if let Some(preset) = &self.preset {
            let ready = preset.build();
            remarks.extend(ready.remarks());
            let part = ready.part(range.bytes)?;
            // What the preset is made of is not the user's: its own keys are called as those they set.
            let own_key = |key: &str| format!("preset.{}", key.rsplit('.').next().unwrap_or(key));
            let range = Range { offset: 0, ..range };
            let source = part.open_in(range, seed, path).map_err(|error| error.at(own_key))?;
            let requests = source.requests();
            (Inner::Part(Box::new(source)), requests)
        } else if self.tenants.is_empty() {
            let phases = open_all(&self.phases, "phases", seed, path, |part, _| {
                part.range(range.bytes, 0, range.bytes)
            })?;
            let requests = total(&phases);
            (Inner::Phases(Phases::new(phases)), requests)
        } else {
            if self.tenants.len() > TENANTS_MAX {
                let problem = format!("{} were given; at most {TENANTS_MAX} are allowed", self.tenants.len());
                return refuse("tenants", problem);
            }
            let mut end = 0;
            let tenants = open_all(&self.tenants, "tenants", seed, path, |part, index| {
                let sharing = (self.tenants.len() - index) as u64;
                let left = range.bytes.saturating_sub(end);
                let equal = if sharing == 1 { left } else { Extent::rounded(left / sharing) };
                let own = part.range(range.bytes, end, equal)?;
                end = own.offset + own.bytes;
                Ok(own)
            })?;
            let requests = total(&tenants);
            (Inner::Tenants(Tenants::new(tenants)), requests)
        };
        Ok(PartSource::new(self, inner, range.offset, requests, path, remarks))
    }
}

/// The parts of a list, each in its range and with seeds of its own.
fn open_all(
    parts: &[Part],
    list: &str,
    seed: Seed,
    path: &str,
    mut range: impl FnMut(&Part, usize) -> Result<Range, WorkloadError>,
) -> Result<Vec<PartSource>, WorkloadError> {
    let names: Vec<String> =
        parts.iter().enumerate().map(|(i, part)| part.name.clone().unwrap_or(i.to_string())).collect();
    let open = |(index, part): (usize, &Part)| {
        if names[..index].contains(&names[index]) {
            let problem = format!("\"{}\" was given twice; names of their own are allowed", names[index]);
            return refuse("name", problem);
        }
        let before = if path.is_empty() { String::new() } else { format!("{path}.") };
        part.open_in(range(part, index)?, seed, &format!("{before}{list}.{}", names[index]))
    };
    let numbered = |(index, source): (usize, Result<PartSource, WorkloadError>)| {
        source.map_err(|error| error.inside(&format!("{list}.{index}")))
    };
    parts.iter().enumerate().map(open).enumerate().map(numbered).collect()
}

/// The most requests that parts have together.
fn total(parts: &[PartSource]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.requests()))
}
