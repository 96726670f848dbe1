//! Notices across a link: one direction of it, three ways of sending, and what they cost.
//!
//! A *notice* is a few bytes that nobody waits for by nature: a page was cached, overwritten, evicted. It may go as a
//! message of its own at once, with others in a batch, or ride on the next command, which costs bytes and no message.
//!
//! ```text
//! post ──▶ waiting ──(a message, or a ride)──▶ under way ──(its time comes)──▶ arrived
//!              └──▶ withdrawn: it says nothing any more
//! ```
//!
//! A lane has no clock: the time comes with every call, and never goes back. Messages arrive in the order of their times,
//! which is not the order of sending where one takes longer than the next.

use coflash_base::seed::{RngExt, Stream};
use coflash_base::{Duration, Seed, Time};
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// How notices are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// Each at once, as a message of its own; the sender may wait for it ([`Lane::standing`]).
    Each,
    /// Several in a message: when there are so many, or the oldest has waited so long.
    Batched {
        /// Notices that make a message full.
        notices_max: NonZeroU32,
        /// How long the first of them waits at most.
        wait_max: Duration,
    },
    /// With commands that cross anyway, the oldest first; the rest wait for the next one.
    Piggybacked {
        /// Notices that a command takes along.
        notices_max: NonZeroU32,
    },
}

/// What a message costs.
#[derive(Clone, Debug)]
pub struct Toll {
    /// Whatever its size: a command and its completion.
    pub per_message: Duration,
    /// For each byte.
    pub ns_per_byte: f64,
    /// A message may take up to so much longer, so that one may overtake another.
    jitter: Option<(Duration, Stream)>,
}

impl Toll {
    /// A toll that is always the same.
    #[must_use]
    pub fn new(per_message: Duration, ns_per_byte: f64) -> Self {
        Self { per_message, ns_per_byte, jitter: None }
    }

    /// The same toll, and up to `jitter` more for each message, drawn from the stream of that name.
    #[must_use]
    pub fn with_jitter(self, jitter: Duration, seed: Seed, stream: &str) -> Self {
        let jitter = (jitter > Duration::ZERO).then(|| (jitter, seed.stream(stream)));
        Self { jitter, ..self }
    }

    /// What so many bytes take, beside whatever carries them.
    #[inline]
    #[must_use]
    pub fn bytes(&self, bytes: u64) -> Duration {
        Duration { ns: (bytes as f64 * self.ns_per_byte).round() as u64 }
    }

    /// What a message of so many bytes takes to arrive.
    pub fn message(&mut self, bytes: u64) -> Duration {
        let longer = match &mut self.jitter {
            Some((most, stream)) => Duration { ns: stream.random_range(0..=most.ns) },
            None => Duration::ZERO,
        };
        self.per_message + self.bytes(bytes) + longer
    }
}

/// The number of a notice in its lane, by which its sender may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Where a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not sent yet: it may still be withdrawn.
    Waiting,
    /// Sent; it arrives then.
    UnderWay(Time),
    /// The other side has it, or it was withdrawn.
    Done,
}

/// What a lane has carried so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneTally {
    /// Notices that were posted.
    pub posted: u64,
    /// Of those, notices withdrawn before they were sent.
    pub withdrawn: u64,
    /// Of those, notices sent; the rest waits.
    pub sent: u64,
    /// Messages that carried them.
    pub messages: u64,
    /// Commands that took notices along.
    pub rides: u64,
    /// Bytes of notices.
    pub bytes: u64,
    /// Time that messages took, and that notices added to commands.
    pub time: Duration,
    /// From post to arrival, over all notices sent.
    pub delay_sum: Duration,
    /// The longest of these.
    pub delay_max: Duration,
}

impl LaneTally {
    /// The mean time from post to arrival, of notices that were sent, in nanoseconds.
    #[must_use]
    pub fn delay_mean_ns(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.delay_sum.ns as f64 / self.sent as f64 }
    }
}

#[derive(Clone, Debug)]
struct UnderWay<N> {
    arrival: Time,
    ticket: Ticket,
    notice: N,
}

/// One direction of a link, for notices of one kind and size. Every operation is O(1) amortised in the number of waiting
/// notices, and linear in the few that are under way.
#[derive(Clone, Debug)]
pub struct Lane<N> {
    sending: Sending,
    toll: Toll,
    notice_bytes: u64,
    /// Oldest first; none where one was withdrawn. The first is never withdrawn.
    waiting: VecDeque<Option<(Time, N)>>,
    /// Those that were not withdrawn.
    waiting_len: u32,
    /// The ticket of the first that waits, or of the next that is posted.
    first: Ticket,
    /// By arrival; of equal ones the one sent first.
    under_way: VecDeque<UnderWay<N>>,
    tally: LaneTally,
}

