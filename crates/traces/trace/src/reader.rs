//! From records to requests: the rules common to all formats.

use crate::Result;
use crate::devices::Devices;
use crate::record::{Clock, Conventions, FieldError, FieldNames, Parsed, Record, counted};
use crate::window::{HeldRecord, Window};
use coflash_base::{Bytes, Duration, Time};
use coflash_workload::recorded::{OnError, TraceOptions};
use coflash_workload::{BATCH_REQUESTS, Op, Request, WorkloadError};
use std::collections::BTreeSet;

/// The requests of which a mean is judged, at least.
const REQUESTS_JUDGED: usize = 100;

/// The records that are read, at most, to say how far all are out of order.
const RECORDS_AHEAD_MAX: u64 = 1 << 24;

/// The end of the address space.
pub(crate) const ADDRESS_END: u64 = 1 << 63;

/// The records of a file in any format.
pub(crate) trait Records: Send + 'static {
    /// Read the next record that is a request; `None` at the end.
    fn next(&mut self, devices: &mut Devices) -> Result<Option<Record>, ReadError>;

    /// The number of the last read record (line, row), from 1.
    fn number(&self) -> u64;

    /// Assumptions about ambiguities of the format.
    fn remarks(&self) -> Vec<String>;
}

/// The error of a failed read.
pub(crate) enum ReadError {
    /// A malformed record; the next one can be read.
    Record(FieldError),
    /// A malformed record; the begin of the next one is unknown.
    Lost(FieldError),
    /// The input cannot be read.
    Input(String),
    /// The input ends early, perhaps within a record; nothing follows.
    Ended(String),
}

impl From<FieldError> for ReadError {
    fn from(error: FieldError) -> Self {
        Self::Record(error)
    }
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Ended(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

/// A file as a source of requests.
pub(crate) trait RequestReader: Send {
    /// Append requests to `batch`, up to `BATCH_REQUESTS` in all; none at the end.
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<()>;
    /// The dates of the first and of the latest request so far; `None` without dates, and beside other files.
    fn dates(&self) -> Option<(u64, u64)>;
    /// Assumptions and omissions.
    fn remarks(&self) -> Vec<String>;
}

/// The relation of a file's times to the other files of its trace.
#[derive(Clone, Copy)]
pub(crate) enum TimeBase {
    /// The file follows others: its time 0 is at `base_ns`.
    Sequence { base_ns: u64 },
    /// The file was recorded at the same time as others: its times are unchanged, and it may have no requests.
    Parallel,
    /// The input goes on within a file: as `Parallel`, and what only the top of a file may have is not there.
    Within,
}

/// How a file is read.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// Its name in messages.
    pub(crate) name: &'a str,
    /// The conventions of its format.
    pub(crate) conventions: Conventions,
    pub(crate) options: &'a TraceOptions,
    pub(crate) times: TimeBase,
}

impl Opening<'_> {
    /// The error of a file that cannot be read.
    pub(crate) fn refused(&self, problem: impl std::fmt::Display) -> WorkloadError {
        WorkloadError::trace(self.name, problem.to_string())
    }
}

/// A file with records `R`.
pub(crate) struct Reader<R> {
    file: String,
    records: R,
    fields: FieldNames,
    /// The sorting window.
    window: Window,
    rules: Rules,
    /// Whether the file has dates, and follows others.
    is_dated: bool,
    on_error: OnError,
    served: u64,
    skipped: u64,
    first_skipped: Option<WorkloadError>,
    /// Why the file ended before its end.
    cut: Option<String>,
    /// Whether the file has had a request, or may be empty.
    may_end: bool,
    /// What a user says which column is, and may be wrong.
    columns: Option<String>,
    /// Whether its first batch was read.
    has_begun: bool,
    /// What is odd in the mean of its sizes.
    odd: Option<String>,
}

