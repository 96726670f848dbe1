//! The table of formats that are defined by their columns, in the notation of the option `columns`.
//!
//! Surplus fields are refused, unless the format permits them. The first line may contain the names of the columns.
//!
//! The formats of five ASCII columns (replay, ssdsim, disksim) agree in their order only. DiskSim uses milliseconds,
//! sectors and sectors; files of the same look use nanoseconds (ssdsim), bytes (replay), or pages of 4 KiB. The file
//! gives only hints: a time with a fraction is not in nanoseconds, and an offset that is no multiple of 512 is not in
//! bytes, as a replayer accesses whole sectors only. The remarks state the assumptions, and the options override them.

use super::columns::ColumnLines;
use crate::devices::Devices;
use crate::fields::{BLANK, trim};
use crate::notation::{Column, Columns};
use crate::record::{Clock, Conventions, FieldError, FormatInfo, Record};
use crate::text::LineParser;
use coflash_base::{Bytes, Duration};
use coflash_workload::recorded::TraceOptions;

/// A format defined by its columns.
pub(crate) struct Table {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    /// The names of the columns.
    record: &'static str,
    extensions: &'static [&'static str],
    options: &'static [&'static str],
    /// The roles of the columns.
    columns: &'static str,
    pub(crate) clock: Clock,
    /// The usual disorder of its records, in seconds.
    sort_window_s: u64,
    /// The line of column names, if it differs from `record`.
    header: &'static str,
    /// Whether further fields may follow the last column.
    open_ended: bool,
    /// A remark for users of the trace.
    remark: &'static str,
    /// The formats that look the same, if any: then the units are options, with a remark.
    look_alikes: &'static str,
}

/// The options of formats that do not tell their units.
const UNITS: &[&str] = &["units.time", "units.address", "units.size"];

const WHOLE_SECONDS: &str = "times are whole seconds: the requests of one second arrive together";

/// The defaults of most formats.
const PLAIN: Table = Table {
    name: "",
    summary: "",
    source: "",
    record: "",
    extensions: &["csv"],
    options: &[],
    columns: "",
    clock: Clock::Date,
    sort_window_s: 0,
    header: "",
    open_ended: false,
    remark: "",
    look_alikes: "",
};

pub(crate) static MSR: Table = Table {
    name: "msr",
    summary: "CSV of the MSR Cambridge traces, times in 100 ns since 1601",
    source: "Narayanan et al., Write Off-Loading, FAST 2008",
    record: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    columns: "time:filetime,device,device:number,op:Read=read/Write=write,offset:bytes,size:bytes,number",
    ..PLAIN
};

pub(crate) static SPC: Table = Table {
    name: "spc",
    summary: "SPC trace as in the UMass repository: sectors of 512 bytes, sizes in bytes, times in seconds",
    source: "Storage Performance Council, SPC Trace File Format Specification 1.0.1, 2002",
    record: "ASU,LBA,Size,Opcode,Timestamp",
    extensions: &["spc"],
    columns: "device:number,offset:sectors,size:bytes,op:r|R=read/w|W=write,time:s",
    clock: Clock::Start,
    open_ended: true,
    ..PLAIN
};

pub(crate) static REPLAY: Table = Table {
    name: "replay",
    summary: "input of block replayers: times in milliseconds, offsets and sizes in bytes; the units are options",
    source: "Hao et al., The Tail at Store, FAST 2016 (its replayer; cuts of the MSR traces)",
    record: "time device offset size type",
    extensions: &["ascii", "trace"],
    options: UNITS,
    columns: "time:ms,device:number,offset:bytes%512,size:bytes%512,op:0=write/1=read",
    clock: Clock::Start,
    look_alikes: "disksim and ssdsim, which count sectors",
    ..PLAIN
};

pub(crate) static SSDSIM: Table = Table {
    name: "ssdsim",
    summary: "SSDsim and MQSim ASCII: times in whole nanoseconds, sectors of 512 bytes; the units are options",
    source: "Hu et al., SSDsim, ICS 2011; Tavakkol et al., MQSim, FAST 2018",
    record: "time device lba size type",
    extensions: &["ascii", "trace", "ssdsim"],
    options: UNITS,
    columns: "time:ns,device:number,offset:sectors,size:sectors,op:0=write/1=read/2=trim",
    clock: Clock::Start,
    look_alikes: "disksim, whose times are milliseconds, and replay, whose addresses are bytes",
    ..PLAIN
};

