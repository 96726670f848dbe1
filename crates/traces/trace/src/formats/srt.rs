//! HP Labs' SRT, version 1.3 (traces of 1992, among them `cello` and `hplajw`): disk requests of HP-UX.
//!
//! A text header lists the disks and ends with a form feed. Records follow, big-endian 32-bit numbers:
//!
//! | byte | field                                                                              |
//! |-----:|------------------------------------------------------------------------------------|
//! |    0 | size: bytes of the record, 56                                                      |
//! |    4 | id                                                                                 |
//! |    8 | sec, and at 12 usec: time of queueing since the beginning of the trace             |
//! |   16 | start, and at 20 stop: us until its issue to the disk, and until its completion    |
//! |   24 | bytes                                                                              |
//! |   28 | blk: sector of the disk, of the size in the header                                 |
//! |   32 | dev: major << 24 \| unit << 8 \| section                                           |
//! |   36 | drv, at 40 cyl, at 44 flags (bit 0: a read), at 48 info, at 52 queuelen            |
//!
//! Addresses are relative to the disk, not to its section (`cyl` is their quotient by the sectors of a cylinder), so
//! all sections of a unit are one device, as a block or a character device.

use crate::binary::{BinaryFormat, Order, scaled};
use crate::devices::Devices;
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of an SRT trace.
pub(crate) struct Srt {
    sector_bytes: u64,
}

const MAGIC: &[u8] = b"$$TR_IOREC-1.3";
const RECORD_BYTES: usize = 56;
const FORM_FEED: u8 = 0x0c;
const READ: u32 = 1;

impl BinaryFormat for Srt {
    const INFO: FormatInfo = FormatInfo {
        name: "srt",
        summary: "HP Labs SRT 1.3, binary: HP-UX disk traces of 1992",
        source: "Ruemmler & Wilkes, UNIX Disk Access Patterns, USENIX Winter 1993",
        record: "binary after a text header `$$TR_IOREC-1.3`",
        extensions: &["srt"],
        options: &["device_stride"],
    };
    const CONVENTIONS: Conventions = Conventions::new(Clock::Start, ["sec", "dev", "blk", "bytes"]);

    fn recognises(ahead: &[u8]) -> bool {
        ahead.starts_with(MAGIC)
    }

    fn open(ahead: &[u8], _: &TraceOptions) -> Result<(Self, usize), FieldError> {
        if !ahead.starts_with(MAGIC) {
            let given = &ahead[..ahead.len().min(16)];
            return Err(FieldError::text("header", given, "`$$TR_IOREC-1.3`"));
        }
        let end = memchr::memchr(FORM_FEED, ahead).ok_or_else(|| FieldError {
            field: "header",
            problem: "no form feed ends it within 64 KiB".to_owned(),
        })?;
        Ok((Self { sector_bytes: sector_bytes(&ahead[..end])? }, end + 1))
    }

    fn head_bytes(&self) -> usize {
        RECORD_BYTES
    }

    #[inline]
    fn bytes(&self, head: &[u8]) -> Result<usize, FieldError> {
        let size = Order::Big.u32(head, 0);
        if size as usize == RECORD_BYTES {
            Ok(RECORD_BYTES)
        } else {
            Err(FieldError::number("size", size, "56, the size of a record"))
        }
    }

    #[inline]
    fn record(&mut self, record: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        let number = |at| u64::from(Order::Big.u32(record, at));
        let microseconds = number(12);
        if microseconds >= 1_000_000 {
            return Err(FieldError::number("usec", microseconds, "below 1000000"));
        }
        // 2^32 seconds are below 2^64 ns.
        let time_ns = number(8) * 1_000_000_000 + microseconds * 1000;
        let offset = scaled(number(28), self.sector_bytes, "blk")?;
        let unit = Order::Big.u32(record, 32) >> 8 & 0xffff;
        let device = devices.coded(unit, || format!("unit {unit}"));
        let op = if Order::Big.u32(record, 44) & READ != 0 { Op::Read } else { Op::Write };
        Ok(Some(Record { time_ns, device, offset, length: number(24), op, placement: None }))
    }
}

/// The common sector size of all disks in the header.
fn sector_bytes(header: &[u8]) -> Result<u64, FieldError> {
    const KEY: &[u8] = b"sectorsize";
    let mut found = None;
    for at in memchr::memmem::find_iter(header, KEY) {
        let value = header[at + KEY.len()..].trim_ascii_start();
        let digits = value.strip_prefix(b"=").unwrap_or_default().trim_ascii_start();
        let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
        let size = crate::numbers::whole(&digits[..end], "sectorsize")?;
        if !(128..=65_536).contains(&size) {
            return Err(FieldError::number("sectorsize", size, "a size from 128 to 65536 bytes"));
        }
        if found.is_some_and(|found| found != size) {
            let problem = "its disks have sectors of different sizes, which is not supported".to_owned();
            return Err(FieldError { field: "sectorsize", problem });
        }
        found = Some(size);
    }
    found.ok_or_else(|| FieldError::text("sectorsize", b"", "`sectorsize = BYTES` in the header"))
}
