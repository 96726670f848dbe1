//! Logarithmic bins for whole numbers: one for each number up to 32, and sixteen for each octave beyond.
//!
//! A bin is identified by its largest number. Powers of two are largest numbers, so counts up to them are exact. A
//! thousand bins cover all 64-bit numbers.

use serde::Serialize;

/// Sixteen bins per octave.
const STEPS_LOG2: u32 = 4;

/// The bin of `value`.
#[inline]
pub(crate) fn bin_of(value: u64) -> usize {
    let Some(below) = value.checked_sub(1) else { return 0 };
    let shift = (below | 1).ilog2().saturating_sub(STEPS_LOG2);
    1 + ((u64::from(shift) << STEPS_LOG2) + (below >> shift)) as usize
}

/// The largest number in a bin.
pub(crate) fn end_of(bin: usize) -> u64 {
    let Some(below) = bin.checked_sub(1) else { return 0 };
    let shift = (below >> STEPS_LOG2).saturating_sub(1);
    // The last bin ends at 2^64: this number is not representable.
    (((below - (shift << STEPS_LOG2)) as u128 + 1) << shift).min(u128::from(u64::MAX)) as u64
}

/// The counts of the bins; empty bins are omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histogram {
    /// The largest number of each bin, ascending.
    pub through: Vec<u64>,
    /// The counts.
    pub counts: Vec<u64>,
}

/// The counters of a histogram.
#[derive(Default)]
pub(super) struct Bins(Vec<u64>);

impl Bins {
    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        if bin >= self.0.len() {
            self.0.resize(bin + 1, 0);
        }
        self.0[bin] += 1;
    }

    pub(super) fn histogram(&self) -> Histogram {
        let full = self.0.iter().enumerate().filter(|&(_, &count)| count > 0);
        let (through, counts) = full.map(|(bin, &count)| (end_of(bin), count)).unzip();
        Histogram { through, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_one_another_and_each_number_lies_in_its_own() {
        assert_eq!((bin_of(u64::MAX), end_of(bin_of(u64::MAX))), (976, u64::MAX));
        for bin in 0..976 {
            let (end, next) = (end_of(bin), end_of(bin) + 1);
            assert_eq!((bin_of(end), bin_of(next)), (bin, bin + 1), "{end}");
            assert!((end_of(bin + 1) - end) as f64 <= end.max(32) as f64 / 16.0, "{end}");
        }
        for exact in [1, 2, 31, 32, 512, 12 << 10, 20 << 10, 31 << 20, 1 << 63] {
            assert_eq!(end_of(bin_of(exact)), exact);
        }
    }
}