pub(crate) static DISKSIM: Table = Table {
    name: "disksim",
    summary: "DiskSim ASCII: times in milliseconds, sectors of 512 bytes; the units are options",
    source: "Bucy et al., DiskSim 4.0 Reference Manual, CMU-PDL-08-101, 2008",
    record: "time device lba size flags",
    extensions: &["ascii", "trace", "disksim"],
    options: UNITS,
    columns: "time:ms,device:number,offset:sectors,size:sectors,op:flags",
    clock: Clock::Start,
    look_alikes: "ssdsim, replay",
    ..PLAIN
};

/// Records contain arrival times but are written at completion, so they are out of order by up to the slowest request.
pub(crate) static SYSTOR: Table = Table {
    name: "systor",
    summary: "CSV of the SYSTOR '17 traces: bytes, seconds since 1970, in the order of completion",
    source: "Lee et al., Understanding Storage Traffic Characteristics on Enterprise VDI, SYSTOR 2017",
    record: "Timestamp,Response,IOType,LUN,Offset,Size",
    columns: "time:s,skip,op:R=read/W=write,device:number,offset:bytes,size:bytes",
    sort_window_s: 60,
    ..PLAIN
};

/// Each file of a recording continues the clock of the previous one. MD5 sums of the data follow the device.
pub(crate) static FIU: Table = Table {
    name: "fiu",
    summary: "FIU traces with content hashes: sectors of 512 bytes, nanoseconds",
    source: "Koller and Rangaswami, I/O Deduplication, FAST 2010",
    record: "ts pid process lba size op major minor",
    extensions: &["blkparse"],
    columns: "time:ns,number,skip,offset:sectors,size:sectors,op:R|r=read/W|w=write,device:number,device:number",
    open_ended: true,
    ..PLAIN
};

/// Operations are SCSI commands: reads and writes with 6, 10, 12 and 16 bytes of command, and SYNCHRONIZE CACHE.
pub(crate) static CLOUDPHYSICS: Table = Table {
    name: "cloudphysics",
    summary: "CSV of the CloudPhysics traces: SCSI commands, whole seconds",
    source: "Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015",
    record: "version,time,op,size,lbn",
    columns: "word:1|2,time:s,op:28|88|a8|8|08=read/2a|8a|aa|a|0a=write/35|91=flush,size:bytes,offset:sectors",
    remark: WHOLE_SECONDS,
    ..PLAIN
};

/// The clock of a PC is adjusted now and then by about a second.
pub(crate) static DISKMON: Table = Table {
    name: "diskmon",
    summary: "log of Sysinternals DiskMon: sectors of 512 bytes, seconds",
    source: "Russinovich, DiskMon for Windows, Sysinternals",
    record: "# Time Duration Disk Request Sector Length",
    extensions: &["log"],
    columns: "number,time:s,skip,device:number,op:Read=read/Write=write,offset:sectors,size:sectors",
    clock: Clock::Start,
    sort_window_s: 10,
    header: "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength",
    ..PLAIN
};

/// The published files are out of order by a second.
pub(crate) static TENCENT: Table = Table {
    name: "tencent",
    summary: "CSV of Tencent's cloud block storage: sectors of 512 bytes, whole seconds, 1 is a write",
    source: "Zhang et al., OSCA, USENIX ATC 2020",
    record: "Timestamp,Offset,Size,IOType,VolumeID",
    columns: "time:s,offset:sectors,size:sectors,op:0=read/1=write,device",
    sort_window_s: 1,
    remark: WHOLE_SECONDS,
    ..PLAIN
};

pub(crate) static ALIBABA: Table = Table {
    name: "alibaba",
    summary: "CSV of Alibaba's block traces: bytes, microseconds since 1970",
    source: "Li et al., An In-Depth Analysis of Cloud Block Storage Workloads, IISWC 2020",
    record: "device_id,opcode,offset,length,timestamp",
    columns: "device,op:R=read/W=write,offset:bytes,size:bytes,time:us",
    ..PLAIN
};

/// Issues (D) count as requests; completions (C) are skipped.
pub(crate) static WISCSEE: Table = Table {
    name: "wiscsee",
    summary: "event files of WiscSee: bytes, seconds",
    source: "He et al., The Unwritten Contract of Solid State Drives, EuroSys 2017",
    record: "pid action op offset size time delta sync",
    extensions: &["events"],
    columns: "number,word:D/C=skip,op:read=read/write=write/discard=trim/flush=flush,offset:bytes,size:bytes,time:s,skip,word:True|False",
    clock: Clock::Start,
    ..PLAIN
};

