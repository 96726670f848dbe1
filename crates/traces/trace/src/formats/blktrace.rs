//! Linux blktrace: binary records of version 7, a file per processor, merged by time.
//!
//! | byte | size | field    |                                                                        |
//! |-----:|-----:|----------|------------------------------------------------------------------------|
//! |    0 |    4 | magic    | 0x65617407, in the byte order of all numbers                           |
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
//! A request has several events; one of them counts as the request, by default its issue to the device (option
//! `event`). A flush has no data; a write with a preceding flush is a write, with a remark.

use crate::binary::{BinaryFormat, Order, scaled};
use crate::devices::Devices;
use crate::formats::linux_block::SECTOR_BYTES;
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use coflash_workload::Op;
use coflash_workload::recorded::{TraceEvent, TraceOptions};

/// The reader of a blktrace file.
pub(crate) struct Blktrace {
    order: Order,
    action: u32,
    latest_device: Option<(u32, u32)>,
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

/// The mask of the event: newer kernels mark events of control groups with a higher bit.
const ACTION_MASK: u32 = 0xff;

/// The byte order and version of a file, from its magic number.
fn magic(ahead: &[u8]) -> Option<(Order, u32)> {
    [Order::Little, Order::Big].into_iter().find_map(|order| {
        let magic = order.u32(ahead.get(..4)?, 0);
        (magic & !0xff == MAGIC).then_some((order, magic & 0xff))
    })
}

impl BinaryFormat for Blktrace {
    const INFO: FormatInfo = FormatInfo {
        name: "blktrace",
        summary: "Linux blktrace, binary: a file per processor, merged by time (also in a tar archive)",
        source: "Axboe, blktrace User Guide, 2007; linux/blktrace_api.h",
        record: "struct blk_io_trace, version 7",
        extensions: &["blktrace"],
    };
    const CONVENTIONS: Conventions = Conventions::new(Clock::Date, ["time", "device", "sector", "bytes"]);
    const HEAD_BYTES: usize = 48;
    const PER_PROCESSOR: bool = true;

    fn recognises(ahead: &[u8]) -> bool {
        magic(ahead).is_some()
    }

    fn open(ahead: &[u8], options: &TraceOptions) -> Result<(Self, usize), FieldError> {
        let expected = "0x65617407, in either order of bytes";
        let (order, version) =
            magic(ahead).ok_or_else(|| FieldError::text("magic", &ahead[..ahead.len().min(4)], expected))?;
        if version != VERSION {
            return Err(FieldError::number("magic", format!("version {version}"), "version 7"));
        }
        // Independent of the file's content: the files of all processors must use the same event.
        let action = match options.event.unwrap_or(TraceEvent::Issue) {
            TraceEvent::Queue => 1,
            TraceEvent::Issue => 7,
            TraceEvent::Complete => 8,
        };
        Ok((Self { order, action, latest_device: None, flushing_writes: 0, passed_through: 0 }, 0))
    }

    #[inline]
    fn bytes(&self, head: &[u8]) -> Result<usize, FieldError> {
        if self.order.u32(head, 0) != MAGIC | VERSION {
            return Err(FieldError::text("magic", &head[..4], "that of a record"));
        }
        Ok(Self::HEAD_BYTES + usize::from(self.order.u16(head, 46)))
    }

    #[inline]
    fn record(&mut self, record: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
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
            // Events without data, except flushes, are no requests.
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
                // The notation of blkparse.
                let name = format!("{},{}", device >> 20, device & 0xf_ffff);
                let number = devices.number(name.as_bytes());
                self.latest_device = Some((device, number));
                number
            }
        };
        Ok(Some(Record { time_ns: order.u64(record, 8), device, offset, length, op, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.flushing_writes > 0 {
            let count = self.flushing_writes;
            remarks.push(format!("{count} writes demand a preceding flush, which is omitted"));
        }
        if self.passed_through > 0 {
            let count = self.passed_through;
            remarks.push(format!("{count} commands passed through to the device are omitted"));
        }
        remarks
    }
}
