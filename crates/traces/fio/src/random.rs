//! fio's random numbers: three combined Tausworthe generators, a shift register, and the seeds of a job.
//!
//! Source: L'Ecuyer, "Maximally equidistributed combined Tausworthe generators" (1996) for 32 bits; the same, "Tables of
//! maximally equidistributed combined LFSR generators" (1999) for 64 bits; fio 3.33 for seeds and warm-up. Cost: some ten
//! instructions a draw.

use coflash_workload::skewed::{MAX32, Rand32, Tausworthe};

/// The multiplier between the seeds of a job.
const SEED_STEP: u64 = 0x9e37_0001;

/// fio's default of `randseed`.
pub(super) const DEFAULT_SEED: u64 = 0x89;

/// The seed of random numbers that repeat in every run.
const REPEATED_SEED: u64 = 0xb189_9bed;

/// The uses of random numbers in a job, each with a seed of its own: the index is the one in fio.
#[derive(Clone, Copy)]
pub(super) enum Use {
    ReadSize = 0,
    WriteSize = 1,
    TrimSize = 2,
    Mix = 4,
    Place = 6,
    Sequential = 10,
    Zone = 16,
    Placement = 21,
}

/// The number of seeds of a job.
const USES: usize = 22;

/// The seeds of one job.
#[derive(Clone, Debug)]
pub(super) struct Seeds([u64; USES]);

impl Seeds {
    /// Derive the seeds from `randseed` for the job of the given number, from 1.
    pub(super) fn new(seed: u64, number: u32) -> Self {
        let mut seed = (0..4).fold(seed, |seed, _| seed.wrapping_mul(SEED_STEP));
        Self(std::array::from_fn(|index| {
            let own = seed.wrapping_mul(number.into()).wrapping_add(index as u64);
            seed = seed.wrapping_mul(SEED_STEP);
            own
        }))
    }

    /// Derive the seeds as `allrandrepeat` does, from the number of the job only.
    pub(super) fn of_number(number: u32) -> Self {
        let base = REPEATED_SEED.wrapping_mul(number.into());
        Self(std::array::from_fn(|index| base.wrapping_add(index as u64)))
    }

    /// Repeat the places of earlier runs (`randrepeat`), which depend on the number of the job only.
    pub(super) fn repeat_places(&mut self, number: u32) {
        self.0[Use::Place as usize] = REPEATED_SEED.wrapping_mul(number.into());
    }

    pub(super) fn for_purpose(&self, purpose: Use) -> u64 {
        self.0[purpose as usize]
    }
}

/// Bob Jenkins's hash of a name (as in fio): the seed of skewed distributions.
pub(super) fn name_hash(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let [mut a, mut b, mut c] = [0x61c8_8647_u32.wrapping_add(bytes.len() as u32); 3];
    let mut rest = bytes;
    while rest.len() > 12 {
        // Of each word only the first byte.
        a = a.wrapping_add(rest[0].into());
        b = b.wrapping_add(rest[4].into());
        c = c.wrapping_add(rest[8].into());
        for (x, y, z, turn) in
            [(0, 1, 2, 4), (1, 2, 0, 6), (2, 0, 1, 8), (0, 1, 2, 16), (1, 2, 0, 19), (2, 0, 1, 4)]
        {
            let mut words = [a, b, c];
            words[x] = words[x].wrapping_sub(words[z]) ^ words[z].rotate_left(turn);
            words[z] = words[z].wrapping_add(words[y]);
            [a, b, c] = words;
        }
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let mut last = [0; 12];
    last[..rest.len()].copy_from_slice(rest);
    let word = |index: usize| u32::from_le_bytes(last[index..index + 4].try_into().expect("four bytes"));
    a = a.wrapping_add(word(0));
    b = b.wrapping_add(word(4));
    c = c.wrapping_add(word(8));
    let mut words = [a, b, c];
    for (x, y, turn) in [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)] {
        words[x] = (words[x] ^ words[y]).wrapping_sub(words[y].rotate_left(turn));
    }
    words[2]
}

/// The generator of 64 bits (taus258).
const TAUS258: Tausworthe<5> = Tausworthe {
    word: u64::MAX,
    seed_step: 6_906_969_069,
    parts: [
        (1, 1, 53, 2, 10),
        (7, 24, 50, 512, 5),
        (15, 3, 23, 4096, 29),
        (33, 5, 24, 131_072, 23),
        (49, 3, 33, 8_388_608, 8),
    ],
};

/// The generator of places and sizes: of 32 bits, or of 64 (`random_generator=tausworthe64`).
#[derive(Clone, Debug)]
pub(super) enum Rand {
    Short(Rand32),
    Long([u64; 5]),
}

impl Rand {
    pub(super) fn new(seed: u64, long: bool) -> Self {
        if long { Self::Long(TAUS258.seeded(seed)) } else { Self::Short(Rand32::new(seed)) }
    }

