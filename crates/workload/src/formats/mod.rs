//! The trace formats: one file each, and one line each in the list below.
//!
//! A format turns a line into a `Record` in the trace's own terms; everything that holds for every format (times run
//! forward, ranges fit the address space, devices do not collide, bad records are skipped or refused) is in `reader`.
//! A format is recognised by running its parser over the beginning of the file, so there is nothing else to keep in step.
//! What is true of a line is true of the records of a binary format (`packed`), which is recognised first.
//!
//! To add one: a file beside this, with a type that implements `Format` (or `Binary`) and whose comment says what the
//! format leaves open; its line in `FORMATS`; its sample and its illegal records in `tests/workload/formats.rs` (or
//! `tests/workload/binary.rs`); a fuzz target.

mod alibaba;
mod arrow;
mod biotracer;
mod blkparse;
mod blktrace;
mod cloudphysics;
mod columns;
mod devices;
mod diskmon;
mod disksim;
mod fio;
mod fiu;
mod ftrace;
mod linux_block;
mod msr;
mod oracle_general;
mod packed;
pub(crate) mod parquet;
mod reader;
mod replay;
mod spc;
mod srt;
mod ssdsim;
mod systor;
mod tencent;
mod text;
mod vscsi;
mod window;
mod wiscsee;
mod wpa;

use crate::place::CountedFile;
use crate::request::{Op, Request, WorkloadError};
use crate::trace::TraceOptions;
use coflash_base::Duration;
use std::io::Read;

pub use columns::Columns;
pub(crate) use devices::Devices;
pub(crate) use text::{BLOCK_BYTES, Lines};

/// Every format, in the order in which they are shown; of formats that fit a file equally well the first is taken.
const FORMATS: &[Entry] = &[
    Entry::of::<fio::Iolog>(),
    Entry::of::<msr::Msr>(),
    Entry::of::<spc::Spc>(),
    Entry::of::<replay::Replay>(),
    Entry::of::<ssdsim::SsdSim>(),
    Entry::of::<disksim::DiskSim>(),
    Entry::of::<systor::Systor>(),
    Entry::of::<fiu::Fiu>(),
    Entry::of::<blkparse::Blkparse>(),
    Entry::of::<ftrace::Ftrace>(),
    Entry::of::<cloudphysics::CloudPhysics>(),
    Entry::of::<diskmon::DiskMon>(),
    Entry::of::<biotracer::BioTracer>(),
    Entry::of::<tencent::Tencent>(),
    Entry::of::<alibaba::Alibaba>(),
    Entry::of::<wpa::Wpa>(),
    Entry::of::<wiscsee::WiscSee>(),
    Entry::of::<columns::ColumnReader>(),
    Entry::packed::<blktrace::Blktrace>(),
    Entry::packed::<vscsi::Vscsi>(),
    Entry::packed::<oracle_general::OracleGeneral>(),
    Entry::packed::<srt::Srt>(),
    Entry {
        info: arrow::INFO,
        dated: false,
        per_processor: false,
        look: Look::Bytes(arrow::recognises),
        open: Open::Stream(arrow::open),
    },
    Entry {
        info: parquet::INFO,
        dated: false,
        per_processor: false,
        look: Look::Bytes(parquet::recognises),
        open: Open::File(parquet::open),
    },
];

/// The format that is read as the options say.
pub(crate) const COLUMNS: &str = columns::ColumnReader::INFO.name;

/// What a format is, for the documentation, the command line and error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FormatInfo {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// Who defined it.
    pub source: &'static str,
    /// What a record looks like.
    pub record: &'static str,
    /// File extensions it is often seen with: they decide between formats the content fits equally well.
    pub extensions: &'static [&'static str],
}

/// The table of the formats.
#[must_use]
pub fn table() -> Vec<FormatInfo> {
    FORMATS.iter().map(|format| format.info).collect()
}

/// Every name of a format.
#[must_use]
pub fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.info.name).collect()
}

/// A format of lines.
pub(crate) trait Format: Send + Sized + 'static {
    /// What it is.
    const INFO: FormatInfo;
    /// What it calls the fields that rules for every format speak of.
    const FIELDS: FieldNames;
    /// Where its times count from.
    const CLOCK: Clock;
    /// How far its records are out of order, where that is its nature.
    const SORT_WINDOW: Duration = Duration::ZERO;

    /// A parser at the beginning of a file.
    fn new(options: &TraceOptions) -> Self;

    /// Sees the beginning of the file before its first line.
    fn look_ahead(&mut self, _beginning: &[u8]) {}

    /// What a line says; nothing for a header and for what is not a request. Called once per line that is not blank, in
    /// order, whether or not the record of the line before was accepted.
    ///
    /// # Errors
    /// The field that is not what the format says.
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Option<Record>, Fault>;

    /// What the format left open and had to be assumed.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The names of the fields of a record, as its format has them.
