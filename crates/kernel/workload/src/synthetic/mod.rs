//! Synthetic workloads: *where* requests go, *which* operations they are and *when* they arrive, chosen independently.
//!
//! ```toml
//! generator = { name = "zipf", exponent = 0.9 }            # where
//! read_share = "30%"                                       # which
//! size = { name = "exponential", mean = "8KiB" }
//! arrival = { name = "poisson", mean = "100us" }           # when
//! ```
//!
//! Each choice has its own random streams: with the same seed, a change of the arrivals or of the share of reads
//! leaves all addresses and sizes unchanged. A size affects an address only if the request would not fit (or, in a
//! sequential stream, by the end of the previous request). All draws are integers or portable arithmetic, so a seed
//! gives the same requests on every machine.
//!
//! Addresses are counted in *alignment units* of `align` bytes. Every request begins at a unit's first byte; a size
//! need not be a multiple of the unit.

pub mod arrival;
pub(crate) mod draw;
pub mod hot_cold;
pub mod jesd219;
pub mod kv_cache;
pub mod mixed;
pub mod quantiles;
pub mod reuse_flows;
pub mod runs;
mod scatter;
pub mod sequential;
pub mod size;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_reuse;
#[cfg(test)]
mod tests_of_shape;
pub mod uniform;
pub mod zipf;

use crate::{BATCH_REQUESTS, Op, Request, Source, WorkloadError, refuse};
use coflash_base::{Bytes, Policy, RandomStream, Seed, Share, Time};
use draw::AliasTable;

/// The addresses of requests. The life of a generator:
///
/// 1. [`new`](AddressPolicy::new), once, before the first request.
/// 2. [`start`](AddressPolicy::start), once for each request with a range, in the order of the requests.
pub trait AddressPolicy: Policy {
    /// Create a generator over `space`.
    ///
    /// # Errors
    /// An invalid parameter, as `generator.…`.
    fn new(config: &Self::Config, space: Space) -> Result<Self, WorkloadError>;

    /// Draw the first unit of a request of `length_units`, from one to the whole space. The request ends inside the
    /// space: a generator that draws from all positions moves a late start back to the last one that fits.
    fn start(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64;

    /// Draw a request, `op` being drawn: the operation, length and place of a request are independent unless the
    /// generator repeats earlier requests.
    #[inline]
    fn place(&mut self, op: Op, sizes: &mut RequestSizes<'_>, stream: &mut RandomStream) -> PlacedRequest {
        let length = sizes.draw(op);
        PlacedRequest { op, start: self.start(op, length.units, stream), length }
    }
}

/// The sizes of requests. The life of a size policy:
///
/// 1. [`new`](SizePolicy::new), once.
/// 2. [`longest`](SizePolicy::longest), once, for comparison with the space.
/// 3. [`length`](SizePolicy::length), once for each request with a range.
pub trait SizePolicy: Policy {
    /// Create the policy for an alignment of `align` bytes, at least one.
    ///
    /// # Errors
    /// An invalid parameter, as `size.…`.
    fn new(config: &Self::Config, align: u64) -> Result<Self, WorkloadError>;

    /// Upper bound of all lengths.
    fn longest(&self) -> Length;

    /// Draw the length of the next request, at least one byte.
    fn length(&mut self, op: Op, stream: &mut RandomStream) -> Length;
}

/// The arrival times of requests. The life of an arrival policy:
///
/// 1. [`new`](ArrivalPolicy::new), once.
/// 2. [`gap_ns`](ArrivalPolicy::gap_ns), once for each request, flushes included.
pub trait ArrivalPolicy: Policy {
    /// Create the policy for `requests` requests, at least one.
    ///
    /// # Errors
    /// An invalid parameter, as `arrival.…`.
    fn new(config: &Self::Config, requests: u64) -> Result<Self, WorkloadError>;

    /// Draw the time from the previous request (or time 0) to the next one.
    fn gap_ns(&mut self, stream: &mut RandomStream) -> u64;
}

/// The address space of a generator.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Its size in alignment units, at least one.
    pub units: u64,
    /// The size of an alignment unit.
    pub align: Bytes,
    /// The seed of a random layout before the first request; the draws of the requests have their own stream.
    pub seed: Seed,
}

/// The length of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Length in bytes.
    pub bytes: u64,
    /// Length in alignment units, rounded up; stored to save a division per request.
    pub units: u64,
}

