//! Recovery from the words of non-volatile memory and flash's out-of-band data alone.

use super::Consistent;
use super::nvm::{Epoch, Label, Layout};
use crate::cooperates::Cooperates;
use crate::cooperation::CdmConsistent;
use crate::level::Level;
use crate::recovery_error::RecoveryError;
use coflash_base::{Lpn, Misfit};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Ftl, GcHook, Io};
use coflash_media::{Media, Oob, Ppn};
use std::collections::BTreeMap;

impl Consistent<Ftl> {
    /// Recover an empty cache over an erased FTL after a power cut; see [`Device::recover`](crate::Device::recover).
    pub(crate) fn recover<M: Media, H: GcHook>(
        &mut self,
        words: &[u64],
        pages: impl Iterator<Item = (Ppn, Option<Oob>)>,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        let found = self.read_words(words)?;
        let Self { below, scheme, .. } = self;
        below.recover(pages, |lpn| !found.versions.contains_key(&lpn) && !scheme.is_absent(lpn));
        self.restore(&found, io.media);
        let (flash, mut inner) = self.descend(&mut *io.media, io.start);
        flash.finish_gc(&mut inner).map_err(RecoveryError::Flash)
    }
}

impl<L: Cooperates> Consistent<L> {
    /// Recover an empty cache in the host after the host has lost power. [`connect`](Self::connect) follows.
    ///
    /// # Errors
    /// Words that no cache of this size wrote.
    pub fn recover_host<M: Media>(&mut self, words: &[u64], media: &mut M) -> Result<(), Misfit> {
        let found = self.read_words(words)?;
        self.restore(&found, media);
        Ok(())
    }

    /// The handshake of host and device after either has restarted, as the module says.
    ///
    /// # Errors
    /// A message was not answered.
    pub fn connect<M: Media, H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<(), M::Error>
    where
        L: Level<M>,
    {
        // Flash may have dropped a granted page and erased it. In its place a device that restarts finds an older version.
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            if self.below.is_granted(self.cached(slot)) {
                self.scheme.orphan(slot, &mut self.cache);
            }
        }
        self.below.disconnect();
        // It finds trimmed pages again, too.
        let absent = (0..self.scheme.layout.logical_pages).map(Lpn::new);
        for lpn in absent.filter(|&lpn| self.scheme.is_absent(lpn)).collect::<Vec<_>>() {
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

    fn read_words(&mut self, words: &[u64]) -> Result<Found, Misfit> {
        self.scheme.read_words(words).map_err(|problem| Misfit::new("cache", problem))
    }

    fn restore<M: Media>(&mut self, found: &Found, media: &mut M) {
        self.scheme.restore(found, &mut self.cache, media);
        // The power cut may have prevented the renumbering after the last epoch.
        self.renumber_if_last(media);
    }
}

/// The content of the words.
struct Found {
    /// The epoch and slot of each committed version in the cache.
    versions: BTreeMap<Lpn, (Epoch, u32)>,
    /// Labels to erase.
    void_slots: Vec<u32>,
    /// Deletions to erase after the labels.
    void_deletions: Vec<u32>,
}

impl CdmConsistent {
    pub(crate) fn is_absent(&self, lpn: Lpn) -> bool {
        self.absent[(lpn.get() / 64) as usize] >> (lpn.get() % 64) & 1 == 1
    }

    fn read_words(&mut self, words: &[u64]) -> Result<Found, String> {
        let layout = self.layout;
        if words.len() != layout.words() as usize {
            return Err(format!("{} words were given; {} are expected", words.len(), layout.words()));
        }
        let committed = u32::try_from(words[Layout::COMMITTED as usize]).ok();
        let committed =
            committed.filter(|&epoch| epoch <= Epoch::MAX.0).ok_or("the committed epoch is none")?;
        self.committed = Epoch(committed);
        let label = |word: u32, in_slot: bool| {
            let known = Label::decode(words[word as usize]).filter(|label| match *label {
                Label::Free => true,
                Label::Clean(lpn) => in_slot && lpn.get() < layout.logical_pages,
                Label::Data(lpn, epoch) => {
                    in_slot && lpn.get() < layout.logical_pages && epoch.0 <= committed + 1
                }
                Label::Deleted(lpn, epoch) => {
                    !in_slot && lpn.get() < layout.logical_pages && epoch.0 <= committed + 1
                }
            });
            known.ok_or_else(|| format!("word {word} is no label of this device"))
        };
        let first_absence = layout.absence(Lpn::new(0)).0 as usize;
        self.absent.copy_from_slice(&words[first_absence..]);
        let beyond = layout.logical_pages..(layout.logical_pages).next_multiple_of(64);
        if beyond.into_iter().any(|page| self.is_absent(Lpn::new(page))) {
            return Err("a page is noted as absent that this device does not have".to_owned());
        }

        let mut found =
            Found { versions: BTreeMap::new(), void_slots: Vec::new(), void_deletions: Vec::new() };
        for slot in 0..layout.slots {
            match label(layout.slot(slot), true)? {
                Label::Free => {}
                // Of two committed versions the later one is valid: the other was about to be freed.
                Label::Data(lpn, epoch) if epoch <= self.committed => {
                    let before = found.versions.get(&lpn).copied();
                    let (kept, void) = match before {
                        Some(before) if before.0 > epoch => (before, Some(slot)),
                        Some((_, older)) => ((epoch, slot), Some(older)),
                        None => ((epoch, slot), None),
                    };
                    found.versions.insert(lpn, kept);
                    found.void_slots.extend(void.map(|slot| layout.slot(slot)));
                }
                // Uncommitted, or a copy of the flash page.
                _ => found.void_slots.push(layout.slot(slot)),
            }
        }
        for entry in 0..layout.deletions {
            if let Label::Deleted(lpn, epoch) = label(layout.deletion(entry), false)? {
                found.void_deletions.push(layout.deletion(entry));
                // Committed, but perhaps not carried out.
                if epoch <= self.committed {
                    let (word, bit) = ((lpn.get() / 64) as usize, 1 << (lpn.get() % 64));
                    self.absent[word] |= bit;
                    if let Some((_, slot)) = found.versions.remove(&lpn) {
                        found.void_slots.push(layout.slot(slot));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Fill the cache with the committed versions (S3), and erase void labels.
    fn restore<M: Media>(&mut self, found: &Found, cache: &mut Cache, media: &mut M) {
        for (word, &bits) in (self.layout.absence(Lpn::new(0)).0..).zip(&self.absent) {
            media.store(word, bits);
        }
        for &word in &found.void_slots {
            media.store(word, Label::Free.encode());
        }
        // A deletion is erased only after the versions that it deletes: a power cut may interrupt recovery itself.
        media.fence();
        for &word in &found.void_deletions {
            media.store(word, Label::Free.encode());
        }
        media.fence();
        for (&lpn, &(_, slot)) in &found.versions {
            cache.insert_at(SlotId::new(slot), lpn, true);
        }
    }
}