impl<N> Lane<N> {
    /// An idle lane.
    #[must_use]
    pub fn new(sending: Sending, toll: Toll, notice_bytes: u64) -> Self {
        Self {
            sending,
            toll,
            notice_bytes,
            waiting: VecDeque::new(),
            waiting_len: 0,
            first: Ticket(0),
            under_way: VecDeque::new(),
            tally: LaneTally::default(),
        }
    }

    /// What it has carried so far.
    #[must_use]
    pub fn tally(&self) -> &LaneTally {
        &self.tally
    }

    /// How notices are sent.
    #[inline]
    #[must_use]
    pub fn sending(&self) -> Sending {
        self.sending
    }

    /// Notices that are not sent yet.
    #[inline]
    #[must_use]
    pub fn waiting_len(&self) -> u32 {
        self.waiting_len
    }

    /// Hands a notice over. With [`Sending::Each`] it is under way at once.
    pub fn post(&mut self, notice: N, now: Time) -> Ticket {
        self.pass_time(now);
        let ticket = Ticket(self.first.0 + self.waiting.len() as u64);
        self.tally.posted += 1;
        self.waiting.push_back(Some((now, notice)));
        self.waiting_len += 1;
        match self.sending {
            Sending::Each => self.send(now),
            Sending::Batched { notices_max, .. } if self.waiting_len >= notices_max.get() => self.send(now),
            Sending::Batched { .. } | Sending::Piggybacked { .. } => {}
        }
        ticket
    }

    /// Takes a notice back; false where it was sent, or withdrawn before.
    pub fn withdraw(&mut self, ticket: Ticket) -> bool {
        let Some(entry) = ticket.0.checked_sub(self.first.0).and_then(|at| self.waiting.get_mut(at as usize))
        else {
            return false;
        };
        let withdrawn = entry.take().is_some();
        if withdrawn {
            self.waiting_len -= 1;
            self.tally.withdrawn += 1;
            self.skip_withdrawn();
        }
        withdrawn
    }

    /// Where a notice is. With [`Sending::Each`], a sender that waits for its notice waits until it arrives.
    #[must_use]
    pub fn standing(&self, ticket: Ticket) -> Standing {
        let waits = ticket.0.checked_sub(self.first.0).and_then(|at| self.waiting.get(at as usize));
        match waits {
            Some(Some(_)) => Standing::Waiting,
            Some(None) => Standing::Done,
            None => self
                .under_way
                .iter()
                .find(|sent| sent.ticket == ticket)
                .map_or(Standing::Done, |sent| Standing::UnderWay(sent.arrival)),
        }
    }

    /// Sends a batch whose time has come, at that time. Called before anything else at a new time.
    #[inline]
    pub fn pass_time(&mut self, now: Time) {
        if let (Sending::Batched { wait_max, .. }, Some(Some((since, _)))) =
            (self.sending, self.waiting.front())
            && *since + wait_max <= now
        {
            let due = *since + wait_max;
            self.send(due);
        }
    }

    /// A command crosses, and takes along what it may; what it takes arrives with it. What that adds to the command.
    pub fn ride(&mut self, now: Time) -> Duration {
        let Sending::Piggybacked { notices_max } = self.sending else { return Duration::ZERO };
        let taken = self.waiting_len.min(notices_max.get());
        if taken == 0 {
            return Duration::ZERO;
        }
        let bytes = u64::from(taken) * self.notice_bytes;
        let longer = self.toll.bytes(bytes);
        self.tally.rides += 1;
        // The receiver takes notices in before the command they came with, so they are there when it begins.
        self.depart(taken, bytes, longer, now + longer, now);
        longer
    }

    /// Sends everything that waits, in one message, at once; for those who must know that it arrives.
    pub fn send(&mut self, now: Time) {
        if self.waiting_len == 0 {
            return;
        }
        let bytes = u64::from(self.waiting_len) * self.notice_bytes;
        let takes = self.toll.message(bytes);
        self.tally.messages += 1;
        self.depart(self.waiting_len, bytes, takes, now + takes, now + takes);
    }

