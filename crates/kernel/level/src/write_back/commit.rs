//! Deletions, commits, and the way back to the last commit.

use super::consistency::Deletion;
use super::{AtWork, WriteBack};
use crate::cooperates::{Cached, Cooperates, Message};
use crate::cooperation::Scheme;
use crate::level::{Command, Crossing, Level};
use crate::nvm::Label;
use coflash_base::{Lpn, Op};
use coflash_cache::SlotId;
use coflash_media::Media;

/// Where the rest of a page is that the host writes in part.
pub(super) enum Rest {
    /// The level below has it, or nobody.
    Below,
    /// In another slot.
    Cached(SlotId),
    /// The page was deleted.
    Deleted,
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    /// Keep the committed version of a page, if the cache has it, until a newer one in `slot` is committed. `older` is its slot
    /// unless the page was deleted in the meantime.
    #[inline(never)]
    pub(super) fn keep_older<M: Media>(
        &mut self,
        page: Cached,
        older: Option<SlotId>,
        media: &mut M,
    ) -> Rest {
        let consistency = self.consistency();
        if let Some(older) = older {
            consistency.counters.copies_on_write_pages += 1;
            consistency.older[page.slot] = Some(older);
            return Rest::Cached(older);
        }
        let Some(Deletion { entry, condemned }) = consistency.deletions.remove(&page.lpn) else {
            return Rest::Below;
        };
        consistency.older[page.slot] = condemned;
        if let Some(older) = condemned {
            self.own.cache.unpin(older);
        }
        self.forget_deletion(entry, media);
        Rest::Deleted
    }

    fn forget_deletion<M: Media>(&mut self, entry: u32, media: &mut M) {
        self.own.metadata.store(self.own.metadata.layout.deletion(entry), Label::Free.encode(), media);
        self.consistency().free_entries.push(entry);
    }

    /// Go back to the last commit, with the slots that recovery finds: copies of flash pages have void labels, unless
    /// they are protected ahead. Returns the number of versions lost.
    pub(super) fn roll_back<M: Media>(&mut self, media: &mut M) -> u64 {
        let mut lost = 0;
        for (_, Deletion { entry, condemned }) in std::mem::take(&mut self.consistency().deletions) {
            lost += 1;
            self.forget_deletion(entry, media);
            if let Some(slot) = condemned {
                self.own.cache.unpin(slot);
                self.own.cache.attach(slot);
            }
        }
        while let Some(slot) = self.consistency().uncommitted.back() {
            lost += 1;
            let committed = self.consistency().older[slot].take();
            self.vacate(slot, media);
            if let Some(committed) = committed {
                self.own.cache.attach(committed);
            }
        }
        for slot in self.own.cache.occupied().collect::<Vec<_>>() {
            if self.own.cache.is_dirty(slot) {
                continue;
            }
            if self.own.metadata.protects_ahead {
                self.orphan(slot);
            } else {
                self.vacate(slot, media);
            }
        }
        self.own.metadata.fence(media);
        lost
    }
}

impl<M: Media, L: Level<M> + Cooperates, S: Scheme> AtWork<'_, M, L, S> {
    /// Note a trim, which the next commit carries out.
    #[inline(never)]
    pub(super) fn trim_at_commit(&mut self, lpn: Lpn) {
        if self.level.consistency().free_entries.is_empty() {
            self.commit_early();
        }
        let mut condemned = None;
        match self.level.own.cache.lookup(lpn) {
            None if self.level.is_deleted(lpn) => return,
            None => {}
            Some(slot) if self.level.consistency().uncommitted.contains(slot) => {
                // S2, S4: the uncommitted version is freed at once, the committed one stays.
                self.level.own.counters.dropped_pages += 1;
                condemned = self.level.consistency().older[slot].take();
                self.level.vacate(slot, self.media);
                if let Some(older) = condemned {
                    self.level.own.cache.pin(older);
                }
            }
            // S1
            Some(slot) if !self.level.own.cache.is_dirty(slot) && self.level.release(slot) => {
                self.level.vacate(slot, self.media)
            }
            Some(slot) => {
                // S3
                self.level.own.cache.detach(slot);
                self.level.own.cache.pin(slot);
                condemned = Some(slot);
            }
        }
        if condemned.is_some() || !self.level.own.metadata.is_absent(lpn) && self.level.below.may_hold(lpn) {
            let consistency = self.level.consistency();
            let entry = consistency.free_entries.pop().expect("there is one, or a commit has freed them all");
            consistency.deletions.insert(lpn, Deletion { entry, condemned });
            let deleted = Label::Deleted(lpn, self.level.own.metadata.epoch());
            self.level.own.metadata.store(
                self.level.own.metadata.layout.deletion(entry),
                deleted.encode(),
                self.media,
            );
        }
    }

    /// Commit: makes all writes and trims so far durable at one moment.
    #[inline(never)]
    pub(super) fn commit(&mut self) {
        let consistency = self.level.consistency();
        if consistency.is_committed() {
            return;
        }
        consistency.counters.commits += 1;
        self.level.own.metadata.commit(self.media);
        while let Some(slot) = self.level.consistency().uncommitted.back() {
            let consistency = self.level.consistency();
            consistency.uncommitted.remove(slot);
            let older = consistency.older[slot].take();
            let page = self.level.cached(slot);
            if let Some(older) = older {
                // S4 → S3
                self.level.own.counters.absorbed_pages += 1;
                self.level.below.send(Message::Moved(Cached { slot: older, ..page }, slot));
                self.level.vacate(older, self.media);
            } else {
                // S2 → S3
                self.level.below.send(Message::Invalidate(page));
            }
            self.level.own.cache.unpin(slot);
        }
        self.carry_out_deletions();
        self.level.own.metadata.renumber_if_last(&self.level.own.cache, self.media);
    }

    pub(super) fn commit_early(&mut self) {
        self.level.consistency().counters.early_commits += 1;
        self.commit();
    }

    fn carry_out_deletions(&mut self) {
        let deletions = std::mem::take(&mut self.level.consistency().deletions);
        for (&lpn, deletion) in &deletions {
            self.level.own.metadata.trimmed(lpn, self.media);
            if let Some(slot) = deletion.condemned {
                self.level.own.counters.dropped_pages += 1;
                self.level.below.send(Message::Forget(Cached { lpn, slot }));
                self.level.vacate(slot, self.media);
            }
        }
        // Absence must be durable before the deletion is erased. It overrides flash: a lost trim is repeated
        // when the link is up again.
        self.level.own.metadata.fence(self.media);
        let (below, mut io) = self.level.descend(self.media, self.start);
        let command = Command {
            op: Op::Trim,
            bytes: 0,
            first: deletions.keys().next().copied(),
            pages: deletions.len() as u32,
            crossing: Crossing::First,
        };
        if !deletions.is_empty() {
            let mut after = below.begin(&command, &mut io);
            for &lpn in deletions.keys() {
                match below.trim(lpn, after, &mut io) {
                    Ok(trimmed) => after = trimmed,
                    Err(_) => break,
                }
            }
        }
        for deletion in deletions.into_values() {
            self.level.forget_deletion(deletion.entry, self.media);
        }
    }
}