/// The rules that span records, and their state.
#[derive(Default)]
struct Rules {
    /// Begin of the file in its sequence, added to every time.
    base_ns: u64,
    /// Subtracted from every time; `None` before the first request of a format with dates.
    origin_ns: Option<u64>,
    /// The latest time in the file.
    latest_ns: u64,
    /// Tolerance for a record that is earlier than its predecessor.
    slack_ns: u64,
    /// The number of such records, and their largest lag.
    late: u64,
    late_ns_max: u64,
    /// The number of reads, writes and trims of no bytes.
    empty: u64,
}

impl<R: Records> Reader<R> {
    pub(crate) fn new(records: R, opening: &Opening<'_>) -> Self {
        let Opening { name, conventions, options, times } = *opening;
        // Files that are not in sequence must keep a common clock: `Merge` gives it a beginning.
        let in_sequence = if let TimeBase::Sequence { base_ns } = times { Some(base_ns) } else { None };
        let has_origin = in_sequence.is_none() || conventions.clock == Clock::Start;
        Self {
            file: name.to_owned(),
            records,
            fields: conventions.fields,
            window: Window::new(options.sort_window.unwrap_or(conventions.sort_window)),
            rules: Rules {
                base_ns: in_sequence.unwrap_or(0),
                origin_ns: has_origin.then_some(0),
                slack_ns: options.time_slack.ns,
                ..Rules::default()
            },
            is_dated: in_sequence.is_some() && conventions.clock == Clock::Date,
            on_error: options.on_error,
            served: 0,
            skipped: 0,
            first_skipped: None,
            cut: None,
            may_end: in_sequence.is_none(),
            columns: options.columns.clone(),
            has_begun: false,
            odd: None,
        }
    }

    /// How columns are read, with address and size in each other's place.
    fn exchanged(&self) -> String {
        let of_remark =
            |remark: String| Some(remark.strip_prefix("read with columns=")?.split(": ").next()?.to_owned());
        let read = self.records.remarks().into_iter().find_map(of_remark).or_else(|| self.columns.clone());
        let read = read.unwrap_or_else(|| "time:ns,op,offset:bytes,size:bytes".to_owned());
        read.replace("offset:", "\0").replace("size:", "offset:").replace('\0', "size:")
    }

    /// Read the next record in the order of time.
    #[inline(always)]
    fn next_record(&mut self, devices: &mut Devices) -> Result<Option<HeldRecord>> {
        loop {
            if let Some(record) = self.window.pop() {
                return Ok(Some(record));
            }
            let record = self.records.next(devices);
            let line = self.records.number();
            match record {
                Ok(Some(record)) if self.window.is_open() => self.window.push(HeldRecord { record, line }),
                Ok(Some(record)) => return Ok(Some(HeldRecord { record, line })),
                Ok(None) if self.window.end() => {}
                Ok(None) => return Ok(None),
                Err(ReadError::Record(error)) => self.malformed(line, error)?,
                Err(ReadError::Lost(error)) => return Err(error.within(&self.file, line)),
                Err(ReadError::Ended(problem)) if self.on_error == OnError::Skip => {
                    self.cut = Some(problem);
                    if !self.window.end() {
                        return Ok(None);
                    }
                }
                Err(ReadError::Input(problem) | ReadError::Ended(problem)) => {
                    return Err(WorkloadError::trace(&self.file, problem));
                }
            }
        }
    }

    /// Return the error of a malformed record, or count it, according to the options.
    #[cold]
    fn malformed(&mut self, line: u64, error: FieldError) -> Result<()> {
        let error = error.within(&self.file, line);
        match self.on_error {
            OnError::Stop => Err(error),
            OnError::Skip => {
                self.skipped += 1;
                self.first_skipped.get_or_insert(error);
                Ok(())
            }
        }
    }

