//! Recovery after a power cut, restarts, and the handshake of host and device.

use super::WriteBack;
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::{Event, Scheme};
use crate::level::Level;
use coflash_base::{Lpn, Misfit};
use coflash_cache::SlotId;
use coflash_ftl::{Ftl, GcHook, Io};
use coflash_media::Media;

impl<S: Scheme> WriteBack<Ftl, S> {
    /// Clean flash as far as a power cut during GC may require.
    pub(crate) fn finish_gc<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        flash.finish_gc(&mut inner)
    }
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// Recover an empty cache after a power cut, over a level that recovers by itself: `below` is told of which pages
    /// it must take nothing for current that it finds. Of a cache in the host [`connect`](Self::connect) follows.
    ///
    /// # Errors
    /// Words that a cache of this size cannot have written, or an error of the level below.
    pub fn recover_over<M: Media, E: From<Misfit>>(
        &mut self,
        words: &[u64],
        media: &mut M,
        below: impl FnOnce(&mut L, &dyn Fn(Lpn) -> bool, &mut M) -> Result<(), E>,
    ) -> Result<(), E> {
        let found = self.own.metadata.read(words)?;
        below(&mut self.below, &|page| found.has(page) || self.own.metadata.is_absent(page), media)?;
        self.own.metadata.restore(&found, &mut self.own.cache, media);
        self.note_sole_copies(media);
        Ok(())
    }

    /// All that was found in the cache is a sole copy.
    fn note_sole_copies<M: Media>(&mut self, media: &mut M) {
        for slot in self.own.cache.occupied().collect::<Vec<_>>() {
            self.became_sole(self.cached(slot));
        }
        // The power cut may have prevented it after the last epoch.
        self.own.metadata.renumber_if_last(&self.own.cache, media);
    }

    /// The handshake of host and device after either has restarted; `consistency.rs` has the table.
    ///
    /// # Errors
    /// A message was not answered.
    pub fn connect<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        // Flash may have dropped a granted page and erased it. After a restart the device may find an older
        // version instead.
        self.orphan_granted();
        self.below.send(Message::Disconnect);
        self.own.metadata.repeat_trims(&mut self.below, io)?;
        for slot in self.own.cache.occupied().collect::<Vec<_>>() {
            let event = if self.own.cache.is_dirty(slot) { Event::Written } else { Event::Filled };
            self.happened(event, self.cached(slot));
        }
        Ok(())
    }

    /// Make a clean copy the sole one: flash has dropped its page under a grant, or may have.
    #[cold]
    pub(super) fn orphan(&mut self, slot: SlotId) {
        super::consistency::orphan(slot, &mut self.own.consistency, &mut self.own.cache);
        self.happened(Event::BecameSole, self.cached(slot));
    }

    /// Take granted pages for sole copies: flash may have dropped them.
    fn orphan_granted(&mut self) {
        for slot in self.own.cache.occupied().collect::<Vec<_>>() {
            if self.below.is_granted(self.cached(slot)) {
                self.orphan(slot);
            }
        }
    }

    /// Lose what a restart loses: clean copies, and dirty ones if the memory is volatile. Returns the number of versions lost.
    pub(super) fn lose_volatile(&mut self) -> u64 {
        self.orphan_granted();
        let mut lost = 0;
        for slot in self.own.cache.occupied().collect::<Vec<_>>() {
            let is_dirty = self.own.cache.is_dirty(slot);
            if is_dirty && self.own.options.setting.is_volatile {
                self.became_clean(slot);
                lost += 1;
            }
            if !is_dirty || self.own.options.setting.is_volatile {
                self.own.cache.remove(slot);
            }
        }
        lost
    }
}
