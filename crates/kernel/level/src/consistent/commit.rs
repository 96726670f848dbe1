//! Deletions and commits.

use super::Consistent;
use crate::cooperates::{Cached, Cooperates, Message};
use crate::cooperation::{CommitCounters, Deletion};
use crate::level::{Command, Crossing, Level};
use crate::nvm::{Epoch, Label, Layout};
use coflash_base::{Lpn, Op};
use coflash_media::Media;

impl<L: Cooperates> Consistent<L> {
    pub(super) fn trim_page<M: Media>(&mut self, lpn: Lpn, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        if self.scheme.free_entries.is_empty() {
            self.commit_early(start, media);
        }
        let mut condemned = None;
        match self.cache.lookup(lpn) {
            None if self.scheme.deletions.contains_key(&lpn) => return,
            None => {}
            Some(slot) if self.scheme.uncommitted.contains(slot) => {
                // S2, S4: the uncommitted version is freed at once, the committed one stays.
                self.counters.dropped_pages += 1;
                self.scheme.uncommitted.remove(slot);
                condemned = self.scheme.older[slot].take();
                self.free(slot, media);
                if let Some(older) = condemned {
                    self.cache.pin(older);
                }
            }
            // S1
            Some(slot) if !self.cache.is_dirty(slot) && self.release(slot) => self.free(slot, media),
            Some(slot) => {
                // S3
                self.cache.detach(slot);
                self.cache.pin(slot);
                condemned = Some(slot);
            }
        }
        if condemned.is_some() || !self.metadata.is_absent(lpn) && self.below.may_hold(lpn) {
            let entry = self.scheme.free_entries.pop().expect("there is one, or a commit has freed them all");
            let deleted = Label::Deleted(lpn, self.metadata.epoch());
            self.metadata.store(self.metadata.layout.deletion(entry), deleted.encode(), media);
            self.scheme.deletions.insert(lpn, Deletion { entry, condemned });
        }
    }

    /// Whether all writes and trims so far are durable.
    pub(crate) fn is_committed(&self) -> bool {
        self.scheme.uncommitted.front().is_none() && self.scheme.deletions.is_empty()
    }

    pub(crate) fn commits(&self) -> CommitCounters {
        self.scheme.counters
    }

    /// Commit: makes all writes and trims so far durable at one moment.
    pub(super) fn commit<M: Media>(&mut self, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        if self.is_committed() {
            return;
        }
        self.scheme.counters.commits += 1;
        let epoch = self.metadata.epoch();
        self.metadata.fence(media);
        self.metadata.store(Layout::COMMITTED, u64::from(epoch.0), media);
        self.metadata.fence(media);
        self.metadata.committed = epoch;
        while let Some(slot) = self.scheme.uncommitted.back() {
            self.scheme.uncommitted.remove(slot);
            let page = self.cached(slot);
            if let Some(older) = self.scheme.older[slot].take() {
                // S4 → S3
                self.counters.absorbed_pages += 1;
                self.below.send(Message::Moved(Cached { slot: older, ..page }, slot));
                self.free(older, media);
            } else {
                // S2 → S3
                self.below.send(Message::Invalidate(page));
            }
            self.cache.unpin(slot);
        }
        self.carry_out_deletions(start, media);
        self.renumber_if_last(media);
    }

    pub(super) fn commit_early<M: Media>(&mut self, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        self.scheme.counters.early_commits += 1;
        self.commit(start, media);
    }

    fn carry_out_deletions<M: Media>(&mut self, start: M::When, media: &mut M)
    where
        L: Level<M>,
    {
        let deletions = std::mem::take(&mut self.scheme.deletions);
        for (&lpn, deletion) in &deletions {
            self.metadata.trimmed(lpn, media);
            if let Some(slot) = deletion.condemned {
                self.counters.dropped_pages += 1;
                self.below.send(Message::Forget(Cached { lpn, slot }));
                self.free(slot, media);
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

    pub(super) fn forget_deletion<M: Media>(&mut self, entry: u32, media: &mut M) {
        self.metadata.store(self.metadata.layout.deletion(entry), Label::Free.encode(), media);
        self.scheme.free_entries.push(entry);
    }

    /// Reset all committed slots to the first epoch when epochs have run out. No data is uncommitted at that
    /// moment.
    pub(super) fn renumber_if_last<M: Media>(&mut self, media: &mut M) {
        if self.metadata.committed < Epoch::MAX {
            return;
        }
        // The commit has erased all older versions, so no label of an earlier epoch is ambiguous.
        for slot in self.cache.occupied() {
            if self.cache.is_dirty(slot) || self.scheme.protects_ahead {
                self.metadata.label(slot, Label::Data(self.cache.page_of(slot), Epoch(0)), media);
            }
        }
        self.metadata.fence(media);
        self.metadata.committed = Epoch(0);
        self.metadata.store(Layout::COMMITTED, 0, media);
        self.metadata.fence(media);
    }
}
