//! A tournament tree: the least of one key a player (Knuth, The Art of Computer Programming 3, 5.4.1).
//!
//! A match keeps the keys of both sides, which name their players in the low bits: a new key is compared once on each level. A
//! heap of as many entries moves them twice for an event that comes and goes, and guesses where they go.

use crate::Save;
use std::hint::select_unpredictable;

/// The key of a player that has none: it never wins.
pub const NONE: u128 = u128::MAX;

/// The keys of some players, and who has the least. Memory: 32 bytes a player, for the next power of two of players.
#[derive(Clone, Debug, Save)]
pub struct Tournament {
    /// The keys of both sides of each match, with their players: match 1 is the final, the winners of `2 * n` and `2 * n + 1` play
    /// match `n`. The last half of the sides are the players themselves; the second of match 0 is the winner of all.
    matches: Vec<[u128; 2]>,
}

impl Tournament {
    /// Create a tournament of players without keys.
    #[must_use]
    pub fn new(players: u32) -> Self {
        Self { matches: vec![[NONE; 2]; players.next_power_of_two() as usize] }
    }

    /// The number of which all keys are multiples, but [`NONE`]: the bits below name players.
    #[inline(always)]
    #[must_use]
    pub fn unit(&self) -> u64 {
        self.matches.len() as u64
    }

    /// Give a player another key; [`NONE`] takes its key away.
    #[inline]
    pub fn set(&mut self, player: u32, key: u128) {
        let mut least = key | u128::from(player);
        let mut side = self.matches.len() + player as usize;
        loop {
            let sides = &mut self.matches[side / 2];
            sides[side % 2] = least;
            if side == 1 {
                return;
            }
            // Nobody can guess who wins.
            let other = sides[1 - side % 2];
            least = select_unpredictable(least < other, least, other);
            side /= 2;
        }
    }

    /// The player with the least key, and its key with the player in it; [`NONE`] if there is no player with a key.
    #[inline(always)]
    #[must_use]
    pub fn first(&self) -> (u32, u128) {
        let [_, key] = self.matches[0];
        ((key as u64 & (self.unit() - 1)) as u32, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{RngExt, Seed};

    #[test]
    fn the_least_key_wins_whatever_the_order_of_changes() {
        for players in [1, 2, 3, 8, 13] {
            let (mut tournament, mut model) = (Tournament::new(players), vec![NONE; players as usize]);
            let mut draws = Seed(u64::from(players)).stream("tournament");
            assert_eq!(tournament.first().1, NONE);
            for order in 0..2000_u128 {
                let player = draws.random_range(0..players);
                let time = draws.random_range(0..8_u128);
                let order = order * u128::from(tournament.unit());
                let key = if draws.random_range(0..4) == 0 { NONE } else { time << 64 | order };
                tournament.set(player, key);
                model[player as usize] = key | u128::from(player);
                let least =
                    (0..players).map(|player| (player, model[player as usize])).min_by_key(|&(_, key)| key);
                let (first, key) = tournament.first();
                assert_eq!(Some(key), least.map(|(_, key)| key), "{players} players, change {order}");
                assert!(key == NONE || model[first as usize] == key, "{players} players, change {order}");
            }
        }
    }
}