    /// The error of a record that precedes the latest one; what mends it is known from the records that follow.
    #[cold]
    fn backwards(&mut self, time_ns: u64, late_ns: u64, devices: &mut Devices) -> FieldError {
        let latest_ns = time_ns + late_ns;
        if self.on_error == OnError::Stop {
            self.window.see(latest_ns);
            self.window.see(time_ns);
            for _ in 0..RECORDS_AHEAD_MAX {
                match self.records.next(devices) {
                    Ok(Some(record)) => self.window.see(record.time_ns),
                    Err(ReadError::Record(_)) => {}
                    _ => break,
                }
            }
        }
        let [by, most] = [late_ns, self.window.sorted_ns_max.max(late_ns)].map(|ns| Duration { ns });
        let problem = format!(
            "time runs backwards by {by}: {time_ns} ns after {latest_ns} ns (sort_window = \"{most}\" or more sorts such \
             records, of which it holds a million, time_slack = \"{most}\" or more moves them to the latest time, \
             on_error = \"skip\" skips them)"
        );
        FieldError { field: self.fields.time, problem }
    }

    /// What was made of single records, and where the file ended.
    fn own_remarks(&self) -> impl Iterator<Item = String> {
        let Rules { late, late_ns_max, empty, .. } = self.rules;
        let (farthest, length) = (Duration { ns: late_ns_max }, self.fields.length);
        let remarks = [
            counted(
                late,
                "record",
                format!("earlier than the one before, by up to {farthest}: moved to its time (time_slack)"),
            ),
            counted(empty, "request", format!("of length 0 ({length}) left out")),
            self.cut.as_ref().map(|problem| format!("{problem}; what precedes that was read (on_error)")),
            self.first_skipped
                .as_ref()
                .and_then(|first| counted(self.skipped, "record", format!("skipped, the first: {first}"))),
            self.odd.clone(),
        ];
        remarks.into_iter().flatten().map(|remark| format!("{}: {remark}", self.file))
    }
}

impl Rules {
    /// Turn a record into a request; it precedes the latest one by `late_ns`.
    #[inline(always)]
    fn apply(
        &mut self,
        record: &Record,
        late_ns: u64,
        fields: &FieldNames,
        devices: &mut Devices,
    ) -> Parsed<Request> {
        let &Record { time_ns: given_ns, length, op, placement, .. } = record;
        let time_ns = given_ns.max(self.latest_ns);
        let origin_ns = self.origin_ns.unwrap_or(time_ns);
        let Some(arrival_ns) = self.base_ns.checked_add(time_ns - origin_ns) else {
            let problem = "the trace is longer than 2^64 ns (584 years)".to_owned();
            return Err(FieldError { field: fields.time, problem });
        };
        let (offset, length) =
            if op == Op::Flush { (0, 0) } else { (address(record, fields, devices)?, length) };
        // A skipped record must not affect the clock.
        self.origin_ns = Some(origin_ns);
        self.latest_ns = time_ns;
        self.late += u64::from(late_ns > 0);
        self.late_ns_max = self.late_ns_max.max(late_ns);
        Ok(Request { arrival: Time { ns: arrival_ns }, offset, length, op, placement })
    }
}

/// The address of the record in the address space of the trace.
#[inline]
fn address(record: &Record, fields: &FieldNames, devices: &mut Devices) -> Parsed<u64> {
    let beyond = |offset: u64| {
        let problem = format!(
            "a request of {} at byte {offset} ends beyond the address space of 2^63 bytes",
            Bytes { count: record.length }
        );
        FieldError { field: fields.offset, problem }
    };
    let fits = |offset: u64| offset.checked_add(record.length).filter(|&end| end <= ADDRESS_END);
    let end = fits(record.offset).ok_or_else(|| beyond(record.offset))?;
    let offset = devices.address(record.device, record.offset, end, fields.device)?;
    fits(offset).map(|_| offset).ok_or_else(|| beyond(offset))
}

