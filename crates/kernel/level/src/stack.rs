//! The tower of levels, and how it is made: the only one. The simulator, served devices and the tests of this crate take theirs from here.

use crate::config::Placement;
use crate::controller::ControllerConfig;
use crate::cooperates::Cooperates;
use crate::cooperation::{CommitCounters, Cooperation, Setting};
use crate::device::DeviceConfig;
use crate::level::Level;
use crate::linked::{HostConfig, LinkCost, Linked, Protecting};
use crate::may::May;
use crate::nvm::Layout;
use crate::port::Port;
use crate::recovery_error::RecoveryError;
use crate::write_back::{Announces, AtRisk, WriteBack, WriteBufferConfig};
use coflash_base::{Lpn, Misfit};
use coflash_ftl::{CopyAll, DecisionRecorder, Ftl, GcHook, Io};
use coflash_media::{Contents, Media, Memory};

impl StackConfig<'_> {
    /// Put the port over a device. `link` is the cost of whole requests, if they cross there.
    pub fn port<L>(&self, device: May<WriteBack<L>, L>, link: Option<&LinkCost>) -> DevicePort<L> {
        Port::new(device, link, self.controller, self.page_bytes(), self.pages_per_unit)
    }
}

/// What a command meets first in a device.
pub type DevicePort<L> = Port<L>;

impl<L> MayLink<L> {
    /// What is behind the port of the device.
    pub fn device(&self) -> &May<WriteBack<L>, L> {
        self.below().device()
    }

    /// See [`device`](Self::device).
    pub fn device_mut(&mut self) -> &mut May<WriteBack<L>, L> {
        self.below_mut().device_mut()
    }
}

/// A link below a memory of the host, if there is one, over the port of the device.
pub type MayLink<L> = May<Linked<DevicePort<L>>, DevicePort<L>>;
/// A cache in the host, if there is one.
pub type MayCache<L> = May<WriteBack<MayLink<L>>, MayLink<L>>;
/// All levels over a lowest one: the host's write buffer is the uppermost, if there is one.
pub type Tower<L> = May<WriteBack<MayCache<L>, Announces>, MayCache<L>>;

/// The configuration of a tower.
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

/// The levels of a tower, checked, before they are put over flash.
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
        let buffer = self.buffer.exists().then(|| self.buffer.setting(self.page_bytes(), logical_pages));
        Ok(Levels { config: self, setting, scheme, buffer: buffer.transpose()? })
    }

    fn page_bytes(&self) -> u64 {
        self.device.geometry.page_size.count
    }
}

impl Levels<'_> {
    /// Put the levels over flash, erased or preconditioned.
    #[must_use]
    pub fn over(self, flash: Ftl) -> Tower<Ftl> {
        self.put(flash, true)
    }

    /// Put the levels over a flash cache in front of disks. An empty cache above it would cost an index of all its pages, and is left
    /// out.
    #[must_use]
    pub fn over_cache<L: Cooperates>(self, cache: L) -> Tower<L> {
        let has_slots = self.setting.slots > 0 || !matches!(self.scheme, Cooperation::None(_));
        self.put(cache, has_slots)
    }

    /// `has_cache`: whether a cache in the device is there, be it empty.
    fn put<L: Cooperates>(self, lowest: L, has_cache: bool) -> Tower<L> {
        let Self { config, setting, scheme, buffer } = self;
        let (device, in_host) = (&config.device, config.device.cache.placement == Placement::Host);
        let buffered = buffer.as_ref().map(|buffer| (buffer, config.host.under_buffer()));
        let (in_device, in_host) = if in_host { (None, Some(scheme)) } else { (Some(scheme), None) };
        let cache = in_device.filter(|_| has_cache);
        let cached = May::over(
            lowest,
            cache.map(|scheme| |below| WriteBack::with_scheme(below, device.cache, &setting, scheme)),
        );
        let linked = match (&in_host, &buffered) {
            (Some(_), _) => Some((&setting, config.host)),
            (None, Some((buffer, host))) => Some((*buffer, host)),
            (None, None) => None,
        };
        let port = config.port(cached, linked.is_none().then_some(&config.link));
        let link =
            linked.map(|(above, host)| |below| Linked::new(below, above, host, &config.link, device.seed));
        let host = May::over(
            May::over(port, link),
            in_host.map(|scheme| |below| WriteBack::with_scheme(below, device.cache, &setting, scheme)),
        );
        May::over(
            host,
            buffer.as_ref().map(|buffer| |below| WriteBack::in_host(below, config.buffer, buffer)),
        )
    }
}

/// Evaluate an expression for the cache of a tower, wherever it is; `None` without one.
macro_rules! for_cache {
    ($tower:expr, $cache:pat => $call:expr) => {
        match $tower.below() {
            May::Have($cache) => Some($call),
            May::Lack(link) => match link.device() {
                May::Have($cache) => Some($call),
                May::Lack(_) => None,
            },
        }
    };
}

/// Work on the uppermost level of a tower, by the type of that level: what it does for each page costs no choice.
pub trait OnLevel<M: Media> {
    /// What it returns.
    type Output;

