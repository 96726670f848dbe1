//! What host and device tell and ask each other across the link, and how it is counted.

use coflash_base::{Duration, Lpn};
use coflash_ftl::Weight;

/// What the host tells the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToDevice {
    /// The cache holds the same data; under grants, and goes on doing so.
    Cached(Lpn),
    /// The cache holds newer data.
    Dirtied(Lpn),
    /// The cache held the same data, and holds it no more.
    Evicted(Lpn),
    /// What a marked page counts in a victim's cost from now on.
    Weight(Weight),
}

/// What the device tells the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToHost {
    /// GC has dropped a page that was granted.
    Used(Lpn),
}

/// Notices that have arrived, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoticeTally {
    /// [`ToDevice::Cached`]
    pub cached: u64,
    /// [`ToDevice::Dirtied`]
    pub dirtied: u64,
    /// [`ToDevice::Evicted`]
    pub evicted: u64,
    /// [`ToDevice::Weight`]
    pub weights: u64,
    /// [`ToHost::Used`]
    pub used: u64,
}

/// Questions that were answered: a message there and one back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeTally {
    /// Pages asked about.
    pub pages: u64,
    /// Of those, pages that were refused: the device does not drop the page, or has dropped it before.
    pub refused: u64,
    /// Messages, both ways.
    pub messages: u64,
    /// Bytes of these, and of questions that went with a command.
    pub bytes: u64,
    /// From question to answer.
    pub time: Duration,
}

/// What cooperation across the link has cost so far, beside the notices in its [lanes](crate::LaneTally).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteTally {
    /// Commands: reads, writes and trims that crossed the link.
    pub commands: u64,
    /// Notices that have arrived, by kind.
    pub notices: NoticeTally,
    /// May these pages be dropped? The device asks, and the erase waits.
    pub protect: ExchangeTally,
    /// Of the pages that were not refused, those of which the host holds newer data.
    pub protect_obsolete_pages: u64,
    /// Pages granted.
    pub grants: u64,
    /// Granted pages that GC dropped.
    pub grants_used: u64,
    /// Is this grant unused? The host asks, before a copy may go.
    pub revoke: ExchangeTally,
    /// What answers waited for notices and revocations.
    pub waited: Duration,
}
