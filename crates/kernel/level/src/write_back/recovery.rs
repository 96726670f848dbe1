//! Recovery after a power cut, restarts, and the handshake of host and device.

use super::WriteBack;
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::{Event, Scheme};
use crate::level::{Level, LostPages, Restart};
use crate::recovery_error::RecoveryError;
use coflash_base::{Misfit, Time};
use coflash_ftl::{Ftl, GcHook, Io};
use coflash_media::{Contents, Media};

impl<S: Scheme> WriteBack<Ftl, S> {
    /// Recover an empty cache over an erased FTL after a power cut.
    pub(crate) fn recover<M: Media, H: GcHook>(
        &mut self,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        self.metadata.recover(contents, &mut self.below, &mut self.cache, io.media)?;
        self.found_sole();
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        flash.finish_gc(&mut inner).map_err(RecoveryError::Flash)
    }
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// Recover an empty cache in the host after the host has lost power. [`connect`](Self::connect) follows.
    pub(crate) fn recover_host<M: Media>(&mut self, words: &[u64], media: &mut M) -> Result<(), Misfit> {
        let found = self.metadata.read(words)?;
        self.metadata.restore(&found, &mut self.cache, media);
        self.found_sole();
        Ok(())
    }

    /// All that was found in the cache is a sole copy.
    fn found_sole(&mut self) {
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            self.became_sole(self.cached(slot));
        }
    }

    /// The handshake of host and device after either has restarted, as that of [`Consistent`](crate::Consistent).
    pub(crate) fn connect<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        self.orphan_granted();
        self.below.send(Message::Disconnect);
        self.metadata.repeat_trims(&mut self.below, io)?;
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            let event = if self.cache.is_dirty(slot) { Event::Written } else { Event::Filled };
            self.happened(event, self.cached(slot));
        }
        Ok(())
    }

    /// Take granted pages for sole copies: flash may have dropped them.
    fn orphan_granted(&mut self) {
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            if self.below.is_granted(self.cached(slot)) {
                self.cache.orphan(slot);
                self.became_sole(self.cached(slot));
            }
        }
    }
}

impl<M: Media, L: Restart<M> + Cooperates, S: Scheme> Restart<M> for WriteBack<L, S> {
    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        self.orphan_granted();
        let mut lost = 0;
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            let is_dirty = self.cache.is_dirty(slot);
            if is_dirty && self.options.setting.is_volatile {
                self.became_clean(slot);
                lost += 1;
            }
            if !is_dirty || self.options.setting.is_volatile {
                self.cache.remove(slot);
            }
        }
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let below = below.restart(now, &mut inner)?;
        self.connect(io)?;
        Ok(below.plus(self.options.setting.memory, lost))
    }
}
