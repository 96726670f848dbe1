//! Workloads that are made up: *where* requests go, *what* they ask for and *when* they arrive, chosen independently.
//!
//! ```toml
//! generator = { name = "zipf", exponent = 0.9 }            # where
//! read_share = "30%"                                       # what
//! size = { name = "exponential", mean = "8KiB" }
//! arrival = { name = "poisson", mean = "100us" }           # when
//! ```
//!
//! Each of the choices draws from random streams of its own: with the same seed, another arrival or another share of
//! reads leaves every place and size as it was. A size moves a place only as far as the request must move to fit (or,
//! in a sequential stream, to follow the one before). All draws are integers or pure Rust arithmetic, so a seed means
//! the same requests on every machine.
//!
//! Positions are counted in *alignment units* of `align` bytes: every request begins on a unit's first byte, and one
//! whose size is not a multiple of the unit leaves the rest of its last unit alone.

pub mod arrival;
mod draw;
pub mod hot_cold;
pub mod jesd219;
pub mod mixed;
pub mod on_off;
pub mod quantiles;
pub mod runs;
mod scatter;
pub mod self_similar;
pub mod sequential;
pub mod size;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_shape;
pub mod uniform;
pub mod zipf;

use crate::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use coflash_base::{Bytes, Policy, Seed, Share, Stream, Time};
use draw::Weighted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where requests go. The life of a generator:
///
/// 1. [`new`](Placing::new), once, before the first request.
/// 2. [`start`](Placing::start), once for each request that has a range, in the order of the requests.
pub trait Placing: Policy {
    /// A generator over `space`.
    ///
    /// # Errors
    /// The parameter that is not allowed, as `generator.…`.
    fn new(config: &Self::Config, space: Space) -> Result<Self, WorkloadError>;

    /// The first unit of a request of `length_units`, which is at least one and at most the space. The request ends
    /// inside the space: a generator that draws from all positions moves a start that is too late back to the last one
    /// that fits.
    fn start(&mut self, length_units: u64, stream: &mut Stream) -> u64;
}

/// How long requests are. The life of a sizing:
///
/// 1. [`new`](Sizing::new), once.
/// 2. [`longest`](Sizing::longest), once, to compare with the space.
/// 3. [`length`](Sizing::length), once for each request that has a range.
pub trait Sizing: Policy {
    /// Sizes for an alignment of `align` bytes, at least one.
    ///
    /// # Errors
    /// The parameter that is not allowed, as `size.…`.
    fn new(config: &Self::Config, align: u64) -> Result<Self, WorkloadError>;

    /// No length is above this.
    fn longest(&self) -> Length;

    /// The length of the next request, at least one byte.
    fn length(&mut self, stream: &mut Stream) -> Length;
}

/// When requests arrive. The life of a timing:
///
/// 1. [`new`](Timing::new), once.
/// 2. [`gap_ns`](Timing::gap_ns), once for each request, flushes included.
pub trait Timing: Policy {
    /// Arrivals of `requests` requests, at least one.
    ///
    /// # Errors
    /// The parameter that is not allowed, as `arrival.…`.
    fn new(config: &Self::Config, requests: u64) -> Result<Self, WorkloadError>;

    /// Nanoseconds between the request before (or time zero) and the next one.
    fn gap_ns(&mut self, stream: &mut Stream) -> u64;
}

/// What a generator is laid out over.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Alignment units, at least one.
    pub units: u64,
    /// An alignment unit.
    pub align: Bytes,
    /// For what is laid out at random before the first request, not for the draws of the requests.
    pub seed: Seed,
}

/// The length of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// In bytes.
    pub bytes: u64,
    /// In alignment units, the last one counted whole: kept beside the bytes so that no request costs a division.
    pub units: u64,
}

