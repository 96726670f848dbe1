//! The hook of garbage collection: the level above decides about each valid page of a victim.

use crate::marks::Marks;
use crate::stream::WriteStream;
use crate::weight::{Weight, Weights};
use coflash_base::{Lpn, Save};
use coflash_media::{Media, Mode, Slot};

/// A decision about a valid page of a GC victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Decision {
    /// The page is written to another block.
    Copy {
        /// The source of its data.
        source: CopySource,
        /// The stream of the target block: [`WriteStream::Gc`], or a stream of the FTL's
        /// [requirements](crate::Requirements).
        stream: WriteStream,
        /// The program mode.
        mode: Mode,
    },
    /// The page is copied as by [`COPY`](Self::COPY), and its outdated marks are cleared.
    CopyUnmarked,
    /// The page is dropped: another memory holds the data and has taken responsibility for it.
    Drop,
    /// The page is read into this slot of the cache above, which has the only copy from then on. A page that cannot be read
    /// is copied.
    MoveIn(Slot),
    /// The page is dropped, and the level above gives it up, too: what is written under its number later is another page.
    Evict,
}

impl Decision {
    /// A copy from flash to GC's own stream, for a page that no other memory holds.
    pub const COPY: Self =
        Self::Copy { source: CopySource::Flash, stream: WriteStream::Gc, mode: Mode::Normal };

    /// Whether the page takes no place in flash from now on.
    #[must_use]
    pub fn frees(self) -> bool {
        matches!(self, Self::Drop | Self::MoveIn(_) | Self::Evict)
    }

    /// Whether the decision is carried out without an operation of flash.
    #[must_use]
    pub fn takes_no_time(self) -> bool {
        matches!(self, Self::Drop | Self::Evict)
    }
}

/// The source of the data when GC moves a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum CopySource {
    /// The page of the victim.
    Flash,
    /// A slot of the device's cache, with the same or newer data. The mark of the device's memory is cleared.
    Slot(Slot),
}

/// The level above the FTL, as GC sees it. A cooperation scheme decides for its cache. What a hook leaves out costs no data.
pub trait GcHook {
    /// Decide about a valid page of a victim. Called once per page, before its copy. `marks` were set by
    /// [`Ftl::set_mark`](crate::Ftl::set_mark). After [`Decision::Drop`] and [`Decision::Evict`] the page is no longer mapped, so
    /// another memory must hold its data. The hook must not call back into the FTL.
    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, media: &mut M) -> Decision;

    /// A page was read into the slot that [`Decision::MoveIn`] named: it is the slot's page from now on. Returns the page that
    /// the slot held until now, clean: flash keeps it, without its mark.
    fn moved_in<M: Media>(&mut self, page: Lpn, slot: Slot, media: &mut M) -> Lpn;

    /// A page was programmed from [`CopySource::Slot`]: flash now holds the data of the slot. After a power cut the copy may
    /// not count until [`GcHook::moved`], so the slot must still be found as dirty.
    fn programmed_from(&mut self, slot: Slot);

    /// The copies from slots count from now on, whatever happens: their victim is erased, or GC pauses.
    fn moved<M: Media>(&mut self, media: &mut M);

    /// The slot of a page in the cache above; `None` if it is not cached.
    fn cached_at(&self, page: Lpn) -> Option<Slot>;

    /// Make the data of dropped pages durable elsewhere, before their block is erased. Returns the moment at which the
    /// erase may begin, `after` or later.
    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When;

    /// Whether all unmarked valid pages of a victim are copied as by [`Decision::COPY`]. Called for a victim
    /// that is cleaned as a whole, with the number of such pages. If true, `decide` is not called for them.
    fn copies_unmarked(&mut self, pages: u32) -> bool {
        let _ = pages;
        false
    }

    /// The weights of marked pages in a victim's cost, by age class. Called once per cleaned block; they may
    /// change within the [requirements](crate::Requirements). With a weight below [`Weight::FULL`] such pages
    /// must be dropped or lose their marks: otherwise GC would copy the same seemingly cheap pages again and
    /// again and never end. A higher weight makes a block a worse victim. A block without an invalid page is
    /// then the worst, so that GC always ends.
    fn weights(&mut self) -> Weights {
        Weights::all(Weight::FULL)
    }
}

/// Write the methods of a [`GcHook`] whose memory keeps dropped pages whatever happens, and with whose slots GC does nothing.
#[macro_export]
macro_rules! has_no_slots {
    () => {
        fn moved_in<M: coflash_media::Media>(
            &mut self,
            _: coflash_base::Lpn,
            _: coflash_media::Slot,
            _: &mut M,
        ) -> coflash_base::Lpn {
            unreachable!("no page moves into a slot")
        }

        fn programmed_from(&mut self, _: coflash_media::Slot) {}

        #[inline(always)]
        fn moved<M: coflash_media::Media>(&mut self, _: &mut M) {}

        fn cached_at(&self, _: coflash_base::Lpn) -> Option<coflash_media::Slot> {
            None
        }

        fn before_erase<M: coflash_media::Media>(&mut self, after: M::When, _: &mut M) -> M::When {
            after
        }
    };
}

#[deny(clippy::missing_trait_methods, reason = "a method left out would be that of another hook")]
impl<H: GcHook> GcHook for &mut H {
    #[inline(always)]
    fn decide<M: Media>(&mut self, page: Lpn, marks: Marks, media: &mut M) -> Decision {
        H::decide(self, page, marks, media)
    }

    fn moved_in<M: Media>(&mut self, page: Lpn, slot: Slot, media: &mut M) -> Lpn {
        H::moved_in(self, page, slot, media)
    }

    fn programmed_from(&mut self, slot: Slot) {
        H::programmed_from(self, slot);
    }

    #[inline]
    fn moved<M: Media>(&mut self, media: &mut M) {
        H::moved(self, media);
    }

    fn cached_at(&self, page: Lpn) -> Option<Slot> {
        H::cached_at(self, page)
    }

    fn copies_unmarked(&mut self, pages: u32) -> bool {
        H::copies_unmarked(self, pages)
    }

    fn before_erase<M: Media>(&mut self, after: M::When, media: &mut M) -> M::When {
        H::before_erase(self, after, media)
    }

    fn weights(&mut self) -> Weights {
        H::weights(self)
    }
}

/// A hook that knows of no other copies: every valid page is copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyAll;

impl GcHook for CopyAll {
    crate::has_no_slots!();

    #[inline(always)]
    fn decide<M: Media>(&mut self, _: Lpn, _: Marks, _: &mut M) -> Decision {
        Decision::COPY
    }

    fn copies_unmarked(&mut self, _: u32) -> bool {
        true
    }
}
