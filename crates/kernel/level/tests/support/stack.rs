//! The stacks of scenarios, as one type, and a look into them.

use super::setup::Setup;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Time};
use coflash_cache::Cache;
use coflash_ftl::{Ftl, GcHook, Io, PageRead, PageWrite};
use coflash_level::{
    Buffered, BufferedStack, Command, Cooperates, Device, Firmware, FlashStack, HostCacheStack, Level,
    Linked, RequestLink, Restart, for_flash_stack,
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

macro_rules! look_below {
    ($level:ty, $below:ident, $below_mut:ident) => {
        impl<L: Look> Look for $level {
            fn flash(&self) -> &Ftl {
                self.$below().flash()
            }

            fn flash_mut(&mut self) -> &mut Ftl {
                self.$below_mut().flash_mut()
            }

            fn caches(&self) -> Vec<(Memory, &Cache)> {
                self.$below().caches()
            }
        }
    };
}

look_below!(Firmware<L>, under, under_mut);
look_below!(RequestLink<L>, below, below_mut);
look_below!(Linked<L>, below, below_mut);

impl Look for HostCacheStack {
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

impl<L: Look + Cooperates> Look for Buffered<L> {
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

impl<P: Look, C: Look> Look for FlashStack<P, C> {
    fn flash(&self) -> &Ftl {
        for_flash_stack!(self, level => level.flash())
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        for_flash_stack!(self, level => level.flash_mut())
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        for_flash_stack!(self, level => level.caches())
    }
}

/// A stack of a scenario, with or without the host's write buffer.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "a test has a few")]
pub(crate) enum Stack {
    Direct(FlashStack),
    Buffered(BufferedStack),
}

macro_rules! stack_dispatch {
    ($self:expr, $level:pat => $call:expr) => {
        match $self {
            Stack::Direct($level) => $call,
            Stack::Buffered($level) => $call,
        }
    };
}

impl Stack {
    /// Creates the stack of a setup.
    pub(crate) fn new(setup: &Setup) -> Self {
        let levels = setup.levels();
        match levels.buffer() {
            Some(buffer) => Self::Buffered(levels.buffered_over(setup.flash(), &buffer)),
            None => Self::Direct(levels.over(setup.flash())),
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
    coflash_level::forward_restart!(stack_dispatch);
}
