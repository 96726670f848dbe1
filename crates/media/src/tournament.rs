//! A tournament tree: the least of one key a player (Knuth, The Art of Computer Programming 3, 5.4.1).
//!
//! Each inner node names the winner of its two children, so a new key is compared once on each level. A heap of as many
//! entries moves them twice for an event that comes and goes, and guesses where they go.

/// A key that never wins: the player has none.
const NONE: u128 = u128::MAX;

/// The keys of some players, and who has the least. Memory: 24 bytes a player, up to twice as many.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// The keys; as many as the next power of two of the players.
    keys: Vec<u128>,
    /// Node 1 is the root, and nodes `2 n` and `2 n + 1` are the children of node `n`. The leaves are the players.
    winners: Vec<u32>,
}

impl Tournament {
    /// Create a tournament of players without keys.
    pub(crate) fn new(players: u32) -> Self {
        let leaves = players.next_power_of_two();
        let mut winners: Vec<u32> = (0..leaves).chain(0..leaves).collect();
        for node in (1..leaves as usize).rev() {
            winners[node] = winners[2 * node];
        }
        Self { keys: vec![NONE; leaves as usize], winners }
    }

    /// Give a player another key, below `u128::MAX`; `None` takes its key away.
    #[inline]
    pub(crate) fn set(&mut self, player: u32, key: Option<u128>) {
        self.keys[player as usize] = key.unwrap_or(NONE);
        let mut node = (self.keys.len() + player as usize) / 2;
        while node > 0 {
            let [one, other] = [self.winners[2 * node], self.winners[2 * node + 1]];
            let other_wins = self.keys[other as usize] < self.keys[one as usize];
            self.winners[node] = if other_wins { other } else { one };
            node /= 2;
        }
    }

    /// The player with the least key, and its key.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u32, u128)> {
        // A single player has no node but its leaf, which is the root, too.
        let winner = self.winners[1];
        let key = self.keys[winner as usize];
        (key != NONE).then_some((winner, key))
    }

    /// The heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u128>() + self.winners.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::seed::{RngExt, Seed};

    #[test]
    fn the_least_key_wins_whatever_the_order_of_changes() {
        for players in [1, 2, 3, 8, 13] {
            let (mut tournament, mut model) = (Tournament::new(players), vec![None; players as usize]);
            let mut draws = Seed(u64::from(players)).stream("tournament");
            assert_eq!(tournament.first(), None);
            for order in 0..2000_u128 {
                let player = draws.random_range(0..players);
                let time = draws.random_range(0..8_u128);
                let key = draws.random_range(0..4).ne(&0).then_some(time << 64 | order);
                tournament.set(player, key);
                model[player as usize] = key;
                let least = (0..players).filter_map(|player| Some((player, model[player as usize]?)));
                let least = least.min_by_key(|&(_, key)| key);
                assert_eq!(tournament.first(), least, "{players} players, change {order}");
            }
        }
    }
}
