//! libCacheSim's oracleGeneral: requests for objects, each with the number of the next request for the same object.
//!
//! | byte | size | field             |                                                   |
//! |-----:|-----:|-------------------|---------------------------------------------------|
//! |    0 |    4 | time              | s                                                 |
//! |    4 |    8 | obj_id            |                                                   |
//! |   12 |    4 | size              | bytes                                             |
//! |   16 |    8 | next_access_vtime | number of the next request for it; −1 or the      |
//! |      |      |                   | largest number if there is none                   |
//!
//! Little-endian, no header, no operations: every request is a read. Objects have no addresses. Here object n begins
//! at byte n × `object_stride` (by default 4 KiB), with n modulo the number of objects in the address space. If
//! objects are blocks of a disk, the stride is the size of a block; if their numbers are hashes, collisions are
//! improbable. Objects with consecutive numbers that exceed the stride overlap, with a remark.

use crate::binary::{BinaryFormat, Order};
use crate::devices::Devices;
use crate::numbers::SECOND_NS;
use crate::record::{FieldError, Parsed, Record, counted};
use coflash_base::Bytes;
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// The reader of an oracleGeneral trace.
pub(crate) struct OracleGeneral {
    stride_bytes: u64,
    /// The number of objects in the address space, without the size of the last one.
    places: u64,
    too_long: u64,
    longest: u64,
}

const RECORD_BYTES: usize = 24;
/// Half of the address space, so that the last object fits at any size.
const ADDRESSES_BYTES: u64 = 1 << 62;
/// The largest plausible object: the format is detected by plausible numbers only.
const PLAUSIBLE_BYTES: u32 = 1 << 30;

impl BinaryFormat for OracleGeneral {
    /// Detected by ascending times, plausible sizes, and next requests after the current one.
    fn recognises(ahead: &[u8]) -> bool {
        let order = Order::Little;
        let mut latest = 0;
        let mut plausible = |(index, record): (usize, &[u8])| {
            let (time, size, next) = (order.u32(record, 0), order.u32(record, 12), order.i64(record, 16));
            let forward = time >= latest;
            latest = time;
            let next_ahead = next == -1 || next == i64::MAX || next > index as i64 && next < 1 << 40;
            forward && (1..PLAUSIBLE_BYTES).contains(&size) && next_ahead
        };
        ahead.len() >= RECORD_BYTES && ahead.chunks_exact(RECORD_BYTES).enumerate().all(&mut plausible)
    }

    fn open(_: &[u8], options: &TraceOptions) -> Parsed<(Self, usize)> {
        let stride_bytes = options.object_stride.count;
        let places = (ADDRESSES_BYTES / stride_bytes).max(1);
        Ok((Self { stride_bytes, places, too_long: 0, longest: 0 }, 0))
    }

    fn head_bytes(&self) -> usize {
        RECORD_BYTES
    }

    #[inline]
    fn record(&mut self, record: &[u8], _: &mut Devices) -> Parsed<Option<Record>> {
        let order = Order::Little;
        let next = order.i64(record, 16);
        if next < -1 {
            return Err(FieldError::number("next_access_vtime", next, "-1 or the number of a request"));
        }
        let object = order.u64(record, 4);
        let length = u64::from(order.u32(record, 12));
        self.too_long += u64::from(length > self.stride_bytes);
        self.longest = self.longest.max(length);
        let offset = object % self.places * self.stride_bytes;
        let time_ns = u64::from(order.u32(record, 0)) * SECOND_NS;
        Ok(Some(Record { time_ns, device: 0, offset, length, op: Op::Read, placement: None }))
    }

    fn remarks(&self) -> Vec<String> {
        let stride = Bytes { count: self.stride_bytes };
        let mut remarks = vec![format!(
            "the format has objects, no addresses and no operations: object n was placed at n × {stride} \
             (object_stride), and every request is a read"
        )];
        let longer = format!(
            "longer than the object_stride of {stride}, up to {} bytes: objects whose numbers follow each other overlap",
            self.longest
        );
        remarks.extend(counted(self.too_long, "request", longer));
        remarks
    }
}
