//! The cache in a scenario.

use coflash_base::{Amount, Bytes, Duration, Misfit};
use coflash_cache::EvictionConfig;
use coflash_media::CacheTiming;

/// The slots of a cache of the given size for a device of `logical_pages`; `key` is the size's key in the scenario.
///
/// # Errors
/// More slots than the device has pages.
pub(crate) fn slots(size: Amount, key: &str, page_bytes: u64, logical_pages: u32) -> Result<u32, Misfit> {
    let slots = size.pages(page_bytes, logical_pages.into());
    if slots == 0 && !size.is_zero() {
        return Err(Misfit::new(key, format!("{size} holds no page of {page_bytes} bytes")));
    }
    u32::try_from(slots).ok().filter(|&slots| slots <= logical_pages).ok_or_else(|| {
        let problem = format!("{size} is {slots} pages, more than the {logical_pages} of the device");
        Misfit::new(key, problem)
    })
}

coflash_base::config! {
    /// Whether a write that needs a slot waits until the evicted page is in flash.
    pub enum Eviction, default Foreground {
        /// The write waits: the evicted page is in flash before its slot is reused.
        Foreground,
        /// The write does not wait: the controller holds the evicted page elsewhere meanwhile. The die is busy all the
        /// same.
        Background,
    }

    /// The place of the cache: in the device or in the host.
    pub enum Placement, default InStorage {
        /// In the device. Cache and FTL share one controller and cooperate at no cost.
        InStorage,
        /// In the host. Accesses that miss the cache cross the link, and so do all messages between cache and flash; see
        /// `[host]`. Not with schemes for write buffers.
        Host,
    }

    /// A cache of page-sized slots: NVM or, as a write buffer, DRAM.
    pub struct CacheConfig {
        /// Size: bytes ("64MiB") or a share of the logical space ("5%"); "0B" for no cache.
        pub size: Amount = Amount::Bytes(Bytes::ZERO),
        /// The eviction policy.
        pub policy: EvictionConfig,
        /// Whether a restart loses its content. Then a flush writes every dirty page to flash, and waits for that.
        pub volatile: bool = false,
        /// Time to read a page from the cache.
        pub page_read: Duration = Duration { ns: 1_000 },
        /// Time to write a page to the cache.
        pub page_write: Duration = Duration { ns: 1_000 },
        /// Time of a fence, after which what was stored in non-volatile memory is durable. A request waits for the fences that
        /// it takes, those of GC on its behalf included.
        pub fence: Duration = Duration::ZERO,
        /// Whether a page read from flash enters the cache.
        pub read_allocate: bool = true,
        /// Whether a page written by the host enters the cache.
        pub write_allocate: bool = true,
        /// Whether a write that needs a slot waits until the evicted page is in flash.
        pub eviction: Eviction,
        /// The place of the cache: in the device or in the host.
        pub placement: Placement,
    }
}

impl CacheConfig {
    /// The cost of an access.
    #[must_use]
    pub fn timing(&self) -> CacheTiming {
        CacheTiming { read: self.page_read, write: self.page_write }
    }
}
