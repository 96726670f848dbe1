//! What a scenario says of the host's side of the link.

use crate::link::Sending;
use coflash_base::{Bytes, Duration, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// How notices cross the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notices {
    /// A message each; the host waits until the device has it.
    Each,
    /// Several in a message, as `batch_max` and `batch_wait` say; nobody waits.
    Batched,
    /// With commands that cross anyway, as `piggyback_max` says: no message, but bytes.
    #[default]
    Piggybacked,
}

/// How a page that GC would drop is protected by the host before it is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protecting {
    /// The device asks the host before the erase, which waits for the answer.
    #[default]
    Request,
    /// The host promises ahead of time to keep certain pages until it has revoked that; the device tells it of each
    /// promise used.
    Grants,
}

/// The host's side of the link, where something is placed in the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// How notices cross the link.
    pub notices: Notices,
    /// Size of a notice on the link.
    pub notice_size: Bytes,
    /// Batched: notices that make a message full.
    pub batch_max: NonZeroU32,
    /// Batched: how long the first of them waits at most.
    pub batch_wait: Duration,
    /// Piggybacked: bytes that a command takes along at most; one notice always may.
    pub piggyback_max: Bytes,
    /// How a page that GC would drop is protected by the host before it is erased.
    pub protecting: Protecting,
    /// Grants: the share of the cache that may be granted at any time.
    pub grants: Share,
    /// Request: what the host takes to answer.
    pub answer_time: Duration,
    /// A message may take up to so much longer, by lot, so that one may overtake another.
    pub jitter: Duration,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            notices: Notices::default(),
            notice_size: Bytes { count: 8 },
            batch_max: NonZeroU32::new(32).expect("not zero"),
            batch_wait: Duration { ns: 1_000_000 },
            piggyback_max: Bytes { count: 64 },
            protecting: Protecting::default(),
            grants: Share::percent(50),
            answer_time: Duration { ns: 5_000 },
            jitter: Duration::ZERO,
        }
    }
}

impl HostConfig {
    /// Whether it is what a scenario that does not speak of it gets.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// How a lane of the link sends.
    #[must_use]
    pub fn sending(&self) -> Sending {
        match self.notices {
            Notices::Each => Sending::Each,
            Notices::Batched => Sending::Batched { notices_max: self.batch_max, wait_max: self.batch_wait },
            Notices::Piggybacked => {
                let notices = self.piggyback_max.count / self.notice_size.count.max(1);
                let notices = u32::try_from(notices).unwrap_or(u32::MAX);
                Sending::Piggybacked { notices_max: NonZeroU32::new(notices).unwrap_or(NonZeroU32::MIN) }
            }
        }
    }
}
