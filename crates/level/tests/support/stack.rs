//! Every shape of stack that a scenario can name, as one type.

use super::setup::Setup;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_cache::Cache;
use coflash_ftl::{Ftl, GcHook, Io, PageRead, PageWrite};
use coflash_level::{
    Announces, CacheLevel, Command, Cooperates, Device, Level, Linked, LostPages, Placement, Restart,
    WriteBack,
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
    coflash_level::forward_level!(stack_dispatch);
}

impl<M: Media> Restart<M> for Stack {
    coflash_base::forward_to_variant! { stack_dispatch as Restart<M>;
        fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error>;
    }
}