    /// Do the work.
    fn on<L: Level<M>>(self, level: &mut L) -> Self::Output;
}

impl<L: Cooperates> Tower<L> {
    /// Do work on the uppermost level that is there.
    pub fn work<M: Media, W: OnLevel<M>>(&mut self, work: W) -> W::Output
    where
        L: Level<M>,
    {
        match self {
            May::Lack(May::Lack(May::Lack(port))) => {
                if port.is_open()
                    && let May::Have(cache) = port.device_mut()
                {
                    return work.on(cache);
                }
                work.on(port)
            }
            May::Lack(May::Have(cache)) => work.on(cache),
            May::Have(_) | May::Lack(_) => work.on(self),
        }
    }

    /// The lowest level.
    #[must_use]
    pub fn lowest(&self) -> &L {
        self.below().below().device().below()
    }

    /// See [`lowest`](Self::lowest).
    pub fn lowest_mut(&mut self) -> &mut L {
        self.below_mut().below_mut().device_mut().below_mut()
    }

    /// Whether the cache is in the host.
    #[must_use]
    pub fn has_host_cache(&self) -> bool {
        matches!(self.below(), May::Have(_))
    }

    /// The layout of the cache's metadata in non-volatile memory; `None` without a cache, which flash always has.
    #[must_use]
    pub fn layout(&self) -> Option<Layout> {
        for_cache!(self, cache => cache.layout())
    }

    /// What a power cut of the cache's side would lose, and the commits so far.
    #[must_use]
    pub fn at_risk(&self) -> (AtRisk, CommitCounters) {
        let at_risk = for_cache!(self, cache => (cache.at_risk(), cache.commits()));
        at_risk.unwrap_or((AtRisk::Nothing, CommitCounters::default()))
    }

    /// Whether a page has data, cached or in flash; true also for a page with an uncommitted trim.
    #[must_use]
    pub fn holds(&self, page: Lpn) -> bool {
        for_cache!(self, cache => cache.holds(page)).unwrap_or_else(|| self.flash().lookup(page).is_some())
    }

    /// Recover the cache, if there is one, and the lowest level after device and host have lost power: `recover` is told of which
    /// pages it must take nothing for current that it finds.
    ///
    /// # Errors
    /// Words that a cache of this size cannot have written, or a failed flash operation.
    pub fn recover_over<M: Media, H: GcHook>(
        &mut self,
        words: &[u64],
        io: &mut Io<'_, M, H>,
        recover: impl FnOnce(&mut L, &dyn Fn(Lpn) -> bool, &mut M) -> Result<(), RecoveryError<M::Error>>,
    ) -> Result<(), RecoveryError<M::Error>>
    where
        L: Level<M>,
    {
        match self.below_mut() {
            May::Have(cache) => {
                cache.recover_over(words, io.media, |link, is_above, media| {
                    recover(link.device_mut().below_mut(), is_above, media)
                })?;
                cache.connect(io).map_err(RecoveryError::Flash)
            }
            May::Lack(link) => match link.device_mut() {
                May::Have(cache) => cache.recover_over(words, io.media, recover),
                May::Lack(lowest) => recover(lowest, &|_| false, io.media),
            },
        }
    }
}

impl Tower<Ftl> {
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
        let mut tower = Self::erased(config)?;
        match tower.below_mut() {
            May::Have(cache) => {
                recover_flash(cache.below_mut().device_mut().below_mut(), contents, io)?;
                cache.recover_over(&contents.words, io.media, |_, _, _| Ok::<_, Misfit>(()))?;
                cache.connect(io).map_err(RecoveryError::Flash)?;
            }
            May::Lack(link) => match link.device_mut() {
                May::Have(cache) => {
                    // A label overrides flash: a page with a label is not mapped.
                    cache.recover_over(&contents.words, io.media, |flash, is_above, _| {
                        flash.recover(contents, |page| !is_above(page))
                    })?;
                    cache.finish_gc(io).map_err(RecoveryError::Flash)?;
                }
                May::Lack(flash) => recover_flash(flash, contents, io)?,
            },
        }
        Ok(tower)
    }

    /// Recover the device after it alone has lost power; the cache in the host has gone on. Messages on their way are
    /// lost.
    ///
    /// # Errors
    /// See [`recover`](Self::recover).
    ///
    /// # Panics
    /// The host has no cache.
    pub fn recover_device<M: Media, H: GcHook>(
        &mut self,
        config: &StackConfig<'_>,
        contents: &Contents,
        io: &mut Io<'_, M, H>,
    ) -> Result<(), RecoveryError<M::Error>> {
        let mut flash = config.device.erased_flash()?;
        flash.continue_counters(self.lowest());
        recover_flash(&mut flash, contents, io)?;
        let May::Have(cache) = self.below_mut() else { panic!("the host has lost its power, too") };
        let May::Have(link) = cache.below_mut() else { panic!("a cache in the host is over a link") };
        link.restart_device(config.port(May::Lack(flash), None));
        cache.connect(io).map_err(RecoveryError::Flash)
    }

    /// Report each decision of GC to a recorder from now on.
    pub fn record_in(&mut self, recorder: DecisionRecorder) {
        self.lowest_mut().record_in(recorder);
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
