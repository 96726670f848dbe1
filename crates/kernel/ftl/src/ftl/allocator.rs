//! The allocator: free blocks, active blocks, and the choice of the next page.

use crate::config::{Chips, WearLevelling};
use crate::dimensions::Dimensions;
use crate::ids::{GroupId, PoolId};
use coflash_base::{Divisor, IdVec, Index, Lpn, Save};
use coflash_media::{BlockId, DieId, Geometry, Ppn};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Free blocks in the order of their use.
#[derive(Clone, Debug, Save)]
pub(super) enum FreeList {
    InOrder(VecDeque<BlockId>),
    LeastErased(BinaryHeap<Reverse<(u32, BlockId)>>),
}

impl FreeList {
    /// Create a list of blocks, each with its erase count.
    fn new(blocks: impl Iterator<Item = (BlockId, u32)>, in_order: bool) -> Self {
        if in_order {
            Self::InOrder(blocks.map(|(block, _)| block).collect())
        } else {
            Self::LeastErased(blocks.map(|(block, erases)| Reverse((erases, block))).collect())
        }
    }

    fn len(&self) -> u32 {
        match self {
            Self::InOrder(blocks) => blocks.len() as u32,
            Self::LeastErased(blocks) => blocks.len() as u32,
        }
    }

    fn pop(&mut self) -> Option<BlockId> {
        match self {
            Self::InOrder(blocks) => blocks.pop_front(),
            Self::LeastErased(blocks) => blocks.pop().map(|Reverse((_, block))| block),
        }
    }

    fn peek(&self) -> Option<BlockId> {
        match self {
            Self::InOrder(blocks) => blocks.front().copied(),
            Self::LeastErased(blocks) => blocks.peek().map(|Reverse((_, block))| *block),
        }
    }

    fn push(&mut self, block: BlockId, erases: u32) {
        match self {
            Self::InOrder(blocks) => blocks.push_back(block),
            Self::LeastErased(blocks) => blocks.push(Reverse((erases, block))),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = BlockId> + '_> {
        match self {
            Self::InOrder(blocks) => Box::new(blocks.iter().copied()),
            Self::LeastErased(blocks) => Box::new(blocks.iter().map(|Reverse((_, block))| *block)),
        }
    }
}

/// The active block of a group of streams.
#[derive(Clone, Copy, Debug, Default, Save)]
pub(super) struct Active {
    pub(super) block: Option<BlockId>,
    /// The index of its next page.
    pub(super) next: u32,
}

impl Active {
    /// The number of erased pages left in it.
    pub(super) fn room(&self, dims: &Dimensions) -> u32 {
        if self.block.is_some() { dims.data_pages_per_block - self.next } else { 0 }
    }
}

/// An erased page taken for a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) block: BlockId,
    /// Its index in the block.
    pub(super) index: u32,
    pub(super) page: Ppn,
}

/// The free and open blocks of a pool.
#[derive(Clone, Save)]
struct Space {
    free: FreeList,
    actives: IdVec<GroupId, Active>,
    valid_pages: u32,
}

/// The state of a die for the choice of pools.
#[derive(Clone, Copy, Debug, Default, Save)]
struct Die {
    /// The number of pools at or below the low mark.
    low_pools: u32,
    /// The number of pools at or below the mark for GC in steps, including those at or below the low mark.
    due_pools: u32,
    /// The pool at which the search for the next write begins.
    next_write: u32,
}

/// The allocator of a device.
#[derive(Clone, Save)]
pub(super) struct Allocator {
    chips: Chips,
    /// Divides by the number of dies.
    by_dies: Divisor,
    /// Whether free blocks are used in the order in which they became free.
    in_order: bool,
    pools: IdVec<PoolId, Space>,
    dies: IdVec<DieId, Die>,
    /// The die at which the search for the next write begins.
    next_die: u32,
}

