//! Refresh: data is rewritten before it fades. What was programmed fast keeps for less long.
//!
//! Two queues of blocks in the order in which they were begun, one for fast blocks and one for all: the data of a fast
//! block must be rewritten a power-off allowance D before its retention time T has passed, T − D after programming, so
//! that it keeps through D without power. After a restart nobody knows how long the device was off, so every fast block is
//! refreshed at once. A refresh is GC of a block that is due rather than cheap: it asks the same question of each valid
//! page ("ShadowGC", DATE 2018).
//!
//! Time comes in with the requests: a block is as old as the request before which it was begun. Memory: a bit a block, and
//! an entry for each block begun that has not been erased.

use crate::advisor::Advisor;
use crate::block::State;
use crate::ftl::{Ftl, Io};
use crate::pool::{Active, Cleaning};
use coflash_base::{Duration, Index, Time};
use coflash_flash::{BlockId, Cause, Media, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When data is rewritten so that it does not fade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefreshConfig {
    /// How long data that was programmed fast keeps (T); for ever unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_retention: Option<Duration>,
    /// How long any other data keeps; for ever unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Duration>,
    /// How long the device may be without power (D): data is rewritten so much earlier. Less than either retention.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = "0ns"))]
    pub power_off: Duration,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(span: &Duration) -> bool {
    *span == Duration::ZERO
}

impl RefreshConfig {
    /// Whether nothing is ever refreshed. Then it is left out of a scenario, as it is of older ones.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What does not fit together, as (key in the scenario, problem).
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let too_short = |retention: &Duration| *retention <= self.power_off;
        match [self.fast_retention, self.retention].into_iter().flatten().find(too_short) {
            Some(retention) => Err((
                "ftl.refresh.power_off",
                format!("{} was given; less than the retention of {retention} is allowed", self.power_off),
            )),
            None => Ok(()),
        }
    }
}

/// A block that is to be refreshed, unless it is erased first.
#[derive(Clone, Copy, Debug)]
struct Entry {
    block: BlockId,
    /// How often it was erased when it was begun.
    erases: u32,
    due: Time,
}

/// Blocks in the order in which they fall due.
#[derive(Clone, Debug)]
struct Queue {
    /// From the first program of a block to its refresh; none where that is never.
    after: Option<Duration>,
    entries: VecDeque<Entry>,
}

impl Queue {
    fn new(retention: Option<Duration>, power_off: Duration) -> Self {
        let after = retention.map(|keeps| Duration { ns: keeps.ns.saturating_sub(power_off.ns) });
        Self { after, entries: VecDeque::new() }
    }
}

/// What refresh keeps in mind.
#[derive(Clone, Debug)]
pub(crate) struct Refresh {
    /// A bit a block: something in it was programmed fast.
    fast: Vec<u64>,
    fast_queue: Queue,
    queue: Queue,
    /// Whether anything is refreshed: data fades, or fast blocks were found after a restart.
    ages: bool,
    /// The time of the last request; none while the device is warmed up, which takes no time.
    now: Option<Time>,
    next_due: Time,
    /// More entries than this are mostly of blocks that were erased since.
    entries_max: usize,
}

impl Refresh {
    pub(crate) fn new(config: &RefreshConfig, blocks: u32) -> Self {
        Self {
            fast: vec![0; blocks.div_ceil(64) as usize],
            fast_queue: Queue::new(config.fast_retention, config.power_off),
            queue: Queue::new(config.retention, config.power_off),
            ages: config.fast_retention.is_some() || config.retention.is_some(),
            now: None,
            next_due: Time::ZERO,
            entries_max: 2 * blocks as usize,
        }
    }

    fn place(block: BlockId) -> (usize, u64) {
        (block.index() / 64, 1 << (block.index() % 64))
    }

    pub(crate) fn is_fast(&self, block: BlockId) -> bool {
        let (word, bit) = Self::place(block);
        self.fast[word] & bit != 0
    }

    #[inline(always)]
    pub(crate) fn erased(&mut self, block: BlockId) {
        let (word, bit) = Self::place(block);
        self.fast[word] &= !bit;
    }

    /// A block is begun; it was erased so many times before.
    #[inline(always)]
    pub(crate) fn opened(&mut self, block: BlockId, erases: u32) {
        if let (Some(after), Some(now)) = (self.queue.after, self.now) {
            let due = now + after;
            self.queue.entries.push_back(Entry { block, erases, due });
            self.next_due = self.next_due.min(due);
        }
    }

    /// Something in a block was programmed fast.
    fn programmed_fast(&mut self, block: BlockId, erases: u32) {
        let (word, bit) = Self::place(block);
        if self.fast[word] & bit == 0 {
            self.fast[word] |= bit;
            if let (Some(after), Some(now)) = (self.fast_queue.after, self.now) {
                let due = now + after;
                self.fast_queue.entries.push_back(Entry { block, erases, due });
                self.next_due = self.next_due.min(due);
            }
        }
    }

    /// A block with something fast in it was found after a restart: due at once.
    pub(crate) fn found_fast(&mut self, block: BlockId) {
        let (word, bit) = Self::place(block);
        self.fast[word] |= bit;
        self.fast_queue.entries.push_back(Entry { block, erases: 0, due: Time::ZERO });
        self.next_due = Time::ZERO;
        self.ages = true;
    }

    /// The next entry that is due, of either queue.
    fn take_due(&mut self, now: Time) -> Option<Entry> {
        let due = |queue: &mut Queue| {
            queue.entries.front().is_some_and(|entry| entry.due <= now).then(|| queue.entries.pop_front())?
        };
        due(&mut self.fast_queue).or_else(|| due(&mut self.queue))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.fast.capacity() * size_of::<u64>()
            + (self.fast_queue.entries.capacity() + self.queue.entries.capacity()) * size_of::<Entry>()
    }
}

impl Ftl {
    /// Takes note of the time, and refreshes what is due by it. To be called before each request.
    #[inline]
    pub fn pass_time<M: Media, A: Advisor>(&mut self, now: Time, io: &mut Io<'_, M, A>) {
        if self.refresh.now.is_none() {
            self.begin_ageing(now);
        }
        self.refresh.now = Some(now);
        if self.refresh.next_due <= now {
            self.refresh_due(now, io);
        }
    }

    /// Whether anything is ever refreshed: else time need not be passed.
    #[inline(always)]
    #[must_use]
    pub fn refreshes(&self) -> bool {
        self.refresh.ages
    }

    /// Whether a block holds data that was programmed fast.
    #[must_use]
    pub fn is_fast(&self, block: BlockId) -> bool {
        self.refresh.is_fast(block)
    }

    /// Takes note that a page was programmed fast.
    pub(crate) fn programmed_fast(&mut self, page: Ppn) {
        let block = self.geometry.block_of(page);
        self.refresh.programmed_fast(block, self.blocks.erases[block]);
    }

    /// What the device held before its first request begins to age with it.
    fn begin_ageing(&mut self, now: Time) {
        self.refresh.now = Some(now);
        for block in self.blocks.state.ids() {
            if self.blocks.state[block] != State::Free {
                self.refresh.opened(block, self.blocks.erases[block]);
            }
        }
    }

    fn refresh_due<M: Media, A: Advisor>(&mut self, now: Time, io: &mut Io<'_, M, A>) {
        while let Some(Entry { block, erases, .. }) = self.refresh.take_due(now) {
            if self.blocks.erases[block] == erases {
                self.refresh_block(block, erases, io);
            }
        }
        let Refresh { fast_queue, queue, entries_max, .. } = &mut self.refresh;
        let mut next_due = Time::LAST;
        for queue in [fast_queue, queue] {
            if queue.entries.len() > *entries_max {
                queue.entries.retain(|entry| self.blocks.erases[entry.block] == entry.erases);
            }
            next_due = next_due.min(queue.entries.front().map_or(Time::LAST, |entry| entry.due));
        }
        self.refresh.next_due = next_due;
    }

    /// Moves what is valid in a block elsewhere, and erases it.
    fn refresh_block<M: Media, A: Advisor>(&mut self, block: BlockId, erases: u32, io: &mut Io<'_, M, A>) {
        let pool = self.pool_of(block);
        // There must be room to copy into, and one victim at a time: either may end this block first.
        self.collect(self.geometry.die_of(block), io);
        if self.pools[pool].cleaning.is_some() {
            self.clean_one(pool, io);
        }
        if self.blocks.erases[block] != erases {
            return;
        }
        match self.blocks.state[block] {
            State::Open => {
                let active = self.pools[pool].actives.iter_mut().find(|active| active.block == Some(block));
                *active.expect("an open block is active") = Active::default();
            }
            State::Sealed => {
                let cost = self.blocks.cost[block];
                let pool = &mut self.pools[pool];
                pool.victim.removed(block.get() - pool.first_block, cost);
            }
            State::Free | State::Victim => unreachable!("{block:?} is begun, and no victim is left"),
        }
        self.blocks.state[block] = State::Victim;
        self.clean(pool, Cleaning { block, cause: Cause::Refresh, dropped: false }, io);
        // The block may have been given cold data to take over.
        if self.pools[pool].cleaning.is_some() {
            self.clean_one(pool, io);
        }
    }
}
