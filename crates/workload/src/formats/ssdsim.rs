//! The ASCII traces of SSDsim and MQSim: DiskSim's columns, with times in whole nanoseconds.
//!
//! A file of whole numbers could be DiskSim's as well; it is read as this, and a remark says so.

use super::disksim::{FIELDS, SECTOR, Scale, one_is_read};
use super::text::{blank_field, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::trace::TraceOptions;
use coflash_base::Duration;

/// The reader of an SSDsim trace.
pub(crate) struct SsdSim {
    scale: Scale,
}

impl Format for SsdSim {
    const INFO: FormatInfo = FormatInfo {
        name: "ssdsim",
        summary: "SSDsim and MQSim ASCII: times in whole nanoseconds, sectors of 512 bytes; the units are options",
        source: "Hu et al., SSDsim, ICS 2011; Tavakkol et al., MQSim, FAST 2018",
        record: "time device lba size type",
        extensions: &["ascii", "trace", "ssdsim"],
    };
    const FIELDS: FieldNames = FIELDS;
    const CLOCK: Clock = Clock::Start;

    fn new(options: &TraceOptions) -> Self {
        let usual = Scale { time: Duration { ns: 1 }, address: SECTOR, size: SECTOR };
        Self { scale: Scale::new(options, usual) }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let time_ns = units(blank_field(rest), self.scale.time.ns, "time")?;
        let device = whole(blank_field(rest), "device")?;
        let offset = units(blank_field(rest), self.scale.address.count, "lba")?;
        let length = units(blank_field(rest), self.scale.size.count, "size")?;
        let op = one_is_read(blank_field(rest))?;
        nothing_more(rest, "type", "five")?;
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        vec![
            self.scale.remark(
                "ssdsim",
                "disksim, whose times are milliseconds, and replay, whose addresses are bytes",
            ),
        ]
    }
}