    #[inline]
    pub(super) fn draw(&mut self) -> u64 {
        match self {
            Self::Short(rand) => rand.draw().into(),
            Self::Long(state) => TAUS258.draw(state),
        }
    }

    /// Draw a share from 0 to 1. No bit is lost but those of a draw beyond the 53 of a fraction.
    #[inline]
    fn share(&mut self) -> f64 {
        const UNIT32: f64 = 1.0 / (MAX32 + 1.0);
        match self {
            Self::Short(rand) => f64::from(rand.draw()) * UNIT32,
            Self::Long(state) => TAUS258.draw(state) as f64 * (UNIT32 * UNIT32),
        }
    }

    /// The largest draw.
    pub(super) fn max(&self) -> u64 {
        match self {
            Self::Short(_) => u32::MAX.into(),
            Self::Long(_) => u64::MAX,
        }
    }
}

/// Shares from 0 to 1 that are known some draws before they are taken.
#[derive(Clone, Debug)]
pub(super) struct Foreseen {
    rand: Rand,
    drawn: [f64; AHEAD],
    next: usize,
}

/// Draws between the look at a block in the map of visited blocks and its visit: main memory takes as long.
const AHEAD: usize = 16;

impl Foreseen {
    pub(super) fn new(mut rand: Rand) -> Self {
        Self { drawn: std::array::from_fn(|_| rand.share()), rand, next: 0 }
    }

    /// Draw the share of `bound`, rounded down: a place below `bound`, and a later one.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> [u64; 2] {
        let later = self.rand.share();
        let share = std::mem::replace(&mut self.drawn[self.next], later);
        self.next = (self.next + 1) % AHEAD;
        let bound = bound as f64;
        // A device has at most 2^63 bytes: a signed number suffices, and is a third of the instructions.
        [share, later].map(|share| (bound * share) as i64 as u64)
    }
}

/// A maximal shift register with XNOR feedback (`random_generator=lfsr`): every number below its bound once.
///
/// Source: Xilinx application note XAPP 052 (1996) for the taps. Cost: at most two steps a draw on average.
#[derive(Clone, Debug)]
pub(super) struct Lfsr {
    bound: u64,
    mask: u64,
    top: u64,
    seed: u64,
    state: u64,
    drawn: u64,
}

/// The taps of registers of 3 to 40 bits. The first one is the length.
const TAPS: &str = "\
    3,2 4,3 5,3 6,5 7,6 8,6,5,4 9,5 10,7 11,9 12,6,4,1 13,4,3,1 14,5,3,1 15,14 16,15,13,4 17,14 18,11 \
    19,6,2,1 20,17 21,19 22,21 23,18 24,23,22,17 25,22 26,6,2,1 27,5,2,1 28,25 29,27 30,6,4,1 31,28 \
    32,31,29,1 33,20 34,27,2,1 35,33 36,25 37,5,4,3,2,1 38,6,5,1 39,35 40,38,21,19";

impl Lfsr {
    /// Create a register for the numbers below `bound`. `None` if the bound is too large (2^40), or the seed is the
    /// register's one illegal state.
    pub(super) fn new(bound: u64, seed: u64) -> Option<Self> {
        let taps =
            |taps: &str| taps.split(',').map(|tap| tap.parse().expect("a number")).collect::<Vec<u32>>();
        let taps = TAPS.split(' ').map(taps).find(|taps| 1 << taps[0] > bound)?;
        let mask = taps.iter().fold(0, |mask, tap| mask | 1 << (tap - 1));
        let top = 1 << (taps[0] - 1);
        let seed = seed & ((top << 1) - 1);
        if seed == (top << 1) - 1 {
            return None;
        }
        let mut lfsr = Self { bound, mask, top, seed, state: seed, drawn: 0 };
        // The first number of the first round is left out, as in fio.
        lfsr.step();
        Some(lfsr)
    }

    #[inline]
    fn step(&mut self) {
        let feedback = if self.state & 1 == 0 { self.mask } else { 0 };
        self.state = (self.state >> 1 | self.top) ^ feedback;
    }

    /// Begin again.
    pub(super) fn reset(&mut self) {
        (self.state, self.drawn) = (self.seed, 0);
    }

    /// Draw the next number; `None` after all of them.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<u64> {
        if self.drawn == self.bound {
            return None;
        }
        self.drawn += 1;
        loop {
            self.step();
            if self.state < self.bound {
                return Some(self.state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_register_draws_every_number_once() {
        for bound in [1, 2, 7, 100, 1000, 65_535, 65_536] {
            let mut lfsr = Lfsr::new(bound, 0x1234_5678).unwrap();
            let mut drawn: Vec<u64> = std::iter::from_fn(|| lfsr.draw()).collect();
            drawn.sort_unstable();
            assert!(drawn.into_iter().eq(0..bound), "{bound}");
        }
        assert!(Lfsr::new(7, 7).is_none(), "all ones is illegal");
    }
}
