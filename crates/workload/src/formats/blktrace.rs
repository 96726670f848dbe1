//! Linux blktrace, as `blktrace` writes it: binary records of version 7, a file for each processor, merged by time.
//!
//! | byte | size | field    |                                                                        |
//! |-----:|-----:|----------|------------------------------------------------------------------------|
//! |    0 |    4 | magic    | 0x65617407; the order of its bytes is that of every number             |
//! |    4 |    4 | sequence |                                                                        |
//! |    8 |    8 | time     | ns of a clock that counts since the machine was started                |
//! |   16 |    8 | sector   | of 512 bytes                                                           |
//! |   24 |    4 | bytes    |                                                                        |
//! |   28 |    4 | action   | low half: what happened; high half: bits of what it happened to        |
//! |   32 |    4 | pid      |                                                                        |
//! |   36 |    4 | device   | major << 20 \| minor                                                   |
//! |   40 |    4 | cpu      |                                                                        |
//! |   44 |    2 | error    |                                                                        |
//! |   46 |    2 | pdu_len  | bytes that follow the record: names of processes, commands, messages   |
//!
//! A request passes through several events; one kind of them is taken, by default its issue to the device (option
//! `event`). A flush is one without data: a write that asks for a flush before it is a write, and is remarked on.

use super::linux_block::SECTOR_BYTES;
use super::packed::{Binary, Order, scaled, shown_start};
use super::{Clock, Devices, Fault, FieldNames, FormatInfo, Record};
use crate::request::Op;
use crate::trace::{TraceEvent, TraceOptions};

/// The reader of a blktrace file.
pub(crate) struct Blktrace {
    order: Order,
    action: u32,
    latest_device: Option<(u32, u64)>,
    flushing_writes: u64,
    passed_through: u64,
}

const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

// Bits of the high half of an action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASS_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

/// Of the low half: newer kernels mark events of control groups with a bit above the action itself.
const ACTION_MASK: u32 = 0xff;

/// The order of the bytes of a file that begins with `magic`, and its version.
fn magic(ahead: &[u8]) -> Option<(Order, u32)> {
    [Order::Little, Order::Big].into_iter().find_map(|order| {
        let magic = order.u32(ahead.get(..4)?, 0);
        (magic & !0xff == MAGIC).then_some((order, magic & 0xff))
    })
}

impl Binary for Blktrace {
    const INFO: FormatInfo = FormatInfo {
        name: "blktrace",
        summary: "Linux blktrace, binary, a file per processor merged by time (a tar of them as well)",
        source: "Axboe, blktrace User Guide, 2007; linux/blktrace_api.h",
        record: "struct blk_io_trace, version 7",
        extensions: &["blktrace"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "device", offset: "sector", length: "bytes" };
    const CLOCK: Clock = Clock::Date;
    const HEAD_BYTES: usize = 48;
    const PER_PROCESSOR: bool = true;

    fn recognises(ahead: &[u8]) -> bool {
        magic(ahead).is_some()
    }

    fn open(ahead: &[u8], options: &TraceOptions) -> Result<(Self, usize), Fault> {
        let expected = "0x65617407, in either order of bytes";
        let (order, version) =
            magic(ahead).ok_or_else(|| Fault::unexpected("magic", &ahead[..ahead.len().min(4)], expected))?;
        if version != VERSION {
            return Err(Fault::number("magic", format!("version {version}"), "version 7"));
        }
        // Not by what is near the beginning of the file: the files of all processors must tell of the same event.
        let action = match options.event.unwrap_or(TraceEvent::Issue) {
            TraceEvent::Queue => 1,
            TraceEvent::Issue => 7,
            TraceEvent::Complete => 8,
        };
        Ok((Self { order, action, latest_device: None, flushing_writes: 0, passed_through: 0 }, 0))
    }

    #[inline]
    fn bytes(&self, head: &[u8]) -> Result<usize, Fault> {
        if self.order.u32(head, 0) != MAGIC | VERSION {
            return Err(Fault::unexpected("magic", shown_start(&head[..4]).as_bytes(), "that of a record"));
        }
        Ok(Self::HEAD_BYTES + usize::from(self.order.u16(head, 46)))
    }

    #[inline]
    fn record(&mut self, record: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault> {
        let order = self.order;
        let action = order.u32(record, 28);
        let about = action >> 16;
        if action & ACTION_MASK != self.action || about & NOTIFY != 0 {
            return Ok(None);
        }
        let length = u64::from(order.u32(record, 24));
        let op = if about & PASS_THROUGH != 0 {
            self.passed_through += 1;
            return Ok(None);
        } else if length == 0 {
            // What has no data and is no flush moves nothing.
            if about & FLUSH == 0 {
                return Ok(None);
            }
            Op::Flush
        } else if about & DISCARD != 0 {
            Op::Trim
        } else if about & WRITE != 0 {
            self.flushing_writes += u64::from(about & FLUSH != 0);
            Op::Write
        } else {
            Op::Read
        };
        let offset = if op == Op::Flush { 0 } else { scaled(order.u64(record, 16), SECTOR_BYTES, "sector")? };
        let device = order.u32(record, 36);
        let device = match self.latest_device {
            Some((latest, number)) if latest == device => number,
            _ => {
                // As blkparse writes it.
                let name = format!("{},{}", device >> 20, device & 0xf_ffff);
                let number = devices.number(name.as_bytes());
                self.latest_device = Some((device, number));
                number
            }
        };
        Ok(Some(Record { time_ns: order.u64(record, 8), device, offset, length, op }))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.flushing_writes > 0 {
            let count = self.flushing_writes;
            remarks.push(format!("{count} writes also ask for a flush before them, which is left out"));
        }
        if self.passed_through > 0 {
            let count = self.passed_through;
            remarks.push(format!("{count} commands passed through to the device are left out"));
        }
        remarks
    }
}
