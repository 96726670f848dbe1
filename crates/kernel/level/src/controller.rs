//! The controller of the device in a scenario: the time of its firmware, and its write buffer; see [`Port`](crate::Port).

use crate::level::{Command, Crossing};
use coflash_base::{Bytes, Duration, Misfit, Op, Save};
use std::num::NonZeroU32;

coflash_base::config! {
    /// The controller of the device: times of its firmware, and a write buffer. By default it takes no time.
    #[derive(Save)]
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
}

impl ControllerConfig {
    /// The firmware time of a command.
    pub(crate) fn time(&self, command: &Command) -> Duration {
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