/// Whole words, so that it is not taken for a trace of another recorder.
pub(crate) static COFLASH: Table = Table {
    name: "coflash",
    summary: "CSV of a served device: bytes, nanoseconds since its power came on",
    source: "`coflash serve`",
    record: "ns,op,offset,size",
    columns: "time:ns,op:read=read/write=write/trim=trim/flush=flush,offset:bytes,size:bytes",
    clock: Clock::Start,
    ..PLAIN
};

impl Table {
    pub(crate) const fn info(&self) -> FormatInfo {
        let Self { name, summary, source, record, extensions, options, .. } = *self;
        FormatInfo { name, summary, source, record, extensions, options }
    }

    /// The columns with their names; the separator is the one between the names.
    fn named_columns(&self) -> (Vec<(&'static str, Column)>, u8) {
        let separator = if self.record.contains(',') { b',' } else { BLANK };
        let columns: Columns = self.columns.parse().expect("a table's columns are written as a user's");
        let names = self.record.split(separator as char);
        (names.zip(columns.columns().iter().cloned()).collect(), separator)
    }

    pub(crate) fn conventions(&self) -> Conventions {
        let (columns, _) = self.named_columns();
        let name = |role: &str| {
            let found = columns.iter().rev().find(|(_, column)| column.role() == role);
            found.map_or("device", |&(name, _)| name)
        };
        Conventions::new(self.clock, ["time", "device", "offset", "size"].map(name))
            .sorted_within(Duration { ns: self.sort_window_s * 1_000_000_000 })
    }

    /// Whether its records name devices.
    pub(crate) fn names_devices(&self) -> bool {
        self.columns.contains("device")
    }

    /// Create a parser for a file; `at_top` if its first line may hold the names of the columns.
    pub(crate) fn parser(&'static self, options: &TraceOptions, at_top: bool) -> TableParser {
        let (mut columns, separator) = self.named_columns();
        let units = if self.look_alikes.is_empty() { Default::default() } else { options.units };
        let mut scale = [0; 3];
        for (_, column) in &mut columns {
            match column {
                Column::Time { step_ns, whole } => {
                    // Times with a fraction are not in nanoseconds.
                    *whole = *step_ns == 1;
                    *step_ns = units.time.map_or(*step_ns, |time| time.ns);
                    scale[0] = *step_ns;
                }
                Column::Offset { step_bytes, .. } => {
                    *step_bytes = units.address.map_or(*step_bytes, |address| address.count);
                    scale[1] = *step_bytes;
                }
                Column::Size { step_bytes, .. } => {
                    *step_bytes = units.size.map_or(*step_bytes, |size| size.count);
                    scale[2] = *step_bytes;
                }
                _ => {}
            }
        }
        let lines = ColumnLines::new(columns, separator, self.open_ended);
        TableParser { table: self, lines, scale, at_top }
    }
}

/// The parser of a format defined by its columns.
pub(crate) struct TableParser {
    table: &'static Table,
    lines: ColumnLines,
    /// The units of times, addresses and sizes.
    scale: [u64; 3],
    /// Whether the next line is the first.
    at_top: bool,
}

impl TableParser {
    #[cold]
    fn is_header(&mut self, line: &[u8]) -> bool {
        self.at_top = false;
        let Table { header, record, .. } = self.table;
        let names = if header.is_empty() { record } else { header };
        trim(line).eq_ignore_ascii_case(names.as_bytes())
    }
}

impl LineParser for TableParser {
    #[inline(always)]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, FieldError> {
        if self.at_top && self.is_header(line) {
            return Ok(None);
        }
        self.lines.record(line, devices)
    }

    fn remarks(&self) -> Vec<String> {
        let Table { name, remark, look_alikes, .. } = self.table;
        let mut remarks = Vec::new();
        if !remark.is_empty() {
            remarks.push((*remark).to_owned());
        }
        if !look_alikes.is_empty() {
            let [time, address, size] = self.scale;
            let (time, address, size) =
                (Duration { ns: time }, Bytes { count: address }, Bytes { count: size });
            remarks.push(format!(
                "five ASCII columns do not tell their units: read as {name}, times in {time}, addresses in {address}, sizes in \
                 {size} (options units.time, units.address, units.size; similar formats: {look_alikes})"
            ));
        }
        if self.lines.flagged {
            remarks.push(
                "flags other than 0 and 1 occurred: bit 0 is a read, the others were ignored (ssdsim uses 2 for a trim)"
                    .to_owned(),
            );
        }
        remarks
    }
}
