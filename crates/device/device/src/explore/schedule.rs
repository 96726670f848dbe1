//! The order and the moments of the answers of a run: those of an adversary.
//!
//! A drive may answer what is under way in any order, and late. A program that relies on more is found when the answer that it does not
//! wait for has not come. So none is given before the clients are idle, and then one that is drawn: what they do next they do without the
//! others. In a third of all groups it is always the first that came, in a third the last, so that a program is found that leaves out the
//! last or the first of many. How long they must be idle goes by the time that they took before; where requests of such kinds are under way
//! together for the first time, it is long, so that a program that waits for a time and not for an answer goes on without it.

use crate::lock::lock;
use crate::machine::now;
use coflash_base::seed::{RandomStream, RngExt};
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least and the longest time for which clients are idle when an answer comes.
const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_millis(250);
/// How many of the longest times a run has, beside one in eight of the others one for each set of kinds.
const LONG_MAX: u32 = 16;
/// After this time of waiting in all, answers come soon.
const ENOUGH: Duration = Duration::from_secs(20);

/// Requests under way, and who is answered next.
pub(crate) struct Schedule<T> {
    pool: Mutex<Pool<T>>,
    changed: Condvar,
}

struct Pool<T> {
    held: Vec<Held<T>>,
    /// The last arrival or answer, and the last answer.
    since: Instant,
    answered: Instant,
    /// Whether nothing has come since the last answer.
    is_quiet: bool,
    /// The longest time in which clients lately went on after an answer.
    reaction: Duration,
    /// Whether the clients must be idle for long, once that is decided.
    is_long: Option<bool>,
    longs: u32,
    seen: BTreeSet<Vec<u64>>,
    waited: Duration,
    stream: RandomStream,
    /// Who is answered first until all are: who came first, who came last, or anyone.
    turn: usize,
    is_over: bool,
}

struct Held<T> {
    kind: u64,
    not_before: Instant,
    request: T,
}

impl<T> Schedule<T> {
    pub(crate) fn new(stream: RandomStream) -> Self {
        let pool = Pool {
            held: Vec::new(),
            since: now(),
            answered: now(),
            is_quiet: false,
            reaction: SHORT / 4,
            is_long: None,
            longs: 0,
            seen: BTreeSet::new(),
            waited: Duration::ZERO,
            stream,
            turn: 0,
            is_over: false,
        };
        Self { pool: Mutex::new(pool), changed: Condvar::new() }
    }

    /// Withhold the answer of a request of a kind, at least for some time.
    pub(crate) fn hold(&self, kind: u64, at_least: Duration, request: T) {
        let (pool, now) = (&mut *lock(&self.pool), now());
        if pool.held.is_empty() {
            (pool.answered, pool.turn) = (now, pool.stream.random_range(0..3));
        } else if pool.is_quiet {
            pool.reaction = (now - pool.since).max(pool.reaction * 7 / 8).min(LONG);
        }
        (pool.since, pool.is_quiet, pool.is_long) = (now, false, None);
        pool.held.push(Held { kind, not_before: now + at_least, request });
        self.changed.notify_one();
    }

    /// Pass requests to `answer` until [`end`](Self::end) is called and none is left.
    pub(crate) fn run(&self, answer: impl Fn(T)) {
        let mut pool = lock(&self.pool);
        loop {
            let now = now();
            pool = match pool.due(now) {
                None if pool.is_over => return,
                None => self.changed.wait(pool).unwrap_or_else(PoisonError::into_inner),
                Some(due) if due > now => {
                    self.changed.wait_timeout(pool, due - now).unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    let request = pool.draw(now);
                    drop(pool);
                    answer(request);
                    lock(&self.pool)
                }
            };
        }
    }

    /// Withhold nothing any more.
    pub(crate) fn end(&self) {
        lock(&self.pool).is_over = true;
        self.changed.notify_one();
    }
}

impl<T> Pool<T> {
    /// When the next answer comes.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        let ready = self.held.iter().map(|held| held.not_before).min()?;
        if self.is_over {
            return Some(now);
        }
        let idle = match self.waited < ENOUGH {
            true => (self.reaction * 4).clamp(SHORT, LONG),
            false => SHORT / self.held.len() as u32,
        };
        if now >= self.since + idle && self.is_long.is_none() {
            let mut kinds: Vec<_> = self.held.iter().map(|held| held.kind).collect();
            kinds.sort_unstable();
            let is_long =
                self.longs < LONG_MAX && (self.seen.insert(kinds) || self.stream.random_bool(0.125));
            self.longs += u32::from(is_long);
            self.is_long = Some(is_long);
        }
        let idle = if self.is_long == Some(true) { LONG } else { idle };
        // A client that sends without end stops no answer.
        Some((self.since + idle).min(self.answered + LONG * 2).max(ready))
    }

    fn draw(&mut self, now: Instant) -> T {
        let ready: Vec<_> =
            (0..self.held.len()).filter(|&at| self.is_over || self.held[at].not_before <= now).collect();
        // A client that sends without end stops no answer for ever.
        self.turn = if self.stream.random_bool(0.015) { self.stream.random_range(0..3) } else { self.turn };
        let drawn = ready[[0, ready.len() - 1, self.stream.random_range(0..ready.len())][self.turn]];
        self.waited += now - self.since;
        (self.since, self.answered, self.is_quiet, self.is_long) = (now, now, true, None);
        self.held.remove(drawn).request
    }
}
