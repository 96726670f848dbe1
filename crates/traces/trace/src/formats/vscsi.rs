//! CloudPhysics' traces of virtual disks (vscsiStats), versions 1 and 2: little-endian, no header.
//!
//! | field  | version 1 | version 2 |                                                                       |
//! |--------|----------:|----------:|-----------------------------------------------------------------------|
//! | sn     |    0, u32 |    4, u32 | serial number                                                         |
//! | len    |    4, u32 |    8, u32 | bytes                                                                 |
//! | nSG    |    8, u32 |   12, u32 | entries of the scatter-gather list                                    |
//! | cmd    |   12, u16 |    0, u16 | the first byte of the SCSI command                                    |
//! | ver    |   14, u16 |    2, u16 | the version in the high byte                                          |
//! | lbn    |   16, u64 |   16, u64 | sector of 512 bytes                                                   |
//! | ts     |   24, u64 |   24, u64 | us                                                                    |
//! | rt     |         – |   32, u64 | response time, us                                                     |
//! | record |      32 B |      40 B |                                                                       |
//!
//! Reads and writes of any command length are requests. Other commands access no data of the disk; they are counted.

use crate::binary::{BinaryFormat, Order, scaled};
use crate::devices::Devices;
use crate::numbers::{MICROSECOND_NS, SECTOR_BYTES};
use crate::record::{FieldError, Parsed, Record};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;
use std::collections::BTreeMap;

/// The reader of a vscsi trace.
pub(crate) struct Vscsi {
    layout: &'static Layout,
    others: BTreeMap<u16, u64>,
}

/// The positions of the used fields.
struct Layout {
    version: u16,
    bytes: usize,
    length: usize,
    command: usize,
    ver: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout { version: 1, bytes: 32, length: 4, command: 12, ver: 14 },
    Layout { version: 2, bytes: 40, length: 8, command: 0, ver: 2 },
];

/// The number of records checked for their version when a file is detected.
const RECORDS_SAMPLED: usize = 16;

impl Layout {
    fn version_of(&self, record: &[u8]) -> u16 {
        Order::Little.u16(record, self.ver) >> 8
    }

    fn fits(&self, ahead: &[u8]) -> bool {
        let mut records = ahead.chunks_exact(self.bytes).take(RECORDS_SAMPLED).peekable();
        // The command is one byte of a two-byte field.
        let command_fits = |record: &[u8]| record[self.command + 1] == 0;
        records.peek().is_some()
            && records.all(|record| self.version_of(record) == self.version && command_fits(record))
    }
}

impl BinaryFormat for Vscsi {
    fn recognises(ahead: &[u8]) -> bool {
        LAYOUTS.iter().any(|layout| layout.fits(ahead))
    }

    fn open(ahead: &[u8], _: &TraceOptions) -> Parsed<(Self, usize)> {
        let whole =
            |layout: &&Layout| ahead.len() >= layout.bytes && layout.version_of(ahead) == layout.version;
        let layout = LAYOUTS.iter().find(whole).ok_or_else(|| {
            let given = &ahead[..ahead.len().min(16)];
            FieldError::text("ver", given, "the beginning of a record of version 1 or 2")
        })?;
        Ok((Self { layout, others: BTreeMap::new() }, 0))
    }

    fn head_bytes(&self) -> usize {
        self.layout.bytes
    }

    #[inline]
    fn record(&mut self, record: &[u8], _: &mut Devices) -> Parsed<Option<Record>> {
        let (order, layout) = (Order::Little, self.layout);
        let version = layout.version_of(record);
        if version != layout.version {
            let expected = format!("{}, the version of the file", layout.version);
            return Err(FieldError::number("ver", version, &expected));
        }
        let command = order.u16(record, layout.command);
        let op = match command {
            // READ and WRITE of 6, 10, 12 and 16 bytes.
            0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
            0x0a | 0x2a | 0xaa | 0x8a => Op::Write,
            _ => {
                *self.others.entry(command).or_default() += 1;
                return Ok(None);
            }
        };
        let time_ns = scaled(order.u64(record, 24), MICROSECOND_NS, "ts")?;
        let offset = scaled(order.u64(record, 16), SECTOR_BYTES, "lbn")?;
        let length = u64::from(order.u32(record, layout.length));
        Ok(Some(Record { time_ns, device: 0, offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        if self.others.is_empty() {
            return Vec::new();
        }
        let shown = self.others.iter().take(8).map(|(command, count)| format!("{command:#04x} × {count}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        vec![format!("commands that are neither read nor write are omitted ({shown})")]
    }
}
