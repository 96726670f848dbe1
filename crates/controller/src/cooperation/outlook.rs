//! What will become of the pages that are cached as they were read: will the host overwrite them first, or will they leave
//! unmodified? That is what dropping the flash copy of such a page costs: one that leaves unmodified must then be written.
//!
//! All pages alike: the share of those that left unmodified. By age: a hand goes round the slots, once while a third of the
//! cache is evicted, and each page that it finds unused since last time is a grade older. From each grade a page goes to
//! the next, back to the first (it is read), or to one of two ends; the shares of these moves, of which each is known
//! within a round, give the probability of either end from each grade, as in any absorbing Markov chain.
//!
//! Every unmodified page is counted, and not only those that were dropped: what GC did with the flash copy changes nothing
//! of what the host does with the page, and where no drop pays there would be nothing left to learn from.

use crate::write_back::Below;
use coflash_base::IdVec;
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Ftl, Grade};

/// How often pages of a grade went where. Recent moves count more.
#[derive(Clone, Copy, Debug)]
struct Moves {
    /// Overwritten or trimmed.
    overwritten: f64,
    /// Left as they were.
    unmodified: f64,
    /// To the next grade.
    aged: f64,
    /// Read again: to the first grade.
    used: f64,
}

impl Moves {
    /// It begins as if pages never were overwritten: nothing is dropped for its own sake before there is evidence.
    const BEGIN: Self = Self { overwritten: 0.0, unmodified: 256.0, aged: 0.0, used: 0.0 };

    fn all(self) -> f64 {
        self.overwritten + self.unmodified + self.aged + self.used
    }

    fn fade(&mut self) {
        for count in [&mut self.overwritten, &mut self.unmodified, &mut self.aged, &mut self.used] {
            *count *= 7.0 / 8.0;
        }
    }
}

/// See the top of the file.
#[derive(Clone)]
pub(crate) struct Outlook {
    /// The grade of the page in each slot; empty where all are alike.
    grades: IdVec<SlotId, Grade>,
    hand: u32,
    moves: [Moves; Grade::COUNT],
    /// The probability of leaving unmodified from each grade.
    unmodified: [f64; Grade::COUNT],
    /// Evictions until the cache has turned over. Overwrites come to be known sooner than evictions, so nothing is counted
    /// before.
    evictions_before: u32,
    /// Moves until the probabilities are told anew.
    moves_before: u32,
}

impl Outlook {
    const MOVES_BETWEEN: u32 = 256;

    pub(crate) fn new(slots: u32, by_age: bool) -> Self {
        Self {
            grades: IdVec::filled(Grade::FIRST, if by_age { slots as usize } else { 0 }),
            hand: 0,
            moves: [Moves::BEGIN; Grade::COUNT],
            unmodified: [1.0; Grade::COUNT],
            evictions_before: slots,
            moves_before: Self::MOVES_BETWEEN,
        }
    }

    /// The probability that a page of each grade leaves unmodified.
    pub(crate) fn unmodified(&self) -> [f64; Grade::COUNT] {
        self.unmodified
    }

    pub(crate) fn grade(&self, slot: SlotId) -> Grade {
        if self.grades.is_empty() { Grade::FIRST } else { self.grades[slot] }
    }

    /// A page came into the slot unmodified.
    pub(crate) fn entered(&mut self, slot: SlotId) {
        if !self.grades.is_empty() {
            self.grades[slot] = Grade::FIRST;
        }
    }

    /// An unmodified page is read again; true where that changes its grade.
    #[must_use]
    pub(crate) fn used(&mut self, slot: SlotId) -> bool {
        let grade = self.grade(slot);
        if grade == Grade::FIRST {
            return false;
        }
        self.count(grade, |moves| &mut moves.used);
        self.grades[slot] = Grade::FIRST;
        true
    }

    /// An unmodified page is overwritten or trimmed.
    pub(crate) fn overwritten(&mut self, slot: SlotId) {
        self.count(self.grade(slot), |moves| &mut moves.overwritten);
    }

    /// A page is evicted.
    pub(crate) fn evicted<B: Below>(&mut self, slot: SlotId, cache: &Cache, below: &mut B) {
        self.evictions_before = self.evictions_before.saturating_sub(1);
        if !self.grades.is_empty() {
            for _ in 0..Grade::COUNT {
                self.look(SlotId::new(self.hand), cache, below);
                self.hand = (self.hand + 1) % cache.capacity();
            }
        }
        if cache.is_unmodified(slot) {
            self.count(self.grade(slot), |moves| &mut moves.unmodified);
        }
    }

