//! The event files of WiscSee, a simulator that replays what it traced.
//!
//! Offsets and sizes are bytes, times seconds since the start. Behind the time stand the time since the event before and
//! whether the request was synchronous; both are checked no further. Events of other kinds than block requests (`D`) are not
//! of this format.

use super::text::{blank_field, decimal, nothing_more, whole};
use super::{Clock, Devices, Fault, FieldNames, Format, FormatInfo, Record};
use crate::request::Op;
use crate::trace::TraceOptions;

/// The reader of a WiscSee event file.
pub(crate) struct WiscSee;

const SECOND_NS: u64 = 1_000_000_000;

impl Format for WiscSee {
    const INFO: FormatInfo = FormatInfo {
        name: "wiscsee",
        summary: "event files of WiscSee: bytes, seconds",
        source: "He et al., The Unwritten Contract of Solid State Drives, EuroSys 2017",
        record: "pid action op offset size time delta sync",
        extensions: &["events"],
    };
    const FIELDS: FieldNames =
        FieldNames { time: "time", device: "device", offset: "offset", length: "size" };
    const CLOCK: Clock = Clock::Start;

    fn new(_: &TraceOptions) -> Self {
        Self
    }

    #[inline]
    fn record(&mut self, line: &[u8], _: &mut Devices) -> Result<Option<Record>, Fault> {
        let rest = &mut &*line;
        whole(blank_field(rest), "pid")?;
        match blank_field(rest) {
            b"D" => {}
            other => return Err(Fault::unexpected("action", other, "D, a request issued")),
        }
        let op = match blank_field(rest) {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"discard" => Op::Trim,
            b"flush" => Op::Flush,
            other => return Err(Fault::unexpected("op", other, "read, write, discard or flush")),
        };
        let offset = whole(blank_field(rest), "offset")?;
        let length = whole(blank_field(rest), "size")?;
        let time_ns = decimal(blank_field(rest), SECOND_NS, "time")?;
        if blank_field(rest).is_empty() {
            return Err(Fault::unexpected("delta", b"", "the time since the event before"));
        }
        match blank_field(rest) {
            b"True" | b"False" => {}
            other => return Err(Fault::unexpected("sync", other, "True or False")),
        }
        nothing_more(rest, "sync", "eight")?;
        Ok(Some(Record { time_ns, device: 0, offset, length, op }))
    }
}
