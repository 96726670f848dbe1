//! Linux blktrace: binary records of versions 7 and 8, a file per processor, merged by time.
//!
//! | byte | size | field    |                                                                        |
//! |-----:|-----:|----------|------------------------------------------------------------------------|
//! |    0 |    4 | magic    | 0x65617407 or 0x65617408, in the byte order of all numbers             |
//! |    4 |    4 | sequence |                                                                        |
//! |    8 |    8 | time     | ns since the start of the machine                                      |
//! |   16 |    8 | sector   | of 512 bytes                                                           |
//! |   24 |    4 | bytes    |                                                                        |
//! |   28 |    4 | action   | low half: event; high half: flags of the request                       |
//! |   32 |    4 | pid      |                                                                        |
//! |   36 |    4 | device   | major << 20 \| minor                                                   |
//! |   40 |    4 | cpu      |                                                                        |
//! |   44 |    2 | error    |                                                                        |
//! |   46 |    2 | pdu_len  | bytes that follow the record: names of processes, commands, messages   |
//!
//! Version 8 (Linux 6.18) has the pid at 28, then an action of 8 bytes whose new bits tell zone appends, commands to zones
//! and write zeroes; device, cpu, error and pdu_len follow at 40, 44, 48 and 50, and the head has 64 bytes.
//!
//! A request has several events; one of them counts as the request, by default its issue to the device (option
//! `event`). A flush has no data; a write with a preceding flush is a write, with a remark.

use crate::binary::{BinaryFormat, Order, scaled};
use crate::devices::Devices;
use crate::formats::linux_block::EventChoice;
use crate::numbers::SECTOR_BYTES;
use crate::operations::Kind;
use crate::record::{FieldError, Parsed, Record, counted};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of a blktrace file.
pub(crate) struct Blktrace {
    order: Order,
    layout: &'static Layout,
    choice: EventChoice,
    passed_through: u64,
}

/// The positions of the fields that differ.
struct Layout {
    version: u32,
    bytes: usize,
    device: usize,
    pdu_bytes: usize,
}

const MAGIC: u32 = 0x6561_7400;
const LAYOUTS: [Layout; 2] = [
    Layout { version: 7, bytes: 48, device: 36, pdu_bytes: 46 },
    Layout { version: 8, bytes: 64, device: 40, pdu_bytes: 50 },
];

// Bits of an action above its event.
const WRITE: u64 = 1 << 1;
const FLUSH: u64 = 1 << 2;
const PASS_THROUGH: u64 = 1 << 9;
const NOTIFY: u64 = 1 << 10;
/// The kinds with a bit of their own, those of version 8 from bit 16 on.
const KINDS: [(u64, Kind); 4] =
    [(1 << 13, Kind::Discard), (1 << 16, Kind::Append), (0x1f << 17, Kind::Zone), (1 << 22, Kind::Zeroes)];

/// The mask of the event: newer kernels mark events of control groups with a higher bit.
const ACTION_MASK: u64 = 0xff;
/// The numbers of the events, in the order of `TraceEvent`.
const ACTIONS: [u64; 3] = [1, 7, 8];

/// The byte order and version of a file, from its magic number.
fn magic(ahead: &[u8]) -> Option<(Order, u32)> {
    [Order::Little, Order::Big].into_iter().find_map(|order| {
        let magic = order.u32(ahead.get(..4)?, 0);
        (magic & !0xff == MAGIC).then_some((order, magic & 0xff))
    })
}

impl BinaryFormat for Blktrace {
    fn recognises(ahead: &[u8]) -> bool {
        magic(ahead).is_some()
    }

    fn open(ahead: &[u8], options: &TraceOptions) -> Parsed<(Self, usize)> {
        let expected = "0x65617407 or 0x65617408, in either order of bytes";
        let (order, version) =
            magic(ahead).ok_or_else(|| FieldError::text("magic", &ahead[..ahead.len().min(4)], expected))?;
        let layout = LAYOUTS
            .iter()
            .find(|layout| layout.version == version)
            .ok_or_else(|| FieldError::number("magic", format!("version {version}"), "version 7 or 8"))?;
        // Independent of the file's content: the files of all processors must use the same event.
        let choice = EventChoice::new(options);
        Ok((Self { order, layout, choice, passed_through: 0 }, 0))
    }

    fn head_bytes(&self) -> usize {
        self.layout.bytes
    }

    #[inline]
    fn bytes(&self, head: &[u8]) -> Parsed<(usize, u64)> {
        if self.order.u32(head, 0) != MAGIC | self.layout.version {
            return Err(FieldError::text("magic", &head[..4], "that of a record"));
        }
        Ok((self.layout.bytes + usize::from(self.order.u16(head, self.layout.pdu_bytes)), 0))
    }

    #[inline]
    fn record(&mut self, record: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        let order = self.order;
        let action = match self.layout.version {
            7 => u64::from(order.u32(record, 28)),
            _ => order.u64(record, 32),
        };
        let about = action >> 16;
        if action & ACTION_MASK != ACTIONS[self.choice.event as usize] || about & NOTIFY != 0 {
            return Ok(None);
        }
        let length = u64::from(order.u32(record, 24));
        if about & PASS_THROUGH != 0 {
            self.passed_through += 1;
            return Ok(None);
        }
        let special = KINDS.iter().find(|(bits, _)| about & bits != 0).map(|&(_, kind)| kind);
        let kind = special.unwrap_or(if about & WRITE != 0 { Kind::Write } else { Kind::Read });
        let Some(op) = self.choice.op_of(about & FLUSH != 0, kind, length) else {
            return Ok(None);
        };
        let offset = if op == Op::Flush { 0 } else { scaled(order.u64(record, 16), SECTOR_BYTES, "sector")? };
        let device = order.u32(record, self.layout.device);
        // The notation of blkparse.
        let device = devices.coded(device, || format!("{},{}", device >> 20, device & 0xf_ffff));
        Ok(Some(Record { time_ns: order.u64(record, 8), device, offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.choice.remarks(["Q", "D", "C"]);
        remarks.extend(counted(self.passed_through, "command", "passed through to the device, and omitted"));
        remarks
    }
}