coflash_base::policy_family! { ($)
    /// The addresses of requests.
    pub family Generator, config GeneratorConfig, dispatch with_generator, build build_generator {
        "uniform" => Uniform(uniform::Uniform),
        "sequential" => Sequential(sequential::Sequential),
        "mixed" => Mixed(mixed::Mixed),
        "zipf" => Zipf(zipf::Zipf),
        "hot-cold" => HotCold(hot_cold::HotCold),
        "runs" => Runs(runs::Runs),
        "reuse-flows" => ReuseFlows(reuse_flows::ReuseFlows),
        "kv-cache" => KvCache(kv_cache::KvCache),
    }
}

coflash_base::policy_family! { ($)
    /// The sizes of requests.
    pub family Size, config SizeConfig, dispatch with_size, build build_size {
        "fixed" => Fixed(size::Fixed),
        "exponential" => Exponential(size::Exponential),
        "choice" => Choice(size::Choice),
        "jesd219" => Jesd219(jesd219::Jesd219),
        "by-op" => ByOp(size::ByOp),
    }
}

coflash_base::policy_family! { ($)
    /// The arrival times of requests.
    pub family Arrival, config ArrivalConfig, dispatch with_arrival, build build_arrival {
        "back-to-back" => BackToBack(arrival::BackToBack),
        "uniform" => Uniform(arrival::UniformGapConfig),
        "poisson" => Poisson(arrival::PoissonConfig),
        "fixed" => Fixed(arrival::FixedGapConfig),
        "quantiles" => Quantiles(quantiles::Quantiles),
    }
}

impl GeneratorConfig {
    fn build(&self, space: Space) -> Result<Generator, WorkloadError> {
        Ok(build_generator!(self, config => AddressPolicy::new(config, space)?))
    }
}

impl ArrivalConfig {
    /// Whether all requests arrive at time 0.
    #[must_use]
    pub fn is_back_to_back(&self) -> bool {
        matches!(self, Self::BackToBack(_))
    }
}

impl Generator {
    /// Call [`AddressPolicy::start`].
    #[inline]
    fn start(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        with_generator!(self, generator => generator.start(op, length_units, stream))
    }
}

/// A request with a range.
pub struct PlacedRequest {
    /// Its operation.
    pub op: Op,
    /// Its first unit.
    pub start: u64,
    /// Its length.
    pub length: Length,
}

/// The sizes of a workload, with their random stream.
pub struct RequestSizes<'a> {
    size: &'a mut Size,
    stream: &'a mut RandomStream,
    align: u64,
}

impl RequestSizes<'_> {
    /// Draw the length of a request.
    #[inline(always)]
    pub fn draw(&mut self, op: Op) -> Length {
        // Without a call: most workloads have one size.
        if let Size::Fixed(size) = &mut self.size { size.length(op, self.stream) } else { self.draw_any(op) }
    }

    fn draw_any(&mut self, op: Op) -> Length {
        with_size!(&mut self.size, size => size.length(op, self.stream))
    }

    /// The length of whole units.
    #[must_use]
    pub fn of_units(&self, units: u64) -> Length {
        Length { bytes: units * self.align, units }
    }
}

coflash_base::config! {
    /// A synthetic workload.
    pub struct SyntheticConfig {
        /// Distribution of addresses.
        pub generator: GeneratorConfig,
        /// Number of requests, flushes included.
        pub requests: u64 = 1_000_000,
        /// Share of reads among the requests. Requests that are no reads, trims or flushes are writes.
        pub read_share: Share = Share::ZERO,
        /// Share of trims among the requests; their sizes are distributed like those of reads and writes.
        pub trim_share: Share = Share::ZERO,
        /// Share of flushes among the requests; a flush has no address range.
        pub flush_share: Share = Share::ZERO,
        /// Distribution of sizes.
        pub size: SizeConfig,
        /// Alignment unit: every request begins at a multiple of this.
        pub align: Bytes = Bytes { count: 4096 },
        /// Size of the used address range, a multiple of `align`; it begins at 0. Default: the exported capacity, rounded
        /// down to a multiple of `align`.
        pub space: Option<Bytes>,
        /// Arrival process.
        pub arrival: ArrivalConfig,
    }
}

impl SyntheticConfig {
    /// The space in alignment units.
    fn space_units(&self, default_space_bytes: u64) -> Result<u64, WorkloadError> {
        let Self { align, .. } = *self;
        // An offset must stay below 2^63.
        let largest = Bytes { count: default_space_bytes.min(1 << 63) };
        if align.count == 0 || align > largest {
            let problem =
                format!("{align} was given; from 1B to the exported capacity, {largest}, is allowed");
            return refuse("align", problem);
        }
        let space = self.space.unwrap_or(Bytes { count: largest.count / align.count * align.count });
        if space.count == 0 || !space.count.is_multiple_of(align.count) {
            return refuse("space", format!("{space} was given; a multiple of align, {align}, is allowed"));
        }
        if space > largest {
            let problem = format!("{space} was given; at most the exported capacity, {largest}, is allowed");
            return refuse("space", problem);
        }
        Ok(space.count / align.count)
    }