impl Allocator {
    pub(super) fn new(
        geometry: &Geometry,
        dims: &Dimensions,
        chips: Chips,
        wear_levelling: WearLevelling,
    ) -> Self {
        let in_order = wear_levelling == WearLevelling::Off;
        let space = |pool| Space {
            free: FreeList::new(dims.blocks_of(pool).map(|block| (block, 0)), in_order),
            actives: IdVec::filled(Active::default(), dims.groups.count as usize),
            valid_pages: 0,
        };
        Self {
            chips,
            by_dies: Divisor::new(geometry.dies()),
            in_order,
            pools: (0..dims.pools(geometry)).map(|pool| space(PoolId::new(pool))).collect(),
            dies: IdVec::filled(Die::default(), geometry.dies() as usize),
            next_die: 0,
        }
    }

    /// The number of free blocks of a pool.
    #[inline(always)]
    pub(super) fn free_blocks(&self, pool: PoolId) -> u32 {
        self.pools[pool].free.len()
    }

    /// The free blocks of a pool in the order of their use.
    pub(super) fn free_list(&self, pool: PoolId) -> impl Iterator<Item = BlockId> + '_ {
        self.pools[pool].free.iter()
    }

    /// The free block that will be taken next.
    pub(super) fn next_free(&self, pool: PoolId) -> Option<BlockId> {
        self.pools[pool].free.peek()
    }

    /// Whether a pool of the die is at or below the low mark.
    #[inline(always)]
    pub(super) fn is_low(&self, die: DieId) -> bool {
        self.dies[die].low_pools > 0
    }

    /// Whether a pool of the die is at or below the mark for GC in steps.
    #[inline(always)]
    pub(super) fn is_due(&self, die: DieId) -> bool {
        self.dies[die].due_pools > 0
    }

    /// The number of valid pages of a pool.
    #[inline(always)]
    pub(super) fn valid_pages(&self, pool: PoolId) -> u32 {
        self.pools[pool].valid_pages
    }

    #[inline(always)]
    pub(super) fn add_valid(&mut self, pool: PoolId, pages: u32) {
        self.pools[pool].valid_pages += pages;
    }

    #[inline(always)]
    pub(super) fn remove_valid(&mut self, pool: PoolId, pages: u32) {
        self.pools[pool].valid_pages -= pages;
    }

    /// The die of all writes of a page, if each page has one.
    #[inline(always)]
    pub(super) fn die_of(&self, lpn: Lpn) -> Option<DieId> {
        (self.chips == Chips::Static).then(|| DieId::new(self.by_dies.rest(lpn.get())))
    }

    /// Choose the die of a write whose page has none. `overwritten_in` is the pool of the copy that the write makes invalid: on a full
    /// device only that one has room. `backlog` is the pending work of a die.
    pub(super) fn choose_die(
        &mut self,
        dims: &Dimensions,
        overwritten_in: Option<PoolId>,
        backlog: impl Fn(DieId) -> u64,
    ) -> DieId {
        let dies = self.dies.len() as u32;
        let in_turn = (0..dies).map(|step| DieId::new((self.next_die + step) % dies));
        let mut with_room = in_turn.filter(|&die| self.has_room(die, overwritten_in, dims));
        // Ties are broken in turn: the search begins after the die used last.
        let found = if self.chips == Chips::RoundRobin {
            with_room.next()
        } else {
            with_room.min_by_key(|&die| backlog(die))
        };
        let die = found.expect("the device has room");
        self.next_die = (die.get() + 1) % dies;
        die
    }

    /// Whether a die may take another valid page and GC can still free a page, given the pool of the overwritten copy.
    fn has_room(&self, die: DieId, overwritten_in: Option<PoolId>, dims: &Dimensions) -> bool {
        let max = |pool| dims.valid_pages_max + u32::from(overwritten_in == Some(pool));
        dims.pools_of(die).any(|pool| self.pools[pool].valid_pages < max(pool))
    }

    /// Choose the pool of a die for a write: the one with the most free pages. Ties are broken in turn.
    #[inline(always)]
    pub(super) fn choose_pool(&mut self, die: DieId, group: GroupId, dims: &Dimensions) -> PoolId {
        if dims.pools_per_die == 1 {
            return dims.pool(die, 0);
        }
        let begin = self.dies[die].next_write;
        let mut best = None;
        for step in 0..dims.pools_per_die {
            let local = (begin + step) % dims.pools_per_die;
            let space = &self.pools[dims.pool(die, local)];
            if space.valid_pages < dims.valid_pages_max {
                let in_open = space.actives[group].room(dims);
                let free_pages = space.free.len() * dims.data_pages_per_block + in_open;
                if best.is_none_or(|(most, _)| free_pages > most) {
                    best = Some((free_pages, local));
                }
            }
        }
        let (_, local) = best.expect("a die with room has a pool with room");
        self.dies[die].next_write = (local + 1) % dims.pools_per_die;
        dims.pool(die, local)
    }

    /// The active block of a group.
    #[inline(always)]
    pub(super) fn active(&self, pool: PoolId, group: GroupId) -> Active {
        self.pools[pool].actives[group]
    }

    #[inline(always)]
    pub(super) fn active_mut(&mut self, pool: PoolId, group: GroupId) -> &mut Active {
        &mut self.pools[pool].actives[group]
    }

    #[inline(always)]
    pub(super) fn set_active(&mut self, pool: PoolId, group: GroupId, active: Active) {
        self.pools[pool].actives[group] = active;
    }

    /// The active blocks of a pool.
    pub(super) fn actives(&self, pool: PoolId) -> &[Active] {
        &self.pools[pool].actives
    }

    /// Remove a block from the active blocks.
    pub(super) fn close(&mut self, pool: PoolId, block: BlockId) {
        let actives = &mut self.pools[pool].actives;
        let active = actives.iter_mut().find(|active| active.block == Some(block));
        *active.expect("an open block is active") = Active::default();
    }

    /// Take the next free block of a pool.
    pub(super) fn take_free(&mut self, pool: PoolId, dims: &Dimensions) -> BlockId {
        let free = &mut self.pools[pool].free;
        let block = free.pop().expect("GC keeps a reserve block");
        let free = free.len();
        let die = &mut self.dies[dims.die_of(pool)];
        die.low_pools += u32::from(free == dims.low_mark_blocks);
        die.due_pools += u32::from(free == dims.step_mark_blocks);
        block
    }

    /// Take back an erased block.
    pub(super) fn hand_back(&mut self, pool: PoolId, block: BlockId, erases: u32, dims: &Dimensions) {
        let free = &mut self.pools[pool].free;
        free.push(block, erases);
        let free = free.len();
        let die = &mut self.dies[dims.die_of(pool)];
        die.low_pools -= u32::from(free == dims.low_mark_blocks + 1);
        die.due_pools -= u32::from(free == dims.step_mark_blocks + 1);
    }

    /// Replace the free blocks of a pool of an erased device, each with its erase count.
    pub(super) fn set_free(
        &mut self,
        pool: PoolId,
        blocks: impl Iterator<Item = (BlockId, u32)>,
        dims: &Dimensions,
    ) {
        self.pools[pool].free = FreeList::new(blocks, self.in_order);
        let free = self.pools[pool].free.len();
        let die = &mut self.dies[dims.die_of(pool)];
        die.low_pools += u32::from(free <= dims.low_mark_blocks);
        die.due_pools += u32::from(free <= dims.step_mark_blocks);
    }

    /// Panic unless the counts of each die match its pools. For tests.
    pub(super) fn assert_invariants(&self, dims: &Dimensions) {
        for die in self.dies.ids() {
            let at_most =
                |mark| dims.pools_of(die).filter(|&pool| self.free_blocks(pool) <= mark).count() as u32;
            assert_eq!(at_most(dims.low_mark_blocks), self.dies[die].low_pools, "{die:?}: low pools");
            assert_eq!(at_most(dims.step_mark_blocks), self.dies[die].due_pools, "{die:?}: due pools");
        }
    }

    /// The dies of the device.
    pub(super) fn dies(&self) -> impl Iterator<Item = DieId> + use<> {
        (0..self.dies.len()).map(DieId::from_index)
    }
}