pub(crate) struct FieldNames {
    pub(crate) time: &'static str,
    pub(crate) device: &'static str,
    pub(crate) offset: &'static str,
    pub(crate) length: &'static str,
}

/// Where the times of a format count from.
pub(crate) enum Clock {
    /// The start of the recording: times are kept.
    Start,
    /// A date: the first request is at zero.
    Date,
}

/// A request in the terms of its trace: no rule of the whole has been applied.
pub(crate) struct Record {
    pub(crate) time_ns: u64,
    /// A number of the format's own, or one from [`Devices::number`].
    pub(crate) device: u64,
    /// First byte on the device.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) op: Op,
}

/// What is wrong with a line; file and line are added where they are known.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) field: &'static str,
    pub(crate) problem: String,
}

impl Fault {
    /// `given` is in place of `expected`.
    #[cold]
    pub(crate) fn unexpected(field: &'static str, given: &[u8], expected: &str) -> Self {
        let problem = if given.is_empty() {
            format!("missing, expected {expected}")
        } else {
            format!("\"{}\" is not {expected}", show(given))
        };
        Self { field, problem }
    }
}

/// Bytes of a file as they can be shown in a message: printable, and not too many.
pub(crate) fn show(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 80;
    let more = if bytes.len() > SHOWN_BYTES { "…" } else { "" };
    format!("{}{more}", bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii())
}

/// A file being read in some format.
pub(crate) trait FileReader: Send {
    /// Appends requests to `batch`, up to `BATCH_REQUESTS` in all; none at the end.
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<(), WorkloadError>;
    /// What had to be assumed or left out.
    fn remarks(&self) -> Vec<String>;
    /// When the latest request read so far arrived: where the next file of a sequence begins.
    fn end_ns(&self) -> u64;
}

/// How a file stands to the others of its trace.
#[derive(Clone, Copy)]
pub(crate) enum Standing {
    /// It follows them: its time zero lies at `base_ns`.
    After { base_ns: u64 },
    /// It was recorded at the same time as they: its times are left as they are, and it may be without requests.
    Beside,
}

/// A format as the rest of the crate sees it.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) info: FormatInfo,
    /// Whether its times are dates.
    pub(crate) dated: bool,
    /// Whether its recorder writes a file for each processor, which only together are a trace.
    pub(crate) per_processor: bool,
    look: Look,
    open: Open,
}

/// How a format is recognised.
#[derive(Clone, Copy)]
enum Look {
    /// By how many lines of a sample it understands.
    Lines(fn(sample: &[u8], options: &TraceOptions) -> Option<u32>),
    /// By the bytes a file begins with.
    Bytes(fn(ahead: &[u8]) -> bool),
}

type Opened = Result<Box<dyn FileReader>, WorkloadError>;

/// What a format is read from.
#[derive(Clone, Copy)]
enum Open {
    Stream(fn(file: &str, input: Lines, options: &TraceOptions, standing: Standing) -> Opened),
    File(fn(file: &str, input: CountedFile, options: &TraceOptions, standing: Standing) -> Opened),
}

impl Entry {
    const fn of<F: Format>() -> Self {
        Self {
            info: F::INFO,
            dated: matches!(F::CLOCK, Clock::Date),
            per_processor: false,
            look: Look::Lines(score::<F>),
            open: Open::Stream(|file, lines, options, standing| {
                let text = reader::Text::<F>::open(file, lines, options)?;
                Ok(Box::new(reader::Reader::new(file, text, options, standing)))
            }),
        }
    }

    const fn packed<B: packed::Binary>() -> Self {
        Self {
            info: B::INFO,
            dated: matches!(B::CLOCK, Clock::Date),
            per_processor: B::PER_PROCESSOR,
            look: Look::Bytes(B::recognises),
            open: Open::Stream(|file, input, options, standing| {
                let records = packed::Packed::<B>::open(file, input, options)?;
                Ok(Box::new(reader::Reader::new(file, records, options, standing)))
            }),
        }
    }

    /// Whether it must be able to go back and forth in its file.
    pub(crate) fn needs_file(&self) -> bool {
        matches!(self.open, Open::File(_))
    }

