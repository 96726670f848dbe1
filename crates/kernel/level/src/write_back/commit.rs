//! Deletions, commits, and the way back to the last commit.

use super::WriteBack;
use super::consistency::Deletion;
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
            self.cache.unpin(older);
        }
        self.forget_deletion(entry, media);
        Rest::Deleted
    }

    /// Note a trim, which the next commit carries out.
    #[inline(never)]
    pub(super) fn trim_at_commit<M: Media>(&mut self, lpn: Lpn, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        if self.consistency().free_entries.is_empty() {
            self.commit_early(start, media);
        }
        let mut condemned = None;
        match self.cache.lookup(lpn) {
            None if self.is_deleted(lpn) => return,
            None => {}
            Some(slot) if self.consistency().uncommitted.contains(slot) => {
                // S2, S4: the uncommitted version is freed at once, the committed one stays.
                self.counters.dropped_pages += 1;
                condemned = self.consistency().older[slot].take();
                self.vacate(slot, media);
                if let Some(older) = condemned {
                    self.cache.pin(older);
                }
            }
            // S1
            Some(slot) if !self.cache.is_dirty(slot) && self.release(slot) => self.vacate(slot, media),
            Some(slot) => {
                // S3
                self.cache.detach(slot);
                self.cache.pin(slot);
                condemned = Some(slot);
            }
        }
        if condemned.is_some() || !self.metadata.is_absent(lpn) && self.below.may_hold(lpn) {
            let consistency = self.consistency();
            let entry = consistency.free_entries.pop().expect("there is one, or a commit has freed them all");
            consistency.deletions.insert(lpn, Deletion { entry, condemned });
            let deleted = Label::Deleted(lpn, self.metadata.epoch());
            self.metadata.store(self.metadata.layout.deletion(entry), deleted.encode(), media);
        }
    }

    /// Commit: makes all writes and trims so far durable at one moment.
    #[inline(never)]
    pub(super) fn commit<M: Media>(&mut self, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        let consistency = self.consistency();
        if consistency.is_committed() {
            return;
        }
        consistency.counters.commits += 1;
        self.metadata.commit(media);
        while let Some(slot) = self.consistency().uncommitted.back() {
            let consistency = self.consistency();
            consistency.uncommitted.remove(slot);
            let older = consistency.older[slot].take();
            let page = self.cached(slot);
            if let Some(older) = older {
                // S4 → S3
                self.counters.absorbed_pages += 1;
                self.below.send(Message::Moved(Cached { slot: older, ..page }, slot));
                self.vacate(older, media);
            } else {
                // S2 → S3
                self.below.send(Message::Invalidate(page));
            }
            self.cache.unpin(slot);
        }
        self.carry_out_deletions(start, media);
        self.metadata.renumber_if_last(&self.cache, media);
    }

    pub(super) fn commit_early<M: Media>(&mut self, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        self.consistency().counters.early_commits += 1;
        self.commit(start, media);
    }

    fn carry_out_deletions<M: Media>(&mut self, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        let deletions = std::mem::take(&mut self.consistency().deletions);
        for (&lpn, deletion) in &deletions {
            self.metadata.trimmed(lpn, media);
            if let Some(slot) = deletion.condemned {
                self.counters.dropped_pages += 1;
                self.below.send(Message::Forget(Cached { lpn, slot }));
                self.vacate(slot, media);
            }
        }
        // Absence must be durable before the deletion is erased. It overrides flash: a lost trim is repeated
        // when the link is up again.
        self.metadata.fence(media);
        let (below, mut io) = self.descend(media, start);
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
            self.forget_deletion(deletion.entry, media);
        }
    }

    fn forget_deletion<M: Media>(&mut self, entry: u32, media: &mut M) {
        self.metadata.store(self.metadata.layout.deletion(entry), Label::Free.encode(), media);
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
                self.cache.unpin(slot);
                self.cache.attach(slot);
            }
        }
        while let Some(slot) = self.consistency().uncommitted.back() {
            lost += 1;
            let committed = self.consistency().older[slot].take();
            self.vacate(slot, media);
            if let Some(committed) = committed {
                self.cache.attach(committed);
            }
        }
        for slot in self.cache.occupied().collect::<Vec<_>>() {
            if self.cache.is_dirty(slot) {
                continue;
            }
            if self.metadata.protects_ahead {
                self.orphan(slot);
            } else {
                self.vacate(slot, media);
            }
        }
        self.metadata.fence(media);
        lost
    }
}
