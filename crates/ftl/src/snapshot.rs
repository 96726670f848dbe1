//! An FTL as bytes, and back.
//!
//! Only what the rest does not imply is kept: map, counts, costs and the policies' own structures are made anew, so bytes
//! that were tampered with cannot contradict each other. What remains is checked, and a device that was read cannot panic.
//!
//! The columns, in order: scalars; two numbers for each die; erases and sealing times of all blocks; for each pool its free
//! blocks and the fill of its active blocks; the random streams; the blocks of each pool, free ones first, then active
//! ones, then candidates; which pages are valid; whom each page belongs to.

use crate::advisor::{Weight, Weights};
use crate::block::State;
use crate::column::{invalid, read, write};
use crate::ftl::{Ftl, Tally};
use crate::pool::{Active, FreeList};
use coflash_base::seed::{self, STREAM_WORDS};
use coflash_base::{Index, Lpn};
use coflash_flash::{BlockId, Cause};
use std::io::{self, Read, Write};

/// No counter comes near this in the life of a device; sums of counters below it do not overflow.
const COUNT_MAX: u64 = 1 << 56;
const SCALARS: usize = 6 + Cause::ALL.len();

impl Ftl {
    /// Writes the state of a device that has just been warmed up: nothing has been marked, and no victim is partly cleaned
    /// ([`Ftl::finish_victims`]).
    ///
    /// # Errors
    /// What `out` reports.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let marked =
            self.weights != Weights::all(Weight::FULL) || self.blocks.marked.iter().any(|&marked| marked > 0);
        assert!(!marked, "the device has been used");
        assert!(self.pools.iter().all(|pool| pool.cleaning.is_none()), "a victim is partly cleaned");
        let Tally { programs_pages, reads_pages, gc_drops_pages, erases_blocks, gc_steps } = self.tally;
        let next_die = u64::from(self.next_die);
        let scalars = [self.sequence, next_die, reads_pages, gc_drops_pages, erases_blocks, gc_steps];
        write::<8>(out, scalars.into_iter().chain(programs_pages))?;
        write::<4>(out, self.dies.iter().flat_map(|die| [die.next_write, die.next_clean]).map(u64::from))?;
        write::<4>(out, self.blocks.erases.iter().copied().map(u64::from))?;
        write::<8>(out, self.blocks.sealed_at.iter().copied())?;
        let fill = |active: &Active| active.block.map_or(0, |_| u64::from(active.next) + 1);
        for pool in &self.pools {
            write::<4>(out, [u64::from(pool.free.len())].into_iter().chain(pool.actives.iter().map(fill)))?;
        }
        for pool in &self.pools {
            if let Some(stream) = pool.victim.clone().draws() {
                write::<8>(out, seed::save(stream).into_iter())?;
            }
        }
        for pool in &self.pools {
            let local = |block: BlockId| block.get() - pool.first_block;
            let active = pool.actives.iter().filter_map(|active| active.block);
            let blocks = pool.free.iter().chain(active).map(local).chain(pool.victim.order());
            write::<4>(out, blocks.map(u64::from))?;
        }
        write::<8>(out, self.valid.words().iter().copied())?;
        write::<4>(out, self.owner.iter().map(|owner| owner.map_or(0, |lpn| u64::from(lpn.get()) + 1)))
    }

    /// Puts an erased device into the state that [`save`](Self::save) wrote for one of the same configuration.
    ///
    /// # Errors
    /// What `input` reports, or what is wrong with the state; the device is of no use then.
    pub fn restore(&mut self, input: &mut dyn Read) -> io::Result<()> {
        assert_eq!(self.sequence, 0, "the device has been written");
        self.restore_scalars(input)?;
        self.restore_blocks(input)?;
        let orders = self.restore_pools(input)?;
        self.restore_pages(input)?;
        self.count();
        for (pool, order) in std::iter::zip(&mut self.pools, orders) {
            for block in order {
                pool.victim.sealed(block.get() - pool.first_block, self.blocks.cost[block]);
            }
        }
        Ok(())
    }

    fn restore_scalars(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut scalars = [0; SCALARS];
        read::<8, _>(input, "counter", &mut scalars, |count| (count < COUNT_MAX).then_some(count))?;
        let [sequence, next_die, reads_pages, gc_drops_pages, erases_blocks, gc_steps, programs_pages @ ..] =
            scalars;
        self.sequence = sequence;
        self.next_die = below(self.dies.len())(next_die).ok_or_else(|| invalid(format!("die {next_die}")))?;
        self.tally = Tally { programs_pages, reads_pages, gc_drops_pages, erases_blocks, gc_steps };
        let mut turns = vec![0; 2 * self.dies.len()];
        read::<4, _>(input, "turn of die", &mut turns, below(self.dims.pools_per_die as usize))?;
        for (die, turn) in std::iter::zip(&mut *self.dies, turns.chunks_exact(2)) {
            (die.next_write, die.next_clean) = (turn[0], turn[1]);
        }
        Ok(())
    }

    fn restore_blocks(&mut self, input: &mut dyn Read) -> io::Result<()> {
        // Half the range leaves room for what a run adds.
        read::<4, _>(input, "erases of block", &mut self.blocks.erases, below(1 << 31))?;
        let erases: u64 = self.blocks.erases.iter().copied().map(u64::from).sum();
        if erases != self.tally.erases_blocks {
            return Err(invalid(format!("{erases} erases, but {} were counted", self.tally.erases_blocks)));
        }
        let past = |at| (at <= self.sequence).then_some(at);
        read::<8, _>(input, "sealing of block", &mut self.blocks.sealed_at, past)
    }

    /// Restores free lists, active blocks, random streams and the states of blocks; the candidates of each pool in order.
    fn restore_pools(&mut self, input: &mut dyn Read) -> io::Result<Vec<Vec<BlockId>>> {
        let blocks_per_pool = self.dims.blocks_per_pool as usize;
        let mut fills = Vec::with_capacity(self.pools.len());
        for _ in &self.pools {
            let mut numbers = vec![0; 1 + self.dims.groups as usize];
            read::<4, _>(input, "fill", &mut numbers, below(usize::MAX))?;
            let open = numbers[1..].iter().filter(|&&fill| fill > 0).count();
            // GC needs its reserve block; an active block that is full is sealed.
            if numbers[0] == 0 || numbers[0] as usize + open > blocks_per_pool {
                return Err(invalid(format!("{} free blocks in a pool", numbers[0])));
            }
            if let Some(&fill) = numbers[1..].iter().find(|&&fill| fill > self.dims.data_pages_per_block) {
                return Err(invalid(format!("an active block with {} pages", fill - 1)));
            }
            fills.push(numbers);
        }
        for pool in &mut self.pools {
            if let Some(stream) = pool.victim.draws() {
                let mut words = [0; STREAM_WORDS];
                read::<8, _>(input, "random stream", &mut words, Some)?;
                *stream = seed::restore(words);
            }
        }
        let mut orders = Vec::with_capacity(self.pools.len());
        let mut seen = vec![false; self.blocks.state.len()];
        for (pool, fills) in std::iter::zip(&mut self.pools, fills) {
            let mut locals = vec![0; blocks_per_pool];
            read::<4, _>(input, "block", &mut locals, below(blocks_per_pool))?;
            let mut blocks: Vec<_> =
                locals.iter().map(|local| BlockId::new(pool.first_block + local)).collect();
            if let Some(twice) = blocks.iter().find(|block| std::mem::replace(&mut seen[block.index()], true))
            {
                return Err(invalid(format!("{twice:?} is listed twice")));
            }
            let mut rest = blocks.split_off(fills[0] as usize).into_iter();
            for (active, &fill) in std::iter::zip(&mut pool.actives, &fills[1..]) {
                if let Some(next) = fill.checked_sub(1) {
                    let block = rest.next().expect("there are as many blocks as fills");
                    self.blocks.state[block] = State::Open;
                    *active = Active { block: Some(block), next };
                }
            }
            let erased = |block| (block, self.blocks.erases[block]);
            pool.free = FreeList::new(blocks.into_iter().map(erased), self.wear_levelling);
            let order: Vec<_> = rest.collect();
            for &block in &order {
                self.blocks.state[block] = State::Sealed;
            }
            orders.push(order);
        }
        Ok(orders)
    }

    /// Restores which pages are valid and whom they belong to, and from that the map.
    fn restore_pages(&mut self, input: &mut dyn Read) -> io::Result<()> {
        read::<8, _>(input, "valid pages", self.valid.words_mut(), Some)?;
        let logical_pages = self.dims.logical_pages;
        read::<4, _>(input, "owner of page", &mut self.owner, |number| match number as u32 {
            0 => Some(None),
            number => (number <= logical_pages).then(|| Some(Lpn::new(number - 1))),
        })?;
        for block in self.blocks.state.ids() {
            let programmed = match self.blocks.state[block] {
                State::Free => 0,
                State::Sealed | State::Victim => self.dims.data_pages_per_block,
                State::Open => {
                    let actives = &self.pools[self.pool_of(block)].actives;
                    let active = actives.iter().find(|active| active.block == Some(block));
                    active.expect("an open block is active").next
                }
            };
            for word in 0..self.valid.words_per_block() {
                let mut bits = self.valid.word(block, word);
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
        let Some(lpn) = self.owner[page] else {
            return Err(invalid(format!("{page:?} is valid and belongs to nobody")));
        };
        if !self.may_lie_on(lpn, self.geometry.die_of(block)) {
            return Err(invalid(format!("{lpn:?} lies on another die than its own")));
        }
        match self.map[lpn].replace(page) {
            None => Ok(()),
            Some(other) => Err(invalid(format!("{lpn:?} has two valid pages, {other:?} and {page:?}"))),
        }
    }

    /// Counts what is kept for blocks, pools and dies.
    fn count(&mut self) {
        for block in self.blocks.state.ids() {
            let valid = self.valid.count(block);
            self.blocks.valid[block] = valid;
            self.blocks.cost[block] = self.scale.cost(valid, 0, Default::default);
            let pool = self.pool_of(block);
            self.pools[pool].valid_pages += valid;
        }
        for pool in 0..self.pools.len() {
            self.count_low(pool);
        }
    }
}

/// Takes numbers below `end`.
fn below(end: usize) -> impl Fn(u64) -> Option<u32> {
    move |number| u32::try_from(number).ok().filter(|&number| (number as usize) < end)
}
