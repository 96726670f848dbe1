//! DiskSim's ASCII format, and what its dialects have in common with it.
//!
//! Five columns, of which only the order is agreed upon. DiskSim means milliseconds, sectors and sectors; files that look
//! the same count nanoseconds (`ssdsim`), bytes (`replay`), or pages of 4 KiB. Nothing in the file tells for certain: a time
//! with a fraction is not nanoseconds, a size that is no multiple of 512 is not bytes. The remarks say what was assumed,
//! the options overrule it.

use super::text::{blank_field, decimal, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::{Bytes, Duration};

pub(crate) const SECTOR: Bytes = Bytes { count: 512 };
pub(crate) const FIELDS: FieldNames =
    FieldNames { time: "time", device: "device", offset: "lba", length: "size" };

/// What the numbers of one file count.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) time: Duration,
    pub(crate) address: Bytes,
    pub(crate) size: Bytes,
}

impl Scale {
    /// What the options say, or else `usual`.
    pub(crate) fn new(options: &TraceOptions, usual: Self) -> Self {
        let given = options.units;
        Self {
            time: given.time.unwrap_or(usual.time),
            address: given.address.unwrap_or(usual.address),
            size: given.size.unwrap_or(usual.size),
        }
    }

    /// What was assumed of a file of `format`, whose look-alikes are `others`.
    pub(crate) fn remark(&self, format: &str, others: &str) -> String {
        let Self { time, address, size } = self;
        format!(
            "five ASCII columns do not tell their units: read as {format}, times in {time}, addresses in {address}, sizes in \
             {size} (options units.time, units.address, units.size; similar formats: {others})"
        )
    }
}

/// The reader of a DiskSim trace.
pub(crate) struct DiskSim {
    scale: Scale,
}

impl Format for DiskSim {
    const INFO: FormatInfo = FormatInfo {
        name: "disksim",
        summary: "DiskSim ASCII: times in milliseconds, sectors of 512 bytes; the units are options",
        source: "Bucy et al., DiskSim 4.0 Reference Manual, CMU-PDL-08-101, 2008",
        record: "time device lba size flags",
        extensions: &["ascii", "trace", "disksim"],
    };
    const FIELDS: FieldNames = FIELDS;
    const CLOCK: Clock = Clock::Start;

    fn new(options: &TraceOptions) -> Self {
        let usual = Scale { time: Duration { ns: 1_000_000 }, address: SECTOR, size: SECTOR };
        Self { scale: Scale::new(options, usual) }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let time_ns = decimal(blank_field(rest), self.scale.time.ns, "time")?;
        let device = whole(blank_field(rest), "device")?;
        let offset = units(blank_field(rest), self.scale.address.count, "lba")?;
        let length = units(blank_field(rest), self.scale.size.count, "size")?;
        let op = if is_read(blank_field(rest))? { Op::Read } else { Op::Write };
        nothing_more(rest, "flags", "five")?;
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        vec![self.scale.remark("disksim", "ssdsim, replay")]
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

/// The type of the dialects, which have no other flags.
#[inline]
pub(crate) fn one_is_read(given: &[u8]) -> Result<Op, Fault> {
    match given {
        b"0" => Ok(Op::Write),
        b"1" => Ok(Op::Read),
        _ => Err(Fault::unexpected("type", given, "1 (read) or 0 (write)")),
    }
}
