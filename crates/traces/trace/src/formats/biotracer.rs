//! Traces of a Nexus 5 phone, recorded by BIOtracer.
//!
//! Addresses are sectors of 512 bytes. A request has four times, in seconds: generated, processed, submitted,
//! finished. Its arrival is the time of generation. But records are in the order of processing, and during the boot
//! the phone's clock is set by years. So the processing times define the clock: a step of a day or more (option
//! `clock_jump`) or a step back is removed, and a request arrives before its processing by the difference of both
//! times.

use crate::devices::Devices;
use crate::fields::Fields;
use crate::numbers::{DAY_NS, SECOND_NS, SECTOR_BYTES};
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::text::{LineParser, TextFormat};
use coflash_base::Duration;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of a BIOtracer trace.
pub(crate) struct BioTracer {
    jump_ns: u64,
    /// The processing time of the previous record, in the file and on the steady clock.
    latest: Option<(u64, u64)>,
    jumps: u64,
}

impl TextFormat for BioTracer {
    const INFO: FormatInfo = FormatInfo {
        name: "biotracer",
        summary: "BIOtracer on a Nexus 5: sectors of 512 bytes, seconds; changes of the clock are removed",
        source: "Zhou et al., I/O Characteristics of Smartphone Applications, IISWC 2015",
        record: "lba size_sectors size_bytes type t_generate t_process t_submit t_finish",
        extensions: &["log"],
        options: &[],
    };
    const CONVENTIONS: Conventions =
        Conventions::new(Clock::Date, ["t_generate", "device", "lba", "size_bytes"])
            .sorted_within(Duration { ns: 60 * SECOND_NS });

    fn new(options: &TraceOptions) -> Self {
        Self { jump_ns: options.clock_jump.map_or(DAY_NS, |jump| jump.ns), latest: None, jumps: 0 }
    }
}

impl LineParser for BioTracer {
    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, FieldError> {
        let mut fields = Fields::between_blanks(line);
        let offset = fields.units(SECTOR_BYTES, "lba")?;
        let sectors = fields.whole("size_sectors")?;
        let length = fields.whole("size_bytes")?;
        if sectors.checked_mul(SECTOR_BYTES) != Some(length) {
            return Err(FieldError::number("size_bytes", length, "512 times size_sectors"));
        }
        // Bit 0 is 1 for a write; the others are flags of waiting.
        let op = if fields.whole("type")? & 1 == 1 { Op::Write } else { Op::Read };
        let generate_ns = fields.decimal(SECOND_NS, "t_generate")?;
        let process_ns = fields.decimal(SECOND_NS, "t_process")?;
        fields.decimal(SECOND_NS, "t_submit")?;
        fields.decimal(SECOND_NS, "t_finish")?;
        fields.nothing_more("t_finish", 8)?;
        let waited_ns = process_ns.checked_sub(generate_ns).filter(|&waited| waited < self.jump_ns);
        let time_ns = self.steady(process_ns).saturating_sub(waited_ns.unwrap_or(0));
        Ok(Some(Record { time_ns, device: 0, offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        if self.jumps == 0 {
            return Vec::new();
        }
        let (jumps, jump) = (self.jumps, Duration { ns: self.jump_ns });
        vec![format!(
            "the clock was set {jumps} times, back or by more than {jump}; the steps were removed (clock_jump)"
        )]
    }
}

impl BioTracer {
    /// The time `now_ns` on a steady clock.
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
