//! A queue of notices for one direction of a link, with three ways of sending and their costs.
//!
//! A *notice* is a few bytes that need no answer: a page was cached, overwritten, evicted. It is sent at once
//! as its own message, with others in a batch, or with the next command. The last costs bytes but no message.
//!
//! ```text
//! post ──▶ waiting ──(a message, or a command)──▶ under way ──(its time comes)──▶ arrived
//!              └──▶ withdrawn: it says nothing any more
//! ```
//!
//! A queue has no clock: the time is an argument of every call and never goes back. Messages arrive in the
//! order of their arrival times. This differs from the order of sending if one takes longer than the next.

use super::config::Notices;
use super::cost::LinkCost;
use coflash_base::measure::ratio;
use coflash_base::{Duration, Save, Time};
use std::collections::VecDeque;

/// The number of a notice in its queue; its sender uses it as a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Save)]
pub(super) struct Ticket(u64);

/// The delivery state of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryState {
    /// Not sent yet, so it may still be withdrawn.
    Waiting,
    /// Sent; arrives at this time.
    UnderWay(Time),
    /// Arrived or withdrawn.
    Done,
}

coflash_base::measures! {
    /// Notices across the link in one direction. Requests do not wait for them, unless each is a message of its own.
    pub struct NoticeCounters in "host.to_device", "Notices to the device" {
        /// Notices posted.
        posted: u64, "notices", rare;
        /// Notices withdrawn before they were sent, since they were obsolete.
        withdrawn: u64, "notices withdrawn", untabled;
        /// Notices sent. The rest were still waiting at the end of the run.
        sent: u64, "notices sent", untabled;
        /// Messages that carried them.
        messages: u64, "messages for notices alone", cost, rare;
        /// Commands that carried notices.
        carrying_commands: u64, "commands that carried notices", untabled;
        /// Bytes of notices.
        bytes: u64, "bytes of notices", bytes, cost, rare;
        /// Time of these messages, and time that notices added to commands.
        time_ns: u64, "time of notices on the link", ns, cost, untabled;
        /// Time from posting to arrival, summed over the notices sent.
        delay_sum_ns: u64, "delay of notices, sum", ns, cost, untabled;
        /// The longest time from posting to arrival.
        delay_max_ns: u64, "delay of notices, longest", ns, cost, rare, state;
    }
    derived {
        /// The mean time from posting to arrival.
        delay_mean_ns: "delay of notices, mean", ns, cost, rare = |c| ratio(c.delay_sum_ns, c.sent);
    }
}

#[derive(Clone, Debug, Save)]
struct UnderWay<N> {
    arrival: Time,
    ticket: Ticket,
    notice: N,
}

/// One direction of a link, for notices of one kind and size. Operations are O(1) amortised in the number of waiting
/// notices, and linear in the few notices under way.
#[derive(Clone, Debug, Save)]
pub(super) struct NoticeQueue<N> {
    /// The way in which notices are sent.
    pub(super) notices: Notices,
    cost: LinkCost,
    notice_bytes: u64,
    /// Waiting notices, the oldest first; `None` for a withdrawn one. The first is never withdrawn.
    waiting: VecDeque<Option<(Time, N)>>,
    /// The number of waiting notices that were not withdrawn.
    waiting_len: u32,
    /// The ticket of the first waiting notice, or of the next one to be posted.
    first: Ticket,
    /// Notices under way in the order of arrival; at equal times in the order of sending.
    under_way: VecDeque<UnderWay<N>>,
    /// The counters.
    pub(super) counters: NoticeCounters,
}

impl<N> NoticeQueue<N> {
    /// Create an empty queue.
    #[must_use]
    pub(super) fn new(notices: Notices, cost: LinkCost, notice_bytes: u64) -> Self {
        Self {
            notices,
            cost,
            notice_bytes,
            waiting: VecDeque::new(),
            waiting_len: 0,
            first: Ticket(0),
            under_way: VecDeque::new(),
            counters: NoticeCounters::default(),
        }
    }

