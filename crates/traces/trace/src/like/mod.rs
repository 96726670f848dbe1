//! The fit of a synthetic workload to a trace: the statistics of the trace as a [`SyntheticConfig`].
//!
//! | trace | workload |
//! |---|---|
//! | shares of reads, trims and flushes | the same shares |
//! | frequency of each size, for reads, writes and trims, of new and of used pages | `size = "by-op"`: the most frequent sizes exactly, the rest by octave |
//! | how long ago pages were used, and by which operation, in each of some 50 windows | `lru-stack` |
//! | runs of pages that are used again in the order of their last use | `lru-stack` |
//! | footprint | the space |
//! | interarrival times | `quantiles` with the same mean between any two of them |
//! | correlation of interarrival times at distances from 1 to 2^15 requests | `quantiles` with clustering |
//!
//! Not reproduced: the distance between addresses, and times that depend on operations or addresses.
//!
//! Cost: one pass over the trace, in about 30 bytes for each page that it uses.

mod clustering;
mod distributions;
mod stack;
#[cfg(test)]
mod tests;

use crate::info::{InfoOptions, Summary, WorkloadInfo, page_bytes, summarise};
use clustering::Clustering;
use coflash_base::{Bytes, Share};
use coflash_workload::synthetic::lru_stack::LruStackConfig;
use coflash_workload::synthetic::quantiles::QuantilesConfig;
use coflash_workload::synthetic::size::{ByOpConfig, ChoiceConfig};
use coflash_workload::synthetic::{ArrivalConfig, GeneratorConfig, SizeConfig, SyntheticConfig};
use coflash_workload::{Op, Request, Source, WorkloadError, refuse};
use distributions::{SizeCounts, quantiles};
use stack::LastUses;

/// Fit a workload to `source`, which is read to its end, and describe the source. A page is a power of two of at least 512 bytes.
///
/// # Errors
/// An error of the source; a source without addresses.
pub fn fit(source: &mut dyn Source, page: Bytes) -> Result<(SyntheticConfig, WorkloadInfo), WorkloadError> {
    let mut counted = Counted { source, counters: Counters::new(page_bytes(page)?) };
    let info = summarise(&mut counted, InfoOptions { page, ..InfoOptions::default() })?;
    Ok((counted.counters.config()?, info))
}

/// A source whose requests are counted.
struct Counted<'a> {
    source: &'a mut dyn Source,
    counters: Counters,
}

impl Source for Counted<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        self.source.next_batch(batch)?;
        batch.iter().for_each(|request| self.counters.add(request));
        Ok(())
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }
}

/// Of a longer request only the first pages are followed.
const FOLLOWED_BYTES_MAX: u64 = 256 << 20;

/// The counters of one pass.
struct Counters {
    page_bytes: u64,
    ops: [u64; 4],
    /// Of reads, writes and trims: of requests to used pages, and to new ones.
    sizes: [[SizeCounts; 3]; 2],
    gaps: Summary,
    clustering: Clustering,
    uses: LastUses,
    /// Requests by the largest power of two, 2^index bytes, that divides their start address.
    aligned: [u64; 64],
    latest_ns: Option<u64>,
}

impl Counters {
    fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            ops: [0; 4],
            sizes: Default::default(),
            gaps: Summary::new(),
            clustering: Clustering::new(),
            uses: LastUses::default(),
            aligned: [0; 64],
            latest_ns: None,
        }
    }

    fn add(&mut self, request: &Request) {
        if let Some(latest_ns) = self.latest_ns.replace(request.arrival.ns) {
            self.gaps.add(request.arrival.ns - latest_ns);
            self.clustering.add(request.arrival.ns - latest_ns);
        }
        let Request { offset, length, op, .. } = *request;
        self.ops[op as usize] += 1;
        if op != Op::Flush {
            self.aligned[(offset.trailing_zeros() as usize).min(63)] += 1;
            let last = offset + length.min(FOLLOWED_BYTES_MAX) - 1;
            let is_new = self.uses.add(op, offset / self.page_bytes..=last / self.page_bytes);
            self.sizes[usize::from(is_new)][op as usize].add(length);
        }
    }

    /// The largest power of two, from 512 bytes to a page, to which at least 99 of 100 requests are aligned.
    fn align(&self) -> u64 {
        let at_least = |align: u64| self.aligned[align.trailing_zeros() as usize..].iter().sum::<u64>();
        let mut align = self.page_bytes;
        while align > 512 && at_least(align) * 100 < at_least(1) * 99 {
            align /= 2;
        }
        align
    }

    /// The sizes of each operation; where there are none, one alignment unit.
    fn sizes(&self, is_new: bool, align: u64) -> ByOpConfig {
        let [read, write, trim] = self.sizes[usize::from(is_new)].each_ref().map(|sizes| sizes.choice(align));
        ByOpConfig { read, write, trim }
    }

    fn config(&self) -> Result<SyntheticConfig, WorkloadError> {
        let requests: u64 = self.ops.iter().sum();
        let share = |op: Op| Share {
            ppb: (u128::from(self.ops[op as usize]) * 1_000_000_000 / u128::from(requests.max(1))) as u64,
        };
        if requests == self.ops[Op::Flush as usize] {
            return refuse("trace", "no request has an address; reads, writes or trims are needed");
        }
        let align = self.align();
        let (windows, rows) = self.uses.rows();
        let [size, reused] = [true, false].map(|is_new| self.sizes(is_new, align));
        let all = [&size, &reused].into_iter().flat_map(|by_op| [&by_op.read, &by_op.write, &by_op.trim]);
        let longest =
            |ChoiceConfig { sizes }: &ChoiceConfig| sizes.iter().map(|entry| entry.size.count).max();
        let space = all.filter_map(longest).max().unwrap_or(0).max(self.uses.pages() * self.page_bytes);
        let gaps = quantiles(&self.gaps);
        let arrival = if gaps.is_empty() {
            ArrivalConfig::default()
        } else {
            ArrivalConfig::Quantiles(QuantilesConfig { clustering: self.clustering.shares(&gaps), gaps })
        };
        let page = Bytes { count: self.page_bytes };
        Ok(SyntheticConfig {
            generator: GeneratorConfig::LruStack(LruStackConfig { page, reused, windows, rows }),
            requests,
            read_share: share(Op::Read),
            trim_share: share(Op::Trim),
            flush_share: share(Op::Flush),
            size: SizeConfig::ByOp(size),
            align: Bytes { count: align },
            space: Some(Bytes { count: space.next_multiple_of(self.page_bytes) }),
            arrival,
        })
    }
}
