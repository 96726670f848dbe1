//! The state of both ends of a link: sent and pending notices, grants, and costs.

use super::config::{HostConfig, Protecting};
use super::cost::LinkCost;
use super::notice::{ExchangeCounters, LinkCounters, NoticeKinds, ToHost};
use super::notice_queue::{NoticeCounters, NoticeQueue, Ticket};
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::Setting;
use crate::level::Command;
use coflash_base::measure::{Report, SectionInfo};
use coflash_base::{Duration, IdVec, Lpn, Save, Seed, Time};
use coflash_cache::{Cache, SlotId};
use coflash_ftl::{Weight, Weights};
use coflash_media::Memory;

/// The state of a copy according to the last notice about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub(super) enum Said {
    /// No notice: there is no copy, or no cooperation.
    #[default]
    Unknown,
    /// Clean. It may be evicted without asking.
    Clean,
    /// Clean, and promised to be kept.
    Granted,
    /// Newer than flash, or the sole copy.
    Dirty,
}

/// The host's record of a slot: the last notice about its copy.
#[derive(Clone, Copy, Debug, Default, Save)]
pub(super) struct SlotSaid {
    pub(super) said: Said,
    pub(super) last: Option<Ticket>,
}

/// Both ends of a link.
#[derive(Clone, Save)]
pub(super) struct Wire {
    pub(super) to_device: NoticeQueue<Message>,
    pub(super) to_host: NoticeQueue<ToHost>,
    /// Whether the host grants pages in advance; otherwise it is asked.
    pub(super) grants: bool,
    pub(super) cost: LinkCost,
    notice_bytes: u64,
    answer_time: Duration,
    /// The memory of the cache above.
    pub(super) above: Memory,
    pub(super) said: IdVec<SlotId, SlotSaid>,
    pub(super) grants_left: u32,
    /// The cost weights of marked pages, as the device knows them.
    pub(super) weights: Weights,
    pub(super) weights_told: Weights,
    pub(super) now: Time,
    /// The remaining time that the answer to the current page must wait for messages.
    pub(super) pending_wait: Duration,
    /// The number of pages of the current request that have crossed from the device.
    pub(super) crossed_pages: u64,
    /// Whether a command of the current request has crossed; its other pages need no further command.
    pub(super) has_crossed: bool,
    /// Whether a trim or a flush of the current request has begun on the device.
    pub(super) is_open: bool,
    /// Whether a read of the current request has begun on a device that joins its pages.
    pub(super) reads: bool,
    /// The page after the last one of the current request; 0 if it has none.
    pub(super) request_end: u32,
    /// The time at which the last written page has crossed.
    pub(super) written_across_at: Time,
    /// The number of pages in GC's next question, not sent yet.
    pub(super) asked: u64,
    pub(super) kinds: NoticeKinds,
    pub(super) protected: ExchangeCounters,
    pub(super) revoked: ExchangeCounters,
    pub(super) counters: LinkCounters,
    #[cfg(test)]
    pub(super) sabotage: super::tests::Sabotage,
}

const TO_HOST: SectionInfo =
    SectionInfo { path: "host.to_host", title: "Notices to the host", ..NoticeCounters::INFO };
const REVOKE: SectionInfo = SectionInfo {
    path: "host.revoke",
    title: "Questions to the device",
    meaning: "Under `grants`: was this grant used? Asked before a clean copy leaves the cache.",
    ..ExchangeCounters::INFO
};

/// The sections of a result about a link, in their order.
#[must_use]
pub fn link_sections() -> [&'static SectionInfo; 6] {
    const LINK: &SectionInfo = &LinkCounters::INFO;
    const KINDS: &SectionInfo = &NoticeKinds::INFO;
    const TO_DEVICE: &SectionInfo = &NoticeCounters::INFO;
    const PROTECT: &SectionInfo = &ExchangeCounters::INFO;
    [LINK, KINDS, TO_DEVICE, &TO_HOST, PROTECT, &REVOKE]
}

impl Wire {
    /// Create a wire below a cache.
    pub(super) fn new(above: &Setting, host: &HostConfig, cost: &LinkCost, seed: Seed) -> Self {
        let slots = above.slots;
        let notice_bytes = host.notice_size.count;
        let (answer_time, granted) = match host.protecting {
            Protecting::Request { answer_time } => (answer_time, 0),
            Protecting::Grants { share } => (Duration::ZERO, share.part_of(u64::from(slots))),
        };
        let jittered = |stream| cost.clone().with_jitter(host.jitter, seed, stream);
        Self {
            to_device: NoticeQueue::new(host.notices, jittered("link/to device"), notice_bytes),
            to_host: NoticeQueue::new(host.notices, jittered("link/to host"), notice_bytes),
            grants: matches!(host.protecting, Protecting::Grants { .. }),
            cost: cost.clone(),
            notice_bytes,
            answer_time,
            above: above.memory,
            said: IdVec::filled(SlotSaid::default(), slots as usize),
            grants_left: granted as u32,
            weights: Weights::all(Weight::FULL),
            weights_told: Weights::all(Weight::FULL),
            now: Time::ZERO,
            pending_wait: Duration::ZERO,
            crossed_pages: 0,
            has_crossed: false,
            is_open: false,
            reads: false,
            request_end: 0,
            written_across_at: Time::ZERO,
            asked: 0,
            kinds: NoticeKinds::default(),
            protected: ExchangeCounters::default(),
            revoked: ExchangeCounters::default(),
            counters: LinkCounters::default(),
            #[cfg(test)]
            sabotage: super::tests::Sabotage::None,
        }
    }

