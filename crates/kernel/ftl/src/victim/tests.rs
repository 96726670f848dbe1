//! Tests of the contract of every registered policy: random lives of blocks, compared with a naive model.

use super::cost_benefit::{AgeFactor, CostBenefitConfig, Reads};
use super::greedy::{GreedyConfig, Tie};
use super::windowed_greedy::WindowedGreedyConfig;
use super::{Candidates, Pool, Score, ScoreConfig, ScoreTie};
use super::{Victim, VictimConfig, d_choices::DChoicesConfig};
use crate::block::{Block, History};
use crate::ids::LocalBlock;
use crate::weight::{Scale, Weight, Weights};
use coflash_base::seed::{RandomStream, RngExt, Seed};
use coflash_base::{Index, Save};
use std::num::NonZeroU16;

/// An event in the life of a pool. It is skipped if it cannot happen to its block.
#[derive(Clone, Copy, Debug, Save)]
enum Operation {
    Seal { block: LocalBlock, cost: u32 },
    CostChanged { block: LocalBlock, cost: u32 },
    Remove(LocalBlock),
    Clean,
}

impl Operation {
    fn draw(stream: &mut RandomStream, pool: &Pool) -> Self {
        let block = LocalBlock::new(stream.random_range(0..pool.blocks));
        let cost = stream.random_range(0..=pool.cost_max);
        match stream.random_range(0..16) {
            0..6 => Self::Seal { block, cost },
            6..13 => Self::CostChanged { block, cost },
            13 => Self::Remove(block),
            _ => Self::Clean,
        }
    }
}

/// A candidate in the model.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    block: LocalBlock,
    cost: u32,
    sealed_at: u64,
    /// The time of its last cost change.
    cost_since: u64,
}

/// A policy and the expected candidates, in the order of sealing.
#[derive(Clone)]
struct Checked {
    config: VictimConfig,
    pool: Pool,
    victim: Victim,
    candidates: Vec<Candidate>,
    now: u64,
}

impl Checked {
    fn new(config: &VictimConfig, pool: Pool) -> Self {
        let victim = config.build(pool);
        Self { config: config.clone(), pool, victim, candidates: Vec::new(), now: 0 }
    }

    fn apply(&mut self, operation: Operation) {
        let find = |block| self.candidates.iter().position(|candidate| candidate.block == block);
        match operation {
            Operation::Seal { block, cost } if find(block).is_none() => self.seal(block, cost),
            Operation::CostChanged { block, cost } => {
                if let Some(candidate) = find(block).map(|at| &mut self.candidates[at])
                    && candidate.cost != cost
                {
                    self.now += 1;
                    self.victim.cost_changed(block, candidate.cost, cost);
                    (candidate.cost, candidate.cost_since) = (cost, self.now);
                }
            }
            Operation::Remove(block) if find(block).is_some() => self.remove(block),
            Operation::Clean => {
                if let Some(block) = self.pick() {
                    self.remove(block);
                }
            }
            Operation::Seal { .. } | Operation::Remove(_) => {}
        }
    }

    fn seal(&mut self, block: LocalBlock, cost: u32) {
        self.now += 1;
        self.victim.sealed(block, cost);
        self.candidates.push(Candidate { block, cost, sealed_at: self.now, cost_since: self.now });
    }

    fn remove(&mut self, block: LocalBlock) {
        let at = self.candidates.iter().position(|candidate| candidate.block == block).unwrap();
        let cost = self.candidates.remove(at).cost;
        self.victim.removed(block, cost);
    }

    /// The same candidates with a new policy, restored from this one.
    fn restored(&self) -> Self {
        let (mut victim, mut saved) = (self.config.build(self.pool), Vec::new());
        self.victim.save(&mut saved).unwrap();
        victim.restore(&mut saved.as_slice()).unwrap();
        Self { victim, ..self.clone() }
    }

