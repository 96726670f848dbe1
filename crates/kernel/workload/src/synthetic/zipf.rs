//! Zipf-distributed positions: rank k has a probability proportional to 1 / k^exponent.
//!
//! The ranks are divided into steps; each spans 1/32 of its first rank (each of the first 64 ranks is a step), a few
//! hundred in all, about 1,300 for the largest space. A draw picks a step by an upper bound of its weight (all ranks
//! weighted like its first), then a rank of the step at random, and accepts it with probability (k / first)^-exponent.
//! The least such probability of the step is stored, so only the few percent of draws above it compute the power. The
//! result is exact, up to the rounding of a double, for every exponent above zero, 1 included, and any size of space.
//!
//! Source: Zipf (1949) for the law; rejection from a stepped envelope with a squeeze as in Marsaglia and Tsang, "The
//! ziggurat method" (2000). The alternative, rejection-inversion (Hörmann and Derflinger 1996), needs at least one
//! power per draw; here one in thirty draws needs it at an exponent of 1. Cost: O(1) per draw, three random numbers
//! and rarely a power; O(log n) to build, a few tens of KiB.

use super::draw::{self, AliasTable};
use super::{AddressPolicy, Space, refuse, scatter::Scatter};
use crate::{Op, WorkloadError};
use coflash_base::seed::Rng;
use coflash_base::{Bytes, Policy, RandomStream};

coflash_base::config! {
    /// The parameters of `"zipf"`.
    pub struct ZipfConfig {
        /// Skew of the accesses, above 0: rank k has the weight 1 / k^exponent.
        pub exponent: f64 = 0.99,
        /// Whether ranks are scattered over the space at random; otherwise rank k is at position k.
        pub scattered: bool = true,
        /// Granularity of scattering, a multiple of `align`. With blocks larger than requests, most requests cover
        /// similar ranks. Default: one alignment unit.
        pub scatter_block: Option<Bytes>,
        /// Size of the accessed part of the space, a multiple of `align`; the rest has no rank. Default: the whole space.
        pub footprint: Option<Bytes>,
        /// Ranks for each alignment unit, at least 1: a small space then has the shares of a space as many times its size. The ranks
        /// of 64 units go round these, so that no unit has all of the hottest. Default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ranks_per_unit: Option<f64>,
    }
}

/// The generator `"zipf"`.
#[derive(Clone, Debug)]
pub struct Zipf {
    space_units: u64,
    ranks: Ranks,
    per_unit: Option<f64>,
    units: u64,
    scatter: Option<Scatter>,
}

impl Policy for Zipf {
    type Config = ZipfConfig;
    const SUMMARY: &'static str = "Zipf's law: rank k has a probability proportional to 1 / k^exponent.";
    const SOURCE: &'static str = "Zipf, \"Human behavior and the principle of least effort\" (1949)";
}

impl AddressPolicy for Zipf {
    fn new(config: &ZipfConfig, space: Space) -> Result<Self, WorkloadError> {
        let exponent = config.exponent;
        if !(exponent.is_finite() && exponent > 0.0) {
            return refuse(
                "generator.exponent",
                format!("{exponent} was given; a number above 0 is allowed (for 0 use \"uniform\")"),
            );
        }
        let all = Bytes { count: space.units * space.align.count };
        let footprint = config.footprint.unwrap_or(all);
        if footprint.count == 0 || footprint > all || !footprint.count.is_multiple_of(space.align.count) {
            let problem = format!(
                "{footprint} was given; a multiple of align, {}, up to the space, {all}, is allowed",
                space.align
            );
            return refuse("generator.footprint", problem);
        }
        let (units, per_unit) = (footprint.count / space.align.count, config.ranks_per_unit.unwrap_or(1.0));
        let all = units as f64 * per_unit;
        if !(1.0..=TWO_64).contains(&per_unit) || all > TWO_64 / 4.0 {
            let problem = format!("{per_unit} was given; a number from 1 is allowed, for at most 2^62 ranks");
            return refuse("generator.ranks_per_unit", problem);
        }
        let ranks = Ranks::new(if per_unit > 1.0 { all as u64 } else { units }, exponent);
        let scatter = Scatter::new(config.scattered, config.scatter_block, space)?;
        Ok(Self { space_units: space.units, ranks, per_unit: config.ranks_per_unit, units, scatter })
    }