    /// Reads `input` in this format, which must not need a file; `name` names it in messages.
    pub(crate) fn open(
        &self,
        name: &str,
        input: Lines,
        options: &TraceOptions,
        standing: Standing,
    ) -> Result<Box<dyn FileReader>, WorkloadError> {
        match self.open {
            Open::Stream(open) => open(name, input, options, standing),
            Open::File(_) => Err(WorkloadError::Trace { file: name.to_owned(), problem: self.only_file() }),
        }
    }

    /// Reads the file in this format, which must need one.
    pub(crate) fn open_file(
        &self,
        name: &str,
        input: CountedFile,
        options: &TraceOptions,
        standing: Standing,
    ) -> Result<Box<dyn FileReader>, WorkloadError> {
        match self.open {
            Open::File(open) => open(name, input, options, standing),
            Open::Stream(open) => {
                open(name, Lines::new(Box::new(input.from(0)), BLOCK_BYTES), options, standing)
            }
        }
    }

    /// Why it cannot be read from a stream.
    pub(crate) fn only_file(&self) -> String {
        format!(
            "{} is read from the end: give it as a file of its own, not compressed, not in an archive, not through a pipe",
            self.info.name
        )
    }
}

/// The format called `name`.
pub(crate) fn by_name(name: &str) -> Result<Entry, WorkloadError> {
    FORMATS.iter().find(|format| format.info.name == name).copied().ok_or_else(|| {
        let hint = coflash_base::suggest::hint(name, &names());
        WorkloadError::Parameters {
            key: "format",
            problem: format!("\"{name}\" is not a trace format{hint}"),
        }
    })
}

/// How much of a file is looked at to recognise its format.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;

/// The format of a file that begins as `input`: a binary one that knows its beginning, or else the one that understands
/// most lines, then the one its extension speaks for.
pub(crate) fn detect(file: &str, input: &mut Lines, options: &TraceOptions) -> Result<Entry, WorkloadError> {
    let problem = |problem| WorkloadError::Trace { file: file.to_owned(), problem };
    let ahead = input.ahead(SAMPLE_BYTES).map_err(|error| problem(error.to_string()))?;
    let knows = |format: &&Entry| matches!(format.look, Look::Bytes(recognises) if recognises(ahead));
    if let Some(format) = FORMATS.iter().find(knows) {
        return Ok(*format);
    }
    let sample = input.peek(SAMPLE_BYTES).map_err(|error| problem(error.to_string()))?;
    let Some(first) = sample.split(|&b| b == b'\n').map(text::trim).find(|line| !is_empty(line)) else {
        return Err(problem("the file is empty: it has no requests".to_owned()));
    };
    let score = |format: &'static Entry| match format.look {
        Look::Lines(score) => Some((format, score(sample, options)?)),
        Look::Bytes(_) => None,
    };
    // `max_by_key` takes the last of equals, the list gives precedence to the first.
    let candidates = FORMATS.iter().rev().filter_map(score);
    let best = candidates.max_by_key(|(format, score)| (*score, has_extension(file, format.info.extensions)));
    best.map(|(format, _)| *format).ok_or_else(|| {
        let known =
            FORMATS.iter().map(|f| format!("{} `{}`", f.info.name, f.info.record)).collect::<Vec<_>>();
        let first = show(first);
        problem(format!(
            "not a trace of any known format: its first line is \"{first}\" (known: {})",
            known.join("; ")
        ))
    })
}

/// How many lines of `sample` format `F` understands; nothing if that is less than half and the first is not among them.
fn score<F: Format>(sample: &[u8], options: &TraceOptions) -> Option<u32> {
    let mut format = F::new(options);
    let mut devices = Devices::new(options);
    let (mut first, mut understood, mut total) = (false, 0, 0_u32);
    for line in sample.split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if is_empty(line) {
            continue;
        }
        total += 1;
        if format.record(line, &mut devices).is_ok() {
            understood += 1;
            first |= total == 1;
        }
    }
    (understood > 0 && (first || understood * 2 >= total)).then_some(understood)
}

/// Whether a line says nothing.
#[inline]
fn is_empty(line: &[u8]) -> bool {
    // Nearly every line begins with something else, and is decided by its first byte.
    line.iter().all(u8::is_ascii_whitespace)
}

/// Whether one of the extensions of `file`, compression's included, is among `extensions`.
fn has_extension(file: &str, extensions: &[&str]) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').skip(1).any(|part| extensions.iter().any(|e| e.eq_ignore_ascii_case(part)))
}

