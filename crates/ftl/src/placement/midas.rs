//! MiDAS: a chain of groups. Writes enter the first group, and GC copies pages to the next one, so that later
//! groups hold older data; a hot group before the chain takes data that is soon overwritten. A model of
//! update intervals sets the number of groups and their sizes. The next victim is the oldest block of a group
//! that exceeds its size; in the last group it is the emptiest block.
//!
//! The model: S(t) is the share of the writes to the chain still valid after t more page writes. A group of s
//! blocks with an inflow of f pages per page written keeps a page for s/f blocks of writes, so the share of
//! its pages to be copied follows from S, and with it the inflow of the next group. In the last group blocks
//! are cleaned again and again: Desnoyers's equation, with its pages in two parts by their intervals. The
//! chain is extended, and its sizes are changed one by one, while this lowers the write amplification.
//!
//! Source: Oh, Kim, Han, Kim, Lee & Noh, "MiDAS: minimizing write amplification in log-structured systems
//! through adaptive group number and size configuration", FAST 2024; written from its abstract and the
//! repository of its simulation. Our choices: intervals are exact and not sampled, and long ones, cut short
//! by the window, get a higher weight; the size of the hot group is its traffic in a mean life; before there
//! is a model, and while it predicts no less than the measured amplification of a chain without sizes,
//! `gc.victim` chooses the victim. If the sizes give a higher amplification than that, they are dropped for a
//! window, and for twice as many windows each time; the original merges the groups that were off.