    pub(super) fn pass_time(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.to_device.pass_time(self.now);
        self.to_host.pass_time(self.now);
    }

    /// Lose the messages that have not arrived.
    pub(super) fn lose_messages(&mut self) {
        self.to_device.lose_all();
        self.to_host.lose_all();
    }

    /// Forget all messages.
    pub(super) fn disconnect(&mut self) {
        self.lose_messages();
        for slot in self.said.ids() {
            self.set(slot, Said::Unknown);
            self.said[slot].last = None;
        }
    }

    pub(super) fn begin_request(&mut self, command: &Command) {
        self.reads = false;
        self.request_end = command.first.map_or(0, |first| first.get() + command.pages);
        self.has_crossed = false;
        self.crossed_pages = 0;
    }

    pub(super) fn wait_until(&mut self, time: Time) {
        if time > self.now {
            let wait = time.since(self.now);
            self.pending_wait = self.pending_wait + wait;
            self.counters.waited_ns += wait;
            self.now = time;
        }
    }

    /// Set the state of a copy. A grant that ends may be given again.
    pub(super) fn set(&mut self, slot: SlotId, said: Said) {
        let before = std::mem::replace(&mut self.said[slot].said, said);
        if before == Said::Granted {
            self.grants_left += 1;
        }
        if said == Said::Granted {
            self.grants_left -= 1;
            self.counters.grants_pages += 1;
        }
    }

    /// Ask the device whether a grant was used. The question goes with the current request's command, if one has
    /// crossed.
    pub(super) fn revoke(&mut self) {
        let bytes = self.notice_bytes;
        let time = if self.has_crossed {
            self.cost.bytes(bytes)
        } else {
            self.revoked.messages += 1;
            let time = self.cost.message(bytes);
            self.wait_until(self.now + time);
            time
        };
        self.revoked.pages += 1;
        self.revoked.bytes += bytes;
        self.revoked.time_ns += time;
    }

    /// Settle the cost of GC's question, if it asked one. Returns the time from question to answer.
    pub(super) fn question_answered(&mut self) -> Option<Duration> {
        let asked = std::mem::take(&mut self.asked);
        if asked == 0 {
            return None;
        }
        let there = asked * self.notice_bytes;
        // The answer is a list of the same pages.
        let time = self.cost.message(there) + self.answer_time + self.cost.message(there);
        self.protected.messages += 2;
        self.protected.bytes += 2 * there;
        self.protected.time_ns += time;
        Some(time)
    }

    pub(super) fn report(&self, report: &mut Report) {
        let (to_device, to_host) = (&self.to_device.counters, &self.to_host.counters);
        let sum = |notices: fn(&NoticeCounters) -> u64, exchange: fn(&ExchangeCounters) -> u64| {
            [notices(to_device), notices(to_host), exchange(&self.protected), exchange(&self.revoked)]
                .into_iter()
                .fold(0, u64::saturating_add)
        };
        report.add(&LinkCounters {
            messages: sum(|notices| notices.messages, |exchange| exchange.messages),
            bytes: sum(|notices| notices.bytes, |exchange| exchange.bytes),
            time_ns: sum(|notices| notices.time_ns, |exchange| exchange.time_ns),
            ..self.counters
        });
        report.add(&self.kinds);
        report.add(to_device);
        report.add_as(&TO_HOST, to_host);
        report.add(&self.protected);
        report.add_as(&REVOKE, &self.revoked);
    }

    /// Panic unless each copy is in the state last noticed, and each mark in the device has a reason. For tests.
    pub(super) fn assert_agrees(&self, cache: &Cache, device: &impl Cooperates, in_flash: &[Lpn]) {
        let granted = self.said.iter().filter(|said| said.said == Said::Granted).count();
        for slot in self.said.ids() {
            let said = self.said[slot].said;
            if !cache.is_occupied(slot) {
                assert_eq!(said, Said::Unknown, "{slot:?} is free");
                continue;
            }
            let lpn = cache.page_of(slot);
            match said {
                // There are no notices without cooperation, and none about clean pages of a write buffer.
                Said::Unknown => {}
                Said::Clean | Said::Granted => {
                    assert!(!cache.is_dirty(slot), "{lpn:?} was said to be clean");
                    let used = said == Said::Granted
                        && self.to_host.outstanding().any(|&notice| notice == ToHost::Used(lpn));
                    assert!(device.may_hold(lpn) || used, "{lpn:?} is clean: flash has it, or will tell");
                }
                Said::Dirty => assert!(cache.is_dirty(slot), "{lpn:?} was said to be dirty"),
            }
        }
        assert!(self.grants || granted == 0, "grants by request");
        for &lpn in in_flash.iter().filter(|&&lpn| device.shadows(lpn).host) {
            let is_dirty = cache.lookup(lpn).is_some_and(|slot| cache.is_dirty(slot));
            assert!(is_dirty, "{lpn:?} is believed to be dirty in the host");
        }
    }
}

/// The promises that faults in tests may break.
#[cfg(not(test))]
impl Wire {
    #[inline(always)]
    pub(super) fn trusts_marks(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn revokes(&self) -> bool {
        true
    }

    #[inline(always)]
    pub(super) fn waits(&self) -> bool {
        true
    }
}
