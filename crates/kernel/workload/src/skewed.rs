//! fio's skewed distributions, number by number, as its job files have them.
//!
//! Source: fio 3.33; L'Ecuyer, "Maximally equidistributed combined Tausworthe generators" (1996); Gray et al., "Quickly
//! generating billion-record synthetic databases" (1994) for the approximation of Zipf's law. Powers are those of `libm`, so
//! that a seed gives the same places on every machine; where it differs from fio's in the last bit, one draw in millions may
//! differ. Cost: some ten nanoseconds a draw.

/// The largest draw of 32 bits.
pub const MAX32: f64 = u32::MAX as f64;

/// A kind of combined Tausworthe generators.
#[derive(Clone, Copy, Debug)]
pub struct Tausworthe<const PARTS: usize> {
    /// The bits of a number, set.
    pub word: u64,
    /// The factor between the seeds of successive parts.
    pub seed_step: u64,
    /// Of each part the least seed, the first and second shift, the bits that are dropped, and the third shift.
    pub parts: [(u64, u32, u32, u64, u32); PARTS],
}

impl<const PARTS: usize> Tausworthe<PARTS> {
    /// The state of a generator of this seed, warmed up.
    #[must_use]
    pub fn seeded(self, seed: u64) -> [u64; PARTS] {
        let mut last = 53;
        let mut state = self.parts.map(|(least, ..)| {
            last = (self.seed_step.wrapping_mul(last) ^ seed) & self.word;
            last = if last < least { last + least } else { last };
            last
        });
        for _ in 0..6 {
            self.draw(&mut state);
        }
        state
    }

    /// Draw a number.
    #[inline(always)]
    pub fn draw(self, state: &mut [u64; PARTS]) -> u64 {
        for (part, (_, first, second, dropped, third)) in state.iter_mut().zip(self.parts) {
            let kept = (*part & dropped.wrapping_neg()) << third;
            *part = (kept ^ (((*part << first) ^ *part) & self.word) >> second) & self.word;
        }
        state.iter().fold(0, |all, part| all ^ part)
    }
}

/// The generator of 32 bits (taus88).
const TAUS88: Tausworthe<3> = Tausworthe {
    word: u32::MAX as u64,
    seed_step: 69069,
    parts: [(1, 13, 19, 2, 12), (7, 2, 25, 8, 4), (15, 3, 11, 16, 17)],
};

/// A generator of 32 bits.
#[derive(Clone, Debug)]
pub struct Rand32([u64; 3]);

impl Rand32 {
    /// Make the generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(TAUS88.seeded(seed))
    }

    /// Draw 32 bits.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        TAUS88.draw(&mut self.0) as u32
    }

    /// Draw a whole number below `count`.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        (count as f64 * (f64::from(self.draw()) / (MAX32 + 1.0))) as usize
    }

    /// Draw a whole number from 1 to 100.
    #[inline]
    pub fn percent(&mut self) -> u32 {
        1 + (100.0 * (f64::from(self.draw()) / (MAX32 + 1.0))) as u32
    }
}

/// Numbers beyond this are left out of the normalisation of `zipf`, as in fio.
const ZIPF_SUM_MAX: u64 = 10_000_000;

/// Hash a rank to a place (Knuth's multiplicative hash). Two ranks may share a place: places are taken modulo their number.
#[inline]
fn hashed(rank: u64) -> u64 {
    rank.wrapping_mul(0x61c8_8646_80b5_83eb)
}

/// `scale` times a power, rounded down. The machine's own power is faster than that of `libm` and differs
/// from it in the last bits. These hardly ever decide the rounding; where they do, `libm` is used.
#[inline]
#[expect(clippy::disallowed_methods, reason = "see above")]
fn scaled_power(scale: f64, base: f64, exponent: f64) -> u64 {
    const ERROR_MAX: f64 = 1e-12;
    let near = scale * base.powf(exponent);
    let [low, high] = [near * (1.0 - ERROR_MAX), near * (1.0 + ERROR_MAX)].map(|bound| bound as u64);
    if low == high { low } else { (scale * libm::pow(base, exponent)) as u64 }
}

