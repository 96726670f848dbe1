//! The model: the write amplification of groups, from the distribution of intervals between writes.
//!
//! A page enters the first queue when it is written, and moves on with each copy. So the age of a page is the time that it
//! spent in the queues before, and the share of pages that are overwritten at that age follows from the distribution. This is
//! the original's Markov chain, whose states are groups. In the last group pages mix. Desnoyers, "Analytic models of SSD
//! write performance", TOS 2014, gives its write amplification, with hot and cold pages: here those that live for less
//! than 0.7 times the mean, and the rest.
//!
//! Ages are in rows, the writes of one block in each pool. Logarithms and powers are those of libm, so that
//! results are the same on every machine.

use super::hot::Traffic;
use coflash_base::Save;

/// The distribution of the intervals, as sums over the shorter ones.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    unit: f64,
    /// The share of writes with an interval below n units; its integral; and the mean interval of those, times their share.
    share: Vec<f64>,
    integral: Vec<f64>,
    moment: Vec<f64>,
}

impl Ages {
    /// The shares of intervals of n to n + 1 units. All other intervals are longer.
    pub(super) fn new(shares: impl Iterator<Item = f64>, unit: f64) -> Self {
        let mut ages = Self { unit, share: vec![0.0], integral: vec![0.0], moment: vec![0.0] };
        let (mut share, mut integral, mut moment, mut age) = (0.0, 0.0, 0.0, 0.5 * unit);
        for here in shares {
            integral += (share + 0.5 * here) * unit;
            share += here;
            moment += here * age;
            age += unit;
            ages.share.push(share);
            ages.integral.push(integral);
            ages.moment.push(moment);
        }
        ages
    }

    fn end(&self) -> f64 {
        (self.share.len() - 1) as f64 * self.unit
    }

    fn at(&self, sums: &[f64], age: f64) -> f64 {
        let place = (age / self.unit).clamp(0.0, (sums.len() - 1) as f64);
        let below = place as usize;
        let above = (below + 1).min(sums.len() - 1);
        sums[below] + (place - below as f64) * (sums[above] - sums[below])
    }

    /// The share of writes that are overwritten before this age.
    fn share(&self, age: f64) -> f64 {
        self.at(&self.share, age)
    }

    /// The age before which this share of writes is overwritten.
    fn age_of(&self, share: f64) -> f64 {
        let above = self.share.partition_point(|&known| known < share);
        let Some(below) = above.checked_sub(1).filter(|_| above < self.share.len()) else {
            return if above == 0 { 0.0 } else { self.end() };
        };
        let part = (share - self.share[below]) / (self.share[above] - self.share[below]);
        (below as f64 + part) * self.unit
    }
}

/// The device.
#[derive(Clone, Copy, Debug, Save)]
pub(super) struct Device {
    /// The number of pages of a row.
    pub(super) row: f64,
    /// The number of blocks of a pool that are not free.
    pub(super) blocks: f64,
    /// The number of valid pages.
    pub(super) valid_pages: f64,
}

/// Groups, and what is predicted for them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) amplification: f64,
    /// The sizes of the queues in blocks of each pool, that of hot pages first. The last group has the rest.
    pub(super) sizes: Vec<u32>,
    /// The share of valid pages in victims of each queue.
    pub(super) valid: Vec<f64>,
}

/// The group of hot pages in the model: the writes with intervals below `age` go there.
#[derive(Clone, Copy, Debug)]
struct HotGroup {
    age: f64,
    size: u32,
    /// The share of writes that are copied from it, and of those that go there.
    copies: f64,
    writes: f64,
}

struct Model<'a> {
    ages: &'a Ages,
    device: Device,
}

