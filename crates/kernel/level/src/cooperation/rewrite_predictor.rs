//! The rewrite predictor: the probability that a cached unmodified page is evicted before it is overwritten. This is
//! the risk of dropping its flash copy: such a page must be written at its eviction.
//!
//! Without age classes it is the share of unmodified pages that were evicted. With age classes, a clock hand
//! goes round the slots once for every third of the cache that is evicted. A page not used since the last
//! visit moves to the next age class. From each class a page goes to the next one, back to the first (it is
//! read), or to one of two absorbing states (evicted, overwritten). The frequencies of these transitions give
//! the absorption probabilities of a Markov chain.
//!
//! All unmodified pages are counted, not only dropped ones: the host's accesses do not depend on GC's
//! decisions. With dropped pages only, the predictor could not learn once no drop pays.

use crate::cooperates::{Cooperates, Message};
use coflash_base::{IdVec, Save};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{AgeClass, Ftl};

/// The transitions from an age class, exponentially weighted: recent ones count more.
#[derive(Clone, Copy, Debug, Save)]
struct Transitions {
    /// Overwritten or trimmed.
    overwritten: f64,
    /// Evicted unmodified.
    unmodified: f64,
    /// To the next class.
    aged: f64,
    /// Read again: to the first class.
    used: f64,
}

impl Transitions {
    /// At first no page seems to be overwritten, so that drops do not pay before there is evidence.
    const INITIAL: Self = Self { overwritten: 0.0, unmodified: 256.0, aged: 0.0, used: 0.0 };

    fn all(self) -> f64 {
        self.overwritten + self.unmodified + self.aged + self.used
    }

    fn fade(&mut self) {
        for count in [&mut self.overwritten, &mut self.unmodified, &mut self.aged, &mut self.used] {
            *count *= 7.0 / 8.0;
        }
    }
}

/// The predictor of rewrites.
#[derive(Clone, Save)]
pub(crate) struct RewritePredictor {
    /// The class of the page in each slot. Empty without age classes.
    classes: IdVec<SlotId, AgeClass>,
    hand: u32,
    transitions: [Transitions; AgeClass::COUNT],
    /// The probability that a page of each class is evicted unmodified.
    pub(crate) unmodified: [f64; AgeClass::COUNT],
    /// Evictions until the cache has turned over once. Overwrites are seen earlier than evictions, so
    /// counting begins only after that.
    evictions_left: u32,
    /// Transitions until the probabilities are recomputed.
    transitions_left: u32,
}

impl RewritePredictor {
    const TRANSITIONS_BETWEEN: u32 = 256;

    pub(crate) fn new(slots: u32, by_age: bool) -> Self {
        Self {
            classes: IdVec::filled(AgeClass::FIRST, if by_age { slots as usize } else { 0 }),
            hand: 0,
            transitions: [Transitions::INITIAL; AgeClass::COUNT],
            unmodified: [1.0; AgeClass::COUNT],
            evictions_left: slots,
            transitions_left: Self::TRANSITIONS_BETWEEN,
        }
    }

    pub(crate) fn class(&self, slot: SlotId) -> AgeClass {
        if self.classes.is_empty() { AgeClass::FIRST } else { self.classes[slot] }
    }

    /// Reset the class of a slot that received an unmodified page.
    pub(crate) fn entered(&mut self, slot: SlotId) {
        if !self.classes.is_empty() {
            self.classes[slot] = AgeClass::FIRST;
        }
    }

    /// Count a read of an unmodified page. Returns whether that changes its class.
    #[must_use]
    pub(crate) fn used(&mut self, slot: SlotId) -> bool {
        let class = self.class(slot);
        if class == AgeClass::FIRST {
            return false;
        }
        self.count(class, |transitions| &mut transitions.used);
        self.classes[slot] = AgeClass::FIRST;
        true
    }

    /// Count an overwrite or trim of an unmodified page.
    pub(crate) fn overwritten(&mut self, slot: SlotId) {
        self.count(self.class(slot), |transitions| &mut transitions.overwritten);
    }

    /// Count an eviction and advance the hand.
    pub(crate) fn evicted<B: Cooperates>(&mut self, slot: SlotId, cache: &Cache, below: &mut B) {
        self.evictions_left = self.evictions_left.saturating_sub(1);
        if !self.classes.is_empty() {
            for _ in 0..AgeClass::COUNT {
                self.age_one(SlotId::new(self.hand), cache, below);
                self.hand = (self.hand + 1) % cache.capacity();
            }
        }
        self.left(slot, cache);
    }

    /// Count the end of an unmodified page in the cache.
    pub(crate) fn left(&mut self, slot: SlotId, cache: &Cache) {
        if cache.is_unmodified(slot) {
            self.count(self.class(slot), |transitions| &mut transitions.unmodified);
        }
    }

    /// Move the page in a slot to the next age class.
    fn age_one<B: Cooperates>(&mut self, slot: SlotId, cache: &Cache, below: &mut B) {
        let class = self.classes[slot];
        if class == AgeClass::LAST || !cache.is_occupied(slot) || !cache.is_unmodified(slot) {
            return;
        }
        self.count(class, |transitions| &mut transitions.aged);
        self.classes[slot] = class.next();
        if !cache.is_dirty(slot) {
            below.send(Message::Age(cache.page_of(slot), class.next()));
        }
    }

    fn count(&mut self, class: AgeClass, to: impl Fn(&mut Transitions) -> &mut f64) {
        if self.evictions_left > 0 {
            return;
        }
        *to(&mut self.transitions[class.index()]) += 1.0;
        self.transitions_left -= 1;
        if self.transitions_left == 0 {
            self.transitions_left = Self::TRANSITIONS_BETWEEN;
            self.solve();
            self.transitions.iter_mut().for_each(Transitions::fade);
        }
    }

