//! Recorded requests: files opened, recognised and read one after the other.
//!
//! The files of a sequence are one recording: each begins where the one before ended, its own times counted from there,
//! and a device keeps its place in all of them. The format of each file is found from its content, so a sequence may mix
//! formats and compressions.
//!
//! Where the options or the format say so, the files are merged by time instead (`merge`); an archive stands for the
//! files in it (`place`).

use crate::compressed::{Compression, decompress};
use crate::formats::{self, BLOCK_BYTES, Devices, Entry, FileReader, Input, Lines, Standing};
use crate::merge::{Merge, Part};
use crate::place::{self, CountedFile, Place, unusable};
use crate::request::{Request, Source, WorkloadError};
use coflash_base::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crate::formats::Columns;

/// Is handed what can be read only once (the standard input as `-`, a pipe by its path), and hands back what is read
/// in its place: for whoever must see all its bytes.
pub type Tap = Arc<dyn Fn(&str, Box<dyn Read + Send>) -> Box<dyn Read + Send> + Send + Sync>;

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
    /// Which of the events of a request its record is, where a format has several (blkparse, ftrace, blktrace): its issue
    /// where there is one near the beginning of the file, else its queueing, else its completion; from blktrace's binary
    /// files its issue.
    pub event: Option<TraceEvent>,
    /// The units of traces of five ASCII columns (disksim, ssdsim, replay), which do not tell them.
    pub units: Units,
    /// What the columns of a trace mean that is in no format of its own, as in `"time:us,op,offset:sectors,size:bytes"`:
    /// `time` in `s`, `ms`, `us`, `ns` or `filetime`; `offset` and `size` in `bytes`, `sectors` or `pages` or in steps such
    /// as `4KiB`; `op` with its words where they are its own (`op:28=read/2a=write`); `device`; `skip`.
    pub columns: Option<Columns>,
    /// How many lines with something in them come before the first record of a trace read by `columns`.
    pub header_lines: u64,
    /// How far apart objects lie in the address space, in a trace of objects (oracleGeneral).
    pub object_stride: Bytes,
    /// How several files are one trace; by time where their recorder writes a file for each processor (blktrace), and
    /// in sequence otherwise, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Arrangement>,
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
            object_stride: Bytes { count: 4096 },
            merge: None,
        }
    }
}

/// How several files are one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// Each begins where the one before ended.
    Sequence,
    /// They were recorded at the same time.
    Time,
}

/// A moment in the life of a request; blktrace's letters stand for them as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceEvent {
    /// It is handed to the block layer.
    #[serde(alias = "Q")]
    Queue,
    /// It is handed to the device.
    #[serde(alias = "D")]
    Issue,
    /// The device is done with it.
    #[serde(alias = "C")]
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
            ("object_stride", Some(self.object_stride.count)),
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

/// The requests of `paths` as one trace: in the order given, or as the options say. `-` is the standard input.
///
/// # Errors
/// A file that is missing, not a file, not readable, empty or of no known format; options that mean nothing. What is
/// wrong further inside a file shows when it is read.
pub fn open(paths: &[String], options: &TraceOptions) -> Result<TraceSource, WorkloadError> {
    open_at(paths, &[], options, None)
}

/// As [`open`]; of a pipe among the files, `tap` is handed what is read.
///
/// # Errors
/// As [`open`].
pub fn open_tapped(paths: &[String], options: &TraceOptions, tap: Tap) -> Result<TraceSource, WorkloadError> {
    open_at(paths, &[], options, Some(tap))
}

/// As [`open`], with the requests of `paths[i]` moved up by `offsets[i]`, and merged by time unless the options say
/// otherwise; without offsets none is moved.
pub(crate) fn open_at(
    paths: &[String],
    offsets: &[Bytes],
    options: &TraceOptions,
    tap: Option<Tap>,
) -> Result<TraceSource, WorkloadError> {
    options.check()?;
    if paths.is_empty() {
        let problem = "no file given, at least one expected".to_owned();
        return Err(WorkloadError::Parameters { key: "files", problem });
    }
    if paths.iter().filter(|path| *path == place::STANDARD_INPUT).count() > 1 {
        let problem = "the standard input (-) was given twice, it can be read once".to_owned();
        return Err(WorkloadError::Parameters { key: "files", problem });
    }
    // A sequence that lacks its last file must say so now, not after an hour.
    let mut waiting = VecDeque::new();
    for (index, path) in paths.iter().enumerate() {
        let shift_bytes = offsets.get(index).map_or(0, |offset| offset.count);
        waiting.extend(place::find(path)?.into_iter().map(|place| (place, shift_bytes)));
    }
    let sizes = waiting.iter().map(|(place, _)| place.bytes);
    let total_bytes = sizes.sum();
    let mut source = TraceSource { waiting, total_bytes, tap, ..TraceSource::empty(options) };
    source.begin()?;
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
    let mut source = TraceSource::empty(options);
    let found = source.recognise(name, input, None)?;
    source.current = Some(found.read(options, Standing::After { base_ns: 0 })?);
    Ok(source)
}

/// A recorded trace as a source of requests.
pub struct TraceSource {
    /// The files not yet begun, and how far up their requests are moved.
    waiting: VecDeque<(Place, u64)>,
    options: TraceOptions,
    current: Option<Box<dyn FileReader>>,
    devices: Devices,
    formats: Vec<&'static str>,
    /// The remarks on the files already read.
    earlier_remarks: Vec<String>,
    /// What has been read of all files, as it lies on disk.
    consumed_bytes: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    tap: Option<Tap>,
    /// Nothing follows, because of the end or of an error.
    ended: bool,
}

