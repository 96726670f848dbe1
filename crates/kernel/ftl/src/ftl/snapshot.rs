//! Snapshots: an FTL as bytes.
//!
//! Only independent state is stored. Map, counts, costs and the structures of policies are recomputed, so that damaged
//! bytes cannot contradict each other. The rest is checked, and a restored device cannot panic.
//!
//! The columns, in order: scalars; two numbers per die; erase counts and sealing times of all blocks; for
//! each pool the number of its free blocks and the fill of its active blocks; the random streams; the blocks
//! of each pool, free ones first, then active ones, candidates and queued ones; the state of the placement policy; the
//! valid pages; the owner of each page.

use super::Ftl;
use super::allocator::Active;
use super::column::{invalid, read, write};
use crate::block::State;
use crate::ids::PoolId;
use crate::weight::{Weight, Weights};
use coflash_base::seed::{self, STREAM_WORDS};
use coflash_base::{IdVec, Index, Lpn};
use coflash_media::BlockId;
use std::io::{self, Read, Write};

/// The upper limit of counters. No device comes near it, and sums of smaller counters do not overflow.
const COUNT_MAX: u64 = 1 << 56;

impl Ftl {
    /// Write the state of a warm device, without its counters. No page may be marked, and no victim partly cleaned
    /// ([`Ftl::finish_victims`]).
    ///
    /// # Errors
    /// The error of `out`.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let marked = self.collector.weights() != Weights::all(Weight::FULL)
            || self.blocks.iter().any(|block| block.marked > 0);
        assert!(!marked, "the device has been used");
        assert!(
            self.pools().all(|pool| self.collector.cleaning(pool).is_none()),
            "a victim is partly cleaned"
        );
        let (next_die, next_write) = self.allocator.turns();
        write::<8>(out, [self.sequence, next_die.into()].into_iter())?;
        let turns = next_write.zip(self.collector.turns()).flat_map(|(write, &clean)| [write, clean]);
        write::<4>(out, turns.map(u64::from))?;
        write::<4>(out, self.histories.iter().map(|block| block.erases.into()))?;
        write::<8>(out, self.histories.iter().map(|block| block.sealed_at))?;
        let fill = |active: &Active| active.block.map_or(0, |_| u64::from(active.next) + 1);
        for pool in self.pools() {
            let free = u64::from(self.allocator.free_blocks(pool));
            write::<4>(out, [free].into_iter().chain(self.allocator.actives(pool).iter().map(fill)))?;
        }
        for stream in self.collector.clone().draws() {
            write::<8>(out, seed::save(stream).into_iter())?;
        }
        for pool in self.pools() {
            let active = self.allocator.actives(pool).iter().filter_map(|active| active.block);
            let candidates = self.collector.order(pool, &self.dims);
            let queued = self.dims.blocks_of(pool).filter(|&block| self.blocks[block].state == State::Queued);
            let blocks = self.allocator.free_list(pool).chain(active).chain(candidates).chain(queued);
            write::<4>(out, blocks.map(|block| self.dims.local(pool, block).get().into()))?;
        }
        self.placer.save(out)?;
        write::<8>(out, self.pages.valid.words().iter().copied())?;
        write::<4>(out, self.pages.owner.iter().map(|owner| owner.map_or(0, |lpn| u64::from(lpn.get()) + 1)))
    }

    /// Restore the state written by [`save`](Self::save) for a device of the same configuration. The device
    /// must be erased.
    ///
    /// # Errors
    /// The error of `input`, or an invalid state. The device must not be used then.
    pub fn restore(&mut self, input: &mut dyn Read) -> io::Result<()> {
        assert_eq!(self.sequence, 0, "the device has been written");
        self.restore_scalars(input)?;
        self.restore_blocks(input)?;
        let orders = self.restore_pools(input)?;
        self.placer.restore(input)?;
        self.restore_pages(input)?;
        self.count();
        for (pool, order) in self.pools().zip(orders) {
            for block in order {
                self.offer(pool, block);
            }
        }
        Ok(())
    }

    fn restore_scalars(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut scalars = [0; 2];
        read::<8, _>(input, "counter", &mut scalars, |count| (count < COUNT_MAX).then_some(count))?;
        let [sequence, next_die] = scalars;
        self.sequence = sequence;
        let dies = self.geometry.dies() as usize;
        let next_die = below(dies)(next_die).ok_or_else(|| invalid(format!("die {next_die}")))?;
        let mut turns = vec![0; 2 * dies];
        read::<4, _>(input, "turn of die", &mut turns, below(self.dims.pools_per_die as usize))?;
        let turns_of = |which: usize| turns.iter().copied().skip(which).step_by(2);
        self.allocator.set_turns(next_die, turns_of(0));
        self.collector.set_turns(turns_of(1));
        Ok(())
    }

    fn restore_blocks(&mut self, input: &mut dyn Read) -> io::Result<()> {
        // Half the range leaves room for the erases of a run.
        let mut erases = vec![0; self.blocks.len()];
        read::<4, _>(input, "erases of block", &mut erases, below(1 << 31))?;
        let mut sealed_at = vec![0; self.blocks.len()];
        let past = |at| (at <= self.sequence).then_some(at);
        read::<8, _>(input, "sealing of block", &mut sealed_at, past)?;
        for (block, (erases, sealed_at)) in self.histories.iter_mut().zip(erases.into_iter().zip(sealed_at)) {
            (block.erases, block.sealed_at) = (erases, sealed_at);
        }
        Ok(())
    }

    /// Restore free lists, active blocks, random streams and the states of blocks. Returns the candidates of each pool
    /// in order.
    fn restore_pools(&mut self, input: &mut dyn Read) -> io::Result<Vec<Vec<BlockId>>> {
        self.close_opened();
        let blocks_per_pool = self.dims.blocks_per_pool as usize;
        let mut fills = Vec::new();
        for _ in self.pools() {
            let mut numbers = vec![0; 1 + self.dims.groups.count() as usize];
            read::<4, _>(input, "fill", &mut numbers, below(usize::MAX))?;
            let open = numbers[1..].iter().filter(|&&fill| fill > 0).count();
            // GC needs its reserve block, and a full active block is sealed.
            if numbers[0] == 0 || numbers[0] as usize + open > blocks_per_pool {
                return Err(invalid(format!("{} free blocks in a pool", numbers[0])));
            }
            if let Some(&fill) = numbers[1..].iter().find(|&&fill| fill > self.dims.data_pages_per_block) {
                return Err(invalid(format!("an active block with {} pages", fill - 1)));
            }
            fills.push(numbers);
        }
        for stream in self.collector.draws() {
            let mut words = [0; STREAM_WORDS];
            read::<8, _>(input, "random stream", &mut words, Some)?;
            *stream = seed::restore(words);
        }
        let mut seen = IdVec::<BlockId, bool>::filled(false, self.blocks.len());
        self.pools()
            .zip(fills)
            .map(|(pool, fills)| self.restore_pool(pool, &fills, &mut seen, input))
            .collect()
    }

    /// Hand back what a new device has opened: other blocks may be open in the one that was saved.
    fn close_opened(&mut self) {
        for block in
            self.blocks.ids().filter(|&block| self.blocks[block].state == State::Open).collect::<Vec<_>>()
        {
            let pool = self.dims.pool_of(block);
            self.allocator.close(pool, block);
            self.allocator.hand_back(pool, block, 0, &self.dims);
            self.blocks[block].state = State::Free;
        }
    }

    /// Restore a pool from the number of its free blocks and the fill of its active blocks. Returns its candidates in
    /// order.
    fn restore_pool(
        &mut self,
        pool: PoolId,
        fills: &[u32],
        seen: &mut IdVec<BlockId, bool>,
        input: &mut dyn Read,
    ) -> io::Result<Vec<BlockId>> {
        let mut locals = vec![None; self.dims.blocks_per_pool as usize];
        let local = below(locals.len());
        read::<4, _>(input, "block", &mut locals, |number| {
            Some(Some(Index::from_index(local(number)? as usize)))
        })?;
        let mut blocks: Vec<_> =
            locals.into_iter().flatten().map(|local| self.dims.block(pool, local)).collect();
        if let Some(twice) = blocks.iter().find(|&&block| std::mem::replace(&mut seen[block], true)) {
            return Err(invalid(format!("{twice:?} is listed twice")));
        }
        let mut rest = blocks.split_off(fills[0] as usize).into_iter();
        for (group, &fill) in self.dims.groups.ids().zip(&fills[1..]) {
            if let Some(next) = fill.checked_sub(1) {
                let block = rest.next().expect("there are as many blocks as fills");
                self.blocks[block].state = State::Open;
                self.allocator.set_active(pool, group, Active { block: Some(block), next });
            }
        }
        let erased = blocks.iter().map(|&block| (block, self.histories[block].erases));
        self.allocator.set_free(pool, erased, &self.dims);
        let order: Vec<_> = rest.collect();
        for &block in &order {
            self.blocks[block].state = State::Sealed;
        }
        Ok(order)
    }

    /// Restore the valid pages, their owners, and from these the map.
    fn restore_pages(&mut self, input: &mut dyn Read) -> io::Result<()> {
        read::<8, _>(input, "valid pages", self.pages.valid.words_mut(), Some)?;
        let logical_pages = self.dims.logical_pages;
        read::<4, _>(input, "owner of page", &mut self.pages.owner, |number| match number as u32 {
            0 => Some(None),
            number => (number <= logical_pages).then(|| Some(Lpn::new(number - 1))),
        })?;
        for block in self.blocks.ids() {
            let programmed = match self.blocks[block].state {
                State::Free => 0,
                State::Sealed | State::Queued | State::Victim => self.dims.data_pages_per_block,
                State::Open => {
                    let actives = self.allocator.actives(self.dims.pool_of(block));
                    let active = actives.iter().find(|active| active.block == Some(block));
                    active.expect("an open block is active").next
                }
            };
            for word in 0..self.pages.valid.words_per_block() {
                let mut bits = self.pages.valid.word(block, word);
                while bits != 0 {
                    let index = word as u32 * 64 + bits.trailing_zeros();
                    bits &= bits - 1;
                    if index >= programmed {
                        return Err(invalid(format!(
                            "page {index} of {block:?} is valid and not programmed"
                        )));
                    }
                    self.restore_mapping(block, index)?;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn restore_mapping(&mut self, block: BlockId, index: u32) -> io::Result<()> {
        let page = self.geometry.page(block, index);
        let Some(lpn) = self.pages.owner[page] else {
            return Err(invalid(format!("{page:?} is valid and belongs to no logical page")));
        };
        if !self.allocator.may_lie_on(lpn, self.geometry.die_of(block)) {
            return Err(invalid(format!("{lpn:?} lies on another die than its own")));
        }
        if let Some(other) = self.pages.map.get(lpn) {
            return Err(invalid(format!("{lpn:?} has two valid pages, {other:?} and {page:?}")));
        }
        self.pages.map.set(lpn, page);
        Ok(())
    }

    /// Recompute the counts of blocks and pools.
    fn count(&mut self) {
        for block in self.blocks.ids() {
            let known = &mut self.blocks[block];
            known.valid = self.pages.valid.count(block);
            known.cost = known.cost_on(self.collector.scale(), Default::default);
            self.allocator.add_valid(self.dims.pool_of(block), known.valid);
        }
    }
}

/// Create a decoder that accepts numbers below `end`.
fn below(end: usize) -> impl Fn(u64) -> Option<u32> {
    move |number| u32::try_from(number).ok().filter(|&number| (number as usize) < end)
}
