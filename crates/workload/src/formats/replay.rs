//! The input of a block replayer: DiskSim's columns, with offsets and sizes in bytes.
//!
//! A replayer can only ask for whole sectors, so both are multiples of 512: that is how the format is known from its
//! look-alikes, whose numbers count sectors. Where those happen to be multiples as well, a remark says what was assumed.

use super::disksim::{Scale, one_is_read};
use super::text::{blank_field, decimal, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::trace::TraceOptions;
use coflash_base::{Bytes, Duration};

/// The reader of a replayer's trace.
pub(crate) struct Replay {
    scale: Scale,
}

const SECTOR_BYTES: u64 = 512;

impl Format for Replay {
    const INFO: FormatInfo = FormatInfo {
        name: "replay",
        summary: "input of block replayers: times in milliseconds, offsets and sizes in bytes; the units are options",
        source: "Hao et al., The Tail at Store, FAST 2016 (its replayer; cuts of the MSR traces)",
        record: "time device offset size type",
        extensions: &["ascii", "trace"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "device", offset: "offset", length: "size" };
    const CLOCK: Clock = Clock::Start;

    fn new(options: &TraceOptions) -> Self {
        let byte = Bytes { count: 1 };
        let usual = Scale { time: Duration { ns: 1_000_000 }, address: byte, size: byte };
        Self { scale: Scale::new(options, usual) }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let time_ns = decimal(blank_field(rest), self.scale.time.ns, "time")?;
        let device = whole(blank_field(rest), "device")?;
        let offset = sectors(blank_field(rest), self.scale.address, "offset")?;
        let length = sectors(blank_field(rest), self.scale.size, "size")?;
        let op = one_is_read(blank_field(rest))?;
        nothing_more(rest, "type", "five")?;
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        vec![self.scale.remark("replay", "disksim and ssdsim, which count sectors")]
    }
}

/// A number of bytes that is a number of sectors.
#[inline]
fn sectors(given: &[u8], unit: Bytes, field: &'static str) -> Result<u64, Fault> {
    let bytes = units(given, unit.count, field)?;
    // As it is written: in other units the number itself would have to be one of sectors.
    if !whole(given, field)?.is_multiple_of(SECTOR_BYTES) {
        return Err(Fault::unexpected(field, given, "a multiple of 512 bytes"));
    }
    Ok(bytes)
}
