//! The block traces of SYSTOR '17, recorded from a virtual desktop infrastructure.
//!
//! Offsets and sizes are bytes, times seconds since 1970: the first request is at zero. A record is written when its request
//! is complete but carries the time it arrived, so records are out of order by as much as the slowest request: a window of a
//! minute puts them in order. The response time is empty where it was not measured, and is passed over.

use super::text::{Header, comma_field, decimal, nothing_more, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;
use coflash_base::Duration;

/// The reader of a SYSTOR '17 trace.
pub(crate) struct Systor {
    header: Header,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Format for Systor {
    const INFO: FormatInfo = FormatInfo {
        name: "systor",
        summary: "CSV of the SYSTOR '17 traces: bytes, seconds since 1970, in the order of completion",
        source: "Lee et al., Understanding Storage Traffic Characteristics on Enterprise VDI, SYSTOR 2017",
        record: "Timestamp,Response,IOType,LUN,Offset,Size",
        extensions: &["csv"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "Timestamp", device: "LUN", offset: "Offset", length: "Size" };
    const CLOCK: Clock = Clock::Date;
    const SORT_WINDOW: Duration = Duration { ns: 60 * SECOND_NS };

    fn new(_: &TraceOptions) -> Self {
        Self { header: Header::new() }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        if self.header.is(line, Self::INFO.record) {
            return Ok(None);
        }
        let rest = &mut &*line;
        let time_ns = decimal(comma_field(rest), SECOND_NS, "Timestamp")?;
        let response = comma_field(rest);
        if !response.is_empty() {
            decimal(response, SECOND_NS, "Response")?;
        }
        let op = match comma_field(rest) {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            other => return Err(Fault::unexpected("IOType", other, "R (read) or W (write)")),
        };
        let device = whole(comma_field(rest), "LUN")?;
        let offset = whole(comma_field(rest), "Offset")?;
        let length = whole(comma_field(rest), "Size")?;
        nothing_more(rest, "Size", "six")?;
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }
}
