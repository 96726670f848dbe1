//! Looking ahead: memory is asked for before it is needed.
//!
//! A processor waits a hundred times longer for main memory than for an addition. The map entry of a page lies somewhere
//! in gigabytes, and the block that it names somewhere else: two waits, one after the other, if both began with the
//! service of the page. Where the next pages are known, each is looked at two or three times before its service: the waits
//! overlap.
//!
//! Prefetches are hints: no value changes, so no result can depend on them.

/// How long before its service a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Long before: nothing of it is loaded.
    Far,
    /// Shortly before: the memory requested by the far look has arrived.
    Near,
    /// At last: that of the near look has arrived.
    Last,
}

impl Ahead {
    /// The number of pages or requests that the look comes before the service. Main memory takes about 100 ns, a page 20 to
    /// 50 ns.
    #[inline(always)]
    #[must_use]
    pub const fn distance(self) -> usize {
        match self {
            Self::Far => 8,
            Self::Near => 4,
            Self::Last => 2,
        }
    }

    /// The looks that pay for levels with tables of this many bytes. Tables of a mebibyte stay in a processor's own cache; so do the
    /// lists of blocks, a 64th of all, which the last look is for.
    #[must_use]
    pub const fn that_pay(bytes: usize) -> &'static [Self] {
        match bytes >> 20 {
            0 => &[],
            1..64 => &[Self::Far, Self::Near],
            64.. => &[Self::Far, Self::Near, Self::Last],
        }
    }
}

/// Ask for the memory of an item of a table. Without effect beyond the table, and on processors other than x86-64 and
/// AArch64.
#[inline(always)]
#[allow(unsafe_code, reason = "no safe function of the language asks for memory without reading it")]
pub fn prefetch<T>(table: &[T], index: usize) {
    let item = table.as_ptr().wrapping_add(index);
    for line in (0..size_of::<T>()).step_by(64).map(|byte| item.wrapping_byte_add(byte)) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction reads and writes nothing, and does not fault at any address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.cast());
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(readonly, nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_the_tables_the_more_looks_pay() {
        let looks =
            [(0, 0), ((1 << 20) - 1, 0), (1 << 20, 2), ((64 << 20) - 1, 2), (64 << 20, 3), (1 << 40, 3)];
        looks
            .into_iter()
            .for_each(|(bytes, looks)| assert_eq!(Ahead::that_pay(bytes).len(), looks, "{bytes}"));
    }

    #[test]
    fn any_index_is_allowed_and_nothing_changes() {
        let table = [3_u64, 1, 4];
        for index in [0, 2, 3, 1 << 40, usize::MAX] {
            prefetch(&table, index);
            prefetch::<u64>(&[], index);
            prefetch(&[()], index);
        }
        assert_eq!(table, [3, 1, 4]);
    }
}