impl Model<'_> {
    /// The prediction for these queues after the hot group; none if they do not fit.
    fn predict(&self, hot: HotGroup, queues: &[u32]) -> Option<Plan> {
        let Self { ages, device } = self;
        let hot_share = ages.share(hot.age);
        // The share of writes that live beyond an age, without those of the hot group.
        let left = |age: f64| 1.0 - ages.share(age).max(hot_share);
        let integral = |age: f64| ages.at(&ages.integral, age);
        // What is left between two ages, as pages of a row.
        let contents = |from: f64, to: f64| {
            let early = (hot.age.min(to) - from).max(0.0) * (1.0 - hot_share);
            let (from, to) = (from.max(hot.age), to.max(hot.age));
            early + (to - from).max(0.0) - (integral(to) - integral(from)).max(0.0)
        };
        let mut sizes = vec![hot.size];
        let mut valid = vec![if hot.writes > 0.0 { hot.copies / hot.writes } else { 0.0 }];
        let in_hot = hot.age * hot_share - integral(hot.age);
        let (mut age, mut kept, mut copies) = (0.0, in_hot, hot.copies);
        for &size in queues {
            let inflow = left(age);
            if inflow <= 0.0 {
                return None;
            }
            let to = age + (f64::from(size) - 0.5) / inflow;
            if to >= ages.end() {
                return None;
            }
            kept += contents(age, to);
            copies += left(to);
            sizes.push(size);
            valid.push(left(to) / inflow);
            age = to;
        }
        let used: u32 = sizes.iter().sum();
        let open = 0.5 * (sizes.len() + 1) as f64;
        let last = device.blocks - f64::from(used) - open;
        let valid_pages = device.valid_pages / device.row - kept;
        if last < 1.0 || valid_pages <= 0.0 || last <= valid_pages {
            return None;
        }
        let inflow = left(age);
        let here = self.amplification_of_last(age.max(hot.age), inflow, last, valid_pages);
        Some(Plan { amplification: 1.0 + copies + inflow * (here - 1.0), sizes, valid })
    }

    /// The write amplification in the last group: pages come with an age; a share of them is hot.
    fn amplification_of_last(&self, age: f64, inflow: f64, blocks: f64, valid: f64) -> f64 {
        let ages = self.ages;
        let share = |from: f64, to: f64| ages.share(to) - ages.share(from);
        let moment = |from: f64, to: f64| ages.at(&ages.moment, to) - ages.at(&ages.moment, from);
        let end = ages.end();
        let never = (inflow - share(age, end)).max(0.0);
        let mean = (moment(age, end) + never * end) / inflow.max(f64::MIN_POSITIVE);
        let limit = (0.7 * mean).min(end);
        let mut hot = (0.5, 0.5);
        if limit > age {
            let writes = share(age, limit);
            let pages = (moment(age, limit) - age * writes) / valid;
            let (writes, pages) = (writes / inflow, pages.clamp(1e-9, 1.0));
            if writes > pages && writes < 1.0 - 1e-9 && pages < 1.0 - 1e-9 {
                hot = (writes, pages);
            }
        }
        hot_cold(blocks / valid, hot.0, hot.1, self.device.row)
    }
}

/// The write amplification, by bisection, if the share `writes` of all writes goes to the share `pages` of the valid pages.
/// `space` is the size of flash over that of the valid pages.
fn hot_cold(space: f64, writes: f64, pages: f64, row: f64) -> f64 {
    // Greedy GC is as good as cleaning in order with a little more space.
    let gain = 1.0 + 0.5 / row;
    let space = space * gain;
    let copies = |writes: f64, pages: f64, all: f64| writes / libm::expm1(writes * space / (pages * all));
    let (mut least, mut most) = (1.0, 1000.0);
    for _ in 0..40 {
        let all: f64 = 0.5 * (least + most);
        if 1.0 + copies(writes, pages, all) + copies(1.0 - writes, 1.0 - pages, all) > all {
            least = all;
        } else {
            most = all;
        }
    }
    (least / gain).max(1.0)
}

