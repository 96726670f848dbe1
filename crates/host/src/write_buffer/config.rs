//! What a scenario says of the host's write buffer.

use crate::config::Notices;
use coflash_base::{Bytes, Duration, Share};
use coflash_cache::EvictionConfig;
use coflash_controller::CacheSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host's write buffer: the page cache of a file system, volatile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WriteBufferConfig {
    /// Its size: bytes ("256MiB") or a share of the logical space ("1%"); "0B" for none.
    pub size: CacheSize,
    /// Which page leaves when it is full.
    pub policy: EvictionConfig,
    /// Reading a page from it.
    pub page_read: Duration,
    /// Writing a page into it.
    pub page_write: Duration,
    /// Whether a page that is read from the device enters it.
    pub read_allocate: bool,
    /// A page that has been dirty for so long is written in the background, and stays as a clean copy.
    pub dirty_age_max: Duration,
    /// While more than this share of the buffer is dirty, pages are written in the background, the oldest first.
    pub dirty_share_max: Share,
    /// How the device is told that a page became dirty: with the next command, in batches, or at once.
    pub notices: Notices,
}

impl WriteBufferConfig {
    /// Whether it is what a scenario that does not speak of it gets. Then it is left out of a scenario, as it is of those
    /// older than the buffer, which keep their hashes.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there is a buffer.
    #[must_use]
    pub fn exists(&self) -> bool {
        !matches!(self.size, CacheSize::Bytes(Bytes::ZERO) | CacheSize::Share(Share::ZERO))
    }
}

impl Default for WriteBufferConfig {
    fn default() -> Self {
        Self {
            size: CacheSize::Bytes(Bytes::ZERO),
            policy: EvictionConfig::default(),
            page_read: Duration { ns: 20 },
            page_write: Duration { ns: 20 },
            read_allocate: false,
            dirty_age_max: Duration { ns: 30_000_000_000 },
            dirty_share_max: Share::percent(100),
            notices: Notices::default(),
        }
    }
}
