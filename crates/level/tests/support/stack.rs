//! Every shape of stack that a scenario can name, as one type.

use super::setup::Setup;
use coflash_base::measure::Report;
use coflash_base::{Duration, Lpn, Time};
use coflash_cache::Cache;
use coflash_ftl::{Ftl, GcHook, Io, PageRead, PageWrite};
use coflash_level::{
    Announces, CacheLevel, Command, Cooperates, Device, Level, Linked, Placement, WriteBack,
};
use coflash_media::{DieId, Media, Memory};

/// A look into levels, from the top down.
pub(crate) trait Look {
    fn flash(&self) -> &Ftl;
    fn flash_mut(&mut self) -> &mut Ftl;
    fn caches(&self) -> Vec<(Memory, &Cache)>;
}

impl Look for Ftl {
    fn flash(&self) -> &Ftl {
        self
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        Vec::new()
    }
}

impl Look for Device {
    fn flash(&self) -> &Ftl {
        self.below()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.below_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        vec![(Memory::Device, self.cache())]
    }
}

impl<L: Look> Look for Linked<L> {
    fn flash(&self) -> &Ftl {
        self.below().flash()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.below_mut().flash_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        self.below().caches()
    }
}

impl Look for CacheLevel<Linked<Ftl>> {
    fn flash(&self) -> &Ftl {
        self.below().flash()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.below_mut().flash_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        vec![(Memory::Host, self.cache())]
    }
}

impl<L: Look + Cooperates> Look for WriteBack<L, Announces> {
    fn flash(&self) -> &Ftl {
        self.below().flash()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.below_mut().flash_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        [vec![(Memory::HostBuffer, self.cache())], self.below().caches()].concat()
    }
}

/// A stack.
#[derive(Clone)]
pub(crate) enum Stack {
    Plain(Linked<Device>),
    BufferedPlain(WriteBack<Linked<Device>, Announces>),
    HostCache(CacheLevel<Linked<Ftl>>),
    BufferedHostCache(WriteBack<CacheLevel<Linked<Ftl>>, Announces>),
}

macro_rules! stack_dispatch {
    ($self:expr, $level:pat => $call:expr) => {
        match $self {
            Stack::Plain($level) => $call,
            Stack::BufferedPlain($level) => $call,
            Stack::HostCache($level) => $call,
            Stack::BufferedHostCache($level) => $call,
        }
    };
}

impl Stack {
    /// Creates the stack of a setup.
    pub(crate) fn new(setup: &Setup) -> Self {
        match (setup.cache.placement, setup.buffer.exists()) {
            (Placement::InStorage, false) => {
                Self::Plain(Linked::new(setup.device(), setup.page_bytes(), &setup.cost))
            }
            (Placement::InStorage, true) => {
                let host = setup.buffer_host();
                Self::BufferedPlain(
                    setup.buffered(|slots| setup.linked(setup.device(), Memory::HostBuffer, slots, &host)),
                )
            }
            (Placement::Host, false) => Self::HostCache(setup.host_cache()),
            (Placement::Host, true) => Self::BufferedHostCache(setup.buffered(|_| setup.host_cache())),
        }
    }
}

impl Look for Stack {
    fn flash(&self) -> &Ftl {
        stack_dispatch!(self, level => level.flash())
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        stack_dispatch!(self, level => level.flash_mut())
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        stack_dispatch!(self, level => level.caches())
    }
}

impl<M: Media> Level<M> for Stack {
    coflash_base::forward_to_variant! { stack_dispatch as Level<M>;
        fn logical_pages(&self) -> u32;
        fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn next_due(&self) -> Option<Time>;
        fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When;
        fn read<H: GcHook>(&mut self, page: PageRead, after: M::When, io: &mut Io<'_, M, H>) -> Result<Option<M::When>, M::Error>;
        fn write<H: GcHook>(&mut self, page: PageWrite, after: M::When, io: &mut Io<'_, M, H>) -> Result<M::When, M::Error>;
        fn trim<H: GcHook>(&mut self, lpn: Lpn, after: M::When, io: &mut Io<'_, M, H>) -> Result<M::When, M::Error>;
        fn flush<H: GcHook>(&mut self, after: M::When, io: &mut Io<'_, M, H>, parts: &mut Vec<M::When>) -> Result<(), M::Error>;
        fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error>;
        fn told<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn has_idle_work(&self, die: DieId) -> bool;
        fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error>;
        fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn report(&self, report: &mut Report);
        fn erase_counts(&self) -> Vec<u32>;
        fn invalid_pages(&self) -> Vec<u32>;
        fn heap_bytes(&self) -> usize;
        fn assert_invariants(&self);
    }
}
