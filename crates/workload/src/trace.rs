//! Recorded requests: files opened, recognised and read one after the other.
//!
//! The files of a sequence are one recording: each begins where the one before ended, its own times counted from there,
//! and a device keeps its place in all of them. The format of each file is found from its content, so a sequence may mix
//! formats and compressions.

use crate::compressed::{Compression, decompress};
use crate::formats::{self, BLOCK_BYTES, Carry, Devices, FileReader, Input, Lines, SAMPLE_BYTES};
use crate::request::{Request, Source, WorkloadError};
use coflash_base::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crate::formats::Columns;

/// What to do with a record that is not what its format says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// Refuse the trace.
    #[default]
    Stop,
    /// Leave the record out, count it, and say so in the remarks.
    Skip,
}

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceOptions {
    /// The format; found from the content where it is not given.
    pub format: Option<String>,
    /// What to do with a record that is not what its format says.
    pub on_error: OnError,
    /// How much earlier than the one before a record may be and still be taken, as arriving with it: recorders of several
    /// processors now and then swap neighbours. What is earlier than that is an error.
    pub time_slack: Duration,
    /// How far the records of a trace may be out of order and still be put in order: each waits until one this much later
    /// has been seen. The format's own where it is not given: a minute where requests are recorded as they complete (systor,
    /// biotracer, wpa), 10 s for diskmon, 1 s where several processors record (blkparse, ftrace), nothing for the rest.
    pub sort_window: Option<Duration>,
    /// How large a step forward from one record to the next is taken for a clock that was set, and left out. BIOtracer's
    /// phones set theirs while they boot: a day is assumed there, nothing elsewhere.
    pub clock_jump: Option<Duration>,
    /// How far apart the devices of one trace lie in the address space.
    pub device_stride: Bytes,
    /// Which of the events of a request its record is, where a format has several (blkparse, ftrace): its issue where
    /// there is one near the beginning of the file, else its queueing, else its completion.
    pub event: Option<TraceEvent>,
    /// The units of traces of five ASCII columns (disksim, ssdsim, replay), which do not tell them.
    pub units: Units,
    /// What the columns of a trace mean that is in no format of its own, as in `"time:us,op,offset:sectors,size:bytes"`:
    /// `time` in `s`, `ms`, `us`, `ns` or `filetime`; `offset` and `size` in `bytes`, `sectors` or `pages` or in steps such
    /// as `4KiB`; `op` with its words where they are its own (`op:28=read/2a=write`); `device`; `skip`.
    pub columns: Option<Columns>,
    /// How many lines with something in them come before the first record of a trace read by `columns`.
    pub header_lines: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            format: None,
            on_error: OnError::Stop,
            time_slack: Duration::ZERO,
            sort_window: None,
            clock_jump: None,
            device_stride: Bytes { count: 64 << 30 },
            event: None,
            units: Units::default(),
            columns: None,
            header_lines: 0,
        }
    }
}

/// A moment in the life of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceEvent {
    /// It is handed to the block layer.
    Queue,
    /// It is handed to the device.
    Issue,
    /// The device is done with it.
    Complete,
}

/// What the numbers of an ASCII trace count; what is not given is as its format usually has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Units {
    /// One step of a time.
    pub time: Option<Duration>,
    /// One step of an address.
    pub address: Option<Bytes>,
    /// One step of a size.
    pub size: Option<Bytes>,
}