    /// Post a notice. With [`Notices::Each`] it is under way at once.
    pub(super) fn post(&mut self, notice: N, now: Time) -> Ticket {
        self.pass_time(now);
        let ticket = Ticket(self.first.0 + self.waiting.len() as u64);
        self.counters.posted += 1;
        self.waiting.push_back(Some((now, notice)));
        self.waiting_len += 1;
        match self.notices {
            Notices::Each => self.send(now),
            Notices::Batched { max, .. } if self.waiting_len >= max.get() => self.send(now),
            Notices::Batched { .. } | Notices::Piggybacked { .. } => {}
        }
        ticket
    }

    /// Withdraw a notice. Returns false if it was already sent or withdrawn.
    pub(super) fn withdraw(&mut self, ticket: Ticket) -> bool {
        let Some(entry) = ticket.0.checked_sub(self.first.0).and_then(|at| self.waiting.get_mut(at as usize))
        else {
            return false;
        };
        let withdrawn = entry.take().is_some();
        if withdrawn {
            self.waiting_len -= 1;
            self.counters.withdrawn += 1;
            self.skip_withdrawn();
        }
        withdrawn
    }

    /// The delivery state of a notice.
    #[must_use]
    pub(super) fn delivery_state(&self, ticket: Ticket) -> DeliveryState {
        let waits = ticket.0.checked_sub(self.first.0).and_then(|at| self.waiting.get(at as usize));
        match waits {
            Some(Some(_)) => DeliveryState::Waiting,
            Some(None) => DeliveryState::Done,
            None => self
                .under_way
                .iter()
                .find(|sent| sent.ticket == ticket)
                .map_or(DeliveryState::Done, |sent| DeliveryState::UnderWay(sent.arrival)),
        }
    }

    /// Send a batch that is due, at its due time. Called before anything else at a new time.
    #[inline]
    pub(super) fn pass_time(&mut self, now: Time) {
        if let (Notices::Batched { wait, .. }, Some(Some((since, _)))) = (self.notices, self.waiting.front())
            && *since + wait <= now
        {
            let due = *since + wait;
            self.send(due);
        }
    }

    /// Send waiting notices with a command; they arrive with it. Returns the time that they add to the
    /// command.
    pub(super) fn piggyback(&mut self, now: Time) -> Duration {
        let Notices::Piggybacked { bytes_max } = self.notices else { return Duration::ZERO };
        let most = (bytes_max.count / self.notice_bytes.max(1)).max(1);
        let taken = most.min(self.waiting_len.into()) as u32;
        if taken == 0 {
            return Duration::ZERO;
        }
        let bytes = u64::from(taken) * self.notice_bytes;
        let longer = self.cost.bytes(bytes);
        self.counters.carrying_commands += 1;
        // The receiver handles notices before their command, so they have arrived when it begins.
        self.depart(taken, bytes, longer, now + longer, now);
        longer
    }

    /// Send all waiting notices at once in one message.
    pub(super) fn send(&mut self, now: Time) {
        if self.waiting_len == 0 {
            return;
        }
        let bytes = u64::from(self.waiting_len) * self.notice_bytes;
        let takes = self.cost.message(bytes);
        self.counters.messages += 1;
        self.depart(self.waiting_len, bytes, takes, now + takes, now + takes);
    }

    /// Lose all notices that have not arrived. Waiting ones count as withdrawn.
    pub(super) fn lose_all(&mut self) {
        self.counters.withdrawn += u64::from(std::mem::take(&mut self.waiting_len));
        self.first.0 += self.waiting.len() as u64;
        self.waiting.clear();
        self.under_way.clear();
    }

    /// Take the next notice that has arrived by `now`.
    #[inline]
    pub(super) fn arrived(&mut self, now: Time) -> Option<N> {
        if self.under_way.front()?.arrival > now {
            return None;
        }
        self.under_way.pop_front().map(|sent| sent.notice)
    }

