//! DiskSim's ASCII format, and the dialects of it that SSDsim, MQSim and many published traces use.
//!
//! Five columns, of which only the order is agreed upon. DiskSim means milliseconds, sectors and sectors; files that look
//! the same count nanoseconds, bytes, or pages of 4 KiB. Nothing in the file tells, so the options say it and the remarks
//! repeat what was assumed.

use super::text::{blank_field, decimal, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::{DiskSimUnits, TraceOptions};

/// The reader of a DiskSim trace.
pub(crate) struct DiskSim {
    units: DiskSimUnits,
}

impl Format for DiskSim {
    const INFO: FormatInfo = FormatInfo {
        name: "disksim",
        summary: "DiskSim ASCII and its dialects (SSDsim, MQSim); the units of the columns are options",
        source: "Bucy et al., DiskSim 4.0 Reference Manual, CMU-PDL-08-101, 2008",
        record: "time device lba size flags",
        extensions: &["ascii", "trace", "disksim"],
    };
    const FIELDS: FieldNames = FieldNames { time: "time", device: "device", offset: "lba", length: "size" };
    const CLOCK: Clock = Clock::Start;

    fn new(options: &TraceOptions) -> Self {
        Self { units: options.disksim }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let time_ns = decimal(blank_field(rest), self.units.time.ns, "time")?;
        let device = whole(blank_field(rest), "device")?;
        let offset = units(blank_field(rest), self.units.address.count, "lba")?;
        let length = units(blank_field(rest), self.units.size.count, "size")?;
        let op = if is_read(blank_field(rest))? { Op::Read } else { Op::Write };
        let extra = blank_field(rest);
        if !extra.is_empty() {
            return Err(Fault::unexpected("flags", extra, "expected: a record has five fields"));
        }
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        let DiskSimUnits { time, address, size } = self.units;
        vec![format!(
            "the format does not tell its units: times were taken in {time}, addresses in {address}, sizes in {size} \
             (options disksim.time, disksim.address, disksim.size)"
        )]
    }
}

/// Flags are hexadecimal; the lowest bit tells a read.
#[inline]
fn is_read(flags: &[u8]) -> Result<bool, Fault> {
    match flags {
        b"0" => Ok(false),
        b"1" => Ok(true),
        [.., last] if flags.len() <= 16 && flags.iter().all(u8::is_ascii_hexdigit) => {
            // The last digit is odd: of '0'..'9' the odd codes, of 'a'..'f' and 'A'..'F' (b, d, f) the even ones.
            Ok((last & 1 == 1) == last.is_ascii_digit())
        }
        _ => Err(Fault::unexpected("flags", flags, "a hexadecimal number (bit 0: 1 is a read, 0 a write)")),
    }
}
