//! Traces of the Storage Performance Council, the format of the UMass repository (Financial, WebSearch).
//!
//! Addresses count 512-byte sectors, sizes bytes, times seconds since the start. The application-specific unit (ASU) is
//! the device. Fields behind the fifth are the recorder's own and are passed over, as the specification says.

use super::text::{comma_field, decimal, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of an SPC trace.
pub(crate) struct Spc;

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

impl Format for Spc {
    const INFO: FormatInfo = FormatInfo {
        name: "spc",
        summary: "SPC trace as in the UMass repository: sectors of 512 bytes, sizes in bytes, times in seconds",
        source: "Storage Performance Council, SPC Trace File Format Specification 1.0.1, 2002",
        record: "ASU,LBA,Size,Opcode,Timestamp",
        extensions: &["spc"],
    };
    const FIELDS: FieldNames = FieldNames { time: "Timestamp", device: "ASU", offset: "LBA", length: "Size" };
    const CLOCK: Clock = Clock::Start;

    fn new(_: &TraceOptions) -> Self {
        Self
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let device = whole(comma_field(rest), "ASU")?;
        let offset = units(comma_field(rest), SECTOR_BYTES, "LBA")?;
        let length = whole(comma_field(rest), "Size")?;
        let op = match comma_field(rest) {
            b"r" | b"R" => Op::Read,
            b"w" | b"W" => Op::Write,
            other => return Err(Fault::unexpected("Opcode", other, "R (read) or W (write)")),
        };
        let time_ns = decimal(comma_field(rest), SECOND_NS, "Timestamp")?;
        Ok(Some(Record { time_ns, device, offset, length, op }))
    }
}