    /// Compute the probabilities from the transitions. The probability of each class is a + b · p; p is that
    /// of the first class. The last class has a and b by its own transitions, the others by the class after
    /// them. For the first class this is an equation in p alone.
    fn solve(&mut self) {
        let (mut a, mut b) = ([1.0; AgeClass::COUNT], [0.0; AgeClass::COUNT]);
        let (mut a_next, mut b_next) = (1.0, 0.0);
        for (class, transitions) in self.transitions.iter().enumerate().rev() {
            let all = transitions.all();
            if all > 0.0 {
                a_next = (transitions.unmodified + transitions.aged * a_next) / all;
                b_next = (transitions.used + transitions.aged * b_next) / all;
            }
            (a[class], b[class]) = (a_next, b_next);
        }
        // If all pages are read again and again, there is no evidence of their ends.
        if b[0] < 1.0 {
            let first = a[0] / (1.0 - b[0]);
            self.unmodified = std::array::from_fn(|class| (a[class] + b[class] * first).clamp(0.0, 1.0));
        }
    }

    pub(crate) fn assert_invariants(&self, cache: &Cache, ftl: &Ftl) {
        if self.classes.is_empty() {
            return;
        }
        for slot in cache.occupied().filter(|&slot| !cache.is_dirty(slot)) {
            let lpn = cache.page_of(slot);
            assert_eq!(ftl.age_of(lpn), Some(self.class(slot)), "{lpn:?}: the class of its mark");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Lpn;
    use coflash_cache::EvictionConfig;
    use coflash_ftl::Marks;

    /// In the first class, half of the pages age, a quarter are overwritten, a quarter are evicted; in the
    /// second as many are used again; ...
    #[test]
    fn the_probabilities_are_those_of_the_chain() {
        let mut predictor = RewritePredictor::new(9, true);
        let transitions =
            |overwritten, unmodified, aged, used| Transitions { overwritten, unmodified, aged, used };
        predictor.transitions = [
            transitions(2.0, 1.0, 5.0, 0.0),
            transitions(1.0, 0.0, 6.0, 3.0),
            transitions(1.0, 8.0, 0.0, 1.0),
        ];
        predictor.solve();
        let [first, second, third] = predictor.unmodified;
        assert!((first - (1.0 + 5.0 * second) / 8.0).abs() < 1e-12, "{first}");
        assert!((second - (6.0 * third + 3.0 * first) / 10.0).abs() < 1e-12, "{second}");
        assert!((third - (8.0 + first) / 10.0).abs() < 1e-12, "{third}");
    }

    /// A flash that records age classes.
    struct Heard(Vec<(u32, AgeClass)>);

    impl Cooperates for Heard {
        crate::takes_no_marks!();

        fn send(&mut self, message: Message) {
            let Message::Age(lpn, class) = message else { panic!("{message:?}") };
            self.0.push((lpn.get(), class));
        }

        fn shadows(&self, _: Lpn) -> Marks {
            Marks::NONE
        }

        fn admits(&self, _: Lpn, _: bool) -> bool {
            true
        }

        fn seen_as(&self, page: Lpn) -> Option<Lpn> {
            Some(page)
        }

        fn flash(&self) -> &Ftl {
            unreachable!("flash is not looked at")
        }
    }

    /// The hand goes round once while a third of the cache is evicted, and counts the pages that change their
    /// class.
    #[test]
    fn the_hand_looks_at_three_slots_for_each_eviction() {
        let mut cache = Cache::new(&EvictionConfig::default(), 9, 9);
        let mut predictor = RewritePredictor::new(9, true);
        for page in 0..9 {
            predictor.entered(cache.insert(Lpn::new(page), false));
        }
        predictor.evictions_left = 0;
        let [_, second, third] = AgeClass::all().collect::<Vec<_>>()[..] else { panic!("three classes") };
        let evicted = cache.lookup(Lpn::new(0)).expect("it is cached");
        for (class, aged) in [(second, [9.0, 0.0, 0.0]), (third, [9.0, 9.0, 0.0])] {
            for first in [0, 3, 6] {
                let mut heard = Heard(Vec::new());
                predictor.evicted(evicted, &cache, &mut heard);
                assert_eq!(heard.0, [first, first + 1, first + 2].map(|page| (page, class)));
            }
            assert_eq!(predictor.transitions.map(|transitions| transitions.aged), aged);
        }
        let mut heard = Heard(Vec::new());
        predictor.evicted(evicted, &cache, &mut heard);
        assert_eq!((heard.0.len(), predictor.class(evicted)), (0, AgeClass::LAST), "the last class stays");
    }

    #[test]
    fn a_share_follows_what_happens() {
        let mut predictor = RewritePredictor::new(3, false);
        let slot = SlotId::new(0);
        for _ in 0..10_000 {
            predictor.overwritten(slot);
        }
        assert_eq!(predictor.unmodified, [1.0; 3], "nothing is counted before the cache has turned over");
        predictor.evictions_left = 0;
        for _ in 0..10_000 {
            predictor.overwritten(slot);
        }
        assert!(predictor.unmodified[0] < 0.01, "{:?}", predictor.unmodified);
        for drop in 0..10_000 {
            predictor.count(AgeClass::FIRST, |transitions| {
                if drop % 2 == 0 { &mut transitions.overwritten } else { &mut transitions.unmodified }
            });
        }
        assert!((predictor.unmodified[0] - 0.5).abs() < 0.02, "{:?}", predictor.unmodified);
    }
}
