//! The synthetic generator of DiskSim 4.0, draw for draw, for comparison with that simulator's published outputs.
//!
//! All numbers come from one 48-bit linear congruential generator (the C library's `drand48`), in an order that
//! depends on earlier draws. So equal distributions alone do not give an equal workload: a sequential request keeps
//! the size of its predecessor, and the 1.14 pages per request of the published 5-million run follow from only fifteen
//! drawn sizes.
//!
//! Source: the simulator's manual and its observed behaviour.

use crate::{BATCH_REQUESTS, Op, Request, Source, WorkloadError, refuse};
use coflash_base::{Bytes, Time};

coflash_base::config! {
    /// The published workloads.
    pub enum Pattern, default RandomWrite {
        /// Reads; each request begins at the end of the previous one.
        SequentialRead,
        /// Reads at uniformly random positions.
        RandomRead,
        /// Writes; each request begins at the end of the previous one.
        SequentialWrite,
        /// Writes at uniformly random positions.
        RandomWrite,
    }

    /// DiskSim's generator, with the parameters of the published runs as defaults.
    pub struct DiskSimConfig {
        /// The published workload: reads or writes, sequential or random.
        pub pattern: Pattern,
        /// Number of requests. DiskSim's own statistics omit the last issued request.
        pub requests: u64 = 249_999,
        /// Size of the address space.
        pub space: Bytes = Bytes { count: 7_018_904 * 512 },
        /// Blocking factor: sizes and positions are multiples of this.
        pub block: Bytes = Bytes { count: 4096 },
        /// Mean of the exponential distribution of sizes, before rounding up to a block.
        pub size_mean: Bytes = Bytes { count: 4096 },
        /// Interarrival times are uniformly distributed from 0 to this.
        pub interarrival_max: coflash_base::Duration = coflash_base::Duration { ns: 1_000_000 },
    }
}

/// The unit of drawn sizes.
const SECTOR: u64 = 512;

/// The C library's `drand48`.
#[derive(Clone, Copy, Debug)]
struct Drand48(u64);

impl Drand48 {
    /// The state after `srand48(seed)`.
    fn seeded(seed: u32) -> Self {
        Self((u64::from(seed) << 16) | 0x330E)
    }

    /// Uniform in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(11) & ((1 << 48) - 1);
        self.0 as f64 / (1_u64 << 48) as f64
    }
}

/// The requests of a [`DiskSimConfig`].
#[derive(Clone, Debug)]
pub struct DiskSimGenerator {
    config: DiskSimConfig,
    draws: Drand48,
    blocks: u64,
    issued: u64,
    clock_ms: f64,
    /// First block and number of blocks of the last request.
    last: (u64, u64),
}

impl DiskSimGenerator {
    /// Create the generator. Its seeds are fixed: those of the published runs.
    ///
    /// # Errors
    /// An invalid parameter.
    pub fn new(config: &DiskSimConfig) -> Result<Self, WorkloadError> {
        if config.requests == 0 {
            return refuse("requests", "0 was given; at least 1 is allowed");
        }
        let (block, space, mean) = (config.block, config.space, config.size_mean);
        if block.count == 0 || block.count % SECTOR != 0 {
            return refuse("block", format!("{block} was given; a multiple of 512B is allowed"));
        }
        if space.count / block.count < 2 || space.count > 1 << 63 {
            return refuse("space", format!("{space} was given; from two blocks to 2^63 bytes is allowed"));
        }
        // With a mean below a sector, hardly any draw would fill one.
        if mean.count < SECTOR || mean.count > space.count / 4 {
            let problem = format!("{mean} was given; from 512B to a quarter of the space is allowed");
            return refuse("size_mean", problem);
        }
        let blocks = config.space.count / config.block.count;
        // The first request is drawn during the simulator's set-up, from a separate seed.
        let draws = Drand48::seeded(42);
        Ok(Self { config: config.clone(), draws, blocks, issued: 0, clock_ms: 0.0, last: (0, 0) })
    }

    fn sequential(&self) -> bool {
        matches!(self.config.pattern, Pattern::SequentialRead | Pattern::SequentialWrite)
    }

    fn next_request(&mut self) -> Request {
        if self.issued > 0 {
            let _kind = self.draws.next();
        }
        self.clock_ms += self.draws.next() * (self.config.interarrival_max.ns as f64 / 1e6);
        let (start, length) = self.last;
        if self.issued > 0 && self.sequential() && start + 2 * length < self.blocks {
            self.last = (start + length, length);
        } else {
            let _device = self.draws.next();
            self.last = self.draw_range();
            let _direction = self.draws.next();
        }
        let _class = self.draws.next();
        if self.issued == 0 {
            // The run itself uses the simulator's default seed.
            self.draws = Drand48::seeded(1_000_003);
        }
        self.issued += 1;
        let (start, length) = self.last;
        let block = self.config.block.count;
        let op = match self.config.pattern {
            Pattern::SequentialRead | Pattern::RandomRead => Op::Read,
            Pattern::SequentialWrite | Pattern::RandomWrite => Op::Write,
        };
        let arrival = Time { ns: (self.clock_ms * 1e6).round() as u64 };
        Request { arrival, offset: start * block, length: length * block, op, placement: None }
    }

    /// A start and a size in blocks, redrawn until the request is not empty and fits.
    fn draw_range(&mut self) -> (u64, u64) {
        let sectors_per_block = self.config.block.count / SECTOR;
        let mean_sectors = self.config.size_mean.count as f64 / SECTOR as f64;
        loop {
            let start = (self.draws.next() * self.blocks as f64) as u64;
            let sectors = (-mean_sectors * libm::log(1.0 - self.draws.next())) as u64;
            let length = sectors.div_ceil(sectors_per_block);
            if length > 0 && start + length < self.blocks {
                return (start, length);
            }
        }
    }
}

impl Source for DiskSimGenerator {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        let count = (self.config.requests - self.issued).min(BATCH_REQUESTS as u64);
        batch.extend((0..count).map(|_| self.next_request()));
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.issued as f64 / self.config.requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pattern: Pattern, requests: u64) -> Vec<Request> {
        let config = DiskSimConfig { pattern, requests, ..DiskSimConfig::default() };
        let mut source = DiskSimGenerator::new(&config).unwrap();
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        loop {
            source.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return all;
            }
            all.extend_from_slice(&batch);
        }
    }

    #[test]
    fn the_first_request_arrives_when_the_published_logs_say() {
        assert_eq!(all(Pattern::RandomRead, 1)[0].arrival, Time { ns: 744_525 });
    }

    /// The published outputs count 395,130 page accesses in 249,999 random requests, and one page per sequential
    /// request.
    #[test]
    fn the_pages_of_the_published_runs() {
        let pages = |pattern| all(pattern, 249_999).iter().map(|request| request.length / 4096).sum::<u64>();
        assert_eq!(pages(Pattern::SequentialWrite), 249_999);
        assert_eq!(pages(Pattern::RandomRead), 395_130);
        assert_eq!(pages(Pattern::RandomWrite), 395_130);
    }
}
