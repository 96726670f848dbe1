//! A level that a stack may have or lack.

use crate::cooperates::Cooperates;
use crate::cooperation::Scheme;
use crate::level::{Command, Level, LostPages};
use crate::linked::Linked;
use crate::write_back::WriteBack;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Save, Time};
use coflash_ftl::{GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media};

/// A level over another one, or that one alone.
#[derive(Clone, Save)]
#[save(in_place)]
#[allow(clippy::large_enum_variant, reason = "a run has a single stack")]
pub enum May<U, L> {
    /// The level is there.
    Have(U),
    /// It is not.
    Lack(L),
}

/// Evaluate an expression for the variant of a [`May`].
macro_rules! may_dispatch {
    ($may:expr, $level:pat => $call:expr) => {
        match $may {
            May::Have($level) => $call,
            May::Lack($level) => $call,
        }
    };
}

pub(crate) use may_dispatch;

impl<U, L> May<U, L> {
    /// Put a level over another one, if there is such a level.
    pub(crate) fn over(below: L, above: Option<impl FnOnce(L) -> U>) -> Self {
        match above {
            Some(above) => Self::Have(above(below)),
            None => Self::Lack(below),
        }
    }
}

/// Write the accessors of the level below one that may be there.
macro_rules! below_or_lack {
    () => {
        /// The level below.
        #[must_use]
        pub fn below(&self) -> &L {
            match self {
                Self::Have(level) => level.below(),
                Self::Lack(below) => below,
            }
        }

        /// See [`below`](Self::below).
        pub fn below_mut(&mut self) -> &mut L {
            match self {
                Self::Have(level) => level.below_mut(),
                Self::Lack(below) => below,
            }
        }
    };
}

impl<L: Cooperates, S: Scheme> May<WriteBack<L, S>, L> {
    below_or_lack!();
}

impl<L> May<Linked<L>, L> {
    below_or_lack!();
}

impl<M: Media, U: Level<M>, L: Level<M>> Level<M> for May<U, L> {
    crate::forward_level!(may_dispatch);
}

impl<U: Cooperates, L: Cooperates> Cooperates for May<U, L> {
    crate::cooperates::forward_cooperates!(may_dispatch);
}
