//! The block traces of Microsoft Research Cambridge, and others in their format.
//!
//! One request per line, times in Windows' 100 ns since 1601: the first request is at zero. Offsets and sizes are bytes.
//! Host and disk number together are the device. A line of column names at the top, which some copies have, is passed over.

use super::text::{comma_field, trim, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of an MSR trace.
pub(crate) struct Msr {
    /// Whether the next line is the first.
    at_top: bool,
}

const FILETIME_NS: u64 = 100;

impl Format for Msr {
    const INFO: FormatInfo = FormatInfo {
        name: "msr",
        summary: "CSV of the MSR Cambridge traces, times in 100 ns since 1601",
        source: "Narayanan et al., Write Off-Loading, FAST 2008",
        record: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        extensions: &["csv"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "Timestamp", device: "DiskNumber", offset: "Offset", length: "Size" };
    const CLOCK: Clock = Clock::Date;

    fn new(_: &TraceOptions) -> Self {
        Self { at_top: true }
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        if self.at_top {
            self.at_top = false;
            if trim(line).eq_ignore_ascii_case(Self::INFO.record.as_bytes()) {
                return Ok(None);
            }
        }
        let rest = &mut &*line;
        let time_ns = units(comma_field(rest), FILETIME_NS, "Timestamp")?;
        let device_start = *rest;
        if comma_field(rest).is_empty() {
            return Err(Fault::unexpected("Hostname", b"", "the name of a host"));
        }
        whole(comma_field(rest), "DiskNumber")?;
        // "host,disk," as one name.
        let device = &device_start[..device_start.len() - rest.len()];
        let op = match comma_field(rest) {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            other if other.eq_ignore_ascii_case(b"read") => Op::Read,
            other if other.eq_ignore_ascii_case(b"write") => Op::Write,
            other => return Err(Fault::unexpected("Type", other, "Read or Write")),
        };
        let offset = whole(comma_field(rest), "Offset")?;
        let length = whole(comma_field(rest), "Size")?;
        let response = *rest;
        whole(comma_field(rest), "ResponseTime")?;
        if response.contains(&b',') {
            return Err(Fault::unexpected("ResponseTime", response, "the last of seven fields"));
        }
        Ok(Some(Record { time_ns, device: devices.number(device), offset, length, op }))
    }
}
