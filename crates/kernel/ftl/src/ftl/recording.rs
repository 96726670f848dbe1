//! The FTL's calls to a recorder.

use super::Ftl;
use crate::block::State;
use crate::hook::Decision;
use crate::ids::{GroupId, PoolId};
use crate::recorder::{Candidate, DecisionRecorder};
use coflash_base::{Lpn, Time};
use coflash_media::{BlockId, Ppn};

impl Ftl {
    /// Report each decision of GC to a recorder from now on, and the open blocks at once.
    pub fn record_in(&mut self, recorder: DecisionRecorder) {
        self.recorder = Some(recorder);
        for pool in self.pools() {
            for (group, active) in self.dims.groups.ids().zip(self.allocator.actives(pool)) {
                active.block.into_iter().for_each(|block| self.record_opened(block, group));
            }
        }
    }

    #[inline(always)]
    pub(super) fn record_opened(&self, block: BlockId, group: GroupId) {
        if let Some(recorder) = &self.recorder {
            recorder.lock().expect("no holder has panicked").opened(block, group.get());
        }
    }

    /// Record what becomes of a page of a victim.
    #[inline(always)]
    pub(super) fn record_answer(&self, victim: BlockId, from: Ppn, page: Lpn, decision: Decision) {
        if let Some(recorder) = &self.recorder {
            let index = from.get() - self.geometry.page(victim, 0).get();
            recorder.lock().expect("no holder has panicked").answered(victim, index, page, decision);
        }
    }

    /// Record the pick of a block that is already in the state of a victim.
    pub(super) fn record_pick(&self, pool: PoolId, picked: BlockId, time: Option<Time>) {
        let Some(recorder) = &self.recorder else { return };
        let blocks = self.dims.blocks_of(pool);
        let candidates = blocks.filter(|&id| id == picked || self.blocks[id].state == State::Sealed);
        let mut candidates = candidates.map(|id| {
            let (block, history) = (&self.blocks[id], &self.histories[id]);
            Candidate {
                block: id,
                pages: self.slc_cache.pages_of(id).unwrap_or(self.dims.data_pages_per_block),
                valid: block.valid,
                removable: block.marked,
                cost: f64::from(block.cost) / f64::from(self.collector.scale.valid),
                age: self.sequence - history.sealed_at,
                erases: history.erases,
            }
        });
        let mut recorder = recorder.lock().expect("no holder has panicked");
        recorder.picked(pool.get(), picked, time, &mut candidates);
    }
}
