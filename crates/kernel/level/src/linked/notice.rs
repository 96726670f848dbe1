//! Notices and questions across the link, and their counters. The notices to the device are
//! [messages](crate::Message) of the cache.

use coflash_base::{Lpn, Save};

/// A notice from the device to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(super) enum ToHost {
    /// GC has dropped a granted page.
    Used(Lpn),
}

coflash_base::measures! {
    /// Notices that have arrived, by kind. All but the last are from the host to the device.
    pub struct NoticeKinds in "host.notices", "Notices by kind" {
        /// The cache holds the same data as flash.
        cached: u64, "notices: cached", untabled;
        /// The cache holds newer data.
        dirtied: u64, "notices: dirtied", untabled;
        /// The cache no longer holds the same data: it evicted the copy.
        evicted: u64, "notices: evicted", untabled;
        /// The write buffer holds newer data.
        announced: u64, "notices: dirty in the write buffer", untabled;
        /// The cost weights of removable pages have changed.
        weights: u64, "notices: weights", untabled;
        /// To the host: GC has dropped a granted page.
        used: u64, "notices: grant used", untabled;
    }
}

coflash_base::measures! {
    /// Questions of the device's GC under `request`: may these pages be dropped? The erase waits for the answer.
    pub struct ExchangeCounters in "host.protect", "Questions to the host" {
        /// Pages asked about.
        pages: u64, "pages asked about", pages, untabled;
        /// Pages for which the answer was no: the page is not dropped, or it had been dropped before.
        refused_pages: u64, "pages refused", pages, untabled;
        /// Messages: questions and answers.
        messages: u64, "messages of questions", cost, untabled;
        /// Bytes of these messages, and of questions that went with a command.
        bytes: u64, "bytes of questions", bytes, cost, untabled;
        /// Time from question to answer, summed.
        time_ns: u64, "time of questions", ns, cost, untabled;
    }
}

coflash_base::measures! {
    /// Traffic across the link when a cache or write buffer is in the host.
    pub struct LinkCounters in "host", "Between host and device" {
        /// Commands that crossed the link: read misses by request, evictions, writes past the cache, trims.
        commands: u64, "commands across the link";
        /// Other messages that crossed the link: notices, questions and answers.
        messages: u64, "messages between cache and flash", cost;
        /// Bytes of these messages, and of notices and questions that went with commands.
        bytes: u64, "bytes between cache and flash", bytes, cost;
        /// Time that these messages took.
        time_ns: u64, "time of messages on the link", ns, cost, untabled;
        /// Time that answers to requests waited for these messages.
        waited_ns: u64, "answers waited for these", ns, cost;
        /// Pages dropped on request although the host had newer data: its notice was still on its way.
        protect_obsolete_pages: u64, "dropped pages that were out of date", pages, untabled;
        /// Pages granted, under `grants`.
        grants_pages: u64, "pages granted", pages, untabled;
        /// Granted pages that GC dropped.
        grants_used_pages: u64, "granted pages dropped", pages, untabled;
    }
}
