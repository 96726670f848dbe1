//! From records to requests: the rules that hold for every format, in one place.

use super::window::{Waiting, Window};
use super::{
    Clock, Devices, Fault, FieldNames, FileReader, Format, Lines, Record, SAMPLE_BYTES, Standing, is_empty,
};
use crate::request::{BATCH_REQUESTS, Op, Request, WorkloadError};
use crate::trace::{OnError, TraceOptions};
use coflash_base::{Duration, Time};

/// No request reaches beyond this byte.
const ADDRESS_END: u64 = 1 << 63;

/// The records of a file, however it is laid out.
pub(crate) trait Records: Send + 'static {
    /// What the format calls its fields.
    const FIELDS: FieldNames;
    /// Where its times count from.
    const CLOCK: Clock;
    /// How far its records are out of order, where that is its nature.
    const SORT_WINDOW: Duration = Duration::ZERO;

    /// The next record that is a request; nothing at the end.
    fn next(&mut self, devices: &mut Devices) -> Result<Option<Record>, Trouble>;

    /// The number of the record (line, row) last looked at, from 1.
    fn number(&self) -> u64;

    /// What the format left open and had to be assumed.
    fn remarks(&self) -> Vec<String>;
}

/// Why there is no next record.
pub(crate) enum Trouble {
    /// This record is wrong; the one behind it can be read.
    Record(Fault),
    /// This record is wrong, and where the next begins is not known.
    Lost(Fault),
    /// The input cannot be read.
    Input(String),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Record(fault)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Input(error.to_string())
    }
}

/// The lines of a text format.
pub(crate) struct Text<F> {
    lines: Lines,
    format: F,
}

impl<F: Format> Text<F> {
    pub(crate) fn open(file: &str, mut lines: Lines, options: &TraceOptions) -> Result<Self, WorkloadError> {
        let mut format = F::new(options);
        let beginning = lines
            .peek(SAMPLE_BYTES)
            .map_err(|error| WorkloadError::Trace { file: file.to_owned(), problem: error.to_string() })?;
        format.look_ahead(beginning);
        Ok(Self { lines, format })
    }
}

impl<F: Format> Records for Text<F> {
    const FIELDS: FieldNames = F::FIELDS;
    const CLOCK: Clock = F::CLOCK;
    const SORT_WINDOW: Duration = F::SORT_WINDOW;