/// The share of valid pages in hot victims above which the model takes the hot group as measured, and the share of writes below
/// which it does.
const HOT_VALID: f64 = 0.1;
const HOT_WRITES: f64 = 0.15;
/// The greatest size of a hot group that the model tries, in blocks.
const HOT_BLOCKS: u32 = 30;
/// Rounds in which each size is improved.
const ROUNDS: u32 = 4;

/// The groups with the least predicted write amplification; none if no number of queues improves on the last group alone. First
/// each further queue is split from the last group at its best size; then each size is improved in turn.
pub(super) fn best(ages: &Ages, device: Device, hot: Traffic, groups: u32) -> Option<Plan> {
    let model = Model { ages, device };
    let measured = hot.writes < HOT_WRITES || hot.copies > HOT_VALID * hot.writes;
    let hot_groups: Vec<HotGroup> = if measured {
        let age = ages.age_of(hot.writes - hot.copies);
        let size = (hot.blocks + 0.5) as u32;
        vec![HotGroup { age, size: size.max(1), copies: hot.copies, writes: hot.writes }]
    } else {
        (1..=HOT_BLOCKS).filter_map(|blocks| hot_group(ages, blocks)).collect()
    };
    let single = |hot: &HotGroup| model.predict(*hot, &[]);
    let mut hot = *min_by(hot_groups.iter(), |&hot| single(hot).map(|plan| plan.amplification))?;
    let mut plan: Option<Plan> = None;
    let mut queues: Vec<u32> = Vec::new();
    while (queues.len() as u32) + 2 < groups {
        let Some((size, next)) = best_size(&model, hot, &queues, queues.len()) else { break };
        queues.push(size);
        if plan.as_ref().is_none_or(|plan| next.amplification < plan.amplification) {
            plan = Some(next);
        }
    }
    let mut plan = plan?;
    for _ in 0..ROUNDS {
        let before = plan.amplification;
        let mut queues = plan.sizes[1..].to_vec();
        for &other in &hot_groups {
            if let Some(next) =
                model.predict(other, &queues).filter(|next| next.amplification < plan.amplification)
            {
                (plan, hot) = (next, other);
            }
        }
        for place in 0..queues.len() {
            if let Some((size, next)) = best_size(&model, hot, &queues, place)
                && next.amplification < plan.amplification
            {
                (plan, queues[place]) = (next, size);
            }
        }
        if plan.amplification >= before {
            break;
        }
    }
    Some(plan)
}

/// A hot group of `blocks` blocks, with all writes of the shortest intervals.
fn hot_group(ages: &Ages, blocks: u32) -> Option<HotGroup> {
    // Its blocks are the intervals below an age times their writes, which rises with the age.
    let size = |age: f64| age * ages.share(age);
    let (mut least, mut most) = (0.0, ages.end());
    if size(most) < f64::from(blocks) {
        return None;
    }
    for _ in 0..40 {
        let age = 0.5 * (least + most);
        *(if size(age) < f64::from(blocks) { &mut least } else { &mut most }) = age;
    }
    Some(HotGroup { age: most, size: blocks, copies: 0.0, writes: ages.share(most) })
}

/// The best size of the queue at this place, and its prediction.
fn best_size(model: &Model<'_>, hot: HotGroup, queues: &[u32], place: usize) -> Option<(u32, Plan)> {
    let mut queues = queues.to_vec();
    queues.resize(queues.len().max(place + 1), 1);
    let mut best: Option<(u32, Plan)> = None;
    let mut size = 1;
    while f64::from(size) < model.device.blocks {
        queues[place] = size;
        if let Some(plan) = model.predict(hot, &queues)
            && best.as_ref().is_none_or(|(_, best)| plan.amplification < best.amplification)
        {
            best = Some((size, plan));
        }
        size += 1 + size / 32;
    }
    best
}

fn min_by<T>(items: impl Iterator<Item = T>, value: impl Fn(&T) -> Option<f64>) -> Option<T> {
    let valued = items.filter_map(|item| Some((value(&item)?, item)));
    valued.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, item)| item)
}
