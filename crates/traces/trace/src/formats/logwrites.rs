//! Logs of writes of device mapper (dm-log-writes), and of QEMU's driver blklogwrites, which writes the same.
//!
//! A log begins with a block of the log's sector size: magic number, version 1, number of entries, sector size. An entry
//! is such a block as well: sector, number of sectors, flags, and the length of the text of a mark, which follows at once.
//! The data of a write follow its block. All numbers are little-endian, of eight bytes but for the sector size of four.
//! There are no times and no reads; entries are in the order in which they reached the device.

use crate::binary::{BinaryFormat, Order, scaled};
use crate::devices::Devices;
use crate::formats::linux_block::EventChoice;
use crate::operations::Kind;
use crate::record::{FieldError, Parsed, Record, show};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of a log of writes.
pub(crate) struct LogWrites {
    sector_bytes: u64,
    /// The entries to come; what follows them is left from an earlier log.
    left: u64,
    requests: u64,
    /// The first marks, each with the number of requests before it.
    marks: Vec<(u64, String)>,
    marks_total: u64,
    choice: EventChoice,
}

const MAGIC: u64 = 0x6a_7366_7773_6872;
const SUPER_BYTES: usize = 28;
const ENTRY_BYTES: usize = 32;
const MARKS_SHOWN: usize = 8;

const FLUSH: u64 = 1;
const DISCARD: u64 = 1 << 2;
const MARK: u64 = 1 << 3;

impl BinaryFormat for LogWrites {
    fn recognises(ahead: &[u8]) -> bool {
        ahead.len() >= SUPER_BYTES && Order::Little.u64(ahead, 0) == MAGIC
    }

    fn open(ahead: &[u8], options: &TraceOptions) -> Parsed<(Self, usize)> {
        if !Self::recognises(ahead) {
            let given = &ahead[..ahead.len().min(8)];
            return Err(FieldError::text("magic", given, "the beginning of a log of writes"));
        }
        let (version, left) = (Order::Little.u64(ahead, 8), Order::Little.u64(ahead, 16));
        let sector = Order::Little.u32(ahead, 24);
        if version != 1 {
            return Err(FieldError::number("version", version, "1"));
        }
        if !sector.is_power_of_two() || !(512..=65_536).contains(&sector) {
            return Err(FieldError::number("sectorsize", sector, "a power of two from 512 to 65536"));
        }
        let choice = EventChoice::new(options);
        let sector_bytes = u64::from(sector);
        let log = Self { sector_bytes, left, requests: 0, marks: Vec::new(), marks_total: 0, choice };
        Ok((log, sector as usize))
    }

    fn head_bytes(&self) -> usize {
        if self.left == 0 { 1 } else { ENTRY_BYTES }
    }

    fn bytes(&self, head: &[u8]) -> Parsed<(usize, u64)> {
        if self.left == 0 {
            return Ok((1, u64::MAX));
        }
        let (sectors, flags) = (Order::Little.u64(head, 8), Order::Little.u64(head, 16));
        let sectors = if flags & (DISCARD | MARK) == 0 { sectors } else { 0 };
        Ok((self.sector_bytes as usize, sectors.saturating_mul(self.sector_bytes)))
    }

    fn record(&mut self, record: &[u8], _: &mut Devices) -> Parsed<Option<Record>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let [sector, sectors, flags, data] = [0, 8, 16, 24].map(|at| Order::Little.u64(record, at));
        if flags & MARK != 0 {
            self.marks_total += 1;
            let text = &record[ENTRY_BYTES..];
            let end = usize::try_from(data).unwrap_or(0).min(text.len());
            if self.marks.len() < MARKS_SHOWN {
                let name = text[..end].split(|&byte| byte == 0).next().unwrap_or_default();
                self.marks.push((self.requests, show(name)));
            }
            return Ok(None);
        }
        let length = scaled(sectors, self.sector_bytes, "nr_sectors")?;
        let kind = if flags & DISCARD != 0 { Kind::Discard } else { Kind::Write };
        let Some(op) = self.choice.op_of(flags & FLUSH != 0, kind, length) else { return Ok(None) };
        self.requests += 1;
        let offset = if op == Op::Flush { 0 } else { scaled(sector, self.sector_bytes, "sector")? };
        Ok(Some(Record { time_ns: 0, device: 0, offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![
            "a log of writes has neither times nor reads: all requests arrive at the start (replay.mode = \"closed\" \
             replays one after another)"
                .to_owned(),
        ];
        let marks: Vec<_> =
            self.marks.iter().map(|(before, name)| format!("\"{name}\" after {before} requests")).collect();
        if self.marks_total > 0 {
            let more = self.marks_total - marks.len() as u64;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            remarks.push(format!("marks: {}{more}", marks.join(", ")));
        }
        remarks.extend(self.choice.remarks(["Q", "D", "C"]));
        remarks
    }
}