use super::times::Times;
use super::{
    Class, Classes, Cleaned, Column, GcWrite, PlacementPolicy, Shape, UserWrite, VictimOf, check_count,
};
use coflash_base::{Index, Misfit, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of MiDAS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MidasConfig {
    /// Most groups, that of soon overwritten data included, from 3 to 16.
    pub groups: u32,
}

impl Default for MidasConfig {
    fn default() -> Self {
        Self { groups: 8 }
    }
}

/// Bins of update intervals.
const BINS: usize = 2048;
/// A window of the model in logical pages written.
const WINDOW_PASSES: u64 = 4;
/// A page is hot after this many early overwrites more than copies.
const HOT: u8 = 3;
/// A page is in the hotter part of the last group if its interval is at most this share of their mean.
const HOTTER: f64 = 0.7;
/// The maximal number of windows without sizes.
const WAIT_MAX: u64 = 64;
/// The number of scalars in the state, in addition to the intervals.
const SCALARS: usize = 14;

/// The counts of a window, and the results of the last one.
#[derive(Clone, Copy)]
enum Count {
    /// The time at which the window begins.
    Begin,
    /// Writes to the first group, to the hot one, copies.
    Writes,
    HotWrites,
    Copies,
    /// The blocks of the hot group that were cleaned: their number, valid pages, and the sum of their lives.
    HotBlocks,
    HotValid,
    HotLives,
    /// The mean life of a hot block.
    Life,
    /// The number of groups of the chain, whether they have sizes, and the size of the hot group.
    Groups,
    Sized,
    HotSize,
    /// The write amplification measured without sizes, in millionths.
    Unsized,
    /// The number of windows until sizes are tried again, and the number after the next failure.
    Wait,
    WaitNext,
}

/// MiDAS.
#[derive(Clone)]
pub struct Midas {
    pages: u64,
    /// The pages written while one block of each pool fills, and the blocks of a pool.
    block_writes: u64,
    blocks: u32,
    most: u32,
    written: Times,
    /// The heat of each page, up to [`HOT`].
    heat: Vec<u8>,
    /// The number of writes to the chain by the interval until the next write.
    intervals: Vec<u64>,
    scalars: [u64; SCALARS],
    /// The blocks of each group of the chain except the last.
    sizes: [u32; 16],
}

impl Midas {
    fn of(&self, count: Count) -> u64 {
        self.scalars[count as usize]
    }

    fn add(&mut self, count: Count, number: u64) {
        let scalar = &mut self.scalars[count as usize];
        *scalar = scalar.saturating_add(number);
    }

    fn set(&mut self, count: Count, number: u64) {
        self.scalars[count as usize] = number;
    }

    fn window(&self) -> u64 {
        self.pages * WINDOW_PASSES
    }

    /// The page writes of a bin of intervals.
    fn bin(&self) -> u64 {
        self.window().div_ceil(BINS as u64).max(1)
    }

    /// The number of groups of the chain, for any state read from a file.
    fn groups(&self) -> u32 {
        (self.of(Count::Groups).min(16) as u32).clamp(1, self.most - 1)
    }

    /// End a window: configure the groups if the model predicts less amplification than a chain without
    /// sizes, and begin the next window.
    fn configure(&mut self, now: u64) {
        let writes = (self.of(Count::Writes).saturating_add(self.of(Count::HotWrites))).max(1) as f64;
        let measured = 1.0 + self.of(Count::Copies) as f64 / writes;
        if let Some(life) = self.of(Count::HotLives).checked_div(self.of(Count::HotBlocks)) {
            self.set(Count::Life, life);
        }
        let had_sizes = self.of(Count::Sized) != 0;
        if !had_sizes {
            self.set(Count::Unsized, (measured * 1e6) as u64);
        }
        let without = self.of(Count::Unsized) as f64 / 1e6;
        if had_sizes && measured > without {
            let wait = self.of(Count::WaitNext).clamp(1, WAIT_MAX);
            self.set(Count::Wait, wait);
            self.set(Count::WaitNext, 2 * wait);
        }
        let waits = self.of(Count::Wait) > 0;
        self.set(Count::Wait, self.of(Count::Wait).saturating_sub(1));
        self.set(Count::Sized, 0);
        self.set(Count::Groups, u64::from(self.most - 1));
        if let Some(model) = Model::new(self).filter(|_| !waits) {
            let (promised, sizes) = model.best(self.most - 1, self.blocks);
            if promised < without {
                self.set(Count::Sized, 1);
                self.set(Count::Groups, sizes.len() as u64 + 1);
                self.sizes[..sizes.len()].copy_from_slice(&sizes);
                self.set(Count::HotSize, model.hot_blocks.ceil() as u64);
            }
        }
        self.intervals.fill(0);
        for count in [
            Count::Writes,
            Count::HotWrites,
            Count::Copies,
            Count::HotBlocks,
            Count::HotValid,
            Count::HotLives,
        ] {
            self.set(count, 0);
        }
        self.set(Count::Begin, now);
    }
}

/// The model of a window.
struct Model {
    /// For the bins before each bin: the writes of the chain that died, and their sum weighted by their
    /// intervals.
    died: Vec<f64>,
    weighted: Vec<f64>,
    writes: f64,
    /// The number of bins in one block of writes.
    bins_per_block: f64,
    /// As shares of the page writes: the inflow of the chain, and the copies of the hot group.
    inflow: f64,
    hot_copies: f64,
    /// The blocks of the hot group in a pool, and the valid pages of the chain in blocks of all pools.
    hot_blocks: f64,
    valid_blocks: f64,
}

impl Model {
    /// Build the model; `None` if nothing was overwritten.
    fn new(midas: &Midas) -> Option<Self> {
        let (writes, hot) = (midas.of(Count::Writes) as f64, midas.of(Count::HotWrites) as f64);
        if writes == 0.0 || midas.intervals.iter().all(|&count| count == 0) {
            return None;
        }
        let (mut died, mut weighted) = (vec![0.0], vec![0.0]);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (bin, &count) in midas.intervals.iter().enumerate() {
            // Writes with this interval are counted only in the first part of the window.
            let seen = 1.0 - (bin as f64 + 0.5) / BINS as f64;
            let count = (count as f64 / seen.max(1.0 / BINS as f64)).min(writes - sum);
            sum += count;
            weights += count * (bin as f64 + 0.5);
            died.push(sum);
            weighted.push(weights);
        }
        let block = midas.block_writes as f64;
        let pages_of_hot_blocks = midas.of(Count::HotBlocks) as f64 * block;
        let hot_valid = if pages_of_hot_blocks > 0.0 {
            (midas.of(Count::HotValid) as f64 / pages_of_hot_blocks).min(1.0)
        } else {
            0.0
        };
        let traffic = hot / (writes + hot);
        let hot_blocks =
            if hot > 0.0 { (traffic * midas.of(Count::Life) as f64 / block).max(1.0) } else { 0.0 };
        Some(Self {
            died,
            weighted,
            writes,
            bins_per_block: block / midas.bin() as f64,
            inflow: 1.0 - traffic * (1.0 - hot_valid),
            hot_copies: traffic * hot_valid,
            hot_blocks,
            valid_blocks: midas.pages as f64 / block - hot_blocks / 2.0,
        })
    }

    /// A sum up to a time, in bins.
    fn until(sums: &[f64], time: f64) -> f64 {
        let last = sums.len() - 1;
        let bin = (time as usize).min(last - 1);
        let part = (time - bin as f64).clamp(0.0, 1.0);
        sums[bin] + (sums[bin + 1] - sums[bin]) * part
    }

    /// The share of the writes of the chain that are valid after a time in bins.
    fn survivors(&self, time: f64) -> f64 {
        (1.0 - Self::until(&self.died, time) / self.writes).max(1e-6)
    }

    /// The write amplification with groups of these sizes before a last group of the rest of `blocks`.
    fn amplification(&self, sizes: &[u32], blocks: u32) -> f64 {
        let (mut time, mut inflow, mut survivors) = (0.0, self.inflow, 1.0);
        let (mut copies, mut valid) = (self.hot_copies, 0.0);
        for &size in sizes {
            let stay = f64::from(size) / inflow;
            time += stay * self.bins_per_block;
            let left = self.survivors(time);
            // The mean of both ends.
            valid += self.inflow * stay * f64::midpoint(survivors, left);
            inflow *= left / survivors;
            copies += inflow;
            survivors = left;
        }
        let last =
            f64::from(blocks) - self.hot_blocks - sizes.iter().map(|&size| f64::from(size)).sum::<f64>();
        let valid = self.valid_blocks - valid;
        if last <= valid + 1.0 || valid <= 0.0 {
            return f64::INFINITY;
        }
        1.0 + copies + inflow * (self.of_last_group(time, last / valid) - 1.0)
    }

    /// The write amplification of writes that live longer than `time`, within a group of `spare` times its
    /// valid pages.
    fn of_last_group(&self, time: f64, spare: f64) -> f64 {
        let [died, weighted] = [&self.died, &self.weighted].map(|sums| {
            let last = sums[sums.len() - 1];
            move |from: f64| last - Self::until(sums, from)
        });
        // Assume that pages still alive after the window live for twice as long.
        let beyond = (self.writes - self.died[self.died.len() - 1]).max(0.0);
        let all = died(time) + beyond;
        let lives = weighted(time) + beyond * 2.0 * BINS as f64;
        if all <= 0.0 {
            return 1.0;
        }
        let bound = (HOTTER * lives / all).min(BINS as f64).max(time);
        let hotter = (died(time) - died(bound)) / all;
        let hotter_pages = (weighted(time) - weighted(bound)) / lives;
        let again = |rate: f64, pages: f64, amplification: f64| {
            if rate <= 0.0 || pages <= 0.0 {
                0.0
            } else {
                rate / (rate * spare / (pages * amplification)).exp_m1()
            }
        };
        let (mut low, mut high) = (1.0, 1000.0);
        for _ in 0..24 {
            let middle = f64::midpoint(low, high);
            let found =
                1.0 + again(hotter, hotter_pages, middle) + again(1.0 - hotter, 1.0 - hotter_pages, middle);
            *(if found > middle { &mut low } else { &mut high }) = middle;
        }
        high
    }

    /// The least predicted amplification, and the sizes of all groups but the last that give it.
    fn best(&self, groups: u32, blocks: u32) -> (f64, Vec<u32>) {
        let step = (blocks / 64).max(1);
        let mut best = (self.amplification(&[], blocks), Vec::new());
        loop {
            let before = best.0;
            let sizes: Vec<u32> = best.1.clone();
            // Try another size of each group, or one more group.
            for at in 0..(sizes.len() + 1).min(groups as usize - 1) {
                for size in (1..=blocks / step).map(|steps| steps * step).chain(1..step) {
                    let mut tried = sizes.clone();
                    match tried.get_mut(at) {
                        Some(other) => *other = size,
                        None => tried.push(size),
                    }
                    let promised = self.amplification(&tried, blocks);
                    if promised < best.0 - 1e-6 {
                        best = (promised, tried);
                    }
                }
            }
            if best.0 >= before {
                return best;
            }
        }
    }
}

impl Policy for Midas {
    type Config = MidasConfig;
    const SUMMARY: &'static str = "A chain of groups by age, whose number and sizes follow from a model of update intervals; hot data apart.";
    const SOURCE: &'static str = "Oh et al. 2024 (MiDAS, FAST)";
}

impl PlacementPolicy for Midas {
    const BYTES_PER_PAGE: u32 = 5;

    fn classes(config: &MidasConfig) -> Result<Classes, Misfit> {
        check_count("groups", config.groups, 3)?;
        Ok(Classes::Own { count: config.groups, gc: 1..config.groups })
    }

    fn new(config: &MidasConfig, shape: Shape) -> Self {
        let pages = u64::from(shape.pages);
        let mut scalars = [0; SCALARS];
        scalars[Count::Life as usize] = pages;
        scalars[Count::Groups as usize] = u64::from(config.groups - 1);
        Self {
            pages,
            block_writes: (u64::from(shape.pages_per_block) * u64::from(shape.pools)).max(1),
            blocks: shape.blocks_per_pool,
            most: config.groups,
            written: Times::new(shape.pages),
            heat: vec![0; shape.pages as usize],
            intervals: vec![0; BINS],
            scalars,
            sizes: [0; 16],
        }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        if page.now.wrapping_sub(self.of(Count::Begin)) >= self.window() {
            self.configure(page.now);
        }
        let age = self.written.age(page.lpn, page.now);
        self.written.set(page.lpn, page.now);
        let heat = &mut self.heat[page.lpn.index()];
        let replaces = page.replaces.map(Class::get);
        let (is_early, is_late) =
            (replaces == Some(0) || age <= self.scalars[Count::Life as usize], replaces == Some(1));
        if replaces.is_some_and(|class| class <= 1) && is_early {
            *heat = heat.saturating_add(1).min(HOT);
        } else if is_late {
            *heat = heat.saturating_sub(1);
        }
        let is_hot = *heat >= HOT;
        if replaces.is_some_and(|class| class > 0) {
            let bin = usize::try_from(age / self.bin()).unwrap_or(BINS);
            if let Some(count) = self.intervals.get_mut(bin) {
                *count = count.saturating_add(1);
            }
        }
        self.add(if is_hot { Count::HotWrites } else { Count::Writes }, 1);
        Class::new(u32::from(!is_hot))
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        let from = page.from.get();
        if from <= 1 {
            let heat = &mut self.heat[page.lpn.index()];
            *heat = heat.saturating_sub(2 - from as u8);
        }
        self.add(Count::Copies, 1);
        Class::new((from + 1).min(self.groups()))
    }

    fn cleaned(&mut self, block: Cleaned) {
        if block.class.get() == 0 {
            self.add(Count::HotBlocks, 1);
            self.add(Count::HotValid, block.valid.into());
            self.add(Count::HotLives, block.now.saturating_sub(block.opened_at));
        }
    }

    fn chooses_victims() -> bool {
        true
    }

    fn victim(&mut self, sealed: &[u32]) -> Option<VictimOf> {
        if self.of(Count::Sized) == 0 {
            return None;
        }
        let groups = self.groups();
        let sizes = (1..groups).zip(self.sizes);
        let outgrown = sizes.into_iter().find(|&(group, size)| sealed[group as usize] > size);
        if u64::from(sealed[0]) > self.of(Count::HotSize) {
            return Some(VictimOf::Oldest(Class::new(0)));
        }
        // Groups left from a longer chain are parts of the last one.
        let last = VictimOf::EmptiestFrom(Class::new(groups));
        Some(outgrown.map_or(last, |(group, _)| VictimOf::Oldest(Class::new(group))))
    }

    fn state(&mut self) -> Vec<Column<'_>> {
        vec![
            self.written.column(),
            Column::U8(&mut self.heat),
            Column::U64(&mut self.intervals),
            Column::U64(&mut self.scalars),
            Column::U32(&mut self.sizes),
        ]
    }

    fn heap_bytes(&self) -> usize {
        self.written.heap_bytes() + self.heat.capacity() + self.intervals.capacity() * size_of::<u64>()
    }
}