    /// All notices that have not arrived yet, in no particular order. For tests.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = &N> {
        let waiting = self.waiting.iter().flatten().map(|(_, notice)| notice);
        waiting.chain(self.under_way.iter().map(|sent| &sent.notice))
    }

    /// Send the oldest `notices` notices. `heard` is the time of their delivery for the counters, `arrival`
    /// the time at which the receiver sees them.
    fn depart(&mut self, notices: u32, bytes: u64, takes: Duration, heard: Time, arrival: Time) {
        self.counters.bytes += bytes;
        self.counters.time_ns += takes;
        self.counters.sent += u64::from(notices);
        // A search from the back ends at once unless a message overtakes others, and few are under way.
        let mut at = self.under_way.len();
        while at > 0 && self.under_way[at - 1].arrival > arrival {
            at -= 1;
        }
        for _ in 0..notices {
            let (since, notice) = self.waiting.pop_front().flatten().expect("the first is never withdrawn");
            let delay = heard.since(since);
            self.counters.delay_sum_ns += delay;
            self.counters.delay_max_ns = self.counters.delay_max_ns.max(delay.ns);
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
    use coflash_base::{Bytes, Seed};
    use std::num::NonZeroU32;

    const NOTICE_BYTES: u64 = 10;

    fn at(ns: u64) -> Time {
        Time { ns }
    }

    fn ns(ns: u64) -> Duration {
        Duration { ns }
    }

    /// A message takes 100 ns and 1 ns a byte.
    fn queue(notices: Notices) -> NoticeQueue<u32> {
        NoticeQueue::new(notices, LinkCost::new(ns(100), 1.0), NOTICE_BYTES)
    }

    fn batched(notices: u32, wait: u64) -> Notices {
        Notices::Batched { max: NonZeroU32::new(notices).unwrap(), wait: ns(wait) }
    }

    fn piggybacked(notices: u64) -> Notices {
        Notices::Piggybacked { bytes_max: Bytes { count: notices * NOTICE_BYTES } }
    }

    fn all_arrived(queue: &mut NoticeQueue<u32>, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| queue.arrived(at(now))).collect()
    }

    #[test]
    fn each_is_a_message_and_arrives_at_t_and_not_at_t_minus_one() {
        let mut queue = queue(Notices::Each);
        let first = queue.post(1, at(1000));
        queue.post(2, at(1050));
        assert_eq!(queue.delivery_state(first), DeliveryState::UnderWay(at(1110)));
        assert_eq!(all_arrived(&mut queue, 1109), [] as [u32; 0]);
        assert_eq!(all_arrived(&mut queue, 1110), [1]);
        assert_eq!(queue.delivery_state(first), DeliveryState::Done);
        assert_eq!(all_arrived(&mut queue, 1160), [2]);
        let expected = NoticeCounters {
            posted: 2,
            sent: 2,
            messages: 2,
            bytes: 20,
            time_ns: 220,
            delay_sum_ns: 220,
            delay_max_ns: 110,
            ..NoticeCounters::default()
        };
        assert_eq!(queue.counters, expected);
    }

    #[test]
    fn a_batch_goes_when_it_is_full_or_its_first_has_waited_long_enough() {
        let mut queue = queue(batched(3, 500));
        for notice in 0..3 {
            queue.post(notice, at(u64::from(notice) * 10));
        }
        assert_eq!(queue.waiting_len, 0, "three are a message");
        assert_eq!(all_arrived(&mut queue, 149), [] as [u32; 0]);
        assert_eq!(all_arrived(&mut queue, 150), [0, 1, 2], "posted last at 20, 100 and 30 bytes later");

        queue.post(3, at(1000));
        queue.post(4, at(1400));
        queue.pass_time(at(1499));
        assert_eq!(queue.waiting_len, 2);
        queue.pass_time(at(9000));
        assert_eq!(all_arrived(&mut queue, 1619), [] as [u32; 0]);
        assert_eq!(all_arrived(&mut queue, 1620), [3, 4], "sent at 1500, not when time was passed");
        let counters = &queue.counters;
        assert_eq!((counters.messages, counters.bytes, counters.time_ns), (2, 50, 130 + 120));
        assert_eq!((counters.delay_sum_ns, counters.delay_max_ns), (150 + 140 + 130 + 620 + 220, 620));
    }

    #[test]
    fn notices_go_with_commands_within_their_bound() {
        let mut queue = queue(piggybacked(2));
        for notice in 0..5 {
            queue.post(notice, at(0));
        }
        assert_eq!(all_arrived(&mut queue, 5000), [] as [u32; 0], "no command, no notice");
        assert_eq!(queue.piggyback(at(6000)), ns(20));
        assert_eq!(all_arrived(&mut queue, 6000), [0, 1], "they are there when the command begins");
        assert_eq!(queue.piggyback(at(7000)), ns(20));
        assert_eq!(queue.piggyback(at(8000)), ns(10));
        assert_eq!(queue.piggyback(at(9000)), ns(0), "nothing is left");
        assert_eq!(all_arrived(&mut queue, 8000), [2, 3, 4]);
        let counters = &queue.counters;
        assert_eq!(
            (counters.messages, counters.carrying_commands, counters.bytes, counters.time_ns),
            (0, 3, 50, 50)
        );
        assert_eq!(counters.delay_max_ns, 8010);
    }

    #[test]
    fn only_piggybacked_notices_go_with_commands() {
        for notices in [Notices::Each, batched(9, 500)] {
            let mut queue = queue(notices);
            queue.post(1, at(0));
            assert_eq!(queue.piggyback(at(10)), ns(0), "{notices:?}");
            assert_eq!(queue.counters.carrying_commands, 0, "{notices:?}");
        }
    }

    #[test]
    fn what_is_withdrawn_is_not_sent_and_does_not_fill_a_batch() {
        let mut queue = queue(batched(3, 500));
        let tickets: Vec<Ticket> = (0..2).map(|notice| queue.post(notice, at(0))).collect();
        assert_eq!(queue.delivery_state(tickets[0]), DeliveryState::Waiting);
        assert!(queue.withdraw(tickets[0]));
        assert!(!queue.withdraw(tickets[0]), "once");
        queue.post(2, at(100));
        assert_eq!(queue.waiting_len, 2, "two of three are left");
        let last = queue.post(3, at(200));
        assert_eq!(queue.waiting_len, 0);
        assert!(!queue.withdraw(last), "it was sent");
        assert_eq!(all_arrived(&mut queue, 1000), [1, 2, 3]);
        let counters = &queue.counters;
        assert_eq!((counters.posted, counters.withdrawn, counters.sent, counters.bytes), (4, 1, 3, 30));
        assert_eq!(queue.delivery_state(tickets[0]), DeliveryState::Done);
    }

    #[test]
    fn a_withdrawn_notice_in_the_middle_keeps_the_others_tickets() {
        let mut queue = queue(piggybacked(1));
        let tickets: Vec<Ticket> = (0..4).map(|notice| queue.post(notice, at(0))).collect();
        assert!(queue.withdraw(tickets[1]));
        for (command, expected) in [(10, 0), (20, 2), (30, 3)] {
            queue.piggyback(at(command));
            assert_eq!(all_arrived(&mut queue, command), [expected]);
        }
        assert!(tickets.iter().all(|&ticket| queue.delivery_state(ticket) == DeliveryState::Done));
    }

    #[test]
    fn a_short_message_overtakes_a_long_one() {
        let mut queue = queue(batched(50, 1000));
        for notice in 0..50 {
            queue.post(notice, at(0));
        }
        queue.post(50, at(1));
        queue.send(at(1));
        assert_eq!(all_arrived(&mut queue, 111), [50], "it is there after 110, the fifty after 600");
        assert_eq!(all_arrived(&mut queue, 600).len(), 50);
    }

    #[test]
    fn jitter_reorders_messages_and_repeats() {
        let arrivals = |seed| {
            let cost = LinkCost::new(ns(100), 1.0).with_jitter(ns(10_000), Seed(seed), "link");
            let mut queue = NoticeQueue::new(Notices::Each, cost, NOTICE_BYTES);
            for notice in 0..100 {
                queue.post(notice, at(u64::from(notice)));
            }
            all_arrived(&mut queue, 20_000)
        };
        assert_eq!(arrivals(1), arrivals(1));
        assert_ne!(arrivals(1), arrivals(2));
        assert!(!arrivals(1).is_sorted(), "messages overtake each other");
        let mut sorted = arrivals(1);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100), "and none is lost");
    }
}
