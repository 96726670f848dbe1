//! Refresh: data is rewritten before it fades. Data that was programmed fast has a shorter retention time.
//!
//! There are two queues of blocks in order of their first program, one for fast blocks and one for all. Fast
//! data is refreshed T − D after programming, where T is its retention time and D the allowance for time
//! without power. After a restart the time without power is unknown, so all fast blocks are refreshed at
//! once. A refresh is GC of a block chosen by its age instead of its cost, with the same decisions about
//! valid pages ("ShadowGC", DATE 2018).
//!
//! The clock advances with the requests: the age of a block counts from the request before its first program.
//! Memory: a bit per block, and an entry for each block in use.

use super::collector::Cleaning;
use super::{Ftl, Io};
use crate::block::State;
use crate::hook::GcHook;
use crate::refresh_config::RefreshConfig;
use crate::stream::WriteStream;
use coflash_base::{Duration, IdSet, Save, Time};
use coflash_media::{BlockId, Cause, Media, Ppn};
use std::collections::VecDeque;

coflash_base::measures! {
    /// Blocks for shadows, which are programmed fast, and the memory for the states of pages.
    pub struct FastBlockCounters in "fast_blocks", "Blocks of fast programs" {
        /// Blocks of fast programs that GC chose as victims. Those chosen for a refresh are not among them.
        victims_blocks: u64, "victims programmed fast", blocks, untabled;
        /// Pages of these victims that were still valid when GC chose them.
        victims_valid_pages: u64, "valid pages of victims programmed fast", pages, cost, untabled;
        /// Memory for the states of all pages: three bits each, and four bytes a block.
        states_bytes: u64, "memory of the states of pages", bytes, untabled, state;
    }
}

/// A block to be refreshed, unless it is erased first.
#[derive(Clone, Copy, Debug, Save)]
struct Entry {
    block: BlockId,
    /// Its erase count at its first program.
    erases: u32,
    due: Time,
}

/// Blocks in order of their due time.
#[derive(Clone, Debug, Save)]
struct Queue {
    /// The time from the first program of a block to its refresh; `None` for no refresh.
    after: Option<Duration>,
    entries: VecDeque<Entry>,
}

impl Queue {
    fn new(retention: Option<Duration>, power_off: Duration) -> Self {
        let after = retention.map(|keeps| Duration { ns: keeps.ns.saturating_sub(power_off.ns) });
        Self { after, entries: VecDeque::new() }
    }
}

/// The state of refresh.
#[derive(Clone, Debug, Save)]
pub(super) struct Refresh {
    /// The blocks in which a page was programmed fast.
    fast: IdSet<BlockId>,
    fast_queue: Queue,
    queue: Queue,
    /// Whether there may be refreshes: data fades, or fast blocks were found after a restart.
    ages: bool,
    /// The time of the last request; `None` during warm-up, when time stands still.
    now: Option<Time>,
    next_due: Time,
    /// The number of entries above which most of them belong to blocks erased since.
    entries_max: usize,
    /// GC's victims among the fast blocks.
    pub(super) counters: FastBlockCounters,
}

impl Refresh {
    pub(super) fn new(config: &RefreshConfig, blocks: u32) -> Self {
        Self {
            fast: IdSet::new(blocks as usize),
            fast_queue: Queue::new(config.fast_retention, config.power_off),
            queue: Queue::new(config.retention, config.power_off),
            ages: config.fast_retention.is_some() || config.retention.is_some(),
            now: None,
            next_due: Time::ZERO,
            entries_max: 2 * blocks as usize,
            counters: FastBlockCounters::default(),
        }
    }

    /// Count a block that GC has chosen, with its valid pages.
    pub(super) fn chosen(&mut self, block: BlockId, valid: u32) {
        if self.fast.contains(block) {
            self.counters.victims_blocks += 1;
            self.counters.victims_valid_pages += u64::from(valid);
        }
    }

    #[inline(always)]
    pub(super) fn erased(&mut self, block: BlockId) {
        self.fast.set(block, false);
    }

    /// Add a new block with its erase count.
    #[inline(always)]
    pub(super) fn opened(&mut self, block: BlockId, erases: u32) {
        if let (Some(after), Some(now)) = (self.queue.after, self.now) {
            let due = now + after;
            self.queue.entries.push_back(Entry { block, erases, due });
            self.next_due = self.next_due.min(due);
        }
    }

    /// Note that a page of a block was programmed fast.
    fn programmed_fast(&mut self, block: BlockId, erases: u32) {
        if !self.fast.contains(block) {
            self.fast.set(block, true);
            if let (Some(after), Some(now)) = (self.fast_queue.after, self.now) {
                let due = now + after;
                self.fast_queue.entries.push_back(Entry { block, erases, due });
                self.next_due = self.next_due.min(due);
            }
        }
    }

    /// Add a block with fast data found after a restart, with its erase count: it is due at once.
    pub(super) fn found_fast(&mut self, block: BlockId, erases: u32) {
        self.fast.set(block, true);
        self.fast_queue.entries.push_back(Entry { block, erases, due: Time::ZERO });
        self.next_due = Time::ZERO;
        self.ages = true;
    }