    /// Pick a block and check the choice.
    fn pick(&mut self) -> Option<LocalBlock> {
        // Blocks that are not candidates get the lowest possible cost.
        let mut blocks = vec![Block::ERASED; self.pool.blocks as usize];
        let mut histories = vec![History::default(); self.pool.blocks as usize];
        for &Candidate { block, cost, sealed_at, .. } in &self.candidates {
            blocks[block.index()] = Block { valid: cost, cost, ..Block::ERASED };
            histories[block.index()].sealed_at = sealed_at;
        }
        let pages = self.pool.cost_max;
        let scale = &Scale::new(1, Weights::all(Weight::FULL), pages);
        let next = self.victim.next();
        let picked = self.victim.pick(Candidates {
            blocks: &blocks,
            histories: &histories,
            scale,
            pages,
            now: self.now,
        });
        assert!(next.is_none_or(|next| picked == Some(next)), "{next:?} is told to be next: {picked:?}");
        match self.expected() {
            Some(expected) => assert_eq!(picked, expected, "candidates: {:?}", self.candidates),
            None => assert!(
                self.candidates.iter().any(|candidate| Some(candidate.block) == picked),
                "{picked:?} is no candidate: {:?}",
                self.candidates
            ),
        }
        picked
    }

    /// The block that the policy must pick; `None` if it may pick any candidate.
    fn expected(&self) -> Option<Option<LocalBlock>> {
        let same = SCORES.iter().find(|(text, tie, _)| self.config == by_score(text, *tie));
        let config = same.map_or_else(|| self.config.clone(), |(_, _, same)| same());
        let gains = |c: &&Candidate| c.cost < self.pool.cost_max;
        let only_gains = same.is_some() && self.candidates.iter().any(|c| gains(&c));
        let all = self.candidates.iter().filter(|c| !only_gains || gains(c));
        let best = match &config {
            _ if self.candidates.is_empty() => None,
            VictimConfig::Greedy(GreedyConfig { tie: Tie::Oldest }) => {
                all.min_by_key(|c| (c.cost, c.cost_since))
            }
            VictimConfig::Greedy(GreedyConfig { tie: Tie::Newest }) => {
                all.max_by_key(|c| (u32::MAX - c.cost, c.cost_since))
            }
            VictimConfig::Greedy(GreedyConfig { tie: Tie::HighestBlock }) => {
                all.max_by_key(|c| (u32::MAX - c.cost, c.block))
            }
            VictimConfig::Fifo(_) => all.min_by_key(|c| c.sealed_at),
            VictimConfig::WindowedGreedy(config) => {
                all.take(config.window.get() as usize).min_by_key(|c| (c.cost, c.sealed_at))
            }
            VictimConfig::CostBenefit(CostBenefitConfig { reads, age }) => {
                // Compare (benefit, cost) of all pairs. A free block beats all blocks with a cost.
                let whole = if *reads == Reads::Whole { self.pool.cost_max } else { 0 };
                let is_root = *age == AgeFactor::Root;
                let value = |c: &Candidate| {
                    let age = self.now - c.sealed_at + 1;
                    // With 16 bits after the point.
                    let age = if is_root { ((age as f64).sqrt() * 65_536.0) as u64 } else { age };
                    let cost = if c.cost == 0 { 0 } else { c.cost + whole };
                    (age * u64::from(self.pool.cost_max - c.cost), u64::from(cost))
                };
                let beats = |a: &Candidate, b: &Candidate| match (value(a), value(b)) {
                    ((_, 0), (_, cost)) => cost > 0,
                    (_, (_, 0)) => false,
                    ((a_benefit, a_cost), (b_benefit, b_cost)) => a_benefit * b_cost > b_benefit * a_cost,
                };
                // The oldest of the unbeaten candidates.
                all.clone().find(|a| !self.candidates.iter().any(|b| beats(b, a)))
            }
            _ => return None,
        };
        Some(best.map(|candidate| candidate.block))
    }
}

fn by_score(text: &str, tie: ScoreTie) -> VictimConfig {
    VictimConfig::Score(ScoreConfig { score: Score::parse(text).expect("it is an expression"), tie })
}

fn greedy(tie: Tie) -> VictimConfig {
    VictimConfig::Greedy(GreedyConfig { tie })
}

