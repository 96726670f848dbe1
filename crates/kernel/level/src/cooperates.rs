//! Cooperation: messages from a cache to the flash below it, in addition to reads and writes, and what the cache learns in return.
//!
//! In one controller a message arrives at once. Across a link it becomes a notice and arrives later;
//! [`crate::Linked`] describes the consequences. A level in between says about each message what becomes of it: none of these
//! methods has a default, and [`Message`] is matched without a wildcard.

use coflash_base::{Duration, Lpn, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{AgeClass, Ftl, Marks, Weights};
use coflash_media::Memory;

/// A page that has a copy in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct Cached {
    /// The page.
    pub lpn: Lpn,
    /// The slot of its copy.
    pub slot: SlotId,
}

/// A message from a cache to the levels below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Message {
    /// Cache and flash hold the same data (CDM: the flash page is *removable*).
    Mark(Cached),
    /// They no longer do: the clean copy is about to be evicted, or was overwritten.
    Unmark(Cached),
    /// The flash copy, if any, is invalid: the cached copy will be written. Sent for each write to the cached copy.
    Invalidate(Cached),
    /// A trim has removed the cached copy. The trim itself follows.
    Forget(Cached),
    /// The newest version of a page is in another slot now. Earlier messages about the first slot apply to it.
    Moved(Cached, SlotId),
    /// The age class of a marked page.
    Age(Lpn, AgeClass),
    /// The cost weights of marked pages.
    Weigh(Weights),
    /// A write buffer in the host holds newer data of a page (ShadowGC), until the page is written or trimmed.
    Announce(Cached),
    /// Whether a memory holds newer data of a page than flash (ShadowGC).
    Shadow(Lpn, Memory, bool),
    /// Newer data in the host's memory will be announced: flash allocates the marks for it.
    TrackHost,
    /// One side has restarted: all messages are void, and the marks go.
    Disconnect,
}

/// A level below a cooperating cache.
pub trait Cooperates {
    /// Whether messages arrive with a delay. Then flash may use grants, and answers may wait, without an
    /// action of the cache.
    fn lags(&self) -> bool;

    /// Send a message down.
    fn send(&mut self, message: Message);

    /// The memories with newer data of a page than flash, as far as flash knows.
    fn shadows(&self, lpn: Lpn) -> Marks;

    /// Whether flash may hold a page, as far as the cache knows without asking.
    fn may_hold(&self, lpn: Lpn) -> bool;

    /// Whether a cache above may take in a page that it lacks, now; `rest`: with data that this level has to have at hand. A
    /// flash cache before disks refuses pages that come from the disks, pages that go past it, and, while it is full of pages on
    /// their way to the disks, all: a cache that takes in a page may have to evict another one.
    fn admits(&self, lpn: Lpn, rest: bool) -> bool;

    /// The page of this level whose data a page of flash holds.
    fn seen_as(&self, page: Lpn) -> Option<Lpn>;

    /// Whether flash holds the data of a clean copy and will keep it after the copy is evicted.
    fn keeps(&mut self, page: Cached) -> bool;

    /// Whether flash may drop a page without asking.
    fn is_granted(&self, page: Cached) -> bool;

    /// Take the next cached page that flash has dropped under a grant, as far as is known; return its slot.
    fn next_dropped(&mut self, cache: &Cache) -> Option<SlotId>;

    /// Take the remaining time that the answer to the current page must wait for messages.
    fn take_pending_wait(&mut self) -> Duration;

    /// The FTL at the bottom, to be looked at.
    fn flash(&self) -> &Ftl;

    /// Panic unless cache and flash agree, as far as each knows the other. `check` is the check of the
    /// scheme, for messages that arrive at once. For tests.
    fn assert_agrees(&self, cache: &Cache, check: impl FnOnce(&Cache, &Ftl));
}

/// Flash in the same controller: messages arrive at once.
impl Cooperates for Ftl {
    crate::arrives_at_once!();

