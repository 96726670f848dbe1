//! The time at which each page was last written.

use coflash_base::{Index, Lpn, Save};

/// The time of the last write of each logical page, in pages written. Times are stored in 32 bits: an age of
/// 2³² pages or more looks younger. 4 bytes per page.
#[derive(Clone, Save)]
pub(super) struct Times(Vec<u32>);

impl Times {
    pub(super) fn new(pages: u32) -> Self {
        Self(vec![0; pages as usize])
    }

    /// The number of pages written since the last write of a page.
    pub(super) fn age(&self, lpn: Lpn, now: u64) -> u64 {
        (now as u32).wrapping_sub(self.0[lpn.index()]).into()
    }

    pub(super) fn set(&mut self, lpn: Lpn, now: u64) {
        self.0[lpn.index()] = now as u32;
    }
}