    #[inline]
    fn start(&mut self, _: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let drawn = self.ranks.draw(stream) - 1;
        let rank = self.per_unit.map_or(drawn, |ranks| {
            let of_group = ranks * GROUP as f64;
            let group = ((drawn as f64 / of_group) as u64).min((self.units - 1) / GROUP);
            let within = drawn.saturating_sub((group as f64 * of_group) as u64);
            group * GROUP + within % GROUP.min(self.units - group * GROUP)
        });
        let position = self.scatter.as_ref().map_or(rank, |scatter| scatter.position(rank));
        position.min(self.space_units - length_units)
    }
}

/// The units that share their ranks.
const GROUP: u64 = 64;

/// A step is 1/32 of its first rank wide: narrower steps need fewer powers and a larger table.
const STEP_PART: u64 = 32;

/// Draws ranks, beginning with 1.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    exponent: f64,
    choice: AliasTable,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    first: u64,
    width: u64,
    /// Probability of acceptance of the step's last rank, in 2^-64: the squeeze.
    accepted_always: u64,
}

impl Ranks {
    pub(super) fn new(count: u64, exponent: f64) -> Self {
        let mut steps = Vec::new();
        let mut envelope = Vec::new();
        let mut first = 1;
        while first <= count {
            let width = (first / STEP_PART).clamp(1, count - first + 1);
            let mut step = Step { first, width, accepted_always: 0 };
            step.accepted_always = (step.acceptance(first + width - 1, exponent) * TWO_64) as u64;
            steps.push(step);
            envelope.push(width as f64 * libm::pow(first as f64, -exponent));
            first += width;
        }
        // 62 bits: a weight that rounds to 0 has a probability below 2^-62.
        let scale = (1_u64 << 62) as f64 / envelope.iter().sum::<f64>();
        let weights: Vec<u64> = envelope.iter().map(|weight| (weight * scale) as u64).collect();
        Self { exponent, choice: AliasTable::new(&weights), steps }
    }

    #[inline]
    pub(super) fn draw(&self, stream: &mut RandomStream) -> u64 {
        loop {
            let step = self.steps[self.choice.draw(stream)];
            let rank = step.first + draw::below(stream, step.width);
            let trial = stream.next_u64();
            if trial < step.accepted_always || (trial as f64) < step.acceptance(rank, self.exponent) * TWO_64
            {
                return rank;
            }
        }
    }
}

const TWO_64: f64 = 18_446_744_073_709_551_616.0;

