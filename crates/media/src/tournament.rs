//! A tournament tree: the least of one key a player (Knuth, The Art of Computer Programming 3, 5.4.1).
//!
//! Each inner node names the winner of its two children, so a new key is compared once on each level. A heap of as many
//! entries moves them twice for an event that comes and goes, and guesses where they go.

/// The key of a player.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u128,
    player: u32,
}

/// A key that never wins: the player has none.
const NONE: u128 = u128::MAX;

/// The keys of some players, and who has the least. Memory: 64 bytes a player, for the next power of two of players.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// Node 1 is the root, nodes `2 n` and `2 n + 1` are the children of node `n`. The leaves are the players.
    nodes: Vec<Entry>,
}

impl Tournament {
    /// Create a tournament of players without keys.
    pub(crate) fn new(players: u32) -> Self {
        let leaves = players.next_power_of_two() as usize;
        let none = |node| Entry { key: NONE, player: (node % leaves) as u32 };
        Self { nodes: (0..2 * leaves).map(none).collect() }
    }

    /// Give a player another key, below `u128::MAX`; `None` takes its key away.
    #[inline]
    pub(crate) fn set(&mut self, player: u32, key: Option<u128>) {
        let mut node = self.nodes.len() / 2 + player as usize;
        self.nodes[node] = Entry { key: key.unwrap_or(NONE), player };
        while node > 1 {
            let [one, other] = [self.nodes[node & !1], self.nodes[node | 1]];
            node /= 2;
            self.nodes[node] = if other.key < one.key { other } else { one };
        }
    }

    /// The player with the least key, and its key.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u32, u128)> {
        let Entry { key, player } = self.nodes[1];
        (key != NONE).then_some((player, key))
    }

    /// The heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Entry>()
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
