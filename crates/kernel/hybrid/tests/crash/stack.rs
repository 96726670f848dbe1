//! The recovery of the level under test with all that lies above it.

use crate::media::Fragile;
use crate::moments::When;
use coflash_base::Lpn;
use coflash_ftl::{CopyAll, Io};
use coflash_hybrid::{Found, Hybrid};
use coflash_level::{RecoveryError, Tower};
use coflash_media::Ppn;
use coflash_testing::ImageError;

/// The levels, with the host's write buffer or without.
pub(crate) type Stack = Tower<Hybrid<When>>;

/// What recovery finds: pages of flash, erase counts, words of the cache.
pub(crate) struct FoundAll {
    pub(crate) pages: Vec<(Ppn, Option<Found>)>,
    pub(crate) erases: Vec<u32>,
    pub(crate) words: Vec<u64>,
    /// By sabotage, flash is not told what the cache above has.
    pub(crate) nobody_above: bool,
}

impl FoundAll {
    /// Host and device have lost power.
    pub(crate) fn recover(
        &self,
        stack: &mut Stack,
        io: &mut Io<'_, Fragile, CopyAll>,
    ) -> Result<(), RecoveryError<ImageError>> {
        let start = io.start;
        stack.recover_over(&self.words, io, |hybrid, is_above, media| {
            let is_above = |page: Lpn| is_above(page) && !self.nobody_above;
            hybrid.recover(&self.pages, &self.erases, is_above, start, media).map(drop)
        })
    }
}
