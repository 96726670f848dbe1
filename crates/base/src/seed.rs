//! Named random streams from one seed.
//!
//! Each user of randomness draws from a stream of its own name, so that adding a draw in one place changes no other.

use rand::SeedableRng;
pub use rand::{Rng, RngExt};

/// The generator of every stream: small, fast, and the same on every machine.
pub type Stream = rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The random stream called `name`.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        Stream::seed_from_u64(self.child(name).0)
    }

    /// A seed for a part of the run that has streams of its own.
    #[must_use]
    pub fn child(self, name: &str) -> Self {
        // FNV-1a: spreads short names well, and the generator's own seeding (SplitMix64) mixes the rest.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self(self.0.rotate_left(32) ^ hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_name_and_seed() {
        let draw = |seed, name| Seed(seed).stream(name).next_u64();
        assert_eq!(draw(1, "victim"), draw(1, "victim"));
        assert_ne!(draw(1, "victim"), draw(1, "workload"));
        assert_ne!(draw(1, "victim"), draw(2, "victim"));
    }

    #[test]
    fn the_first_draw_is_fixed_for_ever() {
        // A change here changes every result: it belongs under "Results changed" in the changelog.
        assert_eq!(Seed(1).stream("victim").next_u64(), 10_985_589_352_107_450_624);
    }
}
