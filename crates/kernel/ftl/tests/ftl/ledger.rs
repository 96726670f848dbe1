//! The ledger: the operations of flash, replayed and checked against the rules of the FTL.

use crate::setup::Setup;
use coflash_base::{Index, Lpn};
use coflash_ftl::placement::Classes;
use coflash_ftl::{
    FreeMark, Ftl, FtlCounters, GcMode, PlacementConfig, Summary, VictimConfig, WearLevelling, WriteStream,
};
use coflash_media::{BlockId, Cause, Oob, Ppn};
use coflash_testing::Done;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
struct Block {
    /// Pages programmed since the last erase.
    programmed: u32,
    valid: u32,
    erases: u32,
    /// The group of its data.
    group: Option<usize>,
    /// When it was sealed.
    sealed: Option<u64>,
}

/// The blocks of a device as its operations leave them.
pub(crate) struct Ledger {
    setup: Setup,
    counters: FtlCounters,
    /// In the order of [`Cause::ALL`].
    programs: [u64; Cause::ALL.len()],
    blocks: Vec<Block>,
    /// The free blocks of each pool, in the order of their erases.
    free: Vec<VecDeque<u32>>,
    place: Vec<Option<Ppn>>,
    /// The page after which the newest entry of the log requires a summary.
    summary_due: Option<Ppn>,
    /// The victim being copied in each pool, its cost, and when its cleaning began.
    cleaning: Vec<Option<(BlockId, u32, u64)>>,
    /// In each pool the worn block that takes over cold data, and the block it takes it from.
    cold: Vec<Option<(u32, BlockId)>>,
    entries: u64,
    /// Pages were marked: costs are not valid pages alone.
    pub(crate) marks: bool,
}

impl Ledger {
    pub(crate) fn new(setup: &Setup, logical_pages: u32) -> Self {
        let blocks = setup.units().blocks();
        let per_pool = setup.blocks_per_pool();
        Self {
            setup: setup.clone(),
            counters: FtlCounters::default(),
            programs: [0; Cause::ALL.len()],
            blocks: vec![Block::default(); blocks as usize],
            free: (0..blocks / per_pool).map(|p| (p * per_pool..(p + 1) * per_pool).collect()).collect(),
            place: vec![None; logical_pages as usize],
            summary_due: None,
            cleaning: vec![None; (blocks / per_pool) as usize],
            cold: vec![None; (blocks / per_pool) as usize],
            entries: 0,
            marks: false,
        }
    }

    /// Flash was told all this.
    pub(crate) fn enter(&mut self, log: impl IntoIterator<Item = Done>) {
        for done in log {
            self.entries += 1;
            let due = self.summary_due.take();
            match done {
                Done::Read(page, _) => {
                    assert_ne!(self.block(page).programmed, 0, "{page:?} is read in an erased block");
                    self.counters.flash_reads_pages += 1;
                }
                Done::Program(page, Oob { lpn: None, .. }, cause) => {
                    assert_eq!(
                        due.map(|last| last.get() + 1),
                        Some(page.get()),
                        "a summary follows its block"
                    );
                    assert_eq!(cause, Cause::Metadata);
                    self.count(cause);
                    self.block(page).programmed += 1;
                    continue;
                }
                Done::Program(page, Oob { lpn: Some(lpn), .. }, cause) => {
                    if self.setup.gc.mode == GcMode::Foreground {
                        assert!(self.cleaning.iter().all(Option::is_none), "a write waits for whole victims");
                    }
                    self.count(cause);
                    self.invalidate(lpn);
                    self.fill(lpn, page, cause);
                }
                Done::Copy(from, to, Oob { lpn, .. }, cause) => {
                    let lpn = lpn.expect("summaries are not copied");
                    assert_eq!(self.place[lpn.index()], Some(from), "GC copies valid pages");
                    assert_eq!(self.pool_of(from), self.pool_of(to), "GC stays in its pool");
                    self.begin_cleaning(self.setup.units().block_of(from), cause);
                    self.count(cause);
                    self.invalidate(lpn);
                    if cause == Cause::WearLevelling {
                        let (worn, _) = self.cold[self.pool_of(to)].expect("no block is so worn");
                        assert_eq!(self.setup.units().block_of(to).get(), worn, "the worn block takes over");
                        self.block(to).group = Some(COLD);
                    }
                    self.fill(lpn, to, cause);
                }
                Done::Erase(block, cause) => self.erase(block, cause),
            }
            assert_eq!(due, None, "{done:?} instead of a summary");
        }
        assert_eq!(self.summary_due, None, "a summary is missing");
    }