/// A policy family whose running enum is built from its configuration by the `new` of one trait.
macro_rules! family {
    (($d:tt) $(#[$meta:meta])*
     $family:ident, $config:ident, $dispatch:ident, $hooks:ident::new($argument:ident: $type:ty) {
        $($name:literal => $variant:ident($policy:ty),)*
    }) => {
        coflash_base::policy_family! { ($d)
            $(#[$meta])*
            pub family $family, config $config, dispatch $dispatch {
                $($name => $variant($policy),)*
            }
        }

        impl $config {
            fn build(&self, $argument: $type) -> Result<$family, WorkloadError> {
                Ok(match self {
                    $(Self::$variant(config) => {
                        $family::$variant(<$policy as $hooks>::new(config, $argument)?)
                    })*
                })
            }
        }
    };
}

family! { ($)
    /// Where requests go.
    Generator, GeneratorConfig, with_generator, Placing::new(space: Space) {
        "uniform" => Uniform(uniform::Uniform),
        "sequential" => Sequential(sequential::Sequential),
        "mixed" => Mixed(mixed::Mixed),
        "zipf" => Zipf(zipf::Zipf),
        "hot-cold" => HotCold(hot_cold::HotCold),
        "runs" => Runs(runs::Runs),
    }
}

family! { ($)
    /// How long requests are.
    Size, SizeConfig, with_size, Sizing::new(align: u64) {
        "fixed" => Fixed(size::Fixed),
        "exponential" => Exponential(size::Exponential),
        "choice" => Choice(size::Choice),
        "jesd219" => Jesd219(jesd219::Jesd219),
    }
}

family! { ($)
    /// When requests arrive.
    Arrival, ArrivalConfig, with_arrival, Timing::new(requests: u64) {
        "back-to-back" => BackToBack(arrival::BackToBack),
        "uniform" => Uniform(arrival::UniformGap),
        "poisson" => Poisson(arrival::Poisson),
        "fixed" => Fixed(arrival::FixedGap),
        "on-off" => OnOff(on_off::OnOff),
        "self-similar" => SelfSimilar(self_similar::SelfSimilar),
        "quantiles" => Quantiles(quantiles::Quantiles),
    }
}

impl Generator {
    /// As [`Placing::start`].
    #[inline]
    fn start(&mut self, length_units: u64, stream: &mut Stream) -> u64 {
        with_generator!(self, generator => generator.start(length_units, stream))
    }
}

/// A workload that is made up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SyntheticConfig {
    /// Where requests go.
    pub generator: GeneratorConfig,
    /// How many requests there are, flushes included.
    pub requests: u64,
    /// The share of requests, by number, that read. What is not read, trimmed or flushed is written.
    pub read_share: Share,
    /// The share of requests that trim a range; it is as long as that of a write.
    pub trim_share: Share,
    /// The share of requests that flush; they have no range.
    pub flush_share: Share,
    /// How long requests are.
    pub size: SizeConfig,
    /// Every request begins at a multiple of this, the alignment unit.
    pub align: Bytes,
    /// Only the first so many bytes are used, a multiple of `align`; by default all that the device exports, rounded
    /// down to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Bytes>,
    /// When requests arrive.
    pub arrival: ArrivalConfig,
}

impl Default for SyntheticConfig {
    fn default() -> Self {
        Self {
            generator: GeneratorConfig::default(),
            requests: 1_000_000,
            read_share: Share::ZERO,
            trim_share: Share::ZERO,
            flush_share: Share::ZERO,
            size: SizeConfig::default(),
            align: Bytes { count: 4096 },
            space: None,
            arrival: ArrivalConfig::default(),
        }
    }
}

/// A parameter that is not allowed.
fn refuse<T>(key: &'static str, problem: String) -> Result<T, WorkloadError> {
    Err(WorkloadError::Parameters { key, problem })
}

fn share_at_most_all(key: &'static str, share: Share) -> Result<(), WorkloadError> {
    if share > Share::ONE {
        return refuse(key, format!("{share} was given; from 0% to 100% is allowed"));
    }
    Ok(())
}

impl SyntheticConfig {
    /// The space in alignment units.
    fn space_units(&self, default_space_bytes: u64) -> Result<u64, WorkloadError> {
        let Self { align, .. } = *self;
        // An offset must stay below 2^63.
        let largest = Bytes { count: default_space_bytes.min(1 << 63) };
        if align.count == 0 || align > largest {
            let problem =
                format!("{align} was given; from 1B to what the device exports, {largest}, is allowed");
            return refuse("align", problem);
        }
        let space = self.space.unwrap_or(Bytes { count: largest.count / align.count * align.count });
        if space.count == 0 || !space.count.is_multiple_of(align.count) {
            return refuse("space", format!("{space} was given; a multiple of align, {align}, is allowed"));
        }
        if space > largest {
            let problem =
                format!("{space} was given; at most what the device exports, {largest}, is allowed");
            return refuse("space", problem);
        }
        Ok(space.count / align.count)
    }

    /// Chooses an index of [`OPS`].
    fn ops(&self) -> Result<Weighted, WorkloadError> {
        let shares = [
            ("read_share", self.read_share),
            ("trim_share", self.trim_share),
            ("flush_share", self.flush_share),
        ];
        let mut rest = Share::ONE.ppb;
        for (key, share) in shares {
            let Some(left) = rest.checked_sub(share.ppb) else {
                let problem = format!(
                    "{share} was given; read_share, trim_share and flush_share may sum to 100%, so at most {} is \
                     allowed",
                    Share { ppb: rest }
                );
                return refuse(key, problem);
            };
            rest = left;
        }
        Ok(Weighted::new(&[self.read_share.ppb, self.trim_share.ppb, self.flush_share.ppb, rest]))
    }
}

/// In the order of the weights that [`SyntheticConfig::ops`] gives them.
const OPS: [Op; 4] = [Op::Read, Op::Trim, Op::Flush, Op::Write];

/// The requests of a [`SyntheticConfig`].
#[derive(Clone)]
pub struct Synthetic {
    generator: Generator,
    ops: Weighted,
    size: Size,
    arrival: Arrival,
    align: u64,
    requests: u64,
    done: u64,
    now: Time,
    streams: Streams,
}

/// A stream for each choice, so that changing one changes no other.
#[derive(Clone)]
struct Streams {
    place: Stream,
    op: Stream,
    size: Stream,
    gap: Stream,
}

impl Synthetic {
    /// Requests to the first `default_space_bytes` of a device, what it exports, or to the part of it that `config`
    /// names.
    ///
    /// # Errors
    /// The first parameter that is not allowed, with what was given and what is allowed.
    pub fn new(
        config: &SyntheticConfig,
        default_space_bytes: u64,
        seed: Seed,
    ) -> Result<Self, WorkloadError> {
        if config.requests == 0 {
            return refuse("requests", "0 was given; at least 1 is allowed".to_owned());
        }
        let ops = config.ops()?;
        let space_units = config.space_units(default_space_bytes)?;
        let align = config.align.count;
        let size = config.size.build(align)?;
        let longest = with_size!(&size, size => size.longest());
        if longest.units > space_units {
            let problem = format!(
                "{} was given; at least the largest request, {}, is allowed (see size)",
                Bytes { count: space_units * align },
                Bytes { count: longest.bytes }
            );
            return refuse("space", problem);
        }
        Ok(Self {
            generator: config.generator.build(Space { units: space_units, align: config.align, seed })?,
            ops,
            size,
            arrival: config.arrival.build(config.requests)?,
            align,
            requests: config.requests,
            done: 0,
            now: Time::ZERO,
            streams: Streams {
                place: seed.stream("where"),
                op: seed.stream("op"),
                size: seed.stream("size"),
                gap: seed.stream("when"),
            },
        })
    }

    #[inline]
    fn next_request(&mut self) -> Request {
        let streams = &mut self.streams;
        let gap = with_arrival!(&mut self.arrival, arrival => arrival.gap_ns(&mut streams.gap));
        // A mean is checked against the clock, its sum is not: it stops at the end instead of turning over.
        self.now = Time { ns: self.now.ns.saturating_add(gap) };
        let op = OPS[self.ops.draw(&mut streams.op)];
        if op == Op::Flush {
            return Request { arrival: self.now, offset: 0, length: 0, op };
        }
        let length = with_size!(&mut self.size, size => size.length(&mut streams.size));
        let start = self.generator.start(length.units, &mut streams.place);
        Request { arrival: self.now, offset: start * self.align, length: length.bytes, op }
    }
}

impl Source for Synthetic {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        let count = (self.requests - self.done).min(BATCH_REQUESTS as u64);
        batch.extend((0..count).map(|_| self.next_request()));
        self.done += count;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.done as f64 / self.requests as f64)
    }
}
