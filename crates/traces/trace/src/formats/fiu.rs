//! Traces of Florida International University (homes, mail, web and others), with hashes of the data.
//!
//! Addresses and sizes are in 512-byte sectors, times in nanoseconds. Each file of a recording continues the clock of
//! the previous one, so the first request of a file is at time 0. The device is followed by MD5 sums of the data, one
//! per 512 bytes or one per 4 KiB: they must be complete, and are ignored.

use crate::devices::Devices;
use crate::fields::{Blanks, Fields};
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::text::{LineParser, TextFormat};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of an FIU trace.
pub(crate) struct Fiu;

const SECTOR_BYTES: u64 = 512;
/// Hexadecimal digits of one sum.
const MD5_DIGITS: usize = 32;

impl TextFormat for Fiu {
    const INFO: FormatInfo = FormatInfo {
        name: "fiu",
        summary: "FIU traces with content hashes: sectors of 512 bytes, nanoseconds",
        source: "Koller and Rangaswami, I/O Deduplication, FAST 2010",
        record: "ts_ns pid process lba size op major minor md5...",
        extensions: &["blkparse"],
    };
    const CONVENTIONS: Conventions = Conventions::new(Clock::Date, ["ts", "major", "lba", "size"]);

    fn new(_: &TraceOptions) -> Self {
        Self
    }
}

impl LineParser for Fiu {
    #[inline]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        let mut fields = Fields::between_blanks(line);
        let time_ns = fields.whole("ts")?;
        fields.whole("pid")?;
        if fields.text().is_empty() {
            return Err(FieldError::text("process", b"", "the name of a process"));
        }
        let offset = fields.units(SECTOR_BYTES, "lba")?;
        let length = fields.units(SECTOR_BYTES, "size")?;
        let op = match fields.text() {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            other => return Err(FieldError::text("op", other, "R (read) or W (write)")),
        };
        // "major minor" as one name.
        let start = fields.range().0;
        let end = fields.range().1;
        let mut device = Fields::between_blanks(&line[start..end]);
        device.whole("major")?;
        device.whole("minor")?;
        hashes(&mut fields)?;
        Ok(Some(Record {
            time_ns,
            device: devices.number(&line[start..end]),
            offset,
            length,
            op,
            placement: None,
        }))
    }
}

/// Check the MD5 sums.
#[inline]
fn hashes(fields: &mut Fields<'_, Blanks>) -> Result<(), FieldError> {
    let mut sums = fields.text();
    loop {
        // A fold instead of a search: the sums are most of the line, and nearly always valid.
        let digits = sums.iter().fold(true, |all, digit| all & digit.is_ascii_hexdigit());
        if sums.is_empty() || !sums.len().is_multiple_of(MD5_DIGITS) || !digits {
            return Err(FieldError::text("md5", sums, "MD5 sums of 32 hexadecimal digits each"));
        }
        if fields.rest().is_empty() {
            return Ok(());
        }
        sums = fields.text();
        if sums.is_empty() {
            return Ok(());
        }
    }
}
