//! The group of hot pages: pages that were overwritten several times within the mean life of its blocks.

use crate::placement::{Class, Cleaned, Placed};
use coflash_base::Save;

/// The bits of a page's count.
const COUNT: u8 = 0b11;

/// The filter, with a count of two bits for each page: a page with the highest count is hot. An overwrite of a page in the group
/// counts up, and one in the first group does, if its block is no older than the mean life of the group's blocks, and counts down
/// otherwise. A copy from these groups counts down.
#[derive(Clone, Default, Save)]
pub(super) struct Hot {
    /// The mean life of the group's blocks, in pages written. It is updated after as many writes.
    life: u64,
    /// Writes until the update.
    left: u64,
    /// The blocks cleaned since the update, and the sum of their lives.
    blocks: u64,
    lives: u64,
    /// Since the last model: writes, those of hot pages, the group's victims, the sum of their lives, and their valid pages.
    writes: u64,
    hot_writes: u64,
    victims: u64,
    victim_lives: u64,
    valid: u64,
}

/// What the group does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    /// The share of writes that go to the group.
    pub(super) writes: f64,
    /// The share of writes that are copied from it.
    pub(super) copies: f64,
    /// Its size in blocks of each pool.
    pub(super) blocks: f64,
}

impl Hot {
    pub(super) fn new(pages: u32) -> Self {
        let life = u64::from(pages).max(1);
        Self { life, left: life, ..Self::default() }
    }

    /// Whether a page is hot.
    pub(super) fn has(page: u8) -> bool {
        page & COUNT == COUNT
    }

    /// Learn of a write.
    pub(super) fn write(&mut self, page: &mut u8, replaces: Option<Placed>, now: u64) {
        if let Some(Placed { class, opened_at }) = replaces {
            match class.get() {
                0 => up(page),
                1 if now.saturating_sub(opened_at) <= self.life => up(page),
                1 => down(page, 1),
                _ => {}
            }
            self.left = self.left.saturating_sub(1);
            if self.left == 0 && self.blocks > 0 {
                let mean = self.lives / self.blocks;
                // A longer life is approached slowly.
                self.life = if mean >= self.life.saturating_mul(2) {
                    self.life.saturating_add(self.life / 2)
                } else {
                    mean.midpoint(self.life)
                }
                .max(1);
                (self.left, self.blocks, self.lives) = (self.life, 0, 0);
            }
        }
        self.writes = self.writes.saturating_add(1);
        self.hot_writes = self.hot_writes.saturating_add(Self::has(*page).into());
    }

    /// Learn of a copy.
    pub(super) fn copy(page: &mut u8, from: Class) {
        match from.get() {
            0 => down(page, 2),
            1 => down(page, 1),
            _ => {}
        }
    }

    /// Learn of a victim.
    pub(super) fn cleaned(&mut self, block: Cleaned) {
        if block.class.get() == 0 {
            let life = block.now.saturating_sub(block.opened_at);
            self.blocks = self.blocks.saturating_add(1);
            self.lives = self.lives.saturating_add(life);
            self.victims = self.victims.saturating_add(1);
            self.victim_lives = self.victim_lives.saturating_add(life);
            self.valid = self.valid.saturating_add(block.valid.into());
        }
    }

    /// What was measured since the last model; `row` pages are a block of each pool.
    pub(super) fn traffic(&self, row: f64) -> Traffic {
        let writes = self.writes.max(1) as f64;
        let hot = self.hot_writes as f64 / writes;
        let life = self.victim_lives as f64 / self.victims.max(1) as f64;
        Traffic { writes: hot, copies: self.valid as f64 / writes, blocks: hot * life / row }
    }

    pub(super) fn begin_measuring(&mut self) {
        (self.writes, self.hot_writes, self.victims, self.victim_lives, self.valid) = (0, 0, 0, 0, 0);
    }
}

fn up(page: &mut u8) {
    *page += u8::from(!Hot::has(*page));
}

fn down(page: &mut u8, by: u8) {
    *page -= by.min(*page & COUNT);
}
