//! MiDAS: a chain of groups. Writes go to the first group, or to a group of hot pages before it; each copy goes one group further, so
//! that groups sort pages by age. All groups but the last are queues of limited size: GC cleans the oldest block of the first
//! queue that has too many; the last group is left to the victim policy. At the end of each epoch a model predicts, from the
//! intervals between writes of a page, the write amplification of numbers and sizes of groups; the best replace the
//! present ones if less than what was measured is predicted. A queue with more valid pages than predicted is
//! irregular: it and those after it are no queues until the next epoch.
//!
//! Classes: 0 for hot pages, then the groups. Without queues, copies go one group further up to the fourth.
//!
//! Source: Oh, Kim, Han, Kim, Lee & Noh, "MiDAS: minimizing write amplification in log-structured systems through adaptive group
//! number and size configuration", FAST 2024; written from its abstract and from the repository of its simulator. Our choices:
//! - The model is solved in closed form and tries sizes in steps of 3 % above 32 blocks, so that an epoch ends at once.
//! - Pages too seldom written to be seen within an epoch are what is missing from all writes; the original adds up pages.
//! - The age of a block is counted from its first page, not from its sealing.
//! - Epochs have one length; the original doubles it after repeated irregularity.

mod hot;
mod intervals;
mod model;
#[cfg(test)]
mod tests;

use super::{CLASSES_MAX, Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite, check_count};
use coflash_base::{Index, Misfit, Policy, Save};
use hot::Hot;
use intervals::Intervals;
use model::{Device, Plan};

coflash_base::config! {
    /// The parameters of MiDAS.
    #[derive(Eq, Save)]
    pub struct MidasConfig {
        /// Number of groups, with that of hot pages, at most: from 3 to 16.
        pub groups: u32 = 8,
        /// One in this many pages is a sample for the intervals between its writes.
        pub sampling: u32 = 100,
        /// The length of an epoch, in times that all pages could be written: from 1 to 16.
        pub epoch: u32 = 4,
    }
}

const GROUPS: usize = CLASSES_MAX as usize;
/// The number of groups for copies without a model.
const CHAIN: u32 = 4;
/// Queues are given up when this many victims in a row have freed less than a block.
const VICTIMS_IN_VAIN: u64 = 25;
/// The share of valid pages by which an irregular group exceeds the prediction.
const IRREGULAR: f64 = 0.1;
/// The mark of a page that has been written, beside its counts of [`Hot`] and [`Intervals`].
const WRITTEN: u8 = 1 << 2;

/// The groups in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
struct Arrangement {
    /// The number of queues: 0, or the hot group and at least one other.
    queues: u32,
    /// The class beyond which copies do not go.
    last: u32,
    /// The sizes of the queues, in full blocks of each pool.
    sizes: [u32; GROUPS],
}

/// What was measured of each group since the arrangement was adopted.
#[derive(Clone, Copy, Debug, Default, Save)]
struct Measured {
    victims: [u64; GROUPS],
    valid_pages: [u64; GROUPS],
}

/// MiDAS.
#[derive(Clone, Save)]
pub struct Midas {
    config: MidasConfig,
    shape: Shape,
    /// For each page: [`hot::COUNT`], [`WRITTEN`], and the check of [`Intervals`] that saw it last.
    pages: Vec<u8>,
    /// The number of pages that hold data; trimmed ones count.
    written: u64,
    hot: Hot,
    intervals: Intervals,
    present: Arrangement,
    next: Arrangement,
    /// The predicted valid pages of victims, by group.
    predicted: [f64; GROUPS],
    measured: Measured,
    /// The time since when all groups have had victims; 0 before.
    regular_since: u64,
    /// Copies in this epoch.
    copies: u64,
    /// Victims since the last write, and the pages they freed.
    victims: u64,
    freed: u64,
}

impl Midas {
    /// The arrangement with these sizes of queues, limited to the groups there are.
    fn arrange(&self, queues: u32, sizes: [u32; GROUPS], last: u32) -> Arrangement {
        let most = self.config.groups - 1;
        let queues = if queues < 2 { 0 } else { queues.min(most) };
        Arrangement { queues, last: last.clamp(queues.max(1), most), sizes }
    }

    /// Give up the queues from this one on.
    fn give_up(&mut self, from: u32) {
        let queues = if from < 2 { 0 } else { from };
        self.next = self.arrange(queues, self.next.sizes, queues.max(1) + CHAIN - 1);
        self.begin_measuring();
    }

    fn begin_measuring(&mut self) {
        (self.measured, self.regular_since) = (Measured::default(), 0);
    }

    /// The number of pages in a block of each pool.
    fn row(&self) -> u64 {
        (u64::from(self.shape.pages_per_block) * u64::from(self.shape.pools)).max(1)
    }

    /// The best groups, by the model.
    fn plan(&self) -> Option<Plan> {
        let row = self.row() as f64;
        let blocks = (self.shape.blocks / self.shape.pools.max(1)).saturating_sub(self.shape.free_blocks);
        let device = Device { row, blocks: f64::from(blocks), valid_pages: self.written as f64 };
        model::best(&self.intervals.ages(), device, self.hot.traffic(row), self.config.groups)
    }