/// A file whose format is known.
struct Found {
    name: String,
    format: Entry,
    body: Body,
}

enum Body {
    Stream(Lines),
    File(CountedFile),
}

impl Found {
    fn read(self, options: &TraceOptions, standing: Standing) -> Result<Box<dyn FileReader>, WorkloadError> {
        match self.body {
            Body::Stream(input) => self.format.open(&self.name, input, options, standing),
            Body::File(file) => self.format.open_file(&self.name, file, options, standing),
        }
    }
}

impl TraceSource {
    fn empty(options: &TraceOptions) -> Self {
        Self {
            waiting: VecDeque::new(),
            options: options.clone(),
            current: None,
            devices: Devices::new(options),
            formats: Vec::new(),
            earlier_remarks: Vec::new(),
            consumed_bytes: Arc::new(AtomicU64::new(0)),
            total_bytes: None,
            tap: None,
            ended: false,
        }
    }

    /// The formats of the files begun so far, each once, in order.
    #[must_use]
    pub fn formats(&self) -> &[&'static str] {
        &self.formats
    }

    /// Begins the first file, or all where they are read at the same time.
    fn begin(&mut self) -> Result<(), WorkloadError> {
        let by_time = match self.options.merge {
            Some(arrangement) => arrangement == Arrangement::Time,
            None => self.waiting.len() > 1 && self.is_per_processor(),
        };
        if by_time { self.all_files() } else { self.next_file(0).map(drop) }
    }

    /// Whether the files are of a recorder that writes one for each processor; what is wrong with them is said later.
    fn is_per_processor(&mut self) -> bool {
        let place = self.waiting.iter().map(|(place, _)| place).find(|place| place.bytes > Some(0)).cloned();
        let found = place.and_then(|place| {
            let input = place.open(&Arc::default(), None).ok()?;
            self.recognise(&place.name, input, Some(&place)).ok()
        });
        found.is_some_and(|found| found.format.per_processor)
    }

    /// Begins all files at the same time.
    fn all_files(&mut self) -> Result<(), WorkloadError> {
        let mut parts = Vec::with_capacity(self.waiting.len());
        for (place, shift_bytes) in std::mem::take(&mut self.waiting) {
            if place.bytes == Some(0) {
                // A processor without events leaves an empty file.
                self.earlier_remarks.push(format!("{}: it is empty", place.name));
                continue;
            }
            let found = self.find(&place)?;
            let dated = found.format.dated;
            let reader = found.read(&self.options, Standing::Beside)?;
            parts.push(Part::new(place.name, reader, dated, shift_bytes));
        }
        self.current = Some(Box::new(Merge::new(parts, self.options.clock_jump)));
        Ok(())
    }

    /// Begins the next file of a sequence at `base_ns`; false where there is none.
    fn next_file(&mut self, base_ns: u64) -> Result<bool, WorkloadError> {
        let Some((place, _)) = self.waiting.pop_front() else {
            return Ok(false);
        };
        let found = self.find(&place)?;
        self.current = Some(found.read(&self.options, Standing::After { base_ns })?);
        Ok(true)
    }

    /// Opens the file and finds out what it is.
    fn find(&mut self, place: &Place) -> Result<Found, WorkloadError> {
        let input = place.open(&self.consumed_bytes, self.tap.as_ref())?;
        self.recognise(&place.name, input, Some(place))
    }

    fn recognise(&mut self, name: &str, input: Input, place: Option<&Place>) -> Result<Found, WorkloadError> {
        let (compression, plain) =
            decompress(input).map_err(|error| unusable(name, Compression::Plain.explain(&error)))?;
        let mut lines = Lines::new(Box::new(Explained { input: plain, compression }), BLOCK_BYTES);
        let ahead = lines.ahead(formats::SAMPLE_BYTES).map_err(|error| unusable(name, error.to_string()))?;
        if place::is_archive(ahead) {
            return Err(unusable(name, "an archive: give it as a file of its own, not through a pipe"));
        }
        let format = match &self.options.format {
            Some(given) => formats::by_name(given)?,
            None if self.options.columns.is_some() => formats::by_name(formats::COLUMNS)?,
            None => formats::detect(name, &mut lines, &self.options)?,
        };
        let body = if format.needs_file() {
            let place = place.filter(|_| compression == Compression::Plain);
            let file = place.and_then(|place| place.file(&self.consumed_bytes));
            Body::File(file.ok_or_else(|| unusable(name, format.only_file()))??)
        } else {
            Body::Stream(lines)
        };
        if !self.formats.contains(&format.info.name) {
            self.formats.push(format.info.name);
        }
        Ok(Found { name: name.to_owned(), format, body })
    }

    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        while let Some(current) = &mut self.current {
            current.read(batch, &mut self.devices)?;
            if !batch.is_empty() {
                return Ok(());
            }
            // What is remarked on one file may hold for the next as well: say it once.
            for remark in current.remarks() {
                if !self.earlier_remarks.contains(&remark) {
                    self.earlier_remarks.push(remark);
                }
            }
            let end_ns = current.end_ns();
            self.current = None;
            self.next_file(end_ns)?;
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
        let mut remarks: Vec<_> = self.devices.remark().into_iter().collect();
        remarks.extend_from_slice(&self.earlier_remarks);
        let current = self.current.iter().flat_map(|current| current.remarks());
        remarks.extend(current.filter(|remark| !self.earlier_remarks.contains(remark)));
        remarks
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