    fn count(&mut self, cause: Cause) {
        let at = Cause::ALL.iter().position(|&(other, _)| other == cause).expect("all are there");
        self.programs[at] += 1;
        self.counters.gc_copies_pages += u64::from(cause == Cause::Gc);
    }

    /// A page is no longer where it was: it was written elsewhere, trimmed or dropped.
    pub(crate) fn invalidate(&mut self, lpn: Lpn) {
        if let Some(page) = self.place[lpn.index()].take() {
            self.block(page).valid -= 1;
        }
    }

    fn block(&mut self, page: Ppn) -> &mut Block {
        &mut self.blocks[self.setup.units().block_of(page).index()]
    }

    fn pool_of(&self, page: Ppn) -> usize {
        (self.setup.units().block_of(page).get() / self.setup.blocks_per_pool()) as usize
    }

    /// A data page is programmed.
    fn fill(&mut self, lpn: Lpn, page: Ppn, cause: Cause) {
        let (entries, full, per_block) =
            (self.entries, self.setup.data_pages(), self.setup.units().pages_per_block);
        let cold = self.block(page).group == Some(COLD);
        if page.get().is_multiple_of(per_block) && !cold {
            self.open(self.pool_of(page), page.get() / per_block);
        }
        let group = match self.setup.classes() {
            _ if cold => COLD,
            Classes::Streams => group_of(&self.setup, cause),
            // Which class a policy chooses is its own business.
            Classes::Own { .. } => 0,
        };
        let summary = match self.setup.ftl.summary {
            Summary::Off => false,
            Summary::On => true,
            Summary::FreeInGc => cause != Cause::Gc && !cold,
        };
        self.place[lpn.index()] = Some(page);
        let block = self.block(page);
        assert_eq!(
            *block.group.get_or_insert(group),
            group,
            "{page:?}: streams that are apart share a block"
        );
        assert_eq!(block.programmed, page.get() % per_block, "{page:?} is programmed out of order");
        block.programmed += 1;
        block.valid += 1;
        if block.programmed == full {
            block.sealed = Some(entries);
            self.summary_due = summary.then_some(page);
        }
    }

    /// A free block is taken: the one that wear levelling asks for.
    fn open(&mut self, pool: usize, block: u32) {
        let free = &mut self.free[pool];
        let expected = match self.setup.ftl.wear_levelling {
            WearLevelling::Off => free.front().copied(),
            WearLevelling::Dynamic | WearLevelling::Static { .. } => {
                free.iter().copied().min_by_key(|&block| (self.blocks[block as usize].erases, block))
            }
        };
        assert_eq!(Some(block), expected, "of {free:?}");
        free.retain(|&other| other != block);
    }

    /// Check the first copy from a victim, or its erase: unless begun in an earlier step, the victim is the
    /// policy's choice now.
    fn begin_cleaning(&mut self, block: BlockId, cause: Cause) {
        let pool = (block.get() / self.setup.blocks_per_pool()) as usize;
        let valid = self.blocks[block.index()].valid;
        if let Some((victim, ..)) = self.cleaning[pool] {
            return assert_eq!(victim, block, "one victim at a time");
        }
        self.cleaning[pool] = Some((block, valid, self.entries));
        if cause == Cause::WearLevelling {
            assert_eq!(self.cold[pool].map(|(_, cold)| cold), Some(block), "the coldest block is moved");
        } else {
            assert_eq!(cause, Cause::Gc);
            // Where an operation may have come between the choice and the first copy, the choice cannot be checked.
            let at_once = self.setup.gc.mode == GcMode::Foreground || valid > 0;
            if !self.marks && at_once {
                self.check_victim(block, valid, self.entries);
            }
        }
    }

