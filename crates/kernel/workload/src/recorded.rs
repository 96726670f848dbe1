//! Recorded workloads, as far as scenarios and runs know them: the keys of their reader, which gives them their meaning.

use coflash_base::{Bytes, Duration};
use std::io::Read;
use std::sync::Arc;

/// The path that denotes the standard input.
pub const STANDARD_INPUT: &str = "-";

/// A wrapper for inputs that can be read only once: the standard input, named `-`, or a pipe, named by its path. With
/// it a caller sees all bytes of the input.
pub type Tap = Arc<dyn Fn(&str, Box<dyn Read + Send>) -> Box<dyn Read + Send> + Send + Sync>;

coflash_base::config! {
    /// The treatment of malformed records.
    pub enum OnError, default Stop {
        /// Refuse the trace.
        Stop,
        /// Skip the record; a remark gives the number of skipped records. Of a compressed file that ends early, what can be
        /// decompressed is read.
        Skip,
    }

    /// Options of the trace reader.
    #[derive(Eq)]
    pub struct TraceOptions {
        /// Trace format. Default: detected from the content.
        pub format: Option<String>,
        /// Treatment of malformed records.
        pub on_error: OnError = OnError::Stop,
        /// Tolerance for a record that is earlier than its predecessor, as several processors record in a slightly wrong
        /// order. It arrives together with its predecessor, with a remark. A record that is earlier by more is an error.
        pub time_slack: Duration = Duration { ns: 1_000_000 },
        /// Window for sorting records by time: a record is held back until a record later by this much is read. Default:
        /// given by the format: 1 min for records in the order of completion (systor, wpa), 10 s for diskmon, 1
        /// s for recordings of several processors (blkparse, ftrace) or in whole seconds (tencent), otherwise 0.
        pub sort_window: Option<Duration>,
        /// Smallest step forward in time that is treated as a change of the clock, and removed. Default: no step is removed.
        pub clock_jump: Option<Duration>,
        /// Distance between the devices of a trace in the address space; they are placed in the order of their first
        /// records. The default exceeds any device and permits 65,536 of them.
        pub device_stride: Bytes = Bytes { count: 1 << 47 },
        /// The event that counts as the request, for formats with several events per request (blkparse, ftrace, blktrace).
        /// Default: the first of issue, queue and complete that occurs near the beginning of the file; for blktrace,
        /// issue.
        pub event: Option<TraceEvent>,
        /// Units of traces with five ASCII columns (disksim, ssdsim, replay), which do not contain them; `address` also the
        /// size of a block in the commands of nvme and scsi tracepoints (ftrace).
        pub units: Units,
        /// Columns of a text trace in any other format, such as `"time:us,op,offset:sectors,size:bytes"`. Roles: `time` in
        /// `s`, `ms`, `us`, `ns`, `filetime` or `iso`; `offset` and `size` in `bytes`, `sectors`, `pages` or steps such as
        /// `4KiB`; `op`, if necessary with its words (`op:28|88=read/2a|8a=write/35=skip`), or `op=write` for all rows;
        /// `device`, also of several columns; `placement`, the placement hint of a write; `number`, `word:D/C=skip`,
        /// `text` and `skip` for other columns. `"auto"` finds them by the names in a header, or by the values.
        pub columns: Option<String>,
        /// Number of lines, blank ones and comments (`#`) excluded, before the first record of a trace read by `columns`.
        pub header_lines: u64 = 0,
        /// Distance between objects in the address space, for traces of objects (oracleGeneral).
        pub object_stride: Bytes = Bytes { count: 4096 },
        /// Combination of several files. Default: by time for recorders that write one file per processor (blktrace),
        /// otherwise in sequence.
        pub merge: Option<Arrangement>,
    }

    /// The combination of several files to one trace.
    pub enum Arrangement {
        /// Each file begins at the end of the previous one.
        Sequence,
        /// The files were recorded at the same time: requests are merged by time.
        Time,
    }

    /// An event of a request; the letters of blktrace are accepted, too.
    pub enum TraceEvent {
        /// The request enters the block layer.
        #[serde(alias = "Q")]
        Queue,
        /// The request is issued to the device.
        #[serde(alias = "D")]
        Issue,
        /// The device completes the request.
        #[serde(alias = "C")]
        Complete,
    }

    /// Units of an ASCII trace. Defaults: the usual units of the format.
    #[derive(Copy, Eq)]
    pub struct Units {
        /// Unit of times.
        pub time: Option<Duration>,
        /// Unit of addresses.
        pub address: Option<Bytes>,
        /// Unit of sizes.
        pub size: Option<Bytes>,
    }
}