    #[inline]
    fn next(&mut self, devices: &mut Devices) -> Result<Option<Record>, Trouble> {
        while let Some(line) = self.lines.next()? {
            if is_empty(line) {
                continue;
            }
            if let Some(record) = self.format.record(line, devices)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn number(&self) -> u64 {
        self.lines.number()
    }

    fn remarks(&self) -> Vec<String> {
        self.format.remarks()
    }
}

/// A file whose records are `R`.
pub(crate) struct Reader<R> {
    file: String,
    records: R,
    /// The records that wait for their turn.
    window: Window,
    rules: Rules,
    on_error: OnError,
    skipped: u64,
    first_skipped: Option<WorkloadError>,
    /// Whether the file had a request at all, or need not have one.
    satisfied: bool,
}

/// What must hold between requests.
struct Rules {
    /// Added to every time: where the file begins in its sequence.
    base_ns: u64,
    /// Subtracted from every time; nothing before the first request of a format with dates.
    origin_ns: Option<u64>,
    /// The latest time, as the file has it.
    latest_ns: u64,
    /// How far a record may be earlier than the one before; it then arrives with it.
    slack_ns: u64,
    /// How many were, and the farthest.
    late: u64,
    late_ns_max: u64,
    /// How large a step forward is a clock that was set.
    jump_ns: u64,
    /// The sum of such steps.
    jumped_ns: u64,
    /// How many there were.
    jumps: u64,
}

impl<R: Records> Reader<R> {
    pub(crate) fn new(file: &str, records: R, options: &TraceOptions, standing: Standing) -> Self {
        let (base_ns, origin_ns) = match (standing, R::CLOCK) {
            (Standing::Beside, _) => (0, Some(0)),
            (Standing::After { base_ns }, Clock::Start) => (base_ns, Some(0)),
            (Standing::After { base_ns }, Clock::Date) => (base_ns, None),
        };
        let jump_ns = match (standing, options.clock_jump) {
            (Standing::After { .. }, Some(jump)) => jump.ns,
            // Files of the same time must not move against each other: what they are merged into knows of jumps.
            _ => u64::MAX,
        };
        Self {
            file: file.to_owned(),
            records,
            window: Window::new(options.sort_window.unwrap_or(R::SORT_WINDOW)),
            rules: Rules {
                base_ns,
                origin_ns,
                latest_ns: 0,
                slack_ns: options.time_slack.ns,
                late: 0,
                late_ns_max: 0,
                jump_ns,
                jumped_ns: 0,
                jumps: 0,
            },
            on_error: options.on_error,
            skipped: 0,
            first_skipped: None,
            satisfied: matches!(standing, Standing::Beside),
        }
    }

    fn problem(&self, problem: String) -> WorkloadError {
        WorkloadError::Trace { file: self.file.clone(), problem }
    }

    /// The next record in order, with the number of its line.
    #[inline]
    fn next_record(&mut self, devices: &mut Devices) -> Result<Option<Waiting>, WorkloadError> {
        loop {
            if let Some(record) = self.window.pop() {
                return Ok(Some(record));
            }
            let record = self.records.next(devices);
            let line = self.records.number();
            match record {
                Ok(Some(record)) if self.window.is_open() => self.window.push(Waiting { record, line }),
                Ok(Some(record)) => return Ok(Some(Waiting { record, line })),
                Ok(None) if self.window.end() => {}
                Ok(None) => return Ok(None),
                Err(Trouble::Record(fault)) => self.fault(line, fault)?,
                Err(Trouble::Lost(fault)) => return Err(self.malformed(line, fault)),
                Err(Trouble::Input(problem)) => return Err(self.problem(problem)),
            }
        }
    }

    #[cold]
    fn malformed(&self, line: u64, fault: Fault) -> WorkloadError {
        WorkloadError::Malformed { file: self.file.clone(), line, field: fault.field, problem: fault.problem }
    }

    #[cold]
    fn fault(&mut self, line: u64, fault: Fault) -> Result<(), WorkloadError> {
        let error = self.malformed(line, fault);
        match self.on_error {
            OnError::Stop => Err(error),
            OnError::Skip => {
                self.skipped += 1;
                self.first_skipped.get_or_insert(error);
                Ok(())
            }
        }
    }

    fn late_remark(&self) -> Option<String> {
        let (late, farthest) = (self.rules.late, Duration { ns: self.rules.late_ns_max });
        (late > 0).then(|| {
            format!(
                "{}: {late} records are earlier than the one before, by up to {farthest}, and arrive with it",
                self.file
            )
        })
    }

    fn jump_remark(&self) -> Option<String> {
        let Rules { jumps, jumped_ns, .. } = self.rules;
        (jumps > 0).then(|| {
            let left_out = Duration { ns: jumped_ns };
            format!("{}: {jumps} pauses, {left_out} in all, were left out (clock_jump)", self.file)
        })
    }

    fn skip_remark(&self) -> Option<String> {
        let first = self.first_skipped.as_ref()?;
        Some(format!("{}: {} records were skipped, the first: {first}", self.file, self.skipped))
    }
}

impl Rules {
    /// The request that `record` stands for.
    #[inline]
    fn apply(
        &mut self,
        record: &Record,
        newest_ns: u64,
        fields: &FieldNames,
        devices: &mut Devices,
    ) -> Result<Request, Fault> {
        let &Record { length, op, .. } = record;
        // As the file has it, up to the steps left out.
        let given_ns = record.time_ns.saturating_sub(self.jumped_ns);
        let late_ns = self.latest_ns.saturating_sub(given_ns);
        if late_ns > self.slack_ns {
            return Err(backwards(fields.time, record.time_ns, late_ns, newest_ns));
        }
        let pause_ns = given_ns.saturating_sub(self.latest_ns);
        let jump_ns = if pause_ns > self.jump_ns && self.origin_ns.is_some() { pause_ns } else { 0 };
        let time_ns = given_ns.max(self.latest_ns) - jump_ns;
        let origin_ns = self.origin_ns.unwrap_or(time_ns);
        let Some(arrival_ns) = self.base_ns.checked_add(time_ns - origin_ns) else {
            let problem = "the trace is longer than 2^64 ns (584 years)".to_owned();
            return Err(Fault { field: fields.time, problem });
        };
        let (offset, length) =
            if op == Op::Flush { (0, 0) } else { (place(record, fields, devices)?, length) };
        // Only an accepted record moves the clock: a skipped one must leave no trace.
        self.origin_ns = Some(origin_ns);
        self.latest_ns = time_ns;
        self.jumped_ns += jump_ns;
        self.jumps += u64::from(jump_ns > 0);
        self.late += u64::from(late_ns > 0);
        self.late_ns_max = self.late_ns_max.max(late_ns);
        Ok(Request { arrival: Time { ns: arrival_ns }, offset, length, op })
    }
}

/// Where the record lies in the one address space.
#[inline]
fn place(record: &Record, fields: &FieldNames, devices: &mut Devices) -> Result<u64, Fault> {
    if record.length == 0 {
        let problem = "0 is not a length: a request has at least one byte".to_owned();
        return Err(Fault { field: fields.length, problem });
    }
    let beyond = |offset: u64| {
        let problem = format!(
            "a request of {} bytes at byte {offset} ends beyond the address space of 2^63 bytes",
            record.length
        );
        Fault { field: fields.offset, problem }
    };
    let fits = |offset: u64| offset.checked_add(record.length).filter(|&end| end <= ADDRESS_END);
    let end = fits(record.offset).ok_or_else(|| beyond(record.offset))?;
    let offset = devices.place(record.device, record.offset, end, fields.device)?;
    fits(offset).map(|_| offset).ok_or_else(|| beyond(offset))
}

#[cold]
fn backwards(field: &'static str, time_ns: u64, late_ns: u64, newest_ns: u64) -> Fault {
    let (by, window) =
        (Duration { ns: late_ns }, Duration { ns: newest_ns.saturating_sub(time_ns).max(late_ns) });
    let latest_ns = u128::from(time_ns) + u128::from(late_ns);
    let problem = format!(
        "time runs backwards by {by}: {time_ns} ns after {latest_ns} ns (sort_window = \"{window}\" or more puts such records \
         in order, time_slack = \"{by}\" or more lets them arrive with the one before, on_error = \"skip\" leaves them out)"
    );
    Fault { field, problem }
}

impl<R: Records> FileReader for Reader<R> {
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<(), WorkloadError> {
        while batch.len() < BATCH_REQUESTS {
            let Some(Waiting { record, line }) = self.next_record(devices)? else {
                break;
            };
            match self.rules.apply(&record, self.window.newest_ns(), &R::FIELDS, devices) {
                Ok(request) => batch.push(request),
                Err(fault) => self.fault(line, fault)?,
            }
        }
        self.satisfied |= !batch.is_empty();
        if !self.satisfied {
            let skipped = self.skip_remark().map(|remark| format!(" ({remark})")).unwrap_or_default();
            return Err(self.problem(format!("it has no requests{skipped}")));
        }
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.records.remarks();
        remarks.extend(self.window.remark(&self.file));
        remarks.extend(self.late_remark());
        remarks.extend(self.jump_remark());
        remarks.extend(self.skip_remark());
        remarks
    }

    fn end_ns(&self) -> u64 {
        let rules = &self.rules;
        rules.base_ns + (rules.latest_ns - rules.origin_ns.unwrap_or(rules.latest_ns))
    }
}
