//! Construction of the three kinds of cache: in the device, in the host, and the host's write buffer.

use super::ageing::Ageing;
use super::consistency::Consistency;
use super::{Announces, CacheCounters, DropCounters, HOST_BUFFER, Options, WriteBack, WriteBufferConfig};
use crate::config::{CacheConfig, Eviction, slots};
use crate::cooperates::{Cooperates, Message};
use crate::cooperation::{Cooperation, Scheme, Setting};
use crate::nvm::{Layout, Metadata};
use coflash_base::{Duration, Misfit, Time};
use coflash_cache::{Cache, EvictionConfig};
use coflash_media::{Cause, Memory};

impl<L: Cooperates> WriteBack<L> {
    /// Create an empty cache with its scheme over a level.
    #[must_use]
    pub fn with_scheme(
        mut below: L,
        config: &CacheConfig,
        setting: &Setting,
        mut scheme: Cooperation,
    ) -> Self {
        scheme.attach(below.flash());
        let options = Options {
            setting: *setting,
            read_allocate: config.read_allocate,
            eviction: config.eviction,
            cause: Cause::Evict,
            section: &CacheCounters::INFO,
        };
        if scheme.knows().host {
            below.send(Message::TrackHost);
        }
        let consistency = match &scheme {
            Cooperation::CdmConsistent(scheme) => Some(Consistency::new(&scheme.0, setting.slots)),
            _ => None,
        };
        let layout = Layout {
            slots: if config.volatile { 0 } else { setting.slots },
            deletions: consistency.as_ref().map_or(0, |consistency| consistency.free_entries.len() as u32),
            logical_pages: setting.logical_pages,
        };
        let metadata = Metadata::new(layout, setting.grants, config.fence);
        let cache = Self::with(below, scheme, &config.policy, options, None, metadata);
        Self { own: super::Own { consistency, ..cache.own }, ..cache }
    }
}

impl<L: Cooperates> WriteBack<L, Announces> {
    /// Create the host's write buffer, empty, over a device across a link.
    pub(crate) fn in_host(below: L, config: &WriteBufferConfig, setting: &Setting) -> Self {
        let options = Options {
            setting: *setting,
            read_allocate: config.read_allocate,
            eviction: Eviction::Foreground,
            cause: Cause::Host,
            section: &HOST_BUFFER,
        };
        let dirty_max = config.dirty_share_max.part_of(setting.slots.into()) as u32;
        let ageing = Some(Ageing::new(setting.slots, config.dirty_age_max, dirty_max));
        let metadata = Metadata::new(Layout::default(), false, Duration::ZERO);
        Self::with(below, Announces, &config.policy, options, ageing, metadata)
    }
}

impl<L: Cooperates, S: Scheme> WriteBack<L, S> {
    fn with(
        mut below: L,
        mut scheme: S,
        policy: &EvictionConfig,
        options: Options,
        ageing: Option<Ageing>,
        metadata: Metadata,
    ) -> Self {
        let setting = &options.setting;
        let mut cache = Cache::new(policy, setting.slots, setting.logical_pages as usize);
        if below.flash().takes_hints() {
            cache.keep_placements();
        }
        below.send(Message::Weigh(scheme.weights(&cache)));
        let counters = CacheCounters { capacity_pages: setting.slots, ..CacheCounters::default() };
        let own = super::Own {
            cache,
            knows_host: scheme.knows().host,
            passed: false,
            scheme,
            metadata,
            options,
            ageing,
            consistency: None,
            now: Time::ZERO,
            serving: None,
            counters,
            drops: DropCounters::default(),
        };
        Self { below, own }
    }
}

impl WriteBufferConfig {
    /// The setting of the buffer.
    ///
    /// # Errors
    /// A value out of range.
    pub(crate) fn setting(&self, page_bytes: u64, logical_pages: u32) -> Result<Setting, Misfit> {
        self.policy.check().map_err(|misfit| misfit.within("host_buffer.policy"))?;
        let slots = slots(self.size, "host_buffer.size", page_bytes, logical_pages)?;
        let (memory, is_volatile, write_allocate) = (Memory::HostBuffer, true, true);
        Ok(Setting { slots, page_bytes, logical_pages, memory, is_volatile, write_allocate, grants: false })
    }
}

impl CacheConfig {
    /// The environment of the cooperation scheme.
    ///
    /// # Errors
    /// The cache is larger than the device.
    pub(crate) fn setting(
        &self,
        memory: Memory,
        page_bytes: u64,
        logical_pages: u32,
        grants: bool,
    ) -> Result<Setting, Misfit> {
        self.policy.check().map_err(|misfit| misfit.within("cache.policy"))?;
        Ok(Setting {
            slots: slots(self.size, "cache.size", page_bytes, logical_pages)?,
            page_bytes,
            logical_pages,
            memory,
            is_volatile: self.volatile,
            write_allocate: self.write_allocate,
            grants,
        })
    }
}