/// A skewed distribution over places: ranks drawn from `law`, hashed, and shifted.
#[derive(Clone, Debug)]
pub struct Skewed {
    law: Law,
    rand: Rand32,
    places: u64,
    shift: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Zipf { sum: f64, second: f64, alpha: f64, eta: f64 },
    Pareto { power: f64 },
    Normal { deviation: u32 },
}

impl Skewed {
    fn new(law: Law, places: u64, center: Option<f64>, seed: u32) -> Self {
        let mut rand = Rand32::new(seed.into());
        let shift = match law {
            Law::Normal { .. } => center.map_or(0, |center| (places as f64 * (center - 0.5)) as i64 as u64),
            _ => {
                let drawn = rand.draw().into();
                center.map_or(drawn, |center| (places as f64 * center) as u64)
            }
        };
        Self { law, rand, places, shift }
    }

    /// Zipf's law with exponent `theta`, which is not 1.
    #[must_use]
    pub fn zipf(theta: f64, places: u64, center: Option<f64>, seed: u32) -> Self {
        let sum =
            (1..=places.min(ZIPF_SUM_MAX)).fold(0.0, |sum, rank| sum + libm::pow(1.0 / rank as f64, theta));
        let second = libm::pow(0.5, theta);
        let eta = (1.0 - libm::pow(2.0 / places as f64, 1.0 - theta)) / (1.0 - (1.0 + second) / sum);
        let law = Law::Zipf { sum, second, alpha: 1.0 / (1.0 - theta), eta };
        Self::new(law, places, center, seed)
    }

    /// Pareto's law: the share `1 - h` of draws goes to the share `h` of places, roughly.
    #[must_use]
    pub fn pareto(h: f64, places: u64, center: Option<f64>, seed: u32) -> Self {
        Self::new(Law::Pareto { power: libm::log(h) / libm::log(1.0 - h) }, places, center, seed)
    }

    /// The mean of twelve draws, moved by up to `percent` / 2 of all places.
    #[must_use]
    pub fn normal(percent: f64, places: u64, center: Option<f64>, seed: u32) -> Self {
        let deviation = libm::ceil(places as f64 * percent / 100.0) as u64;
        let deviation = u32::try_from(deviation.min(places / 2)).unwrap_or(u32::MAX);
        Self::new(Law::Normal { deviation }, places, center, seed)
    }

    /// Draw a place.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        let rank = match self.law {
            Law::Zipf { sum, second, alpha, eta } => {
                let share = f64::from(self.rand.draw()) / MAX32;
                let weight = share * sum;
                if weight < 1.0 {
                    0
                } else if weight < 1.0 + second {
                    1
                } else {
                    scaled_power(self.places as f64, eta * share - eta + 1.0, alpha)
                }
            }
            Law::Pareto { power } => {
                let share = f64::from(self.rand.draw()) / MAX32;
                scaled_power((self.places - 1) as f64, share, power)
            }
            Law::Normal { deviation } => {
                const DRAWS: u64 = 12;
                let sum: u64 = (0..DRAWS).map(|_| u64::from(self.rand.draw()) % (self.places + 1)).sum();
                let mean = sum.div_ceil(DRAWS);
                let mut moved = 0;
                if deviation > 0 {
                    let share = f64::from(self.rand.draw()) / (MAX32 + 1.0);
                    moved = (f64::from(deviation) * share) as i64 - i64::from(deviation / 2);
                    // As unsigned numbers: a sum below zero is beyond the end, too.
                    while mean.wrapping_add_signed(moved) >= self.places && moved != 0 {
                        moved /= 2;
                    }
                }
                mean.wrapping_add_signed(moved)
            }
        };
        hashed(rank).wrapping_add(self.shift) % self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Small places, where bases, exponents and results are whole numbers, are the ones that rounding decides.
        #[test]
        fn a_power_is_that_of_libm(
            scale in prop_oneof![(1_u32..100).prop_map(f64::from), 1.0..1e12],
            base in prop_oneof![0.0..1.0, Just(0.0), Just(0.25), Just(1.0), (1_u32..20).prop_map(f64::from)],
            exponent in prop_oneof![-60.0..60.0, (-5_i32..5).prop_map(f64::from), Just(0.5)],
        ) {
            prop_assert_eq!(scaled_power(scale, base, exponent), (scale * libm::pow(base, exponent)) as u64);
        }
    }
}