    #[inline(always)]
    fn send(&mut self, message: Message) {
        match message {
            Message::Mark(page) => self.set_mark(page.lpn, Memory::Device, true),
            Message::Unmark(page) => self.set_mark(page.lpn, Memory::Device, false),
            Message::Invalidate(page) => self.supersede(page.lpn),
            Message::Age(lpn, class) => self.age(lpn, class),
            Message::Weigh(weights) => self.reweigh(weights),
            Message::Announce(page) => self.set_mark(page.lpn, Memory::Host, true),
            Message::Shadow(lpn, memory, newer) => self.set_mark(lpn, memory, newer),
            Message::TrackHost => self.track_host(),
            Message::Disconnect => {
                let marked: Vec<Lpn> = self.mapped().filter(|&lpn| self.is_marked(lpn)).collect();
                marked.into_iter().for_each(|lpn| self.set_mark(lpn, Memory::Device, false));
            }
            // The trim itself follows. Flash knows no slots.
            Message::Forget(_) | Message::Moved(..) => {}
        }
    }

    #[inline(always)]
    fn shadows(&self, lpn: Lpn) -> Marks {
        self.marks(lpn).unwrap_or_default()
    }

    #[inline(always)]
    fn may_hold(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some()
    }

    #[inline(always)]
    fn admits(&self, _: Lpn, _: bool) -> bool {
        true
    }

    #[inline(always)]
    fn seen_as(&self, page: Lpn) -> Option<Lpn> {
        Some(page)
    }

    #[inline(always)]
    fn keeps(&mut self, page: Cached) -> bool {
        self.lookup(page.lpn).is_some()
    }

    fn flash(&self) -> &Ftl {
        self
    }

    fn assert_agrees(&self, cache: &Cache, check: impl FnOnce(&Cache, &Ftl)) {
        check(cache, self);
    }
}

/// Write the part of [`Cooperates`] about delays, for a level where messages arrive at once: there are no grants, and nothing to
/// wait for.
#[macro_export]
macro_rules! arrives_at_once {
    () => {
        #[inline(always)]
        fn lags(&self) -> bool {
            false
        }

        #[inline(always)]
        fn is_granted(&self, _: $crate::Cached) -> bool {
            false
        }

        #[inline(always)]
        fn next_dropped(&mut self, _: &coflash_cache::Cache) -> Option<coflash_cache::SlotId> {
            None
        }

        #[inline(always)]
        fn take_pending_wait(&mut self) -> coflash_base::Duration {
            coflash_base::Duration::ZERO
        }
    };
}

/// Write all of [`Cooperates`] but `send`, `shadows`, `admits`, `seen_as` and `flash`, for a level that takes no marks from the cache above: the
/// cache takes it for flash that keeps each page.
#[macro_export]
macro_rules! takes_no_marks {
    () => {
        $crate::arrives_at_once!();

        #[inline(always)]
        fn may_hold(&self, _: coflash_base::Lpn) -> bool {
            true
        }

        #[inline(always)]
        fn keeps(&mut self, _: $crate::Cached) -> bool {
            true
        }

        fn assert_agrees(
            &self,
            _: &coflash_cache::Cache,
            _: impl FnOnce(&coflash_cache::Cache, &coflash_ftl::Ftl),
        ) {
        }
    };
}

/// Write [`Cooperates`] for a level that adds nothing to it. The argument is the macro that names the level below. What it leaves
/// out does not compile.
macro_rules! forward_cooperates {
    ($dispatch:ident) => {
        coflash_base::forward_to_variant! { $dispatch;
            fn lags(&self) -> bool;
            fn send(&mut self, message: crate::Message);
            fn shadows(&self, lpn: Lpn) -> coflash_ftl::Marks;
            fn may_hold(&self, lpn: Lpn) -> bool;
            fn admits(&self, lpn: Lpn, rest: bool) -> bool;
            fn seen_as(&self, page: Lpn) -> Option<Lpn>;
            fn keeps(&mut self, page: crate::Cached) -> bool;
            fn is_granted(&self, page: crate::Cached) -> bool;
            fn next_dropped(&mut self, cache: &coflash_cache::Cache) -> Option<coflash_cache::SlotId>;
            fn take_pending_wait(&mut self) -> Duration;
            fn flash(&self) -> &coflash_ftl::Ftl;
        }

        fn assert_agrees(
            &self,
            cache: &coflash_cache::Cache,
            check: impl FnOnce(&coflash_cache::Cache, &coflash_ftl::Ftl),
        ) {
            $dispatch!(self, below => below.assert_agrees(cache, check));
        }
    };
}

pub(crate) use forward_cooperates;
