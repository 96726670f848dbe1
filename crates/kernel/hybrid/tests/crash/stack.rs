//! The level under test with all that lies above it, and its recovery.

use crate::media::Fragile;
use crate::moments::When;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_ftl::{CopyAll, GcHook, Io, PageRead, PageWrite};
use coflash_hybrid::{Found, Hybrid, TierMedia};
use coflash_level::{
    BufferedDiskStack, Command, DiskStack, FlashStack, Level, Linked, MayCache, RecoveryError, WriteBack,
};
use coflash_media::{DieId, Ppn};
use coflash_testing::ImageError;

/// The levels, with the host's write buffer or without.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "a test has few")]
pub(crate) enum Stack {
    Unbuffered(DiskStack<Hybrid<When>>),
    Buffered(BufferedDiskStack<Hybrid<When>>),
}

macro_rules! stack_dispatch {
    ($stack:expr, $level:pat => $call:expr) => {
        match $stack {
            Stack::Unbuffered($level) => $call,
            Stack::Buffered($level) => $call,
        }
    };
}

impl<M: TierMedia<When = When>> Level<M> for Stack {
    coflash_level::forward_level!(stack_dispatch);
}

type Recovered = Result<(), RecoveryError<ImageError>>;

/// What recovery finds: pages of flash, erase counts, words of the cache.
pub(crate) struct FoundAll {
    pub(crate) pages: Vec<(Ppn, Option<Found>)>,
    pub(crate) erases: Vec<u32>,
    pub(crate) words: Vec<u64>,
    /// By sabotage, flash is not told what the cache above has.
    pub(crate) nobody_above: bool,
}

impl FoundAll {
    fn recover(
        &self,
        hybrid: &mut Hybrid<When>,
        is_above: &dyn Fn(Lpn) -> bool,
        start: When,
        media: &mut Fragile,
    ) -> Recovered {
        let is_above = |page| is_above(page) && !self.nobody_above;
        hybrid.recover(&self.pages, &self.erases, is_above, start, media).map(drop)
    }

    fn recover_device(
        &self,
        device: &mut MayCache<Hybrid<When>>,
        io: &mut Io<'_, Fragile, CopyAll>,
    ) -> Recovered {
        let start = io.start;
        match device {
            MayCache::Bare(hybrid) => self.recover(hybrid, &|_| false, start, io.media),
            MayCache::Cached(cache) => {
                cache.recover_over(&self.words, io.media, |hybrid, is_above, media| {
                    self.recover(hybrid, is_above, start, media)
                })
            }
        }
    }

    /// Host and device have lost power: a handshake follows.
    fn recover_both(
        &self,
        cache: &mut WriteBack<Linked<Hybrid<When>>>,
        io: &mut Io<'_, Fragile, CopyAll>,
    ) -> Recovered {
        let start = io.start;
        cache.recover_over(&self.words, io.media, |link, is_above, media| {
            self.recover(link.below_mut(), is_above, start, media)
        })?;
        cache.connect(io).map_err(RecoveryError::Flash)
    }
}

impl Stack {
    pub(crate) fn recover(&mut self, found: &FoundAll, io: &mut Io<'_, Fragile, CopyAll>) -> Recovered {
        match self {
            Self::Unbuffered(FlashStack::Plain(link)) => found.recover_device(link.below_mut(), io),
            Self::Unbuffered(FlashStack::HostCache(cache)) => found.recover_both(cache, io),
            Self::Buffered(FlashStack::Plain(buffer)) => {
                found.recover_device(buffer.below_mut().below_mut(), io)
            }
            Self::Buffered(FlashStack::HostCache(buffer)) => found.recover_both(buffer.below_mut(), io),
        }
    }

    /// The words of the cache above.
    pub(crate) fn words(&self) -> u32 {
        let of = |device: &MayCache<Hybrid<When>>| match device {
            MayCache::Cached(cache) => cache.layout().words(),
            MayCache::Bare(_) => 0,
        };
        match self {
            Self::Unbuffered(FlashStack::Plain(link)) => of(link.below()),
            Self::Unbuffered(FlashStack::HostCache(cache)) => cache.layout().words(),
            Self::Buffered(FlashStack::Plain(buffer)) => of(buffer.below().below()),
            Self::Buffered(FlashStack::HostCache(buffer)) => buffer.below().layout().words(),
        }
    }
}
