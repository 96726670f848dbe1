//! A tournament tree: the least of one key a player (Knuth, The Art of Computer Programming 3, 5.4.1).
//!
//! Each match names its winner, so a new key is compared once on each level. A heap of as many
//! entries moves them twice for an event that comes and goes, and guesses where they go.

use coflash_base::Save;
use std::hint::select_unpredictable;

/// The key of a player that has none: it never wins.
pub(crate) const NONE: u128 = u128::MAX;

/// The keys of some players, and who has the least. Memory: 24 bytes a player, for the next power of two of players.
#[derive(Clone, Debug, Save)]
pub(crate) struct Tournament {
    keys: Vec<u128>,
    /// The winner of each match: match 1 is the final, the winners of `2 * n` and `2 * n + 1` play match `n`. The last half
    /// are the players themselves.
    winners: Vec<u32>,
}

impl Tournament {
    /// Create a tournament of players without keys.
    pub(crate) fn new(players: u32) -> Self {
        let leaves = players.next_power_of_two();
        let mut winners: Vec<u32> = (0..2 * leaves).map(|node| node % leaves).collect();
        for node in (1..leaves as usize).rev() {
            winners[node] = winners[2 * node];
        }
        Self { keys: vec![NONE; leaves as usize], winners }
    }

    /// Give a player another key; [`NONE`] takes its key away.
    #[inline]
    pub(crate) fn set(&mut self, player: u32, key: u128) {
        self.keys[player as usize] = key;
        let (mut winner, mut least) = (player, key);
        let mut node = self.keys.len() + player as usize;
        while node > 1 {
            let other = self.winners[node ^ 1];
            let key = self.keys[other as usize];
            // Nobody can guess who wins.
            let is_less = key < least;
            winner = select_unpredictable(is_less, other, winner);
            least = select_unpredictable(is_less, key, least);
            node /= 2;
            self.winners[node] = winner;
        }
    }

    /// The player with the least key, and its key; [`NONE`] if there is no player with a key.
    #[inline(always)]
    pub(crate) fn first(&self) -> (u32, u128) {
        let winner = self.winners[1];
        (winner, self.keys[winner as usize])
    }

    /// The least key of the other players.
    #[inline]
    pub(crate) fn least_without(&self, player: u32) -> u128 {
        let mut node = self.keys.len() + player as usize;
        let mut least = NONE;
        while node > 1 {
            least = least.min(self.keys[self.winners[node ^ 1] as usize]);
            node /= 2;
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::seed::{RngExt, Seed};

    #[test]
    fn the_least_key_wins_whatever_the_order_of_changes() {
        for players in [1, 2, 3, 8, 13] {
            let (mut tournament, mut model) = (Tournament::new(players), vec![NONE; players as usize]);
            let mut draws = Seed(u64::from(players)).stream("tournament");
            assert_eq!(tournament.first().1, NONE);
            for order in 0..2000_u128 {
                let player = draws.random_range(0..players);
                let time = draws.random_range(0..8_u128);
                let key = if draws.random_range(0..4) == 0 { NONE } else { time << 64 | order };
                tournament.set(player, key);
                model[player as usize] = key;
                let least =
                    (0..players).map(|player| (player, model[player as usize])).min_by_key(|&(_, key)| key);
                let (first, key) = tournament.first();
                assert_eq!(Some(key), least.map(|(_, key)| key), "{players} players, change {order}");
                assert!(key == NONE || model[first as usize] == key, "{players} players, change {order}");
                let others = (0..players).filter(|&other| other != player);
                let least = others.map(|other| model[other as usize]).min().unwrap_or(NONE);
                assert_eq!(tournament.least_without(player), least, "{players} players, change {order}");
            }
        }
    }
}
