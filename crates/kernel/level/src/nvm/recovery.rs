//! Recovery from the words of non-volatile memory and flash's out-of-band data alone.

use super::metadata::Metadata;
use super::{Epoch, Label, Layout};
use crate::level::Level;
use coflash_base::{Lpn, Misfit};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{GcHook, Io};
use coflash_media::{Media, Nvm};
use std::collections::BTreeMap;

/// The content of the words.
#[derive(Default)]
pub(crate) struct Found {
    /// The epoch and slot of each committed version in the cache.
    versions: BTreeMap<Lpn, (Epoch, u32)>,
    /// Pages with a committed deletion that may not have been carried out.
    deleted: Vec<Lpn>,
    /// Labels to erase.
    void_slots: Vec<u32>,
    /// Deletions to erase after the labels.
    void_deletions: Vec<u32>,
}

impl Found {
    /// Whether the cache has the committed version of a page.
    pub(crate) fn has(&self, page: Lpn) -> bool {
        self.versions.contains_key(&page)
    }
}

impl Metadata {
    /// Trim the absent pages again: a device that has restarted has found them.
    pub(crate) fn repeat_trims<M: Media, H: GcHook>(
        &self,
        below: &mut impl Level<M>,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        for lpn in (0..self.layout.logical_pages).map(Lpn::new).filter(|&lpn| self.is_absent(lpn)) {
            below.trim(lpn, io.start, io)?;
        }
        Ok(())
    }

    /// Read the words.
    pub(crate) fn read(&mut self, words: &[u64]) -> Result<Found, Misfit> {
        self.try_read(words).map_err(|problem| Misfit::new("cache", problem))
    }

    fn try_read(&mut self, words: &[u64]) -> Result<Found, String> {
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

        let mut found = Found::default();
        for slot in 0..layout.slots {
            match label(layout.slot(slot), true)? {
                Label::Free => {}
                // The later of two committed versions is valid: the other was about to be freed.
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
                if epoch <= self.committed {
                    found.deleted.push(lpn);
                    *self.bits_mut(lpn) |= 1 << (lpn.get() % 64);
                    if let Some((_, slot)) = found.versions.remove(&lpn) {
                        found.void_slots.push(layout.slot(slot));
                    }
                }
            }
        }
        self.absent_pages = self.absent.iter().map(|bits| bits.count_ones()).sum();
        Ok(found)
    }

    /// Fill the cache with the committed versions, and erase void labels.
    pub(crate) fn restore<M: Nvm>(&mut self, found: &Found, cache: &mut Cache, media: &mut M) {
        for &lpn in &found.deleted {
            self.store_absence(lpn, media);
        }
        for &word in &found.void_slots {
            self.store(word, Label::Free.encode(), media);
        }
        // A deletion is erased only after the versions that it deletes: a power cut may interrupt recovery itself.
        self.fence(media);
        for &word in &found.void_deletions {
            self.store(word, Label::Free.encode(), media);
        }
        self.fence(media);
        for (&lpn, &(_, slot)) in &found.versions {
            cache.insert_at(SlotId::new(slot), lpn, true);
        }
    }
}
