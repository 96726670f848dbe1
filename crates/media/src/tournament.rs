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

/// The key of a player that has none: it never wins.
pub(crate) const NONE: u128 = u128::MAX;

/// The keys of some players, and who has the least. Memory: 64 bytes a player, for the next power of two of players.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// Pair 0 is the final: its second entry is the winner. The winner of pair `n` plays in pair `n / 2`, as the first or
    /// the second. The last half of the pairs are the players.
    pairs: Vec<[Entry; 2]>,
}

impl Tournament {
    /// Create a tournament of players without keys.
    pub(crate) fn new(players: u32) -> Self {
        let leaves = players.next_power_of_two() as usize;
        let none = |node| Entry { key: NONE, player: (node % leaves) as u32 };
        Self { pairs: (0..leaves).map(|pair| [2 * pair, 2 * pair + 1].map(none)).collect() }
    }

    /// Give a player another key; [`NONE`] takes its key away.
    #[inline]
    pub(crate) fn set(&mut self, player: u32, key: u128) {
        let mut winner = Entry { key, player };
        let mut node = self.pairs.len() + player as usize;
        while node > 1 {
            let pair = &mut self.pairs[node / 2];
            pair[node % 2] = winner;
            let other = pair[1 - node % 2];
            winner = if other.key < winner.key { other } else { winner };
            node /= 2;
        }
        self.pairs[0][1] = winner;
    }

    /// The player with the least key, and its key; [`NONE`] if there is no player with a key.
    #[inline(always)]
    pub(crate) fn first(&self) -> (u32, u128) {
        let Entry { key, player } = self.pairs[0][1];
        (player, key)
    }

    /// The heap memory in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<[Entry; 2]>()
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
            }
        }
    }
}
