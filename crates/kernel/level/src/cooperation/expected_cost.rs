//! The expected cost: for each valid page of a victim the cheapest of all answers, in programs, from what was learned of pages like
//! it. With `moves_in = false` it is `cdm` with the same weight.
//!
//! The costs of a page are those of its stay: a *turnover*, the mean time from a write to its eviction.
//!
//! | answer | cost |
//! |---|---|
//! | copy | A: the program, and what it takes to free its page again |
//! | move in | A (1 − q + v) − R + w h |
//! | drop, cached clean | A p − R, by the weight of `cdm`, where p is the chance of being evicted unmodified |
//!
//! - A = 1 / (1 − u), with u the share of a victim that GC copies, measured.
//! - q: the chance that the host writes a page of its class within a turnover. The class is of the time since its last write and of
//!   the interval before that, both in turnovers. It is learned from all pages that GC asks about, whatever the answer.
//! - v: the chance that the host writes a page within a turnover after its eviction. A page that moves in shortens the
//!   stay of all others by as much in sum, so that this share of an eviction is lost.
//! - R: a sole copy leaves a page of flash free for a turnover. What that saves follows from the relation of u to the share ρ of
//!   flash with valid data under uniform writes, ρ = (u − 1) / ln u, at the measured u.
//! - h: the chance that the clean page that makes room is read again within a turnover; w is `read_weight`.
//!
//! 12 bytes a logical page: the writes of a page, and the last question about it.

use super::Setting;
use super::cdm::{CdmConfig, RemovableWeight};
use super::moving::{MoveRule, Seen};
use super::write_history::{Past, WriteHistory};
use coflash_base::{Amount, IdVec, Lpn, Misfit, Save};
use coflash_ftl::{Ftl, WriteStream};

coflash_base::config! {
    /// Parameters of `expected-cost`.
    pub struct ExpectedCostConfig {
        /// The weight of a removable page in a victim's cost, as under `cdm`.
        pub removable_weight: RemovableWeight = RemovableWeight::Adaptive,
        /// The write stream of a page that is evicted unmodified after GC has dropped or moved it, as under `cdm`.
        pub rewrite_stream: WriteStream = WriteStream::Gc,
        /// The bound on sole copies in the cache, as under `cdm`.
        pub sole_copies_max: Option<Amount>,
        /// Whether pages may move into the cache. Otherwise the scheme is `cdm`.
        pub moves_in: bool = true,
        /// The cost of a read from flash in programs.
        pub read_weight: f64 = 0.0,
    }
}

/// The share of the questions about a class that came true; recent ones count more.
#[derive(Clone, Copy, Debug, Save)]
struct Chance {
    asked: f64,
    came: f64,
}

impl Chance {
    /// Questions until all counts are halved.
    const MEMORY: f64 = 1024.0;

    fn ask(&mut self) {
        if self.asked >= Self::MEMORY {
            self.asked /= 2.0;
            self.came /= 2.0;
        }
        self.asked += 1.0;
    }

    fn share(self) -> f64 {
        (self.came / self.asked.max(1.0)).min(1.0)
    }
}

/// A question about a page: its class in the low bits, and the time in the others. Zero is none.
#[derive(Clone, Copy, Default, Save)]
struct Question(u32);

impl Question {
    const CLASS_BITS: u32 = 7;

    fn new(class: usize, now: u32) -> Self {
        Self(now << Self::CLASS_BITS | class as u32)
    }

    fn class(self) -> usize {
        (self.0 % (1 << Self::CLASS_BITS)) as usize
    }

    /// The time since the question, modulo 2²⁵.
    fn age(self, now: u32) -> u32 {
        (now << Self::CLASS_BITS).wrapping_sub(self.0 & !(u32::MAX >> (32 - Self::CLASS_BITS)))
            >> Self::CLASS_BITS
    }
}