    /// The next notice that has arrived by `now`.
    #[inline]
    pub fn arrived(&mut self, now: Time) -> Option<N> {
        if self.under_way.front()?.arrival > now {
            return None;
        }
        self.under_way.pop_front().map(|sent| sent.notice)
    }

    /// Every notice that the other side does not have yet, in no order; for tests.
    pub fn outstanding(&self) -> impl Iterator<Item = &N> {
        let waiting = self.waiting.iter().flatten().map(|(_, notice)| notice);
        waiting.chain(self.under_way.iter().map(|sent| &sent.notice))
    }

    /// The bytes the lane holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<Option<(Time, N)>>()
            + self.under_way.capacity() * size_of::<UnderWay<N>>()
    }

    /// So many of the oldest leave; `heard` is when the other side has them, `arrival` when it may look for them.
    fn depart(&mut self, notices: u32, bytes: u64, takes: Duration, heard: Time, arrival: Time) {
        self.tally.bytes += bytes;
        self.tally.time = self.tally.time + takes;
        self.tally.sent += u64::from(notices);
        // Few are ever under way: the search from the back ends at once where nothing is overtaken.
        let mut at = self.under_way.len();
        while at > 0 && self.under_way[at - 1].arrival > arrival {
            at -= 1;
        }
        for _ in 0..notices {
            let (since, notice) = self.waiting.pop_front().flatten().expect("the first is never withdrawn");
            let delay = heard.since(since);
            self.tally.delay_sum = self.tally.delay_sum + delay;
            self.tally.delay_max = self.tally.delay_max.max(delay);
            self.under_way.insert(at, UnderWay { arrival, ticket: self.first, notice });
            at += 1;
            self.first.0 += 1;
            self.waiting_len -= 1;
            self.skip_withdrawn();
        }
    }

    fn skip_withdrawn(&mut self) {
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first.0 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTICE_BYTES: u64 = 10;

    fn at(ns: u64) -> Time {
        Time { ns }
    }

    fn ns(ns: u64) -> Duration {
        Duration { ns }
    }

    /// A message takes 100 ns and 1 ns a byte.
    fn lane(sending: Sending) -> Lane<u32> {
        Lane::new(sending, Toll::new(ns(100), 1.0), NOTICE_BYTES)
    }

    fn batched(notices: u32, wait: u64) -> Sending {
        Sending::Batched { notices_max: NonZeroU32::new(notices).unwrap(), wait_max: ns(wait) }
    }

    fn piggybacked(notices: u32) -> Sending {
        Sending::Piggybacked { notices_max: NonZeroU32::new(notices).unwrap() }
    }

    fn all_arrived(lane: &mut Lane<u32>, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| lane.arrived(at(now))).collect()
    }

    #[test]
    fn each_is_a_message_and_arrives_at_t_and_not_at_t_minus_one() {
        let mut lane = lane(Sending::Each);
        let first = lane.post(1, at(1000));
        lane.post(2, at(1050));
        assert_eq!(lane.standing(first), Standing::UnderWay(at(1110)));
        assert_eq!(all_arrived(&mut lane, 1109), [] as [u32; 0]);
        assert_eq!(all_arrived(&mut lane, 1110), [1]);
        assert_eq!(lane.standing(first), Standing::Done);
        assert_eq!(all_arrived(&mut lane, 1160), [2]);
        let expected = LaneTally {
            posted: 2,
            sent: 2,
            messages: 2,
            bytes: 20,
            time: ns(220),
            delay_sum: ns(220),
            delay_max: ns(110),
            ..LaneTally::default()
        };
        assert_eq!(*lane.tally(), expected);
    }

    #[test]
    fn a_batch_goes_when_it_is_full_or_its_first_has_waited_long_enough() {
        let mut lane = lane(batched(3, 500));
        for notice in 0..3 {
            lane.post(notice, at(u64::from(notice) * 10));
        }
        assert_eq!(lane.waiting_len(), 0, "three are a message");
        assert_eq!(all_arrived(&mut lane, 149), [] as [u32; 0]);
        assert_eq!(all_arrived(&mut lane, 150), [0, 1, 2], "posted last at 20, 100 and 30 bytes later");

        lane.post(3, at(1000));
        lane.post(4, at(1400));
        lane.pass_time(at(1499));
        assert_eq!(lane.waiting_len(), 2);
        lane.pass_time(at(9000));
        assert_eq!(all_arrived(&mut lane, 1619), [] as [u32; 0]);
        assert_eq!(all_arrived(&mut lane, 1620), [3, 4], "sent at 1500, not when time was passed");
        let tally = lane.tally();
        assert_eq!((tally.messages, tally.bytes, tally.time), (2, 50, ns(130 + 120)));
        assert_eq!((tally.delay_sum, tally.delay_max), (ns(150 + 140 + 130 + 620 + 220), ns(620)));
    }

    #[test]
    fn notices_ride_on_commands_within_their_bound() {
        let mut lane = lane(piggybacked(2));
        for notice in 0..5 {
            lane.post(notice, at(0));
        }
        assert_eq!(all_arrived(&mut lane, 5000), [] as [u32; 0], "no command, no notice");
        assert_eq!(lane.ride(at(6000)), ns(20));
        assert_eq!(all_arrived(&mut lane, 6000), [0, 1], "they are there when the command begins");
        assert_eq!(lane.ride(at(7000)), ns(20));
        assert_eq!(lane.ride(at(8000)), ns(10));
        assert_eq!(lane.ride(at(9000)), ns(0), "nothing is left");
        assert_eq!(all_arrived(&mut lane, 8000), [2, 3, 4]);
        let tally = lane.tally();
        assert_eq!((tally.messages, tally.rides, tally.bytes, tally.time), (0, 3, 50, ns(50)));
        assert_eq!(tally.delay_max, ns(8010));
    }

    #[test]
    fn only_piggybacked_notices_ride() {
        for sending in [Sending::Each, batched(9, 500)] {
            let mut lane = lane(sending);
            lane.post(1, at(0));
            assert_eq!(lane.ride(at(10)), ns(0), "{sending:?}");
            assert_eq!(lane.tally().rides, 0, "{sending:?}");
        }
    }

    #[test]
    fn what_is_withdrawn_is_not_sent_and_does_not_fill_a_batch() {
        let mut lane = lane(batched(3, 500));
        let tickets: Vec<Ticket> = (0..2).map(|notice| lane.post(notice, at(0))).collect();
        assert_eq!(lane.standing(tickets[0]), Standing::Waiting);
        assert!(lane.withdraw(tickets[0]));
        assert!(!lane.withdraw(tickets[0]), "once");
        lane.post(2, at(100));
        assert_eq!(lane.waiting_len(), 2, "two of three are left");
        let last = lane.post(3, at(200));
        assert_eq!(lane.waiting_len(), 0);
        assert!(!lane.withdraw(last), "it was sent");
        assert_eq!(all_arrived(&mut lane, 1000), [1, 2, 3]);
        let tally = lane.tally();
        assert_eq!((tally.posted, tally.withdrawn, tally.sent, tally.bytes), (4, 1, 3, 30));
        assert_eq!(lane.standing(tickets[0]), Standing::Done);
    }

    #[test]
    fn a_withdrawn_notice_in_the_middle_keeps_the_others_tickets() {
        let mut lane = lane(piggybacked(1));
        let tickets: Vec<Ticket> = (0..4).map(|notice| lane.post(notice, at(0))).collect();
        assert!(lane.withdraw(tickets[1]));
        for (command, expected) in [(10, 0), (20, 2), (30, 3)] {
            lane.ride(at(command));
            assert_eq!(all_arrived(&mut lane, command), [expected]);
        }
        assert!(tickets.iter().all(|&ticket| lane.standing(ticket) == Standing::Done));
    }

    #[test]
    fn a_short_message_overtakes_a_long_one() {
        let mut lane = lane(batched(50, 1000));
        for notice in 0..50 {
            lane.post(notice, at(0));
        }
        lane.post(50, at(1));
        lane.send(at(1));
        assert_eq!(all_arrived(&mut lane, 111), [50], "it is there after 110, the fifty after 600");
        assert_eq!(all_arrived(&mut lane, 600).len(), 50);
    }

    #[test]
    fn jitter_reorders_messages_and_repeats() {
        let arrivals = |seed| {
            let toll = Toll::new(ns(100), 1.0).with_jitter(ns(10_000), Seed(seed), "link");
            let mut lane = Lane::new(Sending::Each, toll, NOTICE_BYTES);
            for notice in 0..100 {
                lane.post(notice, at(u64::from(notice)));
            }
            all_arrived(&mut lane, 20_000)
        };
        assert_eq!(arrivals(1), arrivals(1));
        assert_ne!(arrivals(1), arrivals(2));
        assert!(!arrivals(1).is_sorted(), "messages overtake each other");
        let mut sorted = arrivals(1);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100), "and none is lost");
    }
}
