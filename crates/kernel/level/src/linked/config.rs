//! The link, and the host's side of it, in a scenario.

use super::cost::LinkCost;
use coflash_base::{Bytes, Duration, Misfit, Save, Share};
use std::num::NonZeroU32;

coflash_base::config! {
    /// Whether requests share the link.
    pub enum Sharing, default Private {
        /// Each request has a link of its own, and never waits for it: together they may have any bandwidth.
        Private,
        /// In each direction, the data of one request crosses after that of another, in the order in which requests are issued. So
        /// together they have the bandwidth of the link.
        Shared,
    }

    /// The link between host and device: a fixed cost per command and a cost per byte.
    ///
    /// The data of a write crosses before its first page begins, the data of a read after its last page.
    pub struct LinkConfig {
        /// Number of lanes.
        pub lanes: u32 = 1,
        /// Raw rate of one lane in bytes per second, before coding; "0B" for no cost per byte.
        pub lane_rate: Bytes = Bytes::ZERO,
        /// The share of the raw rate that carries data; the rest is coding overhead.
        pub coding: Share = Share::ONE,
        /// Fixed cost of a command, whatever its size.
        pub per_command: Duration = Duration::ZERO,
        /// Whether requests share the link.
        pub sharing: Sharing,
    }
}

impl LinkConfig {
    /// Check the values.
    ///
    /// # Errors
    /// The first value that is not allowed, with its key in the scenario.
    pub fn check(&self) -> Result<(), Misfit> {
        if self.lanes == 0 {
            return Err(Misfit::out_of_range("link.lanes", 0, "at least 1"));
        }
        if self.coding == Share::ZERO {
            return Err(Misfit::out_of_range("link.coding", self.coding, "more than 0% and at most 100%"));
        }
        Ok(())
    }

    /// The cost of crossing the link.
    #[must_use]
    pub fn cost(&self) -> LinkCost {
        let rate = f64::from(self.lanes) * self.lane_rate.count as f64 * self.coding.as_f64();
        let mut cost = LinkCost::new(self.per_command, if rate > 0.0 { 1e9 / rate } else { 0.0 });
        cost.is_shared = self.sharing == Sharing::Shared;
        cost
    }
}

coflash_base::choice! {
    /// The way in which notices cross the link.
    #[derive(Copy, Eq, Save)]
    pub enum Notices {
        /// Each is a message; the host waits until it has arrived.
        Each,
        /// Several share a message, within `max` and `wait`; the host does not wait.
        Batched {
            /// The number of notices that makes a message full.
            #[serde(default = "batch_max")]
            max: NonZeroU32,
            /// The longest wait of the first notice of a message.
            #[serde(default = "batch_wait")]
            wait: Duration,
        },
        /// With commands that cross anyway, within `bytes_max`: bytes, but no message.
        Piggybacked {
            /// The most bytes that a command takes along; one notice is always allowed.
            #[serde(default = "piggyback_max")]
            bytes_max: Bytes,
        },
    }
}

fn batch_max() -> NonZeroU32 {
    NonZeroU32::new(32).expect("not zero")
}

fn batch_wait() -> Duration {
    Duration { ns: 1_000_000 }
}

fn piggyback_max() -> Bytes {
    Bytes { count: 64 }
}

impl Default for Notices {
    fn default() -> Self {
        Self::Piggybacked { bytes_max: piggyback_max() }
    }
}

coflash_base::choice! {
    /// How the host protects a page that GC wants to drop, before the erase.
    #[derive(Copy, Eq)]
    pub enum Protecting {
        /// The device asks the host before the erase, which waits for the answer.
        Request {
            /// The time that the host takes to answer.
            #[serde(default = "answer_time")]
            answer_time: Duration,
        },
        /// The host promises in advance to keep certain pages until it revokes the promise. The device sends a notice for
        /// each promise that it uses.
        Grants {
            /// The largest share of the cache that is granted at any time.
            #[serde(default = "granted_share")]
            share: Share,
        },
    }
}

fn answer_time() -> Duration {
    Duration { ns: 5_000 }
}

fn granted_share() -> Share {
    Share::percent(50)
}

impl Default for Protecting {
    fn default() -> Self {
        Self::Request { answer_time: answer_time() }
    }
}

coflash_base::config! {
    /// The host's side of the link, when a cache or write buffer is in the host.
    pub struct HostConfig {
        /// The way in which notices cross the link.
        pub notices: Notices,
        /// Size of a notice.
        pub notice_size: Bytes = Bytes { count: 8 },
        /// How the host protects a page that GC wants to drop, before the erase.
        pub protecting: Protecting,
        /// The largest random delay of a message. With it, one message may overtake another.
        pub jitter: Duration = Duration::ZERO,
    }
}

/// The largest notice: some hundred thousand addresses.
const NOTICE_MAX: Bytes = Bytes { count: 1 << 20 };

impl HostConfig {
    /// Check the values.
    ///
    /// # Errors
    /// The first value that is not allowed, with its key in the scenario.
    pub fn check(&self) -> Result<(), Misfit> {
        if self.notice_size > NOTICE_MAX {
            let allowed = format!("at most {NOTICE_MAX}");
            return Err(Misfit::out_of_range("host.notice_size", self.notice_size, &allowed));
        }
        Ok(())
    }

    /// The same for a write buffer. It is volatile: nothing is protected or granted.
    #[must_use]
    pub fn under_buffer(&self) -> Self {
        Self { protecting: Protecting::default(), ..self.clone() }
    }
}
