//! The stacks over flash, and over a flash cache before disks: which levels lie above which, and how they are made. This is the only list: the simulator, served
//! devices and the tests of this crate take their stacks from here.

use crate::config::Placement;
use crate::controller::{Controller, ControllerConfig};
use crate::cooperates::Cooperates;
use crate::cooperation::{CommitCounters, Cooperation, Setting};
use crate::device::{Device, DeviceConfig};
use crate::level::{Command, Level, Restart};
use crate::linked::{HostConfig, LinkCost, Linked, Protecting, RequestLink};
use crate::may_cache::MayCache;
use crate::nvm::Layout;
use crate::recovery_error::RecoveryError;
use crate::units::Units;
use crate::write_back::{Announces, AtRisk, WriteBack, WriteBufferConfig};
use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Misfit, Time};
use coflash_ftl::{CopyAll, DecisionRecorder, Ftl, GcHook, Io, PageRead, PageWrite};
use coflash_media::{Contents, DieId, Media, Memory};
use std::convert::identity;

/// Write the type of the firmware, what makes it and what is below it, from the list of its levels, the lowest first.
macro_rules! firmware {
    ($($level:ident: |$config:ident, $below:ident| $made:expr,)*) => {
        /// The firmware of the device, between the link and flash, or the device's cache.
        pub type Firmware<L> = firmware!(@over L; $($level)*);

        impl StackConfig<'_> {
            /// Put the firmware over flash, or over the device's cache.
            pub fn firmware<L>(&self, below: L) -> Firmware<L> {
                $(let below = { let ($config, $below) = (self, below); $made };)*
                below
            }
        }

        impl<L> Firmware<L> {
            /// The level below the firmware.
            #[must_use]
            pub fn under(&self) -> &L {
                let level = self;
                $(let level = firmware!(@below $level, level.below());)*
                level
            }

            /// Mutable access to the level below the firmware.
            pub fn under_mut(&mut self) -> &mut L {
                let level = self;
                $(let level = firmware!(@below $level, level.below_mut());)*
                level
            }
        }
    };
    (@over $below:ty;) => { $below };
    (@over $below:ty; $level:ident $($above:ident)*) => { firmware!(@over $level<$below>; $($above)*) };
    (@below $level:ident, $below:expr) => { $below };
}

firmware! {
    Units: |config, below| Units::new(below, config.pages_per_unit),
    Controller: |config, below| Controller::new(below, config.controller, config.page_bytes()),
}

/// A device behind a link that carries whole requests.
pub type PlainStack = RequestLink<Firmware<Device>>;
/// A cache in the host, above a link that carries pages.
pub type HostCacheStack = WriteBack<Linked<Firmware<Ftl>>>;
/// The host's write buffer above other levels.
pub type Buffered<L> = WriteBack<L, Announces>;
/// The stacks over flash with the host's write buffer above.
pub type BufferedStack = FlashStack<Buffered<Linked<Firmware<Device>>>, Buffered<HostCacheStack>>;

/// The stacks over a lowest level that is flash before disks: it has firmware of its own.
pub type DiskStack<L> = FlashStack<RequestLink<MayCache<L>>, WriteBack<Linked<L>>>;
/// The same with the host's write buffer above.
pub type BufferedDiskStack<L> = FlashStack<Buffered<Linked<MayCache<L>>>, Buffered<WriteBack<Linked<L>>>>;

/// The levels over flash, by the place of the cache.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "a run has a single stack")]
pub enum FlashStack<P = PlainStack, C = HostCacheStack> {
    /// The cache is in the device.
    Plain(P),
    /// The cache is in the host.
    HostCache(C),
}

/// Evaluate an expression for the variant of a [`FlashStack`].
#[macro_export]
macro_rules! for_flash_stack {
    ($stack:expr, $level:pat => $call:expr) => {
        match $stack {
            $crate::FlashStack::Plain($level) => $call,
            $crate::FlashStack::HostCache($level) => $call,
        }
    };
}

/// The configuration of a stack over flash.
#[derive(Clone, Debug)]
pub struct StackConfig<'a> {
    /// The flash, and the cache with its scheme.
    pub device: DeviceConfig<'a>,
    /// The pages of an indirection unit.
    pub pages_per_unit: u32,
    /// The firmware's time, and the controller's write buffer.
    pub controller: &'a ControllerConfig,
    /// The cost of the link.
    pub link: LinkCost,
    /// The messages of a cache in the host.
    pub host: &'a HostConfig,
    /// The host's write buffer.
    pub buffer: &'a WriteBufferConfig,
}

/// The levels of a stack, checked, before they are put over flash.
pub struct Levels<'a> {
    config: StackConfig<'a>,
    setting: Setting,
    scheme: Cooperation,
    /// The write buffer in the host, if there is one.
    buffer: Option<Setting>,
}

