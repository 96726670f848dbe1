//! The host's write buffer: its part of a scenario, and its notices to the device (ShadowGC, DATE 2018).
//!
//! **A flush is a promise.** All dirty pages are written to the device, then the device is flushed. This replaces the
//! copies that the device has discarded by newer data. A flush concerns the whole device: a block trace knows no files,
//! so an fsync of one file is a flush of all.

use crate::cooperates::{Cached, Cooperates, Message};
use crate::cooperation::{Event, Scheme};
use coflash_base::measure::Report;
use coflash_base::{Amount, Bytes, Duration, Lpn, Save, Share};
use coflash_cache::{Cache, EvictionConfig};
use coflash_ftl::{Decision, Ftl, Marks};
use coflash_media::CacheTiming;

coflash_base::config! {
    /// The host's write buffer: the volatile page cache of a file system.
    pub struct WriteBufferConfig {
        /// Size: bytes ("256MiB") or a share of the logical space ("1%"); "0B" for no buffer.
        pub size: Amount = Amount::Bytes(Bytes::ZERO),
        /// The eviction policy.
        pub policy: EvictionConfig,
        /// Time to read a page from the buffer.
        pub page_read: Duration = Duration { ns: 20 },
        /// Time to write a page to the buffer.
        pub page_write: Duration = Duration { ns: 20 },
        /// Whether a page read from the device enters the buffer.
        pub read_allocate: bool = false,
        /// The longest time that a page stays dirty. Then it is written in the background, and stays as a clean copy.
        pub dirty_age_max: Duration = Duration { ns: 30_000_000_000 },
        /// The share of the buffer that may be dirty. Above it, pages are written in the background, the oldest first.
        pub dirty_share_max: Share = Share::percent(100),
    }
}

impl WriteBufferConfig {
    /// Whether there is a buffer.
    #[must_use]
    pub fn exists(&self) -> bool {
        !matches!(self.size, Amount::Bytes(Bytes::ZERO) | Amount::Share(Share::ZERO))
    }

    /// The cost of an access.
    #[must_use]
    pub fn timing(&self) -> CacheTiming {
        CacheTiming { read: self.page_read, write: self.page_write }
    }
}

/// Announces each page that becomes dirty in the host's buffer to the device below. The scheme of the device uses this.
#[derive(Clone, Copy, Debug, Save)]
pub struct Announces;

impl Scheme for Announces {
    #[inline(always)]
    fn decide(&mut self, _: Lpn, _: Marks, _: &Cache) -> Decision {
        Decision::COPY
    }

    #[inline(always)]
    fn happened<B: Cooperates>(&mut self, event: Event, page: Cached, _: &mut Cache, below: &mut B) {
        if event == Event::Written {
            below.send(Message::Announce(page));
        }
    }

    fn report(&self, _: &mut Report) {}

    fn assert_invariants(&self, _: &Cache, _: &Ftl) {}
}