impl<R: Records> RequestReader for Reader<R> {
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<()> {
        while batch.len() < BATCH_REQUESTS {
            let Some(HeldRecord { record, line }) = self.next_record(devices)? else {
                break;
            };
            if record.length == 0 && record.op != Op::Flush {
                self.rules.empty += 1;
                continue;
            }
            let late_ns = self.rules.latest_ns.saturating_sub(record.time_ns);
            let request = if late_ns > self.rules.slack_ns {
                Err(self.backwards(record.time_ns, late_ns, devices))
            } else {
                self.rules.apply(&record, late_ns, &self.fields, devices)
            };
            match request {
                Ok(request) => batch.push(request),
                Err(error) => self.malformed(line, error)?,
            }
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let swapped = is_first.then(|| swapped(batch, devices, &self.fields, || self.exchanged())).flatten();
        let mean_mib = if is_first || self.columns.is_some() { mean_bytes(batch) >> 20 } else { 0 };
        let FieldNames { offset, length, .. } = self.fields;
        // No trace here has a larger mean.
        let odd = (mean_mib > 64).then(|| {
            format!(
                "requests have {mean_mib} MiB on average: {offset} and {length} may be in each other's place"
            )
        });
        if let Some(problem) = swapped.or(odd.clone().filter(|_| self.columns.is_some())) {
            batch.clear();
            return Err(WorkloadError::trace(&self.file, problem));
        }
        self.odd = odd.or(self.odd.take());
        self.may_end |= !batch.is_empty();
        if !self.may_end {
            let said: Vec<_> = self.records.remarks().into_iter().chain(self.own_remarks()).collect();
            let skipped = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
            return Err(WorkloadError::trace(&self.file, format!("it has no requests{skipped}")));
        }
        self.served += batch.len() as u64;
        if let Some(first) = self.first_skipped.take_if(|_| batch.is_empty() && self.skipped > self.served) {
            let (skipped, every) = (self.skipped, self.skipped + self.served);
            let problem = format!(
                "{skipped} of {every} records are no requests, more than on_error = \"skip\" leaves out: \
                 another format or columns may read them; the first: {first}"
            );
            return Err(WorkloadError::trace(&self.file, problem));
        }
        Ok(())
    }

    fn dates(&self) -> Option<(u64, u64)> {
        self.rules.origin_ns.filter(|_| self.is_dated).map(|origin_ns| (origin_ns, self.rules.latest_ns))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.records.remarks();
        remarks.extend(self.window.remark(&self.file));
        remarks.extend(self.own_remarks());
        remarks
    }
}

/// The mean size of reads, writes and flushes; of few requests less.
fn mean_bytes(requests: &[Request]) -> u64 {
    let sizes =
        requests.iter().filter(|request| request.op != Op::Trim).map(|request| u128::from(request.length));
    (sizes.sum::<u128>() / requests.len().max(REQUESTS_JUDGED) as u128) as u64
}

/// The problem of requests whose offsets are a few sizes, and whose sizes are many offsets: each begins before the mean of their sizes.
fn swapped(
    requests: &[Request],
    devices: &Devices,
    &FieldNames { offset, length, .. }: &FieldNames,
    exchanged: impl FnOnce() -> String,
) -> Option<String> {
    let ranged = requests.iter().filter(|request| matches!(request.op, Op::Read | Op::Write));
    let offsets: BTreeSet<_> = ranged.clone().map(|request| devices.offset(request.offset)).collect();
    let lengths: BTreeSet<_> = ranged.map(|request| request.length).collect();
    let sizes = 1..mean_bytes(requests);
    let is_swapped = lengths.len() >= REQUESTS_JUDGED.max(16 * offsets.len())
        && offsets.iter().all(|offset| sizes.contains(offset));
    let most = Bytes { count: lengths.last().copied().unwrap_or(0) };
    is_swapped.then(|| {
        format!(
            "{offset} has {} values and {length} has {}, up to {most}: they are in each other's place; the option columns= says which \
             is which, with the units of the file, as in columns={}; beside it header_lines=1 passes over names that say otherwise",
            offsets.len(),
            lengths.len(),
            exchanged()
        )
    })
}

/// Add remarks: files may share them.
pub(crate) fn add_new(known: &mut Vec<String>, remarks: impl IntoIterator<Item = String>) {
    for remark in remarks {
        if !known.contains(&remark) {
            known.push(remark);
        }
    }
}