impl<'a> StackConfig<'a> {
    /// Check the levels over flash of this many logical pages.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn levels(self, logical_pages: u32) -> Result<Levels<'a>, Misfit> {
        let (memory, grants) = match self.device.cache.placement {
            Placement::InStorage => (Memory::Device, false),
            Placement::Host => (Memory::Host, matches!(self.host.protecting, Protecting::Grants { .. })),
        };
        let (setting, scheme) = self.device.cache(memory, logical_pages, grants)?;
        let buffer = self.buffer(logical_pages)?;
        Ok(Levels { config: self, setting, scheme, buffer })
    }

    /// Check the host's write buffer over a device of this many logical pages; `None` without one.
    ///
    /// # Errors
    /// See [`levels`](Self::levels).
    pub fn buffer(&self, logical_pages: u32) -> Result<Option<Setting>, Misfit> {
        let exists = self.buffer.exists();
        exists.then(|| self.buffer.setting(self.page_bytes(), logical_pages)).transpose()
    }

    /// Put a link that carries whole requests over a device.
    pub fn link<L>(&self, device: L) -> RequestLink<L> {
        RequestLink::new(device, &self.link)
    }

    /// Put the host's write buffer, and the link below it, over a device.
    pub fn buffered<L>(&self, device: L, buffer: &Setting) -> Buffered<Linked<L>>
    where
        Linked<L>: Cooperates,
    {
        let host = self.host.under_buffer();
        let link = Linked::new(device, buffer, &host, &self.link, self.device.seed);
        WriteBack::in_host(link, self.buffer, buffer)
    }

    fn page_bytes(&self) -> u64 {
        self.device.geometry.page_size.count
    }
}

impl Levels<'_> {
    /// The setting of the host's write buffer, if there is one.
    #[must_use]
    pub fn buffer(&self) -> Option<Setting> {
        self.buffer
    }

    /// Put the levels over flash, erased or preconditioned, without the host's write buffer.
    #[must_use]
    pub fn over(self, flash: Ftl) -> FlashStack {
        match self.config.device.cache.placement {
            Placement::InStorage => FlashStack::Plain(self.config.clone().link(self.device(flash))),
            Placement::Host => FlashStack::HostCache(self.host_cache(flash, identity)),
        }
    }

    /// Put the levels over flash, with the host's write buffer above.
    #[must_use]
    pub fn buffered_over(self, flash: Ftl, buffer: &Setting) -> BufferedStack {
        let config = self.config.clone();
        match config.device.cache.placement {
            Placement::InStorage => FlashStack::Plain(config.buffered(self.device(flash), buffer)),
            Placement::Host => FlashStack::HostCache(WriteBack::in_host(
                self.host_cache(flash, identity),
                config.buffer,
                buffer,
            )),
        }
    }

    /// Put the levels over flash before disks, without the host's write buffer.
    #[must_use]
    pub fn over_disks<L: Cooperates>(self, flash: L) -> DiskStack<L> {
        match self.config.device.cache.placement {
            Placement::InStorage => FlashStack::Plain(self.config.clone().link(self.may_cache(flash))),
            Placement::Host => FlashStack::HostCache(self.in_host(flash, identity)),
        }
    }

    /// Put the levels over flash before disks, with the host's write buffer above.
    #[must_use]
    pub fn buffered_over_disks<L: Cooperates>(self, flash: L, buffer: &Setting) -> BufferedDiskStack<L> {
        let config = self.config.clone();
        match config.device.cache.placement {
            Placement::InStorage => FlashStack::Plain(config.buffered(self.may_cache(flash), buffer)),
            Placement::Host => FlashStack::HostCache(WriteBack::in_host(
                self.in_host(flash, identity),
                config.buffer,
                buffer,
            )),
        }
    }

    fn may_cache<L: Cooperates>(self, flash: L) -> MayCache<L> {
        let Self { config, setting, scheme, .. } = self;
        if setting.slots == 0 && matches!(scheme, Cooperation::None(_)) {
            return MayCache::Bare(flash);
        }
        MayCache::Cached(WriteBack::with_scheme(flash, config.device.cache, &setting, scheme))
    }

    /// The levels of the device, below the link.
    fn device(self, flash: Ftl) -> Firmware<Device> {
        let Self { config, setting, scheme, .. } = self;
        config.firmware(WriteBack::with_scheme(flash, config.device.cache, &setting, scheme))
    }

    /// Put a cache in the host, and the link, over flash. `between` may put a level between the two.
    pub fn host_cache<L: Cooperates>(
        self,
        flash: Ftl,
        between: impl FnOnce(Linked<Firmware<Ftl>>) -> L,
    ) -> WriteBack<L> {
        let device = self.config.firmware(flash);
        self.in_host(device, between)
    }

    fn in_host<D: Cooperates, L: Cooperates>(
        self,
        device: D,
        between: impl FnOnce(Linked<D>) -> L,
    ) -> WriteBack<L> {
        let Self { config, setting, scheme, .. } = self;
        let link = Linked::new(device, &setting, config.host, &config.link, config.device.seed);
        WriteBack::with_scheme(between(link), config.device.cache, &setting, scheme)
    }
}

impl FlashStack {
    /// Create the levels over an erased device.
    ///
    /// # Errors
    /// The first part of the configuration that does not fit the others.
    pub fn erased(config: StackConfig<'_>) -> Result<Self, Misfit> {
        let flash = config.device.erased_flash()?;
        Ok(config.levels(flash.logical_pages())?.over(flash))
    }