    /// The weights of [`OPS`], which sum to one.
    fn weights_of_ops(&self) -> Result<[u64; 4], WorkloadError> {
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
        Ok([self.read_share.ppb, self.trim_share.ppb, self.flush_share.ppb, rest])
    }
}

/// The operations, in the order of the weights of [`SyntheticConfig::weights_of_ops`].
const OPS: [Op; 4] = [Op::Read, Op::Trim, Op::Flush, Op::Write];

/// The requests of a [`SyntheticConfig`].
#[derive(Clone)]
pub struct Synthetic {
    generator: Generator,
    ops: AliasTable,
    /// The operation of all requests: nothing is drawn then.
    only: Option<Op>,
    size: Size,
    arrival: Arrival,
    align: u64,
    requests: u64,
    done: u64,
    now: Time,
    streams: Streams,
}

/// One stream per choice, so that a change of one leaves the others unchanged.
#[derive(Clone)]
struct Streams {
    place: RandomStream,
    op: RandomStream,
    size: RandomStream,
    gap: RandomStream,
}

impl Streams {
    fn seeded(seed: Seed) -> Self {
        Self {
            place: seed.stream("where"),
            op: seed.stream("op"),
            size: seed.stream("size"),
            gap: seed.stream("when"),
        }
    }
}

impl Synthetic {
    /// Create the workload over `default_space_bytes`, the exported capacity, unless `config` gives another space.
    ///
    /// # Errors
    /// An invalid parameter.
    pub fn new(
        config: &SyntheticConfig,
        default_space_bytes: u64,
        seed: Seed,
    ) -> Result<Self, WorkloadError> {
        if config.requests == 0 {
            return refuse("requests", "0 was given; at least 1 is allowed");
        }
        let weights = config.weights_of_ops()?;
        let only = weights.iter().position(|&weight| weight == Share::ONE.ppb).map(|index| OPS[index]);
        let space_units = config.space_units(default_space_bytes)?;
        let align = config.align.count;
        let size = build_size!(&config.size, config => SizePolicy::new(config, align)?);
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
            ops: AliasTable::new(&weights),
            only,
            size,
            arrival: build_arrival!(&config.arrival, arrival => ArrivalPolicy::new(arrival, config.requests)?),
            align,
            requests: config.requests,
            done: 0,
            now: Time::ZERO,
            streams: Streams::seeded(seed),
        })
    }

    /// Draw from the streams of another seed. The layout stays that of its own seed.
    #[must_use]
    pub fn drawn_from(self, seed: Seed) -> Self {
        Self { streams: Streams::seeded(seed), ..self }
    }

    /// Draw the arrivals of as many requests, without the rest.
    fn draw_arrivals(&mut self, count: u64, batch: &mut Vec<Request>) {
        // In registers from draw to draw.
        let (mut now, mut stream) = (self.now, self.streams.gap.clone());
        with_arrival!(&mut self.arrival, arrival => batch.extend((0..count).map(|_| {
            // The mean is checked against the range of the clock, the sum of all gaps is not.
            now = Time { ns: now.ns.saturating_add(arrival.gap_ns(&mut stream)) };
            Request { arrival: now, offset: 0, length: 0, op: Op::Flush, placement: None }
        })));
        (self.now, self.streams.gap) = (now, stream);
    }

    /// Draw the operations and places of requests.
    fn draw_places(&mut self, batch: &mut [Request]) {
        let Self { generator, ops, only, size, align, streams, .. } = self;
        let mut sizes = RequestSizes { size, stream: &mut streams.size, align: *align };
        let mut place = streams.place.clone();
        with_generator!(generator, generator => for request in batch {
            let op = only.unwrap_or_else(|| OPS[ops.draw(&mut streams.op)]);
            // A flush has no place.
            if op != Op::Flush {
                let PlacedRequest { op, start, length } = generator.place(op, &mut sizes, &mut place);
                *request = Request { offset: start * *align, length: length.bytes, op, ..*request };
            }
        });
        streams.place = place;
    }
}

impl Source for Synthetic {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        let count = (self.requests - self.done).min(BATCH_REQUESTS as u64);
        // Each choice has a stream of its own, so that one may be drawn for all requests before the next.
        self.draw_arrivals(count, batch);
        self.draw_places(batch);
        self.done += count;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.done as f64 / self.requests as f64)
    }
}
