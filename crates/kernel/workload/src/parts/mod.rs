//! Composed workloads: phases in sequence, tenants side by side in the address space.
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
//! synthetic = { generator = "sequential", read_share = "100%", arrival = "poisson" }
//! ```
//!
//! A [`Part`] is one workload (`synthetic`, or one of the [`presets`]) or consists of other parts
//! (`phases`, `tenants`). It sees its address range as a whole device, and its time begins at 0. Every part has its
//! own random streams, identified by its name or its index: a change of one part leaves the requests of the others
//! unchanged.
//!
//! Cost: a few instructions per request and level; log2(tenants) comparisons per request of tenants.

mod bounds;
mod phases;
pub mod presets;
mod tenants;
#[cfg(test)]
mod tests;

pub use bounds::PartSource;

use crate::synthetic::{Synthetic, SyntheticConfig};
use crate::{Source, WorkloadError, refuse};
use coflash_base::{Amount, Bytes, Duration, PlacementId, Seed, Share};
use phases::Phases;
use presets::PresetConfig;
use std::num::NonZeroU64;
use tenants::Tenants;

coflash_base::config! {
    /// A part of a workload: exactly one of `synthetic`, `preset`, `phases` and `tenants`, with an address range and a
    /// duration.
    // The list of phases is one value of a scenario's digest, so a part is written without its empty lists and its zero
    // delay.
    pub struct Part {
        /// Name of the part in remarks, unique among its siblings. The random streams depend on it. Default: the part's
        /// index.
        pub name: Option<String>,
        /// Start of the address range, as bytes or as a share of the parent's space. Default: 0 for a phase, the end of the
        /// previous tenant for a tenant.
        pub offset: Option<Amount>,
        /// Size of the address range, as bytes or as a share of the parent's space. Default: the rest of the parent's
        /// space for a phase; for a tenant an equal share of the rest, divided among it and the tenants after it.
        pub space: Option<Amount>,
        /// Idle time before the part: after the end of the previous phase, or after the start of all tenants.
        #[serde(skip_serializing_if = "is_zero")]
        pub delay: Duration,
        /// Length of the part in time: later requests are omitted, and the next phase begins then. Default: until the last
        /// request.
        pub duration: Option<Duration>,
        /// Upper limit on the number of requests.
        pub requests_max: Option<NonZeroU64>,
        /// Placement hint of its writes: data with the same hint belongs together. A number from 0, which `ftl.placement` = "fdp"
        /// takes for a handle. It replaces the hints of the parts within. Default: theirs.
        pub placement: Option<PlacementId>,
        /// A synthetic workload.
        pub synthetic: Option<SyntheticConfig>,
        /// A preset workload.
        pub preset: Option<PresetConfig>,
        /// Parts in sequence.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub phases: Vec<Part>,
        /// Parts side by side in the address space, at the same time. Tenants with simultaneous requests take turns.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub tenants: Vec<Part>,
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(duration: &Duration) -> bool {
    *duration == Duration::ZERO
}

impl Part {
    /// The highest placement hint of it and the parts within.
    #[must_use]
    pub fn highest_placement(&self) -> Option<PlacementId> {
        let within = self.phases.iter().chain(&self.tenants).filter_map(Self::highest_placement);
        within.chain(self.placement).max()
    }

    /// Whether all requests arrive at time 0.
    #[must_use]
    pub fn arrives_at_once(&self) -> bool {
        let Self { delay, duration, synthetic, preset, phases, tenants, .. } = self;
        *delay == Duration::ZERO
            && duration.is_none()
            && synthetic.as_ref().is_none_or(|synthetic| synthetic.arrival.is_back_to_back())
            && preset.as_ref().is_none_or(PresetConfig::arrives_at_once)
            && phases.iter().chain(tenants).all(Self::arrives_at_once)
    }
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

/// Every tenant holds a batch in memory.
const TENANTS_MAX: usize = 4096;

/// An amount in bytes, where a share refers to `parent_bytes`.
fn bytes_of(amount: Amount, parent_bytes: u64) -> u64 {
    match amount {
        Amount::Bytes(bytes) => bytes.count,
        // Not rounded: 100% is the whole space.
        Amount::Share(Share::ONE) => parent_bytes,
        Amount::Share(share) => rounded(share.part_of(parent_bytes)),
    }
}

/// Round the size of a share down to 64 KiB, so that parts begin at page boundaries of any flash.
fn rounded(bytes: u64) -> u64 {
    bytes >> 16 << 16
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    offset: u64,
    bytes: u64,
}

impl Part {
    /// Open the part over the first `device_bytes` of a device.
    ///
    /// # Errors
    /// An invalid parameter, with its key.
    pub fn open(&self, device_bytes: u64, seed: Seed) -> Result<PartSource, WorkloadError> {
        self.open_turn(device_bytes, seed, 0)
    }

    /// Open the part as in [`open`](Self::open), with other draws for each turn. Turn 0 is that of `open`. What is hot stays hot: the
    /// places of a layout depend on the seed alone.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn open_turn(&self, device_bytes: u64, seed: Seed, turn: u64) -> Result<PartSource, WorkloadError> {
        // An address must stay below 2^63.
        let device_bytes = device_bytes.min(1 << 63);
        let opened =
            self.range(device_bytes, 0, device_bytes).and_then(|range| self.open_in(range, seed, turn, ""));
        // A key of the part itself is reported as a full path, too.
        opened.map_err(|error| error.with_key(str::to_owned))
    }

    /// A short description for the head of a report.
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

    /// The address range of the part in a parent of `parent_bytes`, with defaults for offset and size.
    fn range(&self, parent_bytes: u64, offset: u64, bytes: u64) -> Result<Range, WorkloadError> {
        let offset = self.offset.map_or(offset, |given| bytes_of(given, parent_bytes));
        if offset >= parent_bytes {
            let [offset, parent] = [offset, parent_bytes].map(|count| Bytes { count });
            return refuse(
                "offset",
                format!("it begins at {offset}; less than the parent's space, {parent}, is allowed"),
            );
        }
        let left = parent_bytes - offset;
        let bytes = self.space.map_or(bytes.min(left), |given| bytes_of(given, parent_bytes));
        if bytes == 0 || bytes > left {
            let [bytes, left] = [bytes, left].map(|count| Bytes { count });
            let problem = format!("it is {bytes}; from 1B to the rest of the space, {left}, is allowed");
            return refuse("space", problem);
        }
        Ok(Range { offset, bytes })
    }

    fn open_in(&self, range: Range, seed: Seed, turn: u64, path: &str) -> Result<PartSource, WorkloadError> {
        if self.duration == Some(Duration::ZERO) {
            return refuse("duration", "0ns was given; at least 1ns is allowed");
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
        let (inner, requests): (Box<dyn Source>, u64) = if let Some(config) = &self.synthetic {
            let seed = if path.is_empty() { seed } else { seed.child(path) };
            let source =
                Synthetic::new(config, range.bytes, seed).map_err(|error| error.inside("synthetic"))?;
            let source =
                if turn == 0 { source } else { source.drawn_from(seed.child(&format!("turn {turn}"))) };
            (Box::new(source), config.requests)
        } else if let Some(preset) = &self.preset {
            let preset = preset.build();
            remarks.extend(preset.remarks());
            let part = preset.part(range.bytes)?;
            // The parts of a preset are not in the user's scenario: an error names the preset's key of the same name.
            let preset_key = |key: &str| format!("preset.{}", key.rsplit('.').next().unwrap_or(key));
            let opened =
                part.range(range.bytes, 0, range.bytes).and_then(|own| part.open_in(own, seed, turn, path));
            let source = opened.map_err(|error| error.with_key(preset_key))?;
            let requests = source.requests();
            (Box::new(source), requests)
        } else if self.tenants.is_empty() {
            let phases = open_all(&self.phases, "phases", (seed, turn), path, |part, _| {
                part.range(range.bytes, 0, range.bytes)
            })?;
            let requests = total(&phases);
            (Box::new(Phases::new(phases)), requests)
        } else {
            if self.tenants.len() > TENANTS_MAX {
                let problem = format!("{} were given; at most {TENANTS_MAX} are allowed", self.tenants.len());
                return refuse("tenants", problem);
            }
            let mut end = 0;
            let tenants = open_all(&self.tenants, "tenants", (seed, turn), path, |part, index| {
                let sharing = (self.tenants.len() - index) as u64;
                let left = range.bytes.saturating_sub(end);
                let equal = if sharing == 1 { left } else { rounded(left / sharing) };
                let own = part.range(range.bytes, end, equal)?;
                end = own.offset + own.bytes;
                Ok(own)
            })?;
            let requests = total(&tenants);
            (Box::new(Tenants::new(tenants)), requests)
        };
        Ok(PartSource::new(self, inner, range.offset, requests, path, remarks))
    }
}

/// Open the parts of a list, each with its own range and seed.
fn open_all(
    parts: &[Part],
    list: &str,
    (seed, turn): (Seed, u64),
    path: &str,
    mut range: impl FnMut(&Part, usize) -> Result<Range, WorkloadError>,
) -> Result<Vec<PartSource>, WorkloadError> {
    let names: Vec<String> =
        parts.iter().enumerate().map(|(i, part)| part.name.clone().unwrap_or(i.to_string())).collect();
    let open = |(index, part): (usize, &Part)| {
        if names[..index].contains(&names[index]) {
            return refuse("name", format!("\"{}\" was given twice; unique names are allowed", names[index]));
        }
        let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
        part.open_in(range(part, index)?, seed, turn, &format!("{prefix}{list}.{}", names[index]))
    };
    let numbered = |(index, source): (usize, Result<PartSource, WorkloadError>)| {
        source.map_err(|error| error.inside(&format!("{list}.{index}")))
    };
    parts.iter().enumerate().map(open).enumerate().map(numbered).collect()
}

/// Upper bound of the requests of all parts together.
fn total(parts: &[PartSource]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.requests()))
}
