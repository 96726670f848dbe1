//! The distributions of sizes and of gaps, as a configuration has them.

use super::ratio;
use crate::info::{OpInfo, Summary, bin_of};
use coflash_base::{Bytes, Duration};
use coflash_workload::synthetic::quantiles::Quantile;
use coflash_workload::synthetic::size::{ByOpConfig, ChoiceConfig, WeightedSize};

/// The sizes of reads, writes and trims; of an operation without requests, those of another one.
pub(super) fn sizes(ops: [&OpInfo; 3]) -> ByOpConfig {
    let choice = |op: &OpInfo| {
        let histogram = &op.size_bytes.as_ref()?.histogram;
        let sizes = histogram.through.iter().zip(&histogram.counts);
        let weighted = |(&size, &count): (&u64, &u64)| WeightedSize {
            size: Bytes { count: size },
            weight: (ratio(count, op.requests).ppb / 1000).max(1) as u32,
        };
        Some(ChoiceConfig { sizes: sizes.map(weighted).collect() })
    };
    let any = ops.into_iter().find_map(choice).unwrap_or_default();
    let [read, write, trim] = ops.map(|op| choice(op).unwrap_or_else(|| any.clone()));
    ByOpConfig { read, write, trim }
}

/// The bins of an octave of gaps.
const BINS_PER_OCTAVE: usize = 4;

/// The gaps as quantiles, from the shortest to the longest gap of each bin; none if all gaps are zero.
pub(super) fn quantiles(gaps: &Summary) -> Vec<Quantile> {
    let (mut points, mut latest, mut counted) = (Vec::new(), None, 0);
    for (gap, count) in gaps.buckets() {
        let point = |counted| Quantile { share: ratio(counted, gaps.count()), gap: Duration { ns: gap } };
        let bin = bin_of(gap) * BINS_PER_OCTAVE / 16;
        if latest.replace(bin) == Some(bin) {
            points.pop();
        } else {
            points.push(point(counted));
        }
        counted += count;
        points.push(point(counted));
    }
    if gaps.max() == 0 { Vec::new() } else { points }
}
