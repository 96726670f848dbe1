//! The traces of Florida International University (homes, mail, web and others), with hashes of what was written.
//!
//! Addresses and sizes count 512-byte sectors, times nanoseconds; the parts of one recording go on counting where the one
//! before ended, so the first request of a file is at zero. Behind the device stand MD5 sums of the data, one per 512 bytes
//! or one per 4 KiB: they must be whole, and are passed over.

use super::text::{blank_field, trim, units, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of an FIU trace.
pub(crate) struct Fiu;

const SECTOR_BYTES: u64 = 512;
/// Hexadecimal digits of one sum.
const MD5_DIGITS: usize = 32;

impl Format for Fiu {
    const INFO: FormatInfo = FormatInfo {
        name: "fiu",
        summary: "FIU traces with content hashes: sectors of 512 bytes, nanoseconds",
        source: "Koller and Rangaswami, I/O Deduplication, FAST 2010",
        record: "ts_ns pid process lba size op major minor md5...",
        extensions: &["blkparse"],
    };
    const FIELDS: FieldNames = FieldNames { time: "ts", device: "major", offset: "lba", length: "size" };
    const CLOCK: Clock = Clock::Date;

    fn new(_: &TraceOptions) -> Self {
        Self
    }

    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        let time_ns = whole(blank_field(rest), "ts")?;
        whole(blank_field(rest), "pid")?;
        if blank_field(rest).is_empty() {
            return Err(Fault::unexpected("process", b"", "the name of a process"));
        }
        let offset = units(blank_field(rest), SECTOR_BYTES, "lba")?;
        let length = units(blank_field(rest), SECTOR_BYTES, "size")?;
        let op = match blank_field(rest) {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            other => return Err(Fault::unexpected("op", other, "R (read) or W (write)")),
        };
        let device_start = trim(rest);
        whole(blank_field(rest), "major")?;
        whole(blank_field(rest), "minor")?;
        // "major minor" as one name.
        let device = &device_start[..device_start.len().saturating_sub(trim(rest).len() + 1)];
        hashes(rest)?;
        Ok(Some(Record { time_ns, device: devices.number(trim(device)), offset, length, op }))
    }
}

/// Refuses what is not sums of MD5.
#[inline]
fn hashes(rest: &mut &[u8]) -> Result<(), Fault> {
    let mut sums = blank_field(rest);
    loop {
        // Folded rather than searched: the sums are most of the line, and nearly always right.
        let digits = sums.iter().fold(true, |all, digit| all & digit.is_ascii_hexdigit());
        if sums.is_empty() || !sums.len().is_multiple_of(MD5_DIGITS) || !digits {
            return Err(Fault::unexpected("md5", sums, "MD5 sums of 32 hexadecimal digits each"));
        }
        if rest.is_empty() {
            return Ok(());
        }
        sums = blank_field(rest);
        if sums.is_empty() {
            return Ok(());
        }
    }
}
