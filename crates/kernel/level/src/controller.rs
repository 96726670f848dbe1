//! The controller's share of a request: the time of its firmware, and its write buffer.
//!
//! Commands occupy the cores of the firmware before their pages are served. A write is answered when all its
//! pages are in the buffer. A page leaves the buffer when it is in flash, so a full buffer slows the host
//! down to the pace of flash. This is not a cache: [`WriteBack`](crate::WriteBack) keeps pages as long as
//! possible, to absorb overwrites; here each page is programmed at once. GC does not use the buffer. Model
//! and terms follow NVMeVirt (Kim et al., FAST 2023).

use crate::cooperates::Cooperates;
use crate::level::{Command, Crossing, Level, Restart};
use crate::over::below_dispatch;
use coflash_base::measure::Report;
use coflash_base::{Ahead, Bytes, Duration, Lpn, Misfit, Op, Save, Time};
use coflash_ftl::{GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// The controller of the device: times of its firmware, and a write buffer. By default it takes no time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Save)]
#[serde(deny_unknown_fields, default)]
pub struct ControllerConfig {
    /// Number of commands that the firmware works on at the same time; others wait. Default: any number.
    pub cores: Option<NonZeroU32>,
    /// Firmware time of a read.
    pub read_command: Duration,
    /// Firmware time of each 4 KiB of a read.
    pub read_4k: Duration,
    /// Firmware time of a write, a trim or a flush.
    pub write_command: Duration,
    /// Firmware time of each 4 KiB of a write.
    pub write_4k: Duration,
    /// Size of the write buffer; "0B" for none. A write is answered when its pages are in the buffer. They stay there until
    /// they are programmed.
    pub write_buffer: Bytes,
    /// The maximum number of bytes per second that leave the write buffer, as under a power limit; "0B": only flash limits them.
    pub drain_per_s: Bytes,
    /// Whether a power cut loses the write buffer. Then a flush waits until its pages are in flash; otherwise
    /// (power-loss protection) it waits for nothing.
    pub volatile: bool,
}

impl ControllerConfig {
    /// The firmware time of a command.
    fn time(&self, command: &Command) -> Duration {
        let units = command.bytes.div_ceil(UNIT_BYTES);
        let (once, each_4k) = match command.op {
            Op::Read => (self.read_command, self.read_4k),
            Op::Write => (self.write_command, self.write_4k),
            Op::Trim | Op::Flush => (self.write_command, Duration::ZERO),
        };
        let once = if command.crossing == Crossing::Next { Duration::ZERO } else { once };
        once + each_4k * units
    }

    /// The pages of the write buffer, and the least time between two that leave it; `None` without a buffer.
    #[must_use]
    pub fn buffer(&self, page_bytes: u64) -> Option<(u32, Duration)> {
        let pages = u32::try_from(self.write_buffer.count / page_bytes).unwrap_or(u32::MAX);
        let drain_ns = (u128::from(page_bytes) * 1_000_000_000).checked_div(self.drain_per_s.count.into());
        let page_drain = Duration { ns: drain_ns.unwrap_or(0).try_into().unwrap_or(u64::MAX) };
        (pages > 0).then_some((pages, page_drain))
    }

    /// Check the values for pages of this size.
    ///
    /// # Errors
    /// The first value out of range, with its key in the scenario.
    pub fn check(&self, page_bytes: u64) -> Result<(), Misfit> {
        if let Some(cores) = self.cores.filter(|cores| cores.get() > CORES_MAX) {
            return Err(Misfit::out_of_range("controller.cores", cores, "from 1 to 4096"));
        }
        if self.write_buffer != Bytes::ZERO && self.write_buffer.count < page_bytes {
            let problem = format!("{} is less than a page of {page_bytes} B", self.write_buffer);
            return Err(Misfit::new("controller.write_buffer", problem));
        }
        for (key, given) in [("drain_per_s", self.drain_per_s != Bytes::ZERO), ("volatile", self.volatile)] {
            if given && self.write_buffer == Bytes::ZERO {
                let problem = "there is no buffer that it is for: set controller.write_buffer";
                return Err(Misfit::new(&format!("controller.{key}"), problem));
            }
        }
        Ok(())
    }
}

const UNIT_BYTES: u64 = 4096;
/// More cores than any controller has: the time of a command is linear in them.
const CORES_MAX: u32 = 4096;

/// A controller over a level.
#[derive(Clone, Save)]
pub struct Controller<L> {
    below: L,
    config: ControllerConfig,
    /// Whether its firmware takes time.
    takes_time: bool,
    has_buffer: bool,
    /// The time at which each core of the firmware becomes idle. Empty if there is no limit.
    idle_at: Vec<Time>,
}

impl<L> Controller<L> {
    /// Create an idle controller over a level with pages of this size.
    #[must_use]
    pub fn new(below: L, config: &ControllerConfig, page_bytes: u64) -> Self {
        let idle_at = vec![Time::ZERO; config.cores.map_or(0, NonZeroU32::get) as usize];
        let ControllerConfig { read_command, read_4k, write_command, write_4k, .. } = *config;
        let takes_time =
            [read_command, read_4k, write_command, write_4k].iter().any(|&time| time > Duration::ZERO);
        Self {
            below,
            takes_time,
            has_buffer: config.buffer(page_bytes).is_some(),
            config: config.clone(),
            idle_at,
        }
    }

    crate::over::level_over!();

    /// The firmware's delay of a command, from its arrival on.
    fn work(&mut self, command: &Command, now: Option<Time>) -> Duration {
        let time = self.config.time(command);
        let (Some(now), Some(core)) = (now, self.idle_at.iter_mut().min()) else { return time };
        *core = now.max(*core) + time;
        core.since(now)
    }
}

impl<M: Media, L: Level<M>> Level<M> for Controller<L> {
    #[inline(always)]
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When {
        if !self.takes_time {
            return self.below.begin(command, io);
        }
        let time = self.work(command, io.media.known(io.start));
        let start = io.media.later(io.start, time);
        self.below.begin(command, &mut Io { media: &mut *io.media, hook: &mut io.hook, start })
    }

    #[inline(always)]
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error> {
        if !self.has_buffer {
            return self.below.write(page, after, io);
        }
        let buffered = io.media.buffer(after);
        let programmed = self.below.write(page, buffered, io)?;
        io.media.unbuffer(programmed);
        Ok(buffered)
    }

    fn flush<H: GcHook>(
        &mut self,
        after: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error> {
        if self.config.volatile {
            io.media.await_programs(parts);
        }
        self.below.flush(after, io, parts)
    }

    crate::forward_level!(below_dispatch: read trim end time report numbers rest);
}

impl<M: Media, L: Restart<M>> Restart<M> for Controller<L> {
    crate::forward_restart!(below_dispatch);
}

/// A controller only adds time: it forwards messages.
impl<L: Cooperates> Cooperates for Controller<L> {
    crate::cooperates::forward_cooperates!(below_dispatch, lags: L::LAGS);
}
