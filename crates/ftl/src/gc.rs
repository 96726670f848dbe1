//! Garbage collection: foreground, one victim at a time, until every pool of the die is above its low mark.

use crate::advisor::{Advisor, Fate, Weight};
use crate::block::{Scale, State};
use crate::config::Summary;
use crate::ftl::{Ftl, Io};
use crate::pool::{Pool, Stream};
use crate::victim;
use coflash_base::Index;
use coflash_flash::{BlockId, Cause, DieId, Media, Ppn};

impl Ftl {
    /// Cleans while a pool of the die has too few free blocks, pools in turn.
    #[inline(always)]
    pub(crate) fn collect<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) {
        while self.dies[die].low_pools > 0 && self.clean_next_pool(die, io) {}
    }

    /// Cleans one block of the next low pool in turn; false where no low pool has anything to gain.
    fn clean_next_pool<M: Media, A: Advisor>(&mut self, die: DieId, io: &mut Io<'_, M, A>) -> bool {
        let pools = self.dims.pools_per_die;
        let begin = self.dies[die].next_clean;
        for step in 0..pools {
            let local = (begin + step) % pools;
            let pool = (die.get() * pools + local) as usize;
            if self.pools[pool].free.len() <= self.dims.low_mark_blocks && self.clean_one(pool, io) {
                self.dies[die].next_clean = (local + 1) % pools;
                return true;
            }
        }
        false
    }

    /// Cleans one block of a pool; false where no block has anything to gain.
    fn clean_one<M: Media, A: Advisor>(&mut self, pool: usize, io: &mut Io<'_, M, A>) -> bool {
        let weight = io.advisor.marked_weight();
        if weight != self.weight {
            self.reweigh(weight);
        }
        let Some(block) = self.pick_victim(pool) else {
            return false;
        };
        let drops_before = self.tally.gc_drops_pages;
        let words = self.valid.words_per_block();
        for word in 0..words {
            let mut bits = self.valid.word(block, word);
            while bits != 0 {
                let index = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.relocate(pool, block, self.geometry.page(block, index), io);
            }
        }
        if self.tally.gc_drops_pages > drops_before {
            io.advisor.before_erase(io.media);
        }
        self.erase(pool, block, io);
        true
    }

    pub(crate) fn erase<M: Media, A>(&mut self, pool: usize, block: BlockId, io: &mut Io<'_, M, A>) {
        io.media.erase(block, Cause::Gc, io.start);
        self.tally.erases_blocks += 1;
        self.release(pool, block);
    }

    /// Takes the policy's victim out of the candidates.
    fn pick_victim(&mut self, pool: usize) -> Option<BlockId> {
        if !self.can_gain(&self.pools[pool]) {
            return None;
        }
        let pool = &mut self.pools[pool];
        let range = pool.first_block as usize..(pool.first_block + self.dims.blocks_per_pool) as usize;
        let view = victim::Blocks {
            cost: &(*self.blocks.cost)[range.clone()],
            full_cost: self.dims.data_pages_per_block * self.scale.valid,
            sealed_at: &(*self.blocks.sealed_at)[range.clone()],
            erases: &(*self.blocks.erases)[range],
            now: self.sequence,
        };
        let local = pool.victim.pick(view)?;
        let block = BlockId::new(pool.first_block + local);
        pool.victim.removed(local, self.blocks.cost[block]);
        self.blocks.state[block] = State::Victim;
        Some(block)
    }

    /// Whether any candidate has a page that need not be copied: with none, copying would go round in circles.
    fn can_gain(&self, pool: &Pool) -> bool {
        let open = || pool.actives.iter().filter_map(|active| active.block);
        let open_valid: u32 = open().map(|block| self.blocks.valid[block]).sum();
        let candidates = self.dims.blocks_per_pool - pool.free.len() - open().count() as u32;
        let first = pool.first_block as usize;
        pool.valid_pages - open_valid < candidates * self.dims.data_pages_per_block
            || (*self.blocks.marked)[first..first + self.dims.blocks_per_pool as usize]
                .iter()
                .any(|&marked| marked > 0)
    }

    /// Asks what becomes of a valid page of a victim, and does it.
    #[inline(always)]
    fn relocate<M: Media, A: Advisor>(
        &mut self,
        pool: usize,
        victim: BlockId,
        from: Ppn,
        io: &mut Io<'_, M, A>,
    ) {
        let lpn = self.owner[from].expect("a valid page has an owner");
        let marked = self.marked.get(victim, from);
        match io.advisor.fate(lpn, marked, io.media) {
            Fate::Copy => {
                let group = self.dims.group_of[Stream::Gc as usize] as usize;
                let to = self.take_page(pool, group);
                let oob = self.stamp(Some(lpn), Cause::Gc);
                io.media.copy(from, to, oob, Cause::Gc, io.start);
                self.put(lpn, to, pool, marked);
                if self.seal_if_full(pool, group) && self.summary == Summary::On {
                    self.write_summary(to, io.start, io.media);
                }
            }
            Fate::Drop => {
                self.map[lpn] = None;
                self.tally.gc_drops_pages += 1;
            }
        }
    }

    /// Returns an erased block to its pool.
    fn release(&mut self, pool: usize, block: BlockId) {
        self.valid.clear_block(block);
        self.marked.clear_block(block);
        self.pools[pool].valid_pages -= self.blocks.valid[block];
        self.recount(block, 0, 0);
        self.blocks.state[block] = State::Free;
        self.blocks.erases[block] += 1;
        let erases = self.blocks.erases[block];
        let free = &mut self.pools[pool].free;
        free.push(block, erases);
        if free.len() == self.dims.low_mark_blocks + 1 {
            self.dies[DieId::from_index(pool / self.dims.pools_per_die as usize)].low_pools -= 1;
        }
    }

    /// Lets marked pages count `weight` from now on.
    fn reweigh(&mut self, weight: Weight) {
        self.weight = weight;
        let marked = weight.0 * self.scale.valid / Weight::SIXTEENTHS;
        self.scale = Scale { marked, ..self.scale };
        for block in self.blocks.cost.ids() {
            self.recount(block, self.blocks.valid[block], self.blocks.marked[block]);
        }
    }
}