    /// Choose groups at the end of an epoch.
    #[cold]
    fn choose(&mut self, now: u64) {
        let measured = 1.0 + self.copies as f64 / self.intervals.elapsed(now).max(1) as f64;
        if let Some(Plan { sizes, valid, .. }) = self.plan().filter(|plan| plan.amplification <= measured) {
            let queues = sizes.len() as u32;
            // The active block of a group is a part of it.
            let mut full = [0; GROUPS];
            std::iter::zip(&mut full, sizes).for_each(|(full, size)| *full = size.saturating_sub(1));
            self.predicted = [1.0; GROUPS];
            std::iter::zip(&mut self.predicted, valid).for_each(|(known, valid)| *known = valid);
            self.next = self.arrange(queues, full, queues);
            self.begin_measuring();
        }
        self.hot.begin_measuring();
        self.intervals.begin(now);
        self.copies = 0;
    }

    /// Give up irregular groups, once all groups have been measured for some time.
    fn check(&mut self, now: u64) {
        let queues = self.present.queues.min(self.config.groups - 1) as usize;
        if queues == 0 {
            return;
        }
        if self.regular_since == 0 {
            if self.measured.victims[..=queues].iter().all(|&victims| victims > 0) {
                self.measured = Measured::default();
                self.regular_since = now.max(1);
            }
        } else if now.saturating_sub(self.regular_since) >= self.intervals.epoch() * 3 / 10 {
            let Measured { victims, valid_pages } = self.measured;
            let irregular = (1..queues).find(|&group| {
                let pages = victims[group].saturating_mul(self.shape.pages_per_block.into());
                valid_pages[group] as f64 > (self.predicted[group] + IRREGULAR) * pages as f64
            });
            match irregular {
                Some(group) => self.give_up(group as u32),
                None => (self.measured, self.regular_since) = (Measured::default(), now.max(1)),
            }
        }
    }
}

impl Policy for Midas {
    type Config = MidasConfig;
    const SUMMARY: &'static str = "A chain of groups, one further with each copy; a model of the intervals between writes chooses their \
                                   number and sizes. All but the last are queues, cleaned before the victim policy chooses.";
    const SOURCE: &'static str = "Oh et al. 2024 (MiDAS, FAST)";
}

impl PlacementPolicy for Midas {
    const BYTES_PER_PAGE: u32 = 1;
    const COPIES_TOGETHER: bool = true;

    fn classes(config: &MidasConfig) -> Result<Classes, Misfit> {
        check_count("groups", config.groups, 3)?;
        check_count("epoch", config.epoch, 1)?;
        if config.sampling == 0 {
            return Err(Misfit::out_of_range("sampling", 0, "from 1"));
        }
        Ok(Classes::Own { count: config.groups, gc: 1..config.groups })
    }

    fn new(config: &MidasConfig, shape: Shape) -> Self {
        let row = u64::from(shape.pages_per_block) * u64::from(shape.pools);
        let mut policy = Self {
            config: config.clone(),
            shape,
            pages: vec![0; shape.pages as usize],
            written: 0,
            hot: Hot::new(shape.pages),
            intervals: Intervals::new(shape.pages, row, config.sampling, config.epoch),
            present: Arrangement { queues: 0, last: 0, sizes: [0; GROUPS] },
            next: Arrangement { queues: 0, last: 0, sizes: [0; GROUPS] },
            predicted: [1.0; GROUPS],
            measured: Measured::default(),
            regular_since: 0,
            copies: 0,
            victims: 0,
            freed: 0,
        };
        policy.give_up(0);
        policy.present = policy.next;
        policy
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        (self.victims, self.freed) = (0, 0);
        let known = &mut self.pages[page.lpn.index()];
        if *known & WRITTEN == 0 {
            // A page that was there already was mapped at once, with all others, or before a power cut.
            let all = u64::from(self.shape.pages);
            self.written =
                if page.replaces.is_some() { all } else { self.written.saturating_add(1).min(all) };
            *known |= WRITTEN;
        }
        if !self.intervals.has_begun(page.now) {
            return Class::new(1);
        }
        self.hot.write(known, page.replaces, page.now);
        let is_hot = Hot::has(*known);
        if self.intervals.write(page.lpn, page.now, &mut self.pages) {
            self.choose(page.now);
        }
        Class::new(u32::from(!is_hot))
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        self.copies = self.copies.saturating_add(u64::from(self.intervals.has_begun(page.now)));
        Hot::copy(&mut self.pages[page.lpn.index()], page.from);
        Class::new((page.from.get() + 1).min(self.present.last).clamp(1, self.config.groups - 1))
    }

    fn cleaned(&mut self, block: Cleaned) {
        let group = block.class.index().min(GROUPS - 1);
        let Measured { victims, valid_pages } = &mut self.measured;
        victims[group] = victims[group].saturating_add(1);
        valid_pages[group] = valid_pages[group].saturating_add(block.valid.into());
        self.hot.cleaned(block);
        self.check(block.now);
        self.victims = self.victims.saturating_add(1);
        let freed = self.shape.pages_per_block.saturating_sub(block.valid);
        self.freed = self.freed.saturating_add(freed.into());
        if self.freed >= u64::from(self.shape.pages_per_block) {
            (self.victims, self.freed) = (0, 0);
        } else if self.victims >= VICTIMS_IN_VAIN {
            (self.victims, self.freed) = (0, 0);
            let queues = self.next.queues;
            self.give_up(block.class.get().min(queues.saturating_sub(1)));
        }
    }

    fn queues(&self) -> &[u32] {
        &self.present.sizes[..self.present.queues.min(self.config.groups - 1) as usize]
    }

    fn rearrange(&mut self) -> Option<u32> {
        let before = (self.present != self.next).then_some(self.present.queues)?;
        self.present = self.arrange(self.next.queues, self.next.sizes, self.next.last);
        self.next = self.present;
        Some(before)
    }
}