impl TraceOptions {
    /// Refuses options that mean nothing, before any file is touched.
    fn check(&self) -> Result<(), WorkloadError> {
        if let Some(name) = &self.format {
            formats::by_name(name)?;
        }
        let by_columns = self.format.as_deref() == Some(formats::COLUMNS);
        if by_columns && self.columns.is_none() {
            let problem =
                "not given, expected with this format, as in \"time:us,op,offset:sectors,size:bytes\"";
            return Err(WorkloadError::Parameters { key: "columns", problem: problem.to_owned() });
        }
        if self.columns.is_some() && self.format.is_some() && !by_columns {
            let problem = "given, but so is a format that knows its own; expected one of the two";
            return Err(WorkloadError::Parameters { key: "columns", problem: problem.to_owned() });
        }
        let values = [
            ("device_stride", Some(self.device_stride.count)),
            ("units.time", self.units.time.map(|time| time.ns)),
            ("units.address", self.units.address.map(|address| address.count)),
            ("units.size", self.units.size.map(|size| size.count)),
        ];
        match values.into_iter().find(|&(_, value)| value == Some(0)) {
            Some((key, _)) => {
                Err(WorkloadError::Parameters { key, problem: "0 given, at least 1 expected".to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// The requests of `paths`, in the order given, as one trace.
///
/// # Errors
/// A file that is missing, not a file, not readable, empty or of no known format; options that mean nothing. What is
/// wrong further inside a file shows when it is read.
pub fn open(paths: &[String], options: &TraceOptions) -> Result<TraceSource, WorkloadError> {
    options.check()?;
    if paths.is_empty() {
        let problem = "no file given, at least one expected".to_owned();
        return Err(WorkloadError::Parameters { key: "files", problem });
    }
    // A sequence that lacks its last file must say so now, not after an hour.
    let mut total_bytes = Some(0);
    for path in paths {
        let bytes = check_file(path)?;
        total_bytes = total_bytes.zip(bytes).map(|(total, bytes): (u64, u64)| total + bytes);
    }
    let mut source = TraceSource {
        waiting: paths.iter().cloned().collect(),
        options: options.clone(),
        current: None,
        formats: Vec::new(),
        earlier_remarks: Vec::new(),
        consumed_bytes: Arc::new(AtomicU64::new(0)),
        total_bytes,
        ended: false,
    };
    source.open_next(first_carry(options))?;
    Ok(source)
}

/// The requests in `input`, which messages call `name`.
///
/// # Errors
/// As [`open`].
pub fn from_reader(
    name: &str,
    input: Box<dyn Read + Send>,
    options: &TraceOptions,
) -> Result<TraceSource, WorkloadError> {
    options.check()?;
    let mut source = TraceSource {
        waiting: VecDeque::new(),
        options: options.clone(),
        current: None,
        formats: Vec::new(),
        earlier_remarks: Vec::new(),
        consumed_bytes: Arc::new(AtomicU64::new(0)),
        total_bytes: None,
        ended: false,
    };
    source.start(name, input, BLOCK_BYTES, first_carry(options))?;
    Ok(source)
}

fn first_carry(options: &TraceOptions) -> Carry {
    Carry { base_ns: 0, devices: Devices::new(options) }
}

fn unusable(file: &str, problem: impl Into<String>) -> WorkloadError {
    WorkloadError::Trace { file: file.to_owned(), problem: problem.into() }
}

/// Whether `path` can be opened; its size where it is a regular file.
fn check_file(path: &str) -> Result<Option<u64>, WorkloadError> {
    let explain = |error: io::Error| {
        let problem = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "permission to read it is denied".to_owned(),
            _ => format!("cannot be opened: {error}"),
        };
        unusable(path, problem)
    };
    let about = std::fs::metadata(path).map_err(explain)?;
    if about.is_dir() {
        return Err(unusable(path, "a directory, a file expected"));
    }
    if !about.is_file() {
        // Opening a pipe would wait for its writer, or steal from it.
        return Ok(None);
    }
    File::open(path).map_err(explain)?;
    Ok(Some(about.len()))
}

/// A recorded trace as a source of requests.
pub struct TraceSource {
    /// The files not yet begun.
    waiting: VecDeque<String>,
    options: TraceOptions,
    current: Option<Box<dyn FileReader>>,
    formats: Vec<&'static str>,
    /// The remarks on the files already read.
    earlier_remarks: Vec<String>,
    /// What has been read of all files, as it lies on disk.
    consumed_bytes: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    /// Nothing follows, because of the end or of an error.
    ended: bool,
}

impl TraceSource {
    /// The formats of the files begun so far, each once, in order.
    #[must_use]
    pub fn formats(&self) -> &[&'static str] {
        &self.formats
    }

    /// Begins the next file; false where there is none.
    fn open_next(&mut self, carry: Carry) -> Result<bool, WorkloadError> {
        let Some(path) = self.waiting.pop_front() else {
            return Ok(false);
        };
        let file =
            File::open(&path).map_err(|error| unusable(&path, format!("cannot be opened: {error}")))?;
        let counted = Counted { input: file, consumed_bytes: Arc::clone(&self.consumed_bytes) };
        self.start(&path, Box::new(counted), BLOCK_BYTES, carry)?;
        Ok(true)
    }

    fn start(
        &mut self,
        name: &str,
        input: Input,
        block_bytes: usize,
        carry: Carry,
    ) -> Result<(), WorkloadError> {
        let (compression, plain) =
            decompress(input).map_err(|error| unusable(name, Compression::Plain.explain(&error)))?;
        let mut lines = Lines::new(Box::new(Explained { input: plain, compression }), block_bytes);
        let format = match &self.options.format {
            Some(given) => formats::by_name(given)?,
            None if self.options.columns.is_some() => formats::by_name(formats::COLUMNS)?,
            None => {
                let sample = lines.peek(SAMPLE_BYTES).map_err(|error| unusable(name, error.to_string()))?;
                formats::detect(name, sample, &self.options)?
            }
        };
        if !self.formats.contains(&format.info.name) {
            self.formats.push(format.info.name);
        }
        self.current = Some(format.open(name, lines, &self.options, carry));
        Ok(())
    }

    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        while let Some(current) = &mut self.current {
            current.read(batch)?;
            if !batch.is_empty() {
                return Ok(());
            }
            // What is remarked on one file may hold for the next as well: say it once.
            for remark in current.remarks() {
                if !self.earlier_remarks.contains(&remark) {
                    self.earlier_remarks.push(remark);
                }
            }
            let carry = self.current.take().map(FileReader::finish);
            if let Some(carry) = carry {
                self.open_next(carry)?;
            }
        }
        Ok(())
    }
}

impl Source for TraceSource {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        if self.ended {
            return Ok(());
        }
        let result = self.read(batch);
        if result.is_err() {
            batch.clear();
        }
        self.ended = batch.is_empty();
        result
    }

    fn progress(&self) -> Option<f64> {
        let total = self.total_bytes?;
        if self.ended || total == 0 {
            return Some(1.0);
        }
        // A file that grows while it is read must not show more than all of it.
        Some((self.consumed_bytes.load(Ordering::Relaxed) as f64 / total as f64).min(1.0))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.earlier_remarks.clone();
        let current = self.current.iter().flat_map(|current| current.remarks());
        remarks.extend(current.filter(|remark| !self.earlier_remarks.contains(remark)));
        remarks
    }
}

/// A file that counts what is read of it.
struct Counted {
    input: File,
    consumed_bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.consumed_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// An input whose errors say what is wrong with the file rather than with the decoder.
struct Explained {
    input: Input,
    compression: Compression,
}

impl Read for Explained {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, self.compression.explain(&error)),
        })
    }
}
