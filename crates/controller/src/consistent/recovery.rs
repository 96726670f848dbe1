//! Recovery: from the words of non-volatile memory and flash's out-of-band data alone.

use super::Device;
use super::nvm::{Epoch, Label, Layout};
use crate::config::CacheConfig;
use crate::controller::Controller;
use crate::cooperation::{Answers, CdmConsistent, CooperationConfig};
use coflash_base::{Lpn, Seed};
use coflash_cache::{Cache, SlotId};
use coflash_flash::{Geometry, Media, Oob, Ppn};
use coflash_ftl::{FtlConfig, GcConfig, Io};
use std::collections::BTreeMap;

impl Controller {
    /// The device after a power cut. With a volatile cache every page is as flash has it: of what was programmed, the
    /// newest. With `cdm-consistent` every page is as of the last commit that was completed, or of the one under way if its
    /// one word was stored. Other non-volatile caches have nothing to recover from.
    ///
    /// `words` are those of non-volatile memory in the order of [`Layout`], none where the cache is volatile; `pages` every programmed page, in any order,
    /// with its out-of-band data, none where it cannot be read (torn). Slots' data stay where they are. Labels that are
    /// void are erased through `media`, so that a later commit cannot revive them; being cut short there does no harm.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem); words that no cache of this device wrote.
    #[allow(clippy::too_many_arguments, reason = "a device has that many parts")]
    pub fn recover<M: Media>(
        geometry: &Geometry,
        ftl: &FtlConfig,
        gc: &GcConfig,
        cache: &CacheConfig,
        cooperation: &CooperationConfig,
        seed: Seed,
        words: &[u64],
        pages: impl Iterator<Item = (Ppn, Option<Oob>)>,
        start: M::When,
        media: &mut M,
    ) -> Result<Self, (&'static str, String)> {
        let mut device = Self::new(geometry, ftl, gc, cache, cooperation, seed)?;
        if cache.volatile {
            device.ftl.recover(pages, |_| true);
            let advisor = &mut device.front.answers();
            device.ftl.finish_gc(&mut Io { media, advisor, start });
            return Ok(device);
        }
        let (consistent, mut parts) = device
            .consistent()
            .ok_or_else(|| ("cooperation", format!("{} does not recover", cooperation.name())))?;
        let found = consistent.read_words(words).map_err(|problem| ("cache", problem))?;
        let in_flash = |lpn: Lpn| !found.versions.contains_key(&lpn) && !consistent.is_absent(lpn);
        parts.ftl.recover(pages, in_flash);
        consistent.restore(&found, parts.cache, media);
        // The cut may have come before the last epoch was left behind, and there is none after it to write in.
        consistent.renumber_if_last(&mut parts, media);
        consistent.finish_gc(start, parts, media);
        Ok(device)
    }
}

/// What the words say.
struct Found {
    /// The committed version of each page that is in the cache: its epoch and slot.
    versions: BTreeMap<Lpn, (Epoch, u32)>,
    /// Labels to be erased.
    void_slots: Vec<u32>,
    /// Deletions to be erased, after those.
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
                // Of two committed versions the later one counts: the other was about to be freed.
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
                // Not committed, or a copy of what flash has.
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

    fn finish_gc<M: Media>(&mut self, start: M::When, device: Device<'_>, media: &mut M) {
        let advisor = &mut Answers { scheme: self, cache: device.cache };
        device.ftl.finish_gc(&mut Io { media, advisor, start });
    }

    /// Fills the cache with the committed versions (S3), and erases what is void.
    fn restore<M: Media>(&mut self, found: &Found, cache: &mut Cache, media: &mut M) {
        for (word, &bits) in (self.layout.absence(Lpn::new(0)).0..).zip(&self.absent) {
            media.store(word, bits);
        }
        for &word in &found.void_slots {
            media.store(word, Label::Free.encode());
        }
        // A deletion is forgotten only when nothing is left that it deletes: recovery itself may be cut short here.
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