/// What is read as nothing more than bytes.
pub(crate) type Input = Box<dyn Read + Send>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::OnError;
    use proptest::prelude::*;
    use std::io::{self, Cursor};

    /// Gives a few bytes at a time, as a decoder or a pipe may.
    struct Dribble(Cursor<Vec<u8>>, usize);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    /// Everything that can be seen of a file read in `format`, an error at the end included.
    fn read(format: Entry, text: &str, block_bytes: usize, on_error: OnError) -> (Vec<Request>, Vec<String>) {
        let options = TraceOptions { on_error, ..TraceOptions::default() };
        let input = Dribble(Cursor::new(text.as_bytes().to_vec()), block_bytes);
        let mut devices = Devices::new(&options);
        let standing = Standing::After { base_ns: 5 };
        let mut reader = match format.open("t", Lines::new(Box::new(input), block_bytes), &options, standing)
        {
            Ok(reader) => reader,
            Err(error) => return (Vec::new(), vec![error.to_string()]),
        };
        let (mut all, mut said) = (Vec::new(), Vec::new());
        loop {
            let mut batch = Vec::new();
            let result = reader.read(&mut batch, &mut devices);
            let ended = batch.is_empty();
            all.extend(batch);
            if let Err(error) = result {
                said.push(error.to_string());
                break;
            }
            if ended {
                break;
            }
        }
        said.extend(reader.remarks());
        said.extend(devices.remark());
        (all, said)
    }

    /// Lines of every format, right and wrong, that a test puts together as chance will have it.
    const LINES: [&str; 34] = [
        "fio version 3 iolog",
        "fio version 2 iolog",
        "10 d read 0 1",
        "12 e write 4096 8192",
        "12 e sync 0 0",
        "d trim 1 1",
        "d wait 100",
        "d add",
        "128166385295514663,hm,0,Write,4096,2048,2833",
        "128166385295514664,hm,1,Read,0,1,1",
        "0,303567,3584,w,0.5",
        "1,7,512,R,0.25",
        "0.5 0 8 16 1",
        "0.75 1 24 8 0",
        "750 1 512 1024 0",
        "Timestamp,Response,IOType,LUN,Offset,Size",
        "1456095145.133,0.0008,R,0,4096,512",
        "1456095145.126,,W,1,0,512",
        "467 25 kjournald 6446 8 W 6 0 98b9cb7e1dd888f9dac2bf08af1c3cb2",
        "  8,16   3        7     0.001795683  3557  D   R 4938888 + 256 [java]",
        "  8,17   3        7     0.000795683  3557  D  FN [java]",
        "CPU0 (8,16):",
        " fio-789 [000] .....  4455.092003: block_rq_issue: 259,0 WS 65536 () 64 + 128 [fio]",
        "1,5633898,2a,512,42932745",
        "0\t0.047339\t0.00019073\t0\tRead\t1320146\t8\t",
        "8 8 4096 4 1.741165940 1.741177190 1.741193648 1.741418961",
        "8 8 4096 5 9999999.0 9999999.5 9999999.6 9999999.7",
        "1538323200,12910952,128,0,1063",
        "419,W,8792731648,16384,1577808144360767",
        "IO Type,Init Time (s),Min Offset,Size (B)",
        "Read,0.5,0x1000,\"4,096\"",
        "909 D read 0 4096 0.000000000 0 False",
        "",
        "nonsense",
    ];

    proptest! {
        #[test]
        fn what_is_read_does_not_depend_on_blocks(
            picks in proptest::collection::vec(0..LINES.len(), 1..30),
            crlf: bool,
            skip: bool,
            block_bytes in 1..50_usize,
        ) {
            let end = if crlf { "\r\n" } else { "\n" };
            let on_error = if skip { OnError::Skip } else { OnError::Stop };
            for format in FORMATS {
                // Half of the time a header, so that fio has something to read.
                let head = if picks.len() % 2 == 0 { LINES[picks[0] % 2] } else { "" };
                let lines = picks.iter().map(|&pick| LINES[pick]);
                let text = [head].into_iter().chain(lines).collect::<Vec<_>>().join(end);
                let whole = read(*format, &text, 1 << 16, on_error);
                prop_assert_eq!(read(*format, &text, block_bytes, on_error), whole);
            }
        }
    }

    #[test]
    fn an_extension_counts_below_that_of_the_compression() {
        assert!(has_extension("a/b.dir/web1.SPC.zst", &["spc"]));
        assert!(!has_extension("a/b.spc/web1.zst", &["spc"]));
        assert!(!has_extension("spc", &["spc"]));
    }
}