/// Cost-benefit with the square root of the age.
fn by_root() -> VictimConfig {
    VictimConfig::CostBenefit(CostBenefitConfig { age: AgeFactor::Root, ..CostBenefitConfig::default() })
}

fn named(name: &str) -> VictimConfig {
    VictimConfig::by_name(name).expect("it is registered")
}

type BuiltIn = fn() -> VictimConfig;

/// Scores equivalent to another policy, among the blocks with an invalid page if there are any.
const SCORES: [(&str, ScoreTie, BuiltIn); 6] = [
    ("-u", ScoreTie::Oldest, || greedy(Tie::Oldest)),
    ("-cost + 1 / (quiet + 2)", ScoreTie::Oldest, || greedy(Tie::Newest)),
    ("freed * (age + 1) / cost", ScoreTie::FirstSealed, || named("cost-benefit")),
    ("age", ScoreTie::Oldest, || named("fifo")),
    // All scores are NaN, or all are equal.
    ("if(pages > 999999, 1, log(-pages))", ScoreTie::FirstSealed, || named("fifo")),
    ("0", ScoreTie::FirstSealed, || named("fifo")),
];

fn number<N: From<NonZeroU16>>(n: u16) -> N {
    NonZeroU16::new(n).expect("not zero").into()
}

/// Every registered policy with its default parameters, and with parameters for a small pool.
fn configs() -> Vec<VictimConfig> {
    let mut configs: Vec<_> = VictimConfig::NAMES.iter().map(|name| named(name)).collect();
    configs.extend([
        greedy(Tie::Newest),
        greedy(Tie::HighestBlock),
        VictimConfig::WindowedGreedy(WindowedGreedyConfig { window: number(1) }),
        VictimConfig::WindowedGreedy(WindowedGreedyConfig { window: number(3) }),
        VictimConfig::DChoices(DChoicesConfig { d: number(1) }),
        VictimConfig::CostBenefit(CostBenefitConfig { reads: Reads::Whole, ..CostBenefitConfig::default() }),
        by_root(),
    ]);
    configs.extend(SCORES.map(|(text, tie, _)| by_score(text, tie)));
    configs
}

/// Prints the failed life.
struct Reproduce<'a>(&'a VictimConfig, u64);

impl Drop for Reproduce<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:?}, seed {}", self.0, self.1);
        }
    }
}

#[test]
fn every_policy_picks_as_its_model() {
    for config in configs() {
        for seed in 0..60 {
            let _reproduce = Reproduce(&config, seed);
            let mut stream = Seed(seed).stream("lives");
            let blocks = stream.random_range(1..20);
            // Few costs cause ties, many costs move the cursor of greedy.
            let cost_max = if seed % 2 == 0 { 3 } else { 100 };
            let mut checked = Checked::new(&config, Pool { blocks, cost_max, seed: Seed(seed) });
            assert_eq!(checked.pick(), None, "nothing is sealed yet");
            for _ in 0..400 {
                checked.apply(Operation::draw(&mut stream, &checked.pool));
            }
            while let Some(block) = checked.pick() {
                checked.remove(block);
            }
            assert_eq!(checked.candidates.len(), 0, "a policy gives up its last candidate");
        }
    }
}

#[test]
fn a_restored_policy_picks_the_same_blocks() {
    for config in configs() {
        for seed in 0..40 {
            let _reproduce = Reproduce(&config, seed);
            let mut stream = Seed(seed).stream("lives");
            let pool = Pool { blocks: stream.random_range(1..20), cost_max: 5, seed: Seed(seed) };
            let mut before = Checked::new(&config, pool);
            for _ in 0..stream.random_range(0..200) {
                before.apply(Operation::draw(&mut stream, &pool));
            }
            let mut after = before.restored();
            for _ in 0..200 {
                let operation = Operation::draw(&mut stream, &pool);
                before.apply(operation);
                after.apply(operation);
            }
        }
    }
}

