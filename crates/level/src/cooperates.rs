//! Cooperation: messages between a cache and the flash below it, in addition to reads and writes.
//!
//! In one controller a message arrives at once. Across a link it becomes a notice and arrives later;
//! [`crate::Linked`] describes the consequences. A cache in between forwards messages to flash.

use coflash_base::{Duration, Lpn};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{AgeClass, Ftl, Marks, Weights};
use coflash_media::Memory;

/// A page that has a copy in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached {
    /// The page.
    pub lpn: Lpn,
    /// The slot of its copy.
    pub slot: SlotId,
}

/// A level below a cooperating cache. The default methods ignore the messages.
pub trait Cooperates {
    /// Whether messages arrive with a delay. Then flash may use grants, and answers may wait, without an
    /// action of the cache.
    const LAGS: bool = false;

    /// Mark a page: cache and flash hold the same data (CDM: the flash page is *removable*).
    fn mark(&mut self, page: Cached) {
        let _ = page;
    }

    /// Unmark a page before its clean copy is evicted, or after it was overwritten: flash and cache no longer
    /// hold the same data.
    fn unmark(&mut self, page: Cached) {
        let _ = page;
    }

    /// Invalidate the flash copy, if any: the cached copy will be written. Called for each write to the cached copy.
    fn invalidate(&mut self, page: Cached) {
        let _ = page;
    }

    /// Note that a trim has removed the cached copy. The trim itself follows.
    fn forget(&mut self, page: Cached) {
        let _ = page;
    }

    /// Whether flash may hold a page, as far as the cache knows without asking.
    fn may_hold(&self, lpn: Lpn) -> bool {
        let _ = lpn;
        true
    }

    /// Note that the newest version of a page is in another slot now. Earlier messages about the first slot
    /// apply to it.
    fn moved(&mut self, page: Cached, to: SlotId) {
        let _ = (page, to);
    }

    /// Whether flash may drop a page without asking.
    fn is_granted(&self, page: Cached) -> bool {
        let _ = page;
        false
    }

    /// Forget all messages, and clear the marks: one side has restarted.
    fn disconnect(&mut self) {}

    /// Whether flash holds the data of a clean copy and will keep it after the copy is evicted.
    fn keeps(&mut self, page: Cached) -> bool {
        let _ = page;
        true
    }

    /// Change the age class of a marked page.
    fn age(&mut self, lpn: Lpn, class: AgeClass) {
        let _ = (lpn, class);
    }

    /// Announce that a write buffer in the host holds newer data of a page (ShadowGC), until the page is written or
    /// trimmed.
    fn announce(&mut self, page: Cached) {
        let _ = page;
    }

    /// Set whether a memory holds newer data of a page than flash (ShadowGC).
    fn shadow(&mut self, lpn: Lpn, memory: Memory, newer: bool) {
        let _ = (lpn, memory, newer);
    }

    /// The memories with newer data of a page than flash, as far as flash knows.
    fn shadows(&self, lpn: Lpn) -> Marks {
        let _ = lpn;
        Marks::NONE
    }

    /// Set the cost weights of marked pages.
    fn weigh(&mut self, weights: Weights) {
        let _ = weights;
    }

    /// Take the next cached page that flash has dropped under a grant, as far as is known; return its slot.
    fn next_dropped(&mut self, cache: &Cache) -> Option<SlotId> {
        let _ = cache;
        None
    }

