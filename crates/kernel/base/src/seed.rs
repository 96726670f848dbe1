//! Named random streams from one seed.
//!
//! Each user of randomness has its own named stream, so that an additional draw in one place affects no other.

use rand::SeedableRng;
pub use rand::{Rng, RngExt};

/// The generator of all streams: small, fast, and equal on every machine.
pub type RandomStream = rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The random stream `name`.
    #[must_use]
    pub fn stream(self, name: &str) -> RandomStream {
        RandomStream::seed_from_u64(self.child(name).0)
    }

    /// The seed for a part of the run with its own streams.
    #[must_use]
    pub fn child(self, name: &str) -> Self {
        // FNV-1a: spreads short names well, and the generator's own seeding (SplitMix64) mixes the rest.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self(self.0.rotate_left(32) ^ hash)
    }
}

/// Words of the state of a stream.
pub const STREAM_WORDS: usize = 4;

/// The state of a stream.
#[must_use]
pub fn save(stream: &RandomStream) -> [u64; STREAM_WORDS] {
    #[derive(serde::Deserialize)]
    struct State {
        s: [u64; STREAM_WORDS],
    }
    // The generator exposes its state through serde only.
    let state = serde_json::to_value(stream).and_then(serde_json::from_value::<State>);
    state.expect("the generator is four words").s
}

/// Create a stream with a state from [`save`].
#[must_use]
pub fn restore(words: [u64; STREAM_WORDS]) -> RandomStream {
    let mut bytes = [0; STREAM_WORDS * 8];
    for (to, word) in std::iter::zip(bytes.chunks_exact_mut(8), words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    RandomStream::from_seed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_on_where_it_was() {
        let mut stream = Seed(1).stream("victim");
        for _ in 0..10 {
            let mut again = restore(save(&stream));
            assert_eq!(again, stream);
            assert_eq!(again.next_u64(), stream.next_u64());
        }
    }

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