/// Class 0 is no class; those of the pages follow.
const EVICTED: usize = 1;
const DISPLACED: usize = 2;
const FIRST: usize = 3;
/// Classes of age, and of interval: less than a turnover, less than 2, 4, 8, 16, 32, more, and without the writes for it.
const STEPS: usize = 8;

/// The class of a page by the times of its writes.
fn class(past: Option<Past>, turnover: f64) -> usize {
    let step = |time: Option<u32>| {
        let Some(time) = time else { return STEPS - 1 };
        let turnovers = f64::from(time) / turnover.max(1.0);
        (0..STEPS - 2).find(|&step| turnovers < f64::from(1 << step)).unwrap_or(STEPS - 2)
    };
    FIRST + STEPS * step(past.map(|past| past.age)) + step(past.and_then(|past| past.interval))
}

/// See the top of the file.
#[derive(Clone, Save)]
pub struct ExpectedCost {
    questions: IdVec<Lpn, Question>,
    chances: [Chance; FIRST + STEPS * STEPS],
    read_weight: f64,
    /// Pages of the device that hold data, and of a block.
    flash_pages: f64,
    block_pages: f64,
    /// The pages of the current victim copied so far, and the mean share of a victim.
    copied: u32,
    copied_share: f64,
    /// Pages that the host wrote, and those that reached flash by eviction; recent ones count more.
    written: f64,
    evicted: f64,
    /// A and R.
    program: f64,
    room: f64,
}

impl ExpectedCost {
    /// The share of the last victim in the mean of those before.
    const NEW: f64 = 1.0 / 64.0;
    /// Pages until the counts of writes are halved.
    const MEMORY: f64 = 65536.0;

    /// Note a question about a page. The answer to an earlier one is unknown if its turnover has not passed.
    fn ask(&mut self, class: usize, lpn: Lpn, history: &WriteHistory) {
        if let Some(earlier) = self.pending(lpn, history) {
            self.chances[earlier].asked -= 1.0;
        }
        self.chances[class].ask();
        self.questions[lpn] = Question::new(class, history.now);
    }

    /// Take the question about a page, if its turnover has not passed; its class.
    fn pending(&mut self, lpn: Lpn, history: &WriteHistory) -> Option<usize> {
        let question = std::mem::take(&mut self.questions[lpn]);
        let is_open = question.0 > 0 && f64::from(question.age(history.now)) <= history.kept;
        is_open.then(|| question.class())
    }

    /// Update the costs from the measured share of copies.
    fn update_costs(&mut self, history: &WriteHistory) {
        let u = self.copied_share.clamp(0.05, 0.98);
        self.program = 1.0 / (1.0 - u);
        let log = libm::log(u);
        // dρ/du, and so dA/dρ.
        let slope = (log - (u - 1.0) / u) / (log * log);
        let pages = history.kept * self.evicted / self.written.max(1.0);
        self.room = pages * self.program * self.program / slope / self.flash_pages.max(1.0);
    }
}

impl MoveRule for ExpectedCost {
    type Config = ExpectedCostConfig;
    const NAME: &'static str = "expected-cost";
    const SUMMARY: &'static str = "GC copies, drops or moves into the cache, whichever is the cheapest in programs by what was learned of such pages.";
    const SOURCE: &'static str = "ours; cdm with an estimated weight, and moving in";

    fn cdm(config: &ExpectedCostConfig) -> CdmConfig {
        CdmConfig {
            removable_weight: config.removable_weight,
            rewrite_stream: config.rewrite_stream,
            sole_copies_max: config.sole_copies_max,
        }
    }

    fn check(config: &ExpectedCostConfig) -> Result<(), Misfit> {
        let is_sound = config.read_weight.is_finite() && config.read_weight >= 0.0;
        let misfit = || Misfit::out_of_range("cooperation.read_weight", config.read_weight, "0 or more");
        if is_sound { Ok(()) } else { Err(misfit()) }
    }