#[test]
fn policies_with_the_same_seed_pick_the_same() {
    for config in configs() {
        let picks = |seed| {
            let pool = Pool { blocks: 50, cost_max: 8, seed: Seed(seed) };
            let mut checked = Checked::new(&config, pool);
            (0..50).for_each(|block| checked.seal(LocalBlock::new(block), block * 7 % 9));
            let mut pick = || checked.pick().inspect(|&block| checked.remove(block));
            std::iter::from_fn(&mut pick).collect::<Vec<_>>()
        };
        assert_eq!(picks(3), picks(3), "{config:?}");
        let draws = config.name() == "d-choices";
        assert_eq!(picks(3) != picks(4), draws, "{config:?}");
    }
}

/// The number of picks of each of `blocks` blocks, with cost b for block b.
fn histogram(config: &VictimConfig, blocks: u32, picks: u32) -> Vec<u32> {
    let mut checked = Checked::new(config, Pool { blocks, cost_max: blocks, seed: Seed(1) });
    (0..blocks).for_each(|block| checked.seal(LocalBlock::new(block), block));
    let mut counts = vec![0; blocks as usize];
    for _ in 0..picks {
        let block = checked.pick().expect("there are candidates");
        counts[block.index()] += 1;
        checked.remove(block);
        checked.seal(block, block.get());
    }
    counts
}

#[test]
fn draws_have_the_distribution_they_should() {
    const PICKS: u32 = 20_000;
    let blocks = 8;
    let by_d = |d| VictimConfig::DChoices(DChoicesConfig { d: number(d) });
    for (config, d) in [(by_d(1), 1), (by_d(2), 2), (by_d(5), 5)] {
        for (block, count) in (0..blocks).zip(histogram(&config, blocks, PICKS)) {
            // The probability that the cheapest of d draws has this cost.
            let at_least = |cost: u32| (f64::from(blocks - cost) / f64::from(blocks)).powi(d);
            let expected = f64::from(PICKS) * (at_least(block) - at_least(block + 1));
            let deviation = (f64::from(count) - expected).abs();
            assert!(
                deviation <= 5.0 * expected.sqrt() + 1.0,
                "{config:?}: block {block} was picked {count} times instead of {expected:.0}"
            );
        }
    }
}

#[test]
fn many_choices_are_greedy() {
    let many = VictimConfig::DChoices(DChoicesConfig { d: number(400) });
    assert_eq!(histogram(&many, 8, 100), [100, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_first_registered_policy_is_greedy_and_the_default() {
    assert_eq!(VictimConfig::default(), greedy(Tie::Oldest));
}

/// With a weight above one, marked pages cost more than others but free nothing.
#[test]
fn a_weight_changes_nothing_for_blocks_without_marked_pages() {
    const BLOCKS: u32 = 12;
    const PAGES: u32 = 8;
    for config in configs() {
        let picks = |weight| {
            let scale = Scale::new(1, Weights::all(weight), PAGES);
            let mut victim = config.build(Pool { blocks: BLOCKS, cost_max: scale.full_cost, seed: Seed(3) });
            let stream = &mut Seed(7).stream("blocks");
            let blocks: Vec<Block> = (0..BLOCKS)
                .map(|number| {
                    let valid = stream.random_range(0..=PAGES);
                    let cost = scale.cost(valid, 0, || [0; 2]);
                    victim.sealed(LocalBlock::new(number), cost);
                    Block { valid, cost, ..Block::ERASED }
                })
                .collect();
            let sealed = |number| History { sealed_at: number, erases: 0 };
            let histories: Vec<_> = (0..u64::from(BLOCKS)).map(sealed).collect();
            let now = u64::from(BLOCKS);
            let candidates =
                Candidates { blocks: &blocks, histories: &histories, scale: &scale, pages: PAGES, now };
            let pick = |_| {
                let block = victim.pick(candidates).expect("there are candidates");
                victim.removed(block, candidates.cost(block));
                block
            };
            (0..BLOCKS).map(pick).collect::<Vec<_>>()
        };
        assert_eq!(picks(Weight::FULL), picks(Weight(32)), "{config:?}");
    }
}