    fn erase(&mut self, block: BlockId, cause: Cause) {
        self.begin_cleaning(block, cause);
        let pool = (block.get() / self.setup.blocks_per_pool()) as usize;
        let (_, _, since) = self.cleaning[pool].take().expect("just begun");
        assert!(self.free[pool].len() <= self.setup.high_mark(), "GC began above its mark");
        assert!(
            self.blocks[block.index()].sealed.is_some_and(|at| at < since),
            "only sealed blocks are cleaned"
        );
        assert_eq!(self.blocks[block.index()].valid, 0, "{block:?} is erased with valid pages");
        self.blocks[block.index()] =
            Block { erases: self.blocks[block.index()].erases + 1, ..Block::default() };
        self.counters.erases_blocks += u64::from(self.setup.blocks_per_erase());
        if let Some((worn, _)) = self.cold[pool].take() {
            assert_eq!(cause, Cause::WearLevelling, "taking over ends before GC goes on");
            let entries = self.entries;
            let worn_block = &mut self.blocks[worn as usize];
            match worn_block.programmed {
                0 => self.free[pool].push_back(worn),
                _ => _ = worn_block.sealed.get_or_insert(entries),
            }
        } else {
            self.cold[pool] = self.takes_over(block).map(|cold| (block.get(), cold));
        }
        if self.cold[pool].is_none() {
            self.free[pool].push_back(block.get());
        }
    }

    /// The source of cold data for a block just erased: the rule of static wear levelling.
    fn takes_over(&self, worn: BlockId) -> Option<BlockId> {
        let per_pool = self.setup.blocks_per_pool();
        let first = worn.get() / per_pool * per_pool;
        let sealed = (first..first + per_pool).filter(|&block| self.blocks[block as usize].sealed.is_some());
        let age = |&block: &u32| (self.blocks[block as usize].erases, self.blocks[block as usize].sealed);
        let coldest = sealed.min_by_key(age)?;
        let gap = self.blocks[worn.index()].erases.saturating_sub(self.blocks[coldest as usize].erases);
        let wanted =
            matches!(self.setup.ftl.wear_levelling, WearLevelling::Static { gap: most } if gap > most);
        wanted.then(|| BlockId::new(coldest))
    }

    /// Whether the policy's rule, as far as it has one, names this victim.
    fn check_victim(&self, victim: BlockId, cost: u32, since: u64) {
        // Its queues come first, and the victim policy does not see their blocks.
        if matches!(self.setup.ftl.placement, PlacementConfig::Midas(_)) {
            return;
        }
        let first = victim.get() / self.setup.blocks_per_pool() * self.setup.blocks_per_pool();
        let pool = first as usize..(first + self.setup.blocks_per_pool()) as usize;
        // A block sealed by this very entry came after the choice.
        let candidates = self.blocks[pool].iter().filter(|block| block.sealed.is_some_and(|at| at < since));
        match self.setup.gc.victim {
            VictimConfig::Greedy(_) => {
                for candidate in candidates.filter(|block| block.sealed != self.blocks[victim.index()].sealed)
                {
                    assert!(candidate.valid >= cost, "{victim:?} cost {cost}: {candidate:?} is cheaper");
                }
            }
            VictimConfig::Fifo(_) => {
                let oldest = candidates.map(|block| block.sealed).min().expect("the victim is one");
                assert_eq!(oldest, self.blocks[victim.index()].sealed, "{victim:?} is not the oldest");
            }
            _ => {}
        }
    }

