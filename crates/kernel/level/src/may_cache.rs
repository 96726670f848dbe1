//! A device that may have a cache above its lowest level, or none. Where the lowest level is a cache itself, an empty cache above it
//! would cost an index of all its pages.

use crate::cooperates::Cooperates;
use crate::level::{Command, Level};
use crate::write_back::WriteBack;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Save, Time};
use coflash_ftl::{GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media};

/// A level, and perhaps a cache above it.
#[derive(Clone, Save)]
#[save(in_place)]
#[allow(clippy::large_enum_variant, reason = "a run has a single stack")]
pub enum MayCache<L> {
    /// There is a cache.
    Cached(WriteBack<L>),
    /// There is none.
    Bare(L),
}

/// Evaluate an expression for the variant of a [`MayCache`].
macro_rules! may_cache_dispatch {
    ($device:expr, $level:pat => $call:expr) => {
        match $device {
            MayCache::Cached($level) => $call,
            MayCache::Bare($level) => $call,
        }
    };
}

impl<L: Cooperates> MayCache<L> {
    /// The lowest level.
    #[must_use]
    pub fn lowest(&self) -> &L {
        match self {
            Self::Cached(cache) => cache.below(),
            Self::Bare(level) => level,
        }
    }

    /// See [`lowest`](Self::lowest).
    pub fn lowest_mut(&mut self) -> &mut L {
        match self {
            Self::Cached(cache) => cache.below_mut(),
            Self::Bare(level) => level,
        }
    }
}

impl<M: Media, L: Level<M> + Cooperates> Level<M> for MayCache<L> {
    crate::forward_level!(may_cache_dispatch);
}

impl<L: Cooperates> Cooperates for MayCache<L> {
    crate::cooperates::forward_cooperates!(may_cache_dispatch, lags: L::LAGS);
}
