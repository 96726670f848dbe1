//! Reading ahead of sequential reads, in place of the system.
//!
//! The system's own brings pages in as large pieces, and a later write of a part of a piece then costs up to twenty times as much.

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most that is read ahead, in bytes.
const AHEAD_BYTES_MAX: u64 = 256 << 10;

/// The last reads of a file. If several threads read, too much or too little is read ahead.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    /// Where the current run of reads began, each right after the one before.
    begin: AtomicU64,
    /// Where it has come to.
    end: AtomicU64,
    /// Where reading ahead has come to.
    ahead: AtomicU64,
}

impl ReadAhead {
    /// Take the place of the system's own for a file.
    pub(crate) fn instead_of_the_system(file: &File) -> Self {
        advise(file, None);
        Self::default()
    }

    /// Note the next read of the file, and have the system begin to read what will probably follow.
    pub(crate) fn before(&self, file: &File, offset: u64, length: u64) {
        if let Some(range) = self.next(offset, length) {
            advise(file, Some(range));
        }
    }

    /// The range to be read ahead, if any: as much as the run has read so far, in pieces of half of that at least.
    fn next(&self, offset: u64, length: u64) -> Option<Range<u64>> {
        let end = offset + length;
        if self.end.swap(end, Relaxed) != offset {
            self.begin.store(offset, Relaxed);
            self.ahead.store(end, Relaxed);
            return None;
        }
        let wanted = end.saturating_sub(self.begin.load(Relaxed)).min(AHEAD_BYTES_MAX);
        let ahead = self.ahead.load(Relaxed).max(end);
        if ahead > end + wanted / 2 {
            return None;
        }
        self.ahead.store(end + wanted, Relaxed);
        Some(ahead..end + wanted)
    }
}

/// Tell the system that a range of a file will be read soon, or of a file that it is read without order. What it does with that
/// changes no byte, so failures are ignored.
fn advise(file: &File, soon: Option<Range<u64>>) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Advice, fadvise};
        let advice = if soon.is_some() { Advice::WillNeed } else { Advice::Random };
        let Range { start, end } = soon.unwrap_or_default();
        let _ = fadvise(file, start, std::num::NonZeroU64::new(end - start), advice);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, soon);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    #[test]
    fn only_reads_in_order_are_read_ahead_of() {
        let reads = ReadAhead::default();
        assert!([9, 3, 4, 7, 8, 9, 1].map(|page| reads.next(page * PAGE, PAGE)).iter().flatten().count() > 0);
        let jumps = ReadAhead::default();
        assert!([9, 3, 5, 3, 2, 1].iter().all(|page| jumps.next(page * PAGE, PAGE).is_none()));
    }

    #[test]
    fn a_run_is_read_ahead_of_once_in_growing_pieces() {
        let (reads, pages) = (ReadAhead::default(), 1000);
        let mut ahead = 2 * PAGE;
        let mut pieces = Vec::new();
        for page in 7..7 + pages {
            let (begin, end) = (7 * PAGE, (page + 1) * PAGE);
            if let Some(range) = reads.next(page * PAGE, PAGE) {
                assert_eq!(range.start - begin, ahead, "each byte once, and nothing that is read now");
                ahead = range.end - begin;
                pieces.push(range.end - range.start);
            }
            let most = (end - begin).min(AHEAD_BYTES_MAX);
            assert!(page == 7 || ((end + most / 2 - begin)..=(end + most - begin)).contains(&ahead));
        }
        assert!(pieces.len() < 60, "{pieces:?}");
        assert_eq!(reads.next(2 * PAGE, PAGE), None, "another run");
        assert_eq!(reads.next(3 * PAGE, PAGE), Some(4 * PAGE..6 * PAGE), "which begins anew");
    }
}