impl Step {
    /// The probability of acceptance: the weight of `rank` divided by its weight in the envelope.
    #[cold]
    fn acceptance(self, rank: u64, exponent: f64) -> f64 {
        libm::pow(rank as f64 / self.first as f64, -exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;

    /// Chi-square of `draws` draws against the exact probabilities; ranks expected less than 20 times count as one.
    fn chi_square_over_freedom(count: u64, exponent: f64, draws: u64) -> (f64, f64) {
        let ranks = Ranks::new(count, exponent);
        let mut stream = Seed(7).stream("where");
        let mut seen = vec![0_u64; count as usize];
        (0..draws).for_each(|_| seen[ranks.draw(&mut stream) as usize - 1] += 1);
        let weight = |index: usize| libm::pow(index as f64 + 1.0, -exponent);
        let total: f64 = (0..seen.len()).map(weight).sum();
        let (mut chi, mut cells, mut tail) = (0.0, 0.0, (0.0, 0.0));
        for (index, &seen) in seen.iter().enumerate() {
            tail.0 += seen as f64;
            tail.1 += draws as f64 * weight(index) / total;
            if tail.1 >= 20.0 {
                chi += (tail.0 - tail.1).powi(2) / tail.1;
                cells += 1.0;
                tail = (0.0, 0.0);
            }
        }
        (chi, cells - 1.0)
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        for exponent in [0.001, 0.3, 0.99, 1.0, 1.2, 2.0, 5.0] {
            for count in [2, 10, 64, 65, 1000, 5000] {
                let (chi, freedom) = chi_square_over_freedom(count, exponent, 2_000_000);
                let limit = freedom + 4.5 * (2.0 * freedom).sqrt() + 10.0;
                assert!(chi < limit, "exponent {exponent}, {count} ranks: {chi} with {freedom} degrees");
            }
        }
    }

    #[test]
    fn steps_cover_every_rank_once() {
        for count in [1, 2, 31, 64, 65, 1000, 1 << 40, (1 << 63) - 1] {
            let ranks = Ranks::new(count, 1.0);
            let mut next = 1;
            for step in &ranks.steps {
                assert_eq!(step.first, next);
                next += step.width;
            }
            assert_eq!(next, count + 1);
            assert!(ranks.steps.len() < 1500);
        }
    }

    #[test]
    fn the_shares_of_the_hottest_ranks_of_a_large_space_are_right() {
        // Exponent 1: the first m of n ranks have H(m) / H(n), with H(x) = ln x + 0.5772156649 + 1 / 2x. The first 64
        // are steps of their own: were too much or too little of the wider steps kept, their share would show it.
        let harmonic = |x: u64| libm::log(x as f64) + 0.577_215_664_9 + 0.5 / x as f64;
        let count = 1 << 30;
        let ranks = Ranks::new(count, 1.0);
        let mut stream = Seed(3).stream("where");
        let draws: Vec<u64> = (0..4_000_000).map(|_| ranks.draw(&mut stream)).collect();
        for first in [64, 1 << 15, 1 << 25] {
            let hot = draws.iter().filter(|&&rank| rank <= first).count() as f64 / draws.len() as f64;
            let expected = harmonic(first) / harmonic(count);
            assert!((hot - expected).abs() < 0.001, "first {first}: {hot} instead of {expected}");
        }
    }

    #[test]
    fn the_law_holds_inside_a_step() {
        // How often a rank lies in the later half of its step: 0.5 if all of a step were equally likely.
        let ranks = Ranks::new(1 << 20, 1.0);
        let late = |rank: u64| {
            let step = &ranks.steps[ranks.steps.partition_point(|step| step.first <= rank) - 1];
            rank - step.first >= step.width.div_ceil(2)
        };
        let weight = |late_only: bool| -> f64 {
            (1..=1 << 20).filter(|&rank| !late_only || late(rank)).map(|rank| 1.0 / rank as f64).sum()
        };
        let expected = weight(true) / weight(false);
        let mut stream = Seed(4).stream("where");
        let seen = (0..4_000_000).filter(|_| late(ranks.draw(&mut stream))).count() as f64 / 4e6;
        assert!((seen - expected).abs() < 0.001, "{seen} instead of {expected}");
    }

    #[test]
    fn a_small_space_has_the_shares_of_the_space_that_it_stands_for() {
        let shares = |units, ranks_per_unit, of: u64| {
            let config =
                ZipfConfig { scattered: false, ranks_per_unit, exponent: 1.1, ..ZipfConfig::default() };
            let space = Space { units, align: Bytes { count: 4096 }, seed: Seed(1) };
            let mut zipf = Zipf::new(&config, space).expect("a generator");
            let mut stream = Seed(5).stream("where");
            let mut hot = [0.0; 4];
            for _ in 0..400_000 {
                let at = zipf.start(Op::Write, 1, &mut stream);
                assert!(at < units);
                hot.iter_mut().zip(1..).for_each(|(hot, part)| *hot += f64::from(u8::from(at < part * of)));
            }
            hot.map(|hot| hot / 400_000.0)
        };
        let [whole, small] = [shares(1 << 20, None, 1 << 16), shares(1 << 15, Some(32.0), 1 << 11)];
        for (whole, small) in whole.into_iter().zip(small) {
            assert!((whole - small).abs() < 0.003, "{small} instead of {whole}");
        }
        let [hottest, ..] = shares(1 << 15, Some(32.0), 1);
        assert!(hottest < 0.2, "the hottest unit has not the ranks of 32: {hottest}");
    }

    #[test]
    fn a_steep_law_ends_at_the_first_rank() {
        let ranks = Ranks::new(1 << 40, 1e6);
        let mut stream = Seed(1).stream("where");
        assert!((0..1000).all(|_| ranks.draw(&mut stream) == 1));
    }
}
