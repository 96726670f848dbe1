//! What it took to keep cache and flash in step across the link.

use super::ratio;
use coflash_host::{ExchangeTally, LaneTally, Remote, RemoteTally};
use serde::Serialize;

/// Notices that crossed the link in one direction, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoticeMetrics {
    /// Notices handed over.
    pub posted: u64,
    /// Of those, notices taken back before they were sent, since they said nothing any more.
    pub withdrawn: u64,
    /// Of those, notices sent; the rest waited when the run ended.
    pub sent: u64,
    /// Messages that carried them.
    pub messages: u64,
    /// Commands that took notices along.
    pub rides: u64,
    /// Bytes of notices.
    pub bytes: u64,
    /// Time that the messages took, and that notices added to commands.
    pub time_ns: u64,
    /// From handing over to arrival.
    pub delay_mean_ns: Option<f64>,
    /// The longest of these.
    pub delay_max_ns: u64,
}

/// Notices by kind, as they arrived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoticeKinds {
    /// To the device: the cache holds the same data as flash.
    pub cached: u64,
    /// To the device: the cache holds newer data.
    pub dirtied: u64,
    /// To the device: the cache held the same data, and holds it no more.
    pub evicted: u64,
    /// To the device: what a removable page counts has changed.
    pub weights: u64,
    /// To the host: GC has dropped a granted page.
    pub used: u64,
}

/// Questions that were waited for, and their answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeMetrics {
    /// Pages asked about.
    pub pages: u64,
    /// Of those, pages for which the answer was no.
    pub refused_pages: u64,
    /// Messages there and back.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// From question to answer, summed.
    pub time_ns: u64,
}

/// What it took to keep cache and flash in step across the link; only where the cache is in the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostMetrics {
    /// Commands that crossed the link: read misses by request, evictions, writes past the cache, trims.
    pub commands: u64,
    /// Everything else that crossed as a message: notices, questions and answers.
    pub messages: u64,
    /// The bytes of all that, and of what went with commands.
    pub bytes: u64,
    /// The time that all that took.
    pub time_ns: u64,
    /// What answers to requests waited for it.
    pub waited_ns: u64,
    /// Notices by kind, as they arrived.
    pub notices: NoticeKinds,
    /// Notices from host to device.
    pub to_device: NoticeMetrics,
    /// Notices from device to host.
    pub to_host: NoticeMetrics,
    /// Under `request`: may these pages be dropped? The erase waits for the answer.
    pub protect: ExchangeMetrics,
    /// Of the pages that were dropped so, those of which the host had newer data: the notice was on its way.
    pub protect_obsolete_pages: u64,
    /// Under `grants`: pages granted.
    pub grants_pages: u64,
    /// Of those, pages that GC dropped.
    pub grants_used_pages: u64,
    /// Under `grants`: was this grant used? Asked before a clean copy leaves the cache.
    pub revoke: ExchangeMetrics,
}

impl NoticeMetrics {
    fn of(tally: &LaneTally) -> Self {
        Self {
            posted: tally.posted,
            withdrawn: tally.withdrawn,
            sent: tally.sent,
            messages: tally.messages,
            rides: tally.rides,
            bytes: tally.bytes,
            time_ns: tally.time.ns,
            delay_mean_ns: ratio(tally.delay_sum.ns, tally.sent),
            delay_max_ns: tally.delay_max.ns,
        }
    }
}

impl ExchangeMetrics {
    fn of(tally: &ExchangeTally) -> Self {
        Self {
            pages: tally.pages,
            refused_pages: tally.refused,
            messages: tally.messages,
            bytes: tally.bytes,
            time_ns: tally.time.ns,
        }
    }
}

impl HostMetrics {
    pub(crate) fn of(remote: &Remote) -> Self {
        let RemoteTally { commands, notices, protect, revoke, waited, .. } = *remote.tally();
        let [to_device, to_host] = [remote.to_device(), remote.to_host()].map(NoticeMetrics::of);
        let [protect, revoke] = [&protect, &revoke].map(ExchangeMetrics::of);
        let sum = |notices: fn(&NoticeMetrics) -> u64, exchange: fn(&ExchangeMetrics) -> u64| {
            notices(&to_device) + notices(&to_host) + exchange(&protect) + exchange(&revoke)
        };
        Self {
            commands,
            messages: sum(|notices| notices.messages, |exchange| exchange.messages),
            bytes: sum(|notices| notices.bytes, |exchange| exchange.bytes),
            time_ns: sum(|notices| notices.time_ns, |exchange| exchange.time_ns),
            waited_ns: waited.ns,
            notices: NoticeKinds {
                cached: notices.cached,
                dirtied: notices.dirtied,
                evicted: notices.evicted,
                weights: notices.weights,
                used: notices.used,
            },
            protect_obsolete_pages: remote.tally().protect_obsolete_pages,
            grants_pages: remote.tally().grants,
            grants_used_pages: remote.tally().grants_used,
            to_device,
            to_host,
            protect,
            revoke,
        }
    }
}
