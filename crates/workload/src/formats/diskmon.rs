//! The log of Sysinternals' DiskMon.
//!
//! Sectors are 512 bytes, times seconds since the start. The clock it reads is set now and then, a second or so back and forth:
//! a window of ten seconds keeps that in order. The line of column names that some versions save is passed over.

use super::text::{Header, blank_field, decimal, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::Duration;

/// The reader of a DiskMon log.
pub(crate) struct DiskMon {
    header: Header,
}

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;
const HEADER: &str = "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength";

impl Format for DiskMon {
    const INFO: FormatInfo = FormatInfo {
        name: "diskmon",
        summary: "log of Sysinternals DiskMon: sectors of 512 bytes, seconds",
        source: "Russinovich, DiskMon for Windows, Sysinternals",
        record: "# Time Duration Disk Request Sector Length",
        extensions: &["log"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "Time", device: "Disk", offset: "Sector", length: "Length" };
    const CLOCK: Clock = Clock::Start;
    const SORT_WINDOW: Duration = Duration { ns: 10 * SECOND_NS };

    fn new(_: &TraceOptions) -> Self {
        Self { header: Header::new() }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        if self.header.is(line, HEADER) {
            return Ok(None);
        }
        let rest = &mut &*line;
        whole(blank_field(rest), "#")?;
        let time_ns = decimal(blank_field(rest), SECOND_NS, "Time")?;
        decimal(blank_field(rest), SECOND_NS, "Duration")?;
        let device = whole(blank_field(rest), "Disk")?;
        let op = match blank_field(rest) {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            other => return Err(Fault::unexpected("Request", other, "Read or Write")),
        };
        let offset = units(blank_field(rest), SECTOR_BYTES, "Sector")?;
        let length = units(blank_field(rest), SECTOR_BYTES, "Length")?;
        nothing_more(rest, "Length", "seven")?;
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }
}