    /// Recover the levels after device and host have lost power.
    ///
    /// # Errors
    /// A part that does not fit, contents that no stack of this configuration left, or a failed flash operation.
    pub fn recover<M: Media, H: GcHook>(
        config: StackConfig<'_>,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<Self, RecoveryError<M::Error>> {
        let mut stack = Self::erased(config)?;
        match &mut stack {
            Self::Plain(link) => link.below_mut().under_mut().restore(contents, io),
            Self::HostCache(cache) => cache.recover_both(contents, io),
        }?;
        Ok(stack)
    }

    /// The layout of the cache's metadata in non-volatile memory.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match self {
            Self::Plain(link) => link.below().under().layout(),
            Self::HostCache(cache) => cache.layout(),
        }
    }

    /// What a power cut of the cache's side would lose, and the commits so far.
    #[must_use]
    pub fn at_risk(&self) -> (AtRisk, CommitCounters) {
        match self {
            Self::Plain(link) => (link.below().under().at_risk(), link.below().under().commits()),
            Self::HostCache(cache) => (cache.at_risk(), cache.commits()),
        }
    }

    /// Report each decision of GC to a recorder from now on.
    pub fn record_in(&mut self, recorder: DecisionRecorder) {
        match self {
            Self::Plain(link) => link.below_mut().under_mut().below_mut().record_in(recorder),
            Self::HostCache(cache) => cache.below_mut().below_mut().under_mut().record_in(recorder),
        }
    }

    /// Whether a page has data, cached or in flash; true also for a page with an uncommitted trim.
    #[must_use]
    pub fn holds(&self, lpn: Lpn) -> bool {
        match self {
            Self::Plain(link) => link.below().under().holds(lpn),
            Self::HostCache(cache) => cache.holds(lpn),
        }
    }
}

impl<L: Cooperates> DiskStack<L> {
    /// The lowest level.
    #[must_use]
    pub fn lowest(&self) -> &L {
        match self {
            Self::Plain(link) => link.below().lowest(),
            Self::HostCache(cache) => cache.below().below(),
        }
    }

    /// See [`lowest`](Self::lowest).
    pub fn lowest_mut(&mut self) -> &mut L {
        match self {
            Self::Plain(link) => link.below_mut().lowest_mut(),
            Self::HostCache(cache) => cache.below_mut().below_mut(),
        }
    }
}

impl<L: Cooperates> BufferedDiskStack<L> {
    /// The lowest level.
    #[must_use]
    pub fn lowest(&self) -> &L {
        match self {
            Self::Plain(buffer) => buffer.below().below().lowest(),
            Self::HostCache(buffer) => buffer.below().below().below(),
        }
    }

    /// See [`lowest`](Self::lowest).
    pub fn lowest_mut(&mut self) -> &mut L {
        match self {
            Self::Plain(buffer) => buffer.below_mut().below_mut().lowest_mut(),
            Self::HostCache(buffer) => buffer.below_mut().below_mut().below_mut(),
        }
    }
}

impl<M: Media, P: Level<M>, C: Level<M>> Level<M> for FlashStack<P, C> {
    crate::forward_level!(for_flash_stack);
}

impl<M: Media, P: Restart<M>, C: Restart<M>> Restart<M> for FlashStack<P, C> {
    crate::forward_restart!(for_flash_stack);
}

/// A cache in the host, across a link.
impl HostCacheStack {
    /// Recover an empty cache over an erased device after both sides have started anew.
    ///
    /// # Errors
    /// Contents that no stack of this configuration left, or a failed flash operation.
    pub fn recover_both<M: Media, H: GcHook>(
        &mut self,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        recover_flash(self.below_mut().below_mut().under_mut(), contents, io)?;
        self.recover_host(&contents.words, io.media)?;
        self.connect(io).map_err(RecoveryError::Flash)
    }

    /// Recover the device after it alone has lost power; the cache in the host has gone on. Messages on their way are
    /// lost. `erased` is the erased device, below the link.
    ///
    /// # Errors
    /// See [`recover_both`](Self::recover_both).
    pub fn recover_device<M: Media, H: GcHook>(
        &mut self,
        mut erased: Firmware<Ftl>,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        let flash = erased.under_mut();
        flash.continue_counters(self.below().below().under());
        recover_flash(flash, contents, io)?;
        self.below_mut().restart_device(erased);
        self.connect(io).map_err(RecoveryError::Flash)
    }
}

/// Recover a device across a link. Whatever the host knows better follows in the handshake.
fn recover_flash<M: Media, H: GcHook>(
    flash: &mut Ftl,
    contents: &Contents,
    io: &mut Io<'_, M, H>,
) -> Result<(), RecoveryError<M::Error>> {
    flash.recover(contents, |_| true)?;
    // The host is not asked before the handshake: nothing is marked.
    let mut io = Io { media: &mut *io.media, hook: CopyAll, start: io.start };
    flash.finish_gc(&mut io).map_err(RecoveryError::Flash)
}
