//! Recovery after a power cut, and the handshake of host and device.

use super::Consistent;
use crate::cooperates::Cooperates;
use crate::level::Level;
use crate::recovery_error::RecoveryError;
use coflash_base::{Lpn, Misfit};
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
        self.below.disconnect();
        // It also finds trimmed pages again.
        let absent = (0..self.metadata.layout.logical_pages).map(Lpn::new);
        for lpn in absent.filter(|&lpn| self.metadata.is_absent(lpn)).collect::<Vec<_>>() {
            let (below, mut inner) = self.descend(&mut *io.media, io.start);
            below.trim(lpn, io.start, &mut inner)?;
        }
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            let page = self.cached(slot);
            if !self.cache.is_dirty(slot) {
                self.below.mark(page);
            } else if !self.scheme.uncommitted.contains(slot) {
                self.below.invalidate(page);
            }
        }
        Ok(())
    }
}
