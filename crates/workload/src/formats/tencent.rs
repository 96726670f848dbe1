//! The traces of Tencent's cloud block storage.
//!
//! Offsets and sizes count sectors of 512 bytes; times are whole seconds since 1970: the first request is at zero, and those
//! of one second arrive together. Volumes are devices, numbered as they appear: their own numbers are far apart.

use super::text::{Header, comma_field, nothing_more, units};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of a Tencent CBS trace.
pub(crate) struct Tencent {
    header: Header,
}

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

impl Format for Tencent {
    const INFO: FormatInfo = FormatInfo {
        name: "tencent",
        summary: "CSV of Tencent's cloud block storage: sectors of 512 bytes, whole seconds, 1 is a write",
        source: "Zhang et al., OSCA, USENIX ATC 2020",
        record: "Timestamp,Offset,Size,IOType,VolumeID",
        extensions: &["csv"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "Timestamp", device: "VolumeID", offset: "Offset", length: "Size" };
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
        let time_ns = units(comma_field(rest), SECOND_NS, "Timestamp")?;
        let offset = units(comma_field(rest), SECTOR_BYTES, "Offset")?;
        let length = units(comma_field(rest), SECTOR_BYTES, "Size")?;
        let op = match comma_field(rest) {
            b"0" => Op::Read,
            b"1" => Op::Write,
            other => return Err(Fault::unexpected("IOType", other, "0 (read) or 1 (write)")),
        };
        let volume = comma_field(rest);
        if volume.is_empty() {
            return Err(Fault::unexpected("VolumeID", volume, "the number of a volume"));
        }
        nothing_more(rest, "VolumeID", "five")?;
        Ok(Some(Record { time_ns, device: devices.number(volume), offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        vec!["times are whole seconds: the requests of one second arrive together".to_owned()]
    }
}
