//! A cache in the host: the write-back path that the device's own cache takes, over a device across the link.

use crate::config::HostConfig;
use crate::link::Toll;
use crate::notice::ToHost;
use crate::remote::{Copy, Remote};
use coflash_base::{Lpn, Seed, Time};
use coflash_cache::Cache;
use coflash_controller::{CacheConfig, CacheTally, CooperationConfig, Extent, WriteBack};
use coflash_flash::{DieId, Geometry, Media};
use coflash_ftl::{Advisor, Ftl};

/// A non-volatile cache in the host, the cooperation scheme, and the device below.
#[derive(Clone)]
pub struct HostCache {
    front: WriteBack,
    pub(crate) remote: Remote,
}

impl HostCache {
    /// An empty cache over a device, erased or warmed up. A command costs `per_command` and every byte `ns_per_byte`, those
    /// of notices too.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem).
    pub fn over(
        ftl: Ftl,
        geometry: &Geometry,
        cache: &CacheConfig,
        cooperation: &CooperationConfig,
        host: &HostConfig,
        toll: &Toll,
        seed: Seed,
    ) -> Result<Self, (&'static str, String)> {
        if !matches!(cooperation, CooperationConfig::None(_) | CooperationConfig::Cdm(_)) {
            let why = match cooperation {
                CooperationConfig::CdmConsistent(_) => {
                    "whose commits and recovery need the device's map and labels at hand"
                }
                _ => "which is for write buffers (host_buffer, and cache.volatile in the device)",
            };
            let problem = format!(
                "\"host\" was given with cooperation \"{}\", {why}; with the cache in the host, \"none\" and \"cdm\" are \
                 allowed",
                cooperation.name()
            );
            return Err(("cache.placement", problem));
        }
        if cache.volatile {
            let problem = "true was given with cache.placement \"host\", where a cache is non-volatile; a volatile one in \
                           the host is host_buffer";
            return Err(("cache.volatile", problem.to_owned()));
        }
        let page_bytes = geometry.page_size.count;
        let mut front = WriteBack::new(cache, cooperation, page_bytes, ftl.logical_pages())?;
        if let Some(refused) = front.refuses_link() {
            return Err(refused);
        }
        front.fit(&ftl);
        let slots = front.cache().capacity();
        Ok(Self { remote: Remote::new(ftl, slots, page_bytes, host, toll, seed), front })
    }

    /// The device, to look at.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// The device's FTL past cache and link, for warming up.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        self.remote.ftl_mut()
    }

    /// The cache, to look at.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        self.front.cache()
    }

    /// What the cache has done so far.
    #[must_use]
    pub fn tally(&self) -> &CacheTally {
        self.front.tally()
    }

    /// As [`WriteBack::sole_copies_peak`], as the host knows.
    #[must_use]
    pub fn sole_copies_peak(&self) -> Option<u32> {
        self.front.sole_copies_peak()
    }

    /// The bytes of state on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.front.cache().heap_bytes() + self.remote.heap_bytes()
    }

    /// Passes simulated time: what has arrived by then is heard. To be called before each request.
    #[inline]
    pub fn pass_time(&mut self, now: Time) {
        self.remote.pass_time(now);
        self.hear();
    }

    /// A request begins: its pages share commands, one to read and one to trim.
    #[inline]
    pub fn begin_request(&mut self) {
        self.remote.begin_request();
    }

    /// Reads a page. What is cached does not cross the link.
    #[inline]
    pub fn read<M: Media>(&mut self, lpn: Lpn, start: M::When, media: &mut M) -> M::When {
        let done = self.front.read(lpn, start, &mut self.remote, media);
        self.end(done, media)
    }

    /// Writes a page, or a part of it.
    #[inline]
    pub fn write<M: Media>(&mut self, lpn: Lpn, extent: Extent, start: M::When, media: &mut M) -> M::When {
        let done = self.front.write(lpn, extent, start, &mut self.remote, media);
        self.end(done, media)
    }

    /// Forgets a page, cached or not. It crosses the link as a command: nothing that comes later may find the page.
    pub fn trim<M: Media>(&mut self, lpn: Lpn, start: M::When, media: &mut M) -> M::When {
        self.front.trim(lpn, &mut self.remote);
        self.end(start, media)
    }

    /// Makes everything written so far durable: the cache is, and so is flash.
    pub fn flush<M: Media>(&mut self, start: M::When, _: &mut M) -> M::When {
        start
    }

    /// Lets a die that is idle at `start` do one step of GC; false where there is nothing to be done.
    pub fn work_idle<M: Media>(&mut self, die: DieId, start: M::When, media: &mut M) -> bool {
        self.remote.work_idle(die, start, &mut self.front.answers(), media)
    }

    /// The answer waits for what the host had to wait for on its behalf.
    #[inline]
    fn end<M: Media>(&mut self, done: M::When, media: &mut M) -> M::When {
        let [weight, ..] = self.front.answers().weights().0;
        self.remote.tell_weight(weight);
        self.hear();
        media.later(done, self.remote.take_owed())
    }

    /// Takes in what the device has told. A copy whose grant was used is the only one, and is believed to be in any doubt:
    /// to believe one too many costs a write, to believe one too few would cost data.
    #[inline]
    fn hear(&mut self) {
        while let Some(ToHost::Used(lpn)) = self.remote.heard() {
            if let Some(slot) = self.front.cache().lookup(lpn)
                && self.remote.copy(slot) == Copy::Granted
            {
                self.front.is_sole(slot);
                self.remote.is_sole(slot);
            }
        }
    }

    /// Panics unless cache, device and what they were told of each other agree. Notices may be under way. For tests.
    pub fn assert_invariants(&self) {
        self.cache().assert_invariants();
        self.remote.assert_invariants(self.cache());
    }

    /// Panics unless cache and flash agree as the scheme promises in one device.
    #[cfg(test)]
    pub(crate) fn assert_as_in_one_device(&self) {
        self.front.assert_invariants(self.remote.ftl());
    }
}