    /// Take the remaining time that the answer to the current page must wait for messages.
    fn take_pending_wait(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Allocate the marks for newer data in the host's memory.
    fn track_host(&mut self) {}

    /// Pass the FTL at the bottom to `look`, for inspection.
    fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T;

    /// Panic unless cache and flash agree, as far as each knows the other. `check` is the check of the
    /// scheme, for messages that arrive at once. For tests.
    fn assert_agrees(&self, cache: &Cache, check: impl FnOnce(&Cache, &Ftl)) {
        let _ = (cache, check);
    }
}

/// The levels of a device below a link, without a cache of its own.
pub trait OverFlash: Cooperates {
    /// The FTL at the bottom, for recovery.
    fn flash_mut(&mut self) -> &mut Ftl;
}

impl OverFlash for Ftl {
    fn flash_mut(&mut self) -> &mut Ftl {
        self
    }
}

/// Flash in the same controller: messages arrive at once.
impl Cooperates for Ftl {
    #[inline(always)]
    fn mark(&mut self, page: Cached) {
        self.set_mark(page.lpn, Memory::Device, true);
    }

    #[inline(always)]
    fn unmark(&mut self, page: Cached) {
        self.set_mark(page.lpn, Memory::Device, false);
    }

    #[inline(always)]
    fn invalidate(&mut self, page: Cached) {
        self.supersede(page.lpn);
    }

    #[inline(always)]
    fn keeps(&mut self, page: Cached) -> bool {
        self.lookup(page.lpn).is_some()
    }

    #[inline(always)]
    fn may_hold(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some()
    }

    fn disconnect(&mut self) {
        let marked: Vec<Lpn> = self.mapped().filter(|&lpn| self.is_marked(lpn)).collect();
        for lpn in marked {
            self.set_mark(lpn, Memory::Device, false);
        }
    }

    #[inline(always)]
    fn age(&mut self, lpn: Lpn, class: AgeClass) {
        Self::age(self, lpn, class);
    }

    fn announce(&mut self, page: Cached) {
        self.set_mark(page.lpn, Memory::Host, true);
    }

    #[inline(always)]
    fn shadow(&mut self, lpn: Lpn, memory: Memory, newer: bool) {
        self.set_mark(lpn, memory, newer);
    }

    #[inline(always)]
    fn shadows(&self, lpn: Lpn) -> Marks {
        self.marks(lpn).unwrap_or_default()
    }

    fn weigh(&mut self, weights: Weights) {
        self.reweigh(weights);
    }

    fn track_host(&mut self) {
        Self::track_host(self);
    }

    fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T {
        look(self)
    }

    fn assert_agrees(&self, cache: &Cache, check: impl FnOnce(&Cache, &Ftl)) {
        check(cache, self);
    }
}

/// Forward all messages to the level in the field `below`. The argument is the macro that names it. It imports the types that
/// the methods name.
macro_rules! forward_cooperates {
    ($dispatch:ident) => {
        const LAGS: bool = L::LAGS;

        coflash_base::forward_to_variant! { $dispatch;
            fn mark(&mut self, page: Cached);
            fn unmark(&mut self, page: Cached);
            fn invalidate(&mut self, page: Cached);
            fn forget(&mut self, page: Cached);
            fn may_hold(&self, lpn: Lpn) -> bool;
            fn moved(&mut self, page: Cached, to: SlotId);
            fn is_granted(&self, page: Cached) -> bool;
            fn disconnect(&mut self);
            fn keeps(&mut self, page: Cached) -> bool;
            fn age(&mut self, lpn: Lpn, class: AgeClass);
            fn announce(&mut self, page: Cached);
            fn shadow(&mut self, lpn: Lpn, memory: Memory, newer: bool);
            fn shadows(&self, lpn: Lpn) -> Marks;
            fn weigh(&mut self, weights: Weights);
            fn next_dropped(&mut self, cache: &Cache) -> Option<SlotId>;
            fn take_pending_wait(&mut self) -> Duration;
            fn track_host(&mut self);
        }

        fn with_flash<T>(&self, look: impl FnOnce(&Ftl) -> T) -> T {
            self.below.with_flash(look)
        }

        fn assert_agrees(&self, cache: &Cache, check: impl FnOnce(&Cache, &Ftl)) {
            self.below.assert_agrees(cache, check);
        }
    };
}

pub(crate) use forward_cooperates;