    fn page_bytes(config: &ExpectedCostConfig) -> Option<u64> {
        config.moves_in.then_some(size_of::<Question>() as u64)
    }

    fn new(config: &ExpectedCostConfig, setting: &Setting) -> Option<Self> {
        // Without evidence no page is written again, and a slot is as dear as a program.
        let mut chances = [Chance { asked: 64.0, came: 0.0 }; FIRST + STEPS * STEPS];
        chances[EVICTED].came = 64.0;
        config.moves_in.then(|| Self {
            questions: IdVec::filled(Question::default(), setting.logical_pages as usize),
            chances,
            read_weight: config.read_weight,
            flash_pages: 0.0,
            block_pages: 1.0,
            copied: 0,
            copied_share: 0.0,
            written: 0.0,
            evicted: 0.0,
            program: 1.0,
            room: 0.0,
        })
    }

    fn pays(&mut self, lpn: Lpn, history: &WriteHistory) -> bool {
        let class = class(history.past(lpn), history.kept);
        self.ask(class, lpn, history);
        let [again, lost, read] = [class, EVICTED, DISPLACED].map(|class| self.chances[class].share());
        self.program * (again - lost) + self.room > self.read_weight * read
    }

    fn seen(&mut self, what: Seen, lpn: Lpn, history: &WriteHistory) {
        match what {
            Seen::Written | Seen::Filled => {
                if let Some(class) = self.pending(lpn, history)
                    && (class == DISPLACED) == (what == Seen::Filled)
                {
                    self.chances[class].came += 1.0;
                }
                if what == Seen::Written {
                    if self.written >= Self::MEMORY {
                        self.written /= 2.0;
                        self.evicted /= 2.0;
                    }
                    self.written += 1.0;
                }
            }
            Seen::EvictedDirty => {
                self.evicted += 1.0;
                self.ask(EVICTED, lpn, history);
            }
            // A write of it is no loss: it needed no program to leave.
            Seen::EvictedClean => self.chances[EVICTED].ask(),
            Seen::Displaced => self.ask(DISPLACED, lpn, history),
            Seen::Copied => self.copied += 1,
        }
    }

    fn begin_victim(&mut self, history: &WriteHistory) -> f64 {
        let share = f64::from(std::mem::take(&mut self.copied)) / self.block_pages;
        self.copied_share += (share - self.copied_share) * Self::NEW;
        self.update_costs(history);
        self.room / self.program
    }

    fn attach(&mut self, ftl: &Ftl) {
        self.flash_pages = f64::from(ftl.data_pages());
        self.block_pages = f64::from(ftl.data_pages_per_block());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two_of_a_turnover() {
        let of = |age, interval| class(Some(Past { age, interval }), 10.0) - FIRST;
        assert_eq!([9, 10, 19, 20, 39, 40].map(|age| of(age, Some(1)) / STEPS), [0, 1, 1, 2, 2, 3]);
        assert_eq!([319, 320, 9000].map(|interval| of(0, Some(interval))), [5, 6, 6]);
        assert_eq!(of(0, None), STEPS - 1, "a page written once has no interval");
        assert_eq!(
            class(None, 10.0),
            FIRST + STEPS * STEPS - 1,
            "a page never written is of a class of its own"
        );
    }

    #[test]
    fn a_question_has_its_class_and_its_age_even_as_time_begins_anew() {
        let question = Question::new(EVICTED, u32::MAX - 1);
        assert_eq!((question.class(), question.age(u32::MAX - 1), question.age(3)), (EVICTED, 0, 5));
    }

    #[test]
    fn recent_questions_count_more() {
        let mut chance = Chance { asked: 0.0, came: 0.0 };
        for question in 0..20_000 {
            chance.ask();
            chance.came += f64::from(u32::from(question >= 10_000));
        }
        assert!(chance.share() > 0.99, "{chance:?}");
    }
}
