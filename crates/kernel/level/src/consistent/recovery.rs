//! Recovery after a power cut, restarts, and the handshake of host and device.

use super::Consistent;
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::Deletion;
use crate::level::{Level, LostPages, Restart};
use crate::recovery_error::RecoveryError;
use coflash_base::{Misfit, Time};
use coflash_ftl::{Ftl, GcHook, Io};
use coflash_media::{Contents, Media};

impl Consistent<Ftl> {
    /// Recover an empty cache over an erased FTL after a power cut; see [`Device::recover`](crate::Device::recover).
    pub(crate) fn recover<M: Media, H: GcHook>(
        &mut self,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        let Self { metadata, below, cache, .. } = self;
        metadata.recover(contents, below, cache, io.media)?;
        // The power cut may have prevented the renumbering after the last epoch.
        self.renumber_if_last(io.media);
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        flash.finish_gc(&mut inner).map_err(RecoveryError::Flash)
    }
}

impl<L: Cooperates> Consistent<L> {
    /// Recover an empty cache in the host after the host has lost power. [`connect`](Self::connect) follows.
    ///
    /// # Errors
    /// Words that a cache of this size cannot have written.
    pub fn recover_host<M: Media>(&mut self, words: &[u64], media: &mut M) -> Result<(), Misfit> {
        let found = self.metadata.read(words)?;
        self.metadata.restore(&found, &mut self.cache, media);
        self.renumber_if_last(media);
        Ok(())
    }

    /// The handshake of host and device after either has restarted; see the module.
    ///
    /// # Errors
    /// A message was not answered.
    pub fn connect<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        // Flash may have dropped a granted page and erased it. After a restart the device may find an older
        // version instead.
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            if self.below.is_granted(self.cached(slot)) {
                self.scheme.orphan(slot, &mut self.cache);
            }
        }
        self.below.send(Message::Disconnect);
        self.metadata.repeat_trims(&mut self.below, io)?;
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            let page = self.cached(slot);
            if !self.cache.is_dirty(slot) {
                self.below.send(Message::Mark(page));
            } else if !self.scheme.uncommitted.contains(slot) {
                self.below.send(Message::Invalidate(page));
            }
        }
        Ok(())
    }
}

impl<L: Cooperates> Consistent<L> {
    /// Go back to the last commit, with the slots that recovery finds: copies of flash pages have void labels, unless
    /// they are protected ahead. Returns the number of versions lost.
    fn roll_back<M: Media>(&mut self, media: &mut M) -> u64 {
        let mut lost = 0;
        for (_, Deletion { entry, condemned }) in std::mem::take(&mut self.scheme.deletions) {
            lost += 1;
            self.forget_deletion(entry, media);
            if let Some(slot) = condemned {
                self.cache.unpin(slot);
                self.cache.attach(slot);
            }
        }
        while let Some(slot) = self.scheme.uncommitted.back() {
            self.scheme.uncommitted.remove(slot);
            lost += 1;
            let committed = self.scheme.older[slot].take();
            self.free(slot, media);
            if let Some(committed) = committed {
                self.cache.attach(committed);
            }
        }
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            if self.cache.is_dirty(slot) {
                continue;
            }
            if self.scheme.protects_ahead {
                self.scheme.orphan(slot, &mut self.cache);
            } else {
                self.free(slot, media);
            }
        }
        self.metadata.fence(media);
        lost
    }
}

impl<M: Media, L: Restart<M> + Cooperates> Restart<M> for Consistent<L> {
    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error> {
        let lost = self.roll_back(io.media);
        let (below, mut inner) = self.descend(&mut *io.media, io.start);
        let below = below.restart(now, &mut inner)?;
        self.connect(io)?;
        Ok(below.plus(self.memory, lost))
    }
}