    /// The hand comes by.
    fn look<B: Below>(&mut self, slot: SlotId, cache: &Cache, below: &mut B) {
        let grade = self.grades[slot];
        if grade == Grade::LAST || !cache.is_occupied(slot) || !cache.is_unmodified(slot) {
            return;
        }
        self.count(grade, |moves| &mut moves.aged);
        self.grades[slot] = grade.next();
        if !cache.is_dirty(slot) {
            below.grade(cache.page_of(slot), grade.next());
        }
    }

    fn count(&mut self, grade: Grade, to: impl Fn(&mut Moves) -> &mut f64) {
        if self.evictions_before > 0 {
            return;
        }
        *to(&mut self.moves[grade.index()]) += 1.0;
        self.moves_before -= 1;
        if self.moves_before == 0 {
            self.moves_before = Self::MOVES_BETWEEN;
            self.solve();
            self.moves.iter_mut().for_each(Moves::fade);
        }
    }

    /// Tells the probabilities from the moves. That of each grade is a + b · (that of the first): the last by its moves, the
    /// others by that of the grade after them. For the first this is an equation of one unknown.
    fn solve(&mut self) {
        let (mut a, mut b) = ([1.0; Grade::COUNT], [0.0; Grade::COUNT]);
        let (mut a_next, mut b_next) = (1.0, 0.0);
        for (grade, moves) in self.moves.iter().enumerate().rev() {
            let all = moves.all();
            if all > 0.0 {
                a_next = (moves.unmodified + moves.aged * a_next) / all;
                b_next = (moves.used + moves.aged * b_next) / all;
            }
            (a[grade], b[grade]) = (a_next, b_next);
        }
        // Pages that are read again and again, and never end, leave no trace of how they will.
        if b[0] < 1.0 {
            let first = a[0] / (1.0 - b[0]);
            self.unmodified = std::array::from_fn(|grade| (a[grade] + b[grade] * first).clamp(0.0, 1.0));
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.grades.heap_bytes()
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        if self.grades.is_empty() {
            return;
        }
        for slot in cache.occupied().filter(|&slot| !cache.is_dirty(slot)) {
            let lpn = cache.page_of(slot);
            assert_eq!(ftl.grade_of(lpn), Some(self.grade(slot)), "{lpn:?}: the grade of its mark");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the first grade half age, a quarter are overwritten, a quarter leave; of the second as many are used again; ...
    #[test]
    fn the_probabilities_are_those_of_the_chain() {
        let mut outlook = Outlook::new(9, true);
        let moves = |overwritten, unmodified, aged, used| Moves { overwritten, unmodified, aged, used };
        outlook.moves = [moves(2.0, 1.0, 5.0, 0.0), moves(1.0, 0.0, 6.0, 3.0), moves(1.0, 8.0, 0.0, 1.0)];
        outlook.solve();
        let [first, second, third] = outlook.unmodified();
        assert!((first - (1.0 + 5.0 * second) / 8.0).abs() < 1e-12, "{first}");
        assert!((second - (6.0 * third + 3.0 * first) / 10.0).abs() < 1e-12, "{second}");
        assert!((third - (8.0 + first) / 10.0).abs() < 1e-12, "{third}");
    }

    #[test]
    fn a_share_follows_what_happens() {
        let mut outlook = Outlook::new(3, false);
        let slot = SlotId::new(0);
        for _ in 0..10_000 {
            outlook.overwritten(slot);
        }
        assert_eq!(outlook.unmodified(), [1.0; 3], "nothing is counted before the cache has turned over");
        outlook.evictions_before = 0;
        for _ in 0..10_000 {
            outlook.overwritten(slot);
        }
        assert!(outlook.unmodified()[0] < 0.01, "{:?}", outlook.unmodified());
        for drop in 0..10_000 {
            outlook.count(Grade::FIRST, |moves| {
                if drop % 2 == 0 { &mut moves.overwritten } else { &mut moves.unmodified }
            });
        }
        assert!((outlook.unmodified()[0] - 0.5).abs() < 0.02, "{:?}", outlook.unmodified());
    }
}