    /// Take the next due entry of either queue.
    fn take_due(&mut self, now: Time) -> Option<Entry> {
        let due = |queue: &mut Queue| {
            queue.entries.front().is_some_and(|entry| entry.due <= now).then(|| queue.entries.pop_front())?
        };
        due(&mut self.fast_queue).or_else(|| due(&mut self.queue))
    }

    /// Whether a block will be refreshed in time, given its erase count. For tests.
    pub(super) fn is_queued(&self, block: BlockId, erases: u32) -> bool {
        let mut entries = self.queue.entries.iter();
        self.queue.after.is_none()
            || self.now.is_none()
            || entries.any(|entry| (entry.block, entry.erases) == (block, erases))
    }
}

impl Ftl {
    /// Advance time to `now` and refresh the blocks due by then. Called before each request.
    ///
    /// # Errors
    /// A flash operation failed.
    #[inline]
    pub fn pass_time<M: Media, H: GcHook>(
        &mut self,
        now: Time,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        if self.refresh.now.is_none() {
            self.begin_ageing(now);
        }
        self.refresh.now = Some(now);
        // After the last time no run goes on, and no time is later: a block would be due as soon as it was refreshed.
        if self.refresh.next_due > now || now > Time::LAST || self.has_failed {
            return Ok(());
        }
        let refreshed = self.refresh_due(now, io);
        self.has_failed = refreshed.is_err();
        refreshed
    }

    /// Resume after a restart that emptied the memories above: no page is marked, and all fast blocks are
    /// refreshed at once, since the time without power is unknown. Map and validity stay the same, as after
    /// recovery.
    ///
    /// # Errors
    /// A flash operation failed.
    pub fn restart<M: Media, H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        self.refresh.fast_queue.entries.clear();
        self.pages.newer_in_host.clear();
        for block in self.blocks.ids() {
            if self.blocks[block].marked > 0 {
                self.pages.clear_marks(block);
                self.blocks[block].marked = 0;
                self.recount(self.dims.pool_of(block), block);
            }
            if self.refresh.fast.contains(block) {
                self.refresh.found_fast(block, self.histories[block].erases);
            }
        }
        self.pass_time(now, io)
    }

    /// Whether there may be refreshes. Otherwise `pass_time` need not be called.
    #[inline(always)]
    #[must_use]
    pub fn refreshes(&self) -> bool {
        self.refresh.ages
    }

    /// The counters of fast blocks, if shadows have blocks of their own.
    #[must_use]
    pub fn fast_block_counters(&self) -> Option<FastBlockCounters> {
        let groups = &self.dims.groups;
        let counters = FastBlockCounters { states_bytes: self.state_bytes() as u64, ..self.refresh.counters };
        (groups.group(WriteStream::Shadow) != groups.group(WriteStream::Gc)).then_some(counters)
    }

    /// Whether a block holds fast data.
    #[must_use]
    pub fn is_fast(&self, block: BlockId) -> bool {
        self.refresh.fast.contains(block)
    }

    /// Note that a page was programmed fast.
    pub(super) fn programmed_fast(&mut self, page: Ppn) {
        let block = self.dims.block_of(page);
        self.refresh.programmed_fast(block, self.histories[block].erases);
    }

    /// Start the ageing of the data from warm-up, at the first request.
    fn begin_ageing(&mut self, now: Time) {
        self.refresh.now = Some(now);
        for block in self.blocks.ids() {
            if self.blocks[block].state != State::Free {
                self.refresh.opened(block, self.histories[block].erases);
            }
        }
    }

    fn refresh_due<M: Media, H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error> {
        while let Some(Entry { block, erases, .. }) = self.refresh.take_due(now) {
            if self.histories[block].erases == erases {
                self.refresh_block(block, erases, io)?;
            }
        }
        let Refresh { fast_queue, queue, entries_max, .. } = &mut self.refresh;
        let mut next_due = Time::LAST;
        for queue in [fast_queue, queue] {
            if queue.entries.len() > *entries_max {
                queue.entries.retain(|entry| self.histories[entry.block].erases == entry.erases);
            }
            next_due = next_due.min(queue.entries.front().map_or(Time::LAST, |entry| entry.due));
        }
        self.refresh.next_due = next_due;
        Ok(())
    }

    /// Move the valid pages of a block and erase it.
    pub(super) fn refresh_block<M: Media, H: GcHook>(
        &mut self,
        block: BlockId,
        erases: u32,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), M::Error> {
        let pool = self.dims.pool_of(block);
        // First make room to copy into, and finish another victim. Either may erase this block.
        self.collect(self.geometry.die_of(block), io)?;
        if self.collector.cleaning(pool).is_some() {
            self.clean_one(pool, io)?;
        }
        if self.histories[block].erases != erases {
            return Ok(());
        }
        match self.blocks[block].state {
            State::Open => {
                self.allocator.close(pool, block);
                self.placer.closed_early(block);
                self.blocks[block].state = State::Victim;
            }
            State::Sealed | State::Queued => self.seize(pool, block),
            // It was to take over cold data, of which nothing was left.
            State::Free => return Ok(()),
            State::Victim => unreachable!("{block:?}: no victim is left"),
        }
        self.clean(pool, Cleaning { block, cause: Cause::Refresh, dropped: false }, io)?;
        // The block may have been given cold data to take over.
        if self.collector.cleaning(pool).is_some() {
            self.clean_one(pool, io)?;
        }
        Ok(())
    }
}
