//! The tier hears what the levels above hold, and answers them. See `above.rs`.

use super::Tier;
use coflash_base::{IdSet, Lpn};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{AgeClass, Marks};
use coflash_level::Message;
use coflash_media::Memory;

fn in_flash(slot: SlotId) -> Lpn {
    Lpn::new(slot.get())
}

impl Tier {
    /// Hear a message of a cache or write buffer above.
    pub(crate) fn hear(&mut self, message: Message) {
        match message {
            Message::Announce(_) | Message::Shadow(_, Memory::HostBuffer | Memory::Host, _)
                if !self.above.tracks_host => {}
            Message::Mark(page) => self.set_mark(page.lpn, Memory::Device, true),
            Message::Unmark(page) => self.set_mark(page.lpn, Memory::Device, false),
            Message::Announce(page) => self.set_mark(page.lpn, Memory::HostBuffer, true),
            Message::Shadow(page, memory, newer) => self.set_mark(page, memory, newer),
            Message::Invalidate(page) => self.supersede(page.lpn),
            Message::Age(page, class) => self.age(page, class),
            Message::Weigh(weights) => self.ftl.reweigh(weights),
            Message::TrackHost => {
                self.above.tracks_host = true;
                self.ftl.track_host();
            }
            Message::Disconnect => {
                let pages: Vec<_> = self.marked().collect();
                pages.into_iter().for_each(|page| self.set_mark(page, Memory::Device, false));
            }
            // The trim itself follows. A page of the disks has the same number wherever it is cached.
            Message::Forget(_) | Message::Moved(..) => {}
        }
    }

    /// The pages that are marked for the device's memory.
    fn marked(&self) -> impl Iterator<Item = Lpn> {
        let pages = (0..self.above.pages as u32).map(Lpn::new);
        pages.filter(|&page| self.above.marks(page).device)
    }

    fn set_mark(&mut self, page: Lpn, memory: Memory, marked: bool) {
        if !marked && self.above.marks.is_none() {
            return;
        }
        let pages = self.above.pages;
        let [host, device] = self.above.marks.get_or_insert_with(|| [IdSet::new(pages), IdSet::new(pages)]);
        let bits = if memory == Memory::Device { device } else { host };
        bits.set(page, marked);
        if let Some(slot) = self.cache().lookup(page) {
            self.ftl.set_mark(in_flash(slot), memory, marked);
        }
    }

    fn age(&mut self, page: Lpn, class: AgeClass) {
        if let Some(slot) = self.cache().lookup(page) {
            self.ftl.age(in_flash(slot), class);
        }
    }

    /// A durable cache above has newer data of a page: the one in flash is no longer needed, and need not be destaged. A group that
    /// has it in the buffer leaves it out.
    fn supersede(&mut self, page: Lpn) {
        self.fetches.cancel(page, 1);
        self.set_mark(page, Memory::Device, false);
        if let Some(slot) = self.cache().lookup(page) {
            self.above.counters.superseded_pages += 1;
            self.replacer.remove(slot);
            self.ftl.supersede(in_flash(slot));
        }
    }

    /// A write or trim of a page has come: what was said of the page before it is void. Only what the host writes itself, or trims, is
    /// no longer dirty there.
    pub(crate) fn comes_down(&mut self, page: Lpn, from_host: bool) {
        self.set_mark(page, Memory::Device, false);
        if from_host {
            self.set_mark(page, Memory::HostBuffer, false);
        }
        if let Some(sole) = &mut self.above.sole {
            sole.set(page, false);
        }
        if let Some((_, is_newest)) = self.above.leaving.get_mut(&page) {
            *is_newest = false;
        }
    }

    /// A page has got a slot, and will be programmed.
    pub(crate) fn enters(&mut self, page: Lpn, slot: SlotId) {
        if self.above.marks.is_some() {
            self.ftl.set_mark(in_flash(slot), Memory::HostBuffer, self.above.marks(page).host);
        }
    }

    /// A page that entered is in flash.
    pub(crate) fn entered(&mut self, page: Lpn, slot: SlotId) {
        if self.above.marks(page).device {
            self.ftl.set_mark(in_flash(slot), Memory::Device, true);
        }
    }

    /// The memories above with other data of a page than flash, as far as flash has the page.
    pub(crate) fn shadows(&self, page: Lpn) -> Marks {
        let slot = self.cache().lookup(page);
        slot.and_then(|slot| self.ftl.marks(in_flash(slot))).unwrap_or_default()
    }

    /// The page of the disks whose data a page of flash holds.
    pub(crate) fn seen_as(&self, page: Lpn) -> Option<Lpn> {
        let slot = SlotId::new(page.get());
        let is_cached = page.get() < self.cache().capacity() && self.cache().is_occupied(slot);
        is_cached.then(|| self.cache().page_of(slot))
    }

    /// Whether a cache above may take in a page now. See [`Cooperates::admits`](coflash_level::Cooperates::admits).
    pub(crate) fn admits(&self, page: Lpn, rest: bool) -> bool {
        let cache = self.cache();
        // A clean page is no room where caches share an order: the next to leave may be dirty, and a page that leaves a cache above would
        // go past flash.
        let has_room = !cache.is_full();
        let is_here = || {
            let is_brought = self.above.brought == Some(page);
            cache.lookup(page).is_some() && !self.replacer.is_overwritten(page) && !is_brought
        };
        !self.bypass && has_room && (!rest || is_here())
    }

    /// Panic unless flash and a cache above agree. For tests.
    pub(crate) fn assert_agrees(&self, above: &Cache) {
        for slot in self.cache().occupied() {
            let page = self.cache().page_of(slot);
            let marks = self.ftl.marks(in_flash(slot)).expect("a cached page is in flash");
            assert!(
                !marks.device || above.lookup(page).is_some(),
                "{page:?} is marked, so it is cached above"
            );
            assert!(!self.above.is_sole(page), "{page:?} is in flash, and was said to be above only");
        }
        for page in (0..self.above.pages as u32).map(Lpn::new).filter(|&page| self.above.is_sole(page)) {
            let dirty = above.lookup(page).is_some_and(|slot| above.is_dirty(slot));
            assert!(dirty, "{page:?} was dropped by GC, so the cache above has to write it");
        }
    }
}
