//! The block traces of Alibaba's cloud.
//!
//! Offsets and lengths are bytes, times microseconds since 1970: the first request is at zero. Devices are numbered as they
//! appear: their own numbers are far apart.

use super::text::{Header, comma_field, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of an Alibaba block trace.
pub(crate) struct Alibaba {
    header: Header,
}

const MICROSECOND_NS: u64 = 1000;

impl Format for Alibaba {
    const INFO: FormatInfo = FormatInfo {
        name: "alibaba",
        summary: "CSV of Alibaba's block traces: bytes, microseconds since 1970",
        source: "Li et al., An In-Depth Analysis of Cloud Block Storage Workloads, IISWC 2020",
        record: "device_id,opcode,offset,length,timestamp",
        extensions: &["csv"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "timestamp", device: "device_id", offset: "offset", length: "length" };
    const CLOCK: Clock = Clock::Date;

    fn new(_: &TraceOptions) -> Self {
        Self { header: Header::new() }
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        if self.header.is(line, Self::INFO.record) {
            return Ok(None);
        }
        let rest = &mut &*line;
        let device = comma_field(rest);
        if device.is_empty() {
            return Err(Fault::unexpected("device_id", device, "the number of a device"));
        }
        let op = match comma_field(rest) {
            b"R" => Op::Read,
            b"W" => Op::Write,
            other => return Err(Fault::unexpected("opcode", other, "R (read) or W (write)")),
        };
        let offset = whole(comma_field(rest), "offset")?;
        let length = whole(comma_field(rest), "length")?;
        let time_ns = units(comma_field(rest), MICROSECOND_NS, "timestamp")?;
        nothing_more(rest, "timestamp", "five")?;
        Ok(Some(Record { time_ns, device: devices.number(device), offset, length, op }))
    }
}
