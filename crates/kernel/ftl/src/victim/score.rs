//! Score: the block with the highest value of an expression over features of the candidates.
//!
//! NaN counts as the lowest score. A block without an invalid page is picked only if there is no other:
//! cleaning it frees nothing, so GC would never end with a score that prefers such blocks. The expression is
//! evaluated for [`LANES`] candidates at a time: O(candidates) per pick, without any allocation.

use super::in_order::{Order, OrderRule};
use super::{Candidates, Pool};
use crate::ids::LocalBlock;
use coflash_base::expression::{Expression, Features, Over};
use coflash_base::{List, Policy, Save};

/// The number of candidates evaluated at once.
const LANES: usize = 64;

/// The value of a feature for a candidate, given the number of candidates with a later cost change.
type Feature = fn(Candidates<'_>, LocalBlock, u32) -> f64;

/// The features by name.
const FEATURES: [(&str, Feature); 8] = [
    ("u", |pool, block, _| f64::from(pool.cost(block)) / f64::from(pool.size())),
    ("cost", |pool, block, _| f64::from(pool.cost(block)) / f64::from(pool.scale.valid)),
    ("freed", |pool, block, _| f64::from(pool.freed(block)) / f64::from(pool.scale.valid)),
    ("valid", |pool, block, _| f64::from(pool.block(block).valid)),
    ("pages", |pool, _, _| f64::from(pool.pages)),
    ("age", |pool, block, _| pool.age(block) as f64),
    ("erases", |pool, block, _| f64::from(pool.erases(block))),
    ("quiet", |_, _, later| f64::from(later)),
];

coflash_base::config! {
    /// The choice among several blocks of the highest score.
    pub enum ScoreTie, default Oldest {
        /// The block that has had its cost for longest, as in `greedy`.
        Oldest,
        /// The block that was sealed first, as in `cost-benefit`.
        FirstSealed,
    }
}

/// The features of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfBlock;

impl Features for OfBlock {
    fn names() -> Vec<&'static str> {
        FEATURES.map(|(name, _)| name).to_vec()
    }
}

/// A score of blocks.
pub type Score = Over<OfBlock>;

coflash_base::config! {
    /// Parameters of `score`.
    pub struct ScoreConfig {
        /// An expression, such as `(1 - u) / (1 + u) * age`, over the features of a block: `u`, the share of its pages to be
        /// copied, marked pages by their weight; `cost`, these pages; `freed`, the pages that cleaning it frees; `valid`, its
        /// valid pages; `pages`, all its pages; `age`, programs of the device since it was sealed; `erases`, its erase count;
        /// `quiet`, the candidates of its pool whose cost changed later. Operators: `+ - * / ^ < <= > >=`. Functions: `min`,
        /// `max`, `abs`, `sqrt`, `exp`, `log`, `if(condition, then, else)`.
        pub score: Score = Score::parse("(1 - u) / (1 + u) * age").expect("it has no unknown feature"),
        /// The choice among several blocks of the highest score.
        pub tie: ScoreTie,
    }
}

/// The score policy.
#[derive(Clone, Save)]
pub struct VictimByScore {
    score: Expression,
    tie: ScoreTie,
    columns: Vec<[f64; LANES]>,
}

impl Policy for VictimByScore {
    type Config = ScoreConfig;
    const SUMMARY: &'static str =
        "The block with the highest score; the default is that of the log-structured file system.";
    const SOURCE: &'static str =
        "the expression is the user's; the default: Rosenblum & Ousterhout 1992 (LFS)";
}

impl OrderRule for VictimByScore {
    const ORDER: Order = Order::CostChange;

    fn new(config: &ScoreConfig, _: Pool) -> Self {
        let score = config.score.expression().clone();
        Self { columns: score.columns(), score, tie: config.tie }
    }

    fn pick(&mut self, order: &List<LocalBlock>, candidates: Candidates<'_>) -> Option<LocalBlock> {
        let Self { score, tie, columns } = self;
        let mut later = if score.uses(FEATURES.len() - 1) { order.iter().count() } else { 0 } as u32;
        let mut best: Option<(bool, f64, u64, LocalBlock)> = None;
        let mut rest = order.iter();
        let mut lanes = [LocalBlock::new(0); LANES];
        loop {
            let mut count = 0;
            for (lane, block) in lanes.iter_mut().zip(&mut rest) {
                *lane = block;
                count += 1;
            }
            if count == 0 {
                return best.map(|(.., block)| block);
            }
            let blocks = &lanes[..count];
            score.evaluate(columns, |feature, values| {
                let (_, feature) = FEATURES[feature];
                for (index, (value, &block)) in values.iter_mut().zip(blocks).enumerate() {
                    *value = feature(candidates, block, later.wrapping_sub(index as u32 + 1));
                }
            });
            later = later.wrapping_sub(count as u32);
            for (&block, &score) in blocks.iter().zip(&columns[0]) {
                let score = if score.is_nan() { f64::NEG_INFINITY } else { score };
                let gains = candidates.block(block).valid < candidates.pages;
                let age = if *tie == ScoreTie::Oldest { 0 } else { candidates.age(block) };
                if best.is_none_or(|(gained, highest, oldest, _)| {
                    (gains, score, age) > (gained, highest, oldest)
                }) {
                    best = Some((gains, score, age, block));
                }
            }
        }
    }
}
