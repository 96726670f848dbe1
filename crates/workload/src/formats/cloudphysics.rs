//! The CSV form of CloudPhysics' traces of virtual disks.
//!
//! Operations are codes of SCSI commands in hexadecimal, sizes bytes, addresses sectors of 512 bytes. Times are whole seconds
//! of an arbitrary beginning: the first request is at zero, and those of one second arrive together.

use super::text::{Header, comma_field, nothing_more, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of a CloudPhysics trace.
pub(crate) struct CloudPhysics {
    header: Header,
}

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

impl Format for CloudPhysics {
    const INFO: FormatInfo = FormatInfo {
        name: "cloudphysics",
        summary: "CSV of the CloudPhysics traces: SCSI commands, whole seconds",
        source: "Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015",
        record: "version,time,op,size,lbn",
        extensions: &["csv"],
    };
    const FIELDS: FieldNames = FieldNames { time: "time", device: "device", offset: "lbn", length: "size" };
    const CLOCK: Clock = Clock::Date;

    fn new(_: &TraceOptions) -> Self {
        Self { header: Header::new() }
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        if self.header.is(line, Self::INFO.record) {
            return Ok(None);
        }
        let rest = &mut &*line;
        match comma_field(rest) {
            b"1" | b"2" => {}
            other => return Err(Fault::unexpected("version", other, "1 or 2")),
        }
        let time_ns = units(comma_field(rest), SECOND_NS, "time")?;
        // Read and write with 6, 10, 12 and 16 bytes of command, and SYNCHRONIZE CACHE.
        let op = match comma_field(rest) {
            b"28" | b"88" | b"a8" | b"A8" | b"8" | b"08" => Op::Read,
            b"2a" | b"2A" | b"8a" | b"8A" | b"aa" | b"AA" | b"a" | b"0a" | b"0A" => Op::Write,
            b"35" | b"91" => Op::Flush,
            other => {
                return Err(Fault::unexpected(
                    "op",
                    other,
                    "a SCSI read (28), write (2a) or synchronize cache (35)",
                ));
            }
        };
        let length = whole(comma_field(rest), "size")?;
        let offset = units(comma_field(rest), SECTOR_BYTES, "lbn")?;
        nothing_more(rest, "lbn", "five")?;
        Ok(Some(Record { time_ns, device: 0, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        vec!["times are whole seconds: the requests of one second arrive together".to_owned()]
    }
}
