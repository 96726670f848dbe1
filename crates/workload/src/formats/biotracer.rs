//! The traces that BIOtracer recorded on a Nexus 5 phone.
//!
//! Addresses are sectors of 512 bytes. A request has four times, in seconds: when it was generated, taken up, submitted and
//! finished. It arrives when it was generated; but records stand in the order in which they were taken up, and while the
//! phone boots its clock is set, by years. So the order of taking up carries the clock: a step of a day or more in it (option
//! `clock_jump`), or a step back, is left out, and a request arrives as long before its being taken up as the two times say.

use super::text::{blank_field, decimal, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::Duration;

/// The reader of a BIOtracer trace.
pub(crate) struct BioTracer {
    jump_ns: u64,
    /// When the record before was taken up, as the file has it and on a clock that is never set.
    latest: Option<(u64, u64)>,
    jumps: u64,
}

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 24 * 3600 * SECOND_NS;

impl Format for BioTracer {
    const INFO: FormatInfo = FormatInfo {
        name: "biotracer",
        summary: "BIOtracer on a Nexus 5: sectors of 512 bytes, seconds by a clock that may be set meanwhile",
        source: "Zhou et al., I/O Characteristics of Smartphone Applications, IISWC 2015",
        record: "lba size_sectors size_bytes type t_generate t_process t_submit t_finish",
        extensions: &["log"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "t_generate", device: "device", offset: "lba", length: "size_bytes" };
    const CLOCK: Clock = Clock::Date;
    const SORT_WINDOW: Duration = Duration { ns: 60 * SECOND_NS };

    fn new(options: &TraceOptions) -> Self {
        Self { jump_ns: options.clock_jump.map_or(DAY_NS, |jump| jump.ns), latest: None, jumps: 0 }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let offset = units(blank_field(rest), SECTOR_BYTES, "lba")?;
        let sectors = whole(blank_field(rest), "size_sectors")?;
        let size = blank_field(rest);
        let length = whole(size, "size_bytes")?;
        if sectors.checked_mul(SECTOR_BYTES) != Some(length) {
            return Err(Fault::unexpected("size_bytes", size, "512 times size_sectors"));
        }
        // The lowest bit tells a write, the others whether it waited.
        let op = if whole(blank_field(rest), "type")? & 1 == 1 { Op::Write } else { Op::Read };
        let generate_ns = decimal(blank_field(rest), SECOND_NS, "t_generate")?;
        let process_ns = decimal(blank_field(rest), SECOND_NS, "t_process")?;
        decimal(blank_field(rest), SECOND_NS, "t_submit")?;
        decimal(blank_field(rest), SECOND_NS, "t_finish")?;
        nothing_more(rest, "t_finish", "eight")?;
        let waited_ns = process_ns.checked_sub(generate_ns).filter(|&waited| waited < self.jump_ns);
        let time_ns = self.steady(process_ns).saturating_sub(waited_ns.unwrap_or(0));
        Ok(Some(Record { time_ns, device: 0, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        if self.jumps == 0 {
            return Vec::new();
        }
        let (jumps, jump) = (self.jumps, Duration { ns: self.jump_ns });
        vec![format!(
            "the clock was set {jumps} times, back or by more than {jump}; the steps were left out (clock_jump)"
        )]
    }
}

impl BioTracer {
    /// The time `now_ns` on a clock that goes on where this one was set.
    #[inline]
    fn steady(&mut self, now_ns: u64) -> u64 {
        let Some((before_ns, steady_ns)) = self.latest else {
            self.latest = Some((now_ns, now_ns));
            return now_ns;
        };
        let step_ns = now_ns.checked_sub(before_ns).filter(|&step| step < self.jump_ns);
        self.jumps += u64::from(step_ns.is_none());
        let steady_ns = steady_ns.saturating_add(step_ns.unwrap_or(0));
        self.latest = Some((now_ns, steady_ns));
        steady_ns
    }
}