    /// Between operations: the FTL's own account is the ledger's.
    pub(crate) fn check(&self, ftl: &Ftl, dropped: u64) {
        let (gc_steps, in_steps) = (ftl.counters().gc_steps, self.setup.gc.mode != GcMode::Foreground);
        let expected = FtlCounters { gc_drops_pages: dropped, gc_steps, ..self.counters };
        assert_eq!(*ftl.counters(), expected, "the counters are the log's");
        assert_eq!(
            Cause::ALL.map(|(cause, _)| ftl.programs().by_cause(cause)),
            self.programs,
            "programs by cause"
        );
        assert!(in_steps || gc_steps == 0);
        assert_eq!(ftl.programs().all(), self.programs.iter().sum::<u64>());
        let erases: Vec<_> = self.blocks.iter().map(|block| block.erases).collect();
        let together = self.setup.blocks_per_erase();
        let counts = (0..together).flat_map(|_| erases.iter().copied());
        assert!(ftl.erase_counts().eq(counts), "erase counts");
        let all = erases.iter().map(|&n| u64::from(n)).sum::<u64>() * u64::from(together);
        assert_eq!(self.counters.erases_blocks, all);
        let fewest = self.free.iter().map(VecDeque::len).min().expect("there is a pool");
        let at_most = |blocks: usize| ftl.pools_have_at_most(FreeMark::Blocks(blocks as u32));
        assert!(at_most(fewest) && (fewest == 0 || !at_most(fewest - 1)), "free blocks");
        // The copies of a victim that is partly cleaned may have opened a free block for each class that GC copies into.
        let opened = match self.setup.gc.mode {
            GcMode::Preemptive { .. } => 1,
            _ if in_steps => self.setup.copied_to() as usize,
            _ => 0,
        };
        assert!(fewest >= self.setup.reserve() - opened, "GC left {fewest} free blocks");
        let pools = self.blocks.chunks(self.setup.blocks_per_pool() as usize).zip(&self.free);
        for ((blocks, free), cold) in pools.zip(&self.cold) {
            let erased = blocks.iter().filter(|block| block.programmed == 0).count();
            let sealed = blocks.iter().filter(|block| block.sealed.is_some()).count();
            let open = blocks.len() - free.len() - sealed;
            let taking = cold.map(|(worn, _)| &self.blocks[worn as usize]);
            let unused = usize::from(taking.is_some_and(|worn| worn.programmed == 0));
            let taken = usize::from(taking.is_some_and(|worn| worn.sealed.is_none()));
            assert_eq!(erased, free.len() + unused, "free blocks are erased");
            assert!(open <= groups(&self.setup) + taken, "{open} blocks are open");
        }
    }

    pub(crate) fn assert_no_victims(&self) {
        assert!(self.cleaning.iter().all(Option::is_none) && self.cold.iter().all(Option::is_none));
    }

    /// Free blocks of the pool that holds a page.
    pub(crate) fn free_near(&self, page: Ppn) -> usize {
        self.free[self.pool_of(page)].len()
    }
}

/// The group of cold data that a worn block takes over.
const COLD: usize = 100;

/// The group of streams that a program belongs to, as the configuration reads.
fn group_of(setup: &Setup, cause: Cause) -> usize {
    let stream = match cause {
        Cause::Evict | Cause::Destage => WriteStream::Evict,
        Cause::Gc | Cause::Refresh | Cause::WearLevelling => WriteStream::Gc,
        Cause::Host | Cause::Metadata => WriteStream::Host,
    };
    let named = setup.ftl.shared_streams.iter().position(|group| group.contains(&stream));
    named.unwrap_or(10 + stream as usize)
}

fn groups(setup: &Setup) -> usize {
    if let Classes::Own { count, .. } = setup.classes() {
        return count as usize;
    }
    let mut groups: Vec<_> =
        [Cause::Host, Cause::Evict, Cause::Gc].map(|cause| group_of(setup, cause)).into();
    groups.sort_unstable();
    groups.dedup();
    groups.len()
}
