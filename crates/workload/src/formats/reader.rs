//! From records to requests: the rules that hold for every format, in one place.

use super::{Clock, Devices, Fault, FieldNames, FileReader, Format, Lines, Record, Standing, is_empty};
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
    pub(crate) fn new(lines: Lines, options: &TraceOptions) -> Self {
        Self { lines, format: F::new(options) }
    }
}

impl<F: Format> Records for Text<F> {
    const FIELDS: FieldNames = F::FIELDS;
    const CLOCK: Clock = F::CLOCK;

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
}

impl<R: Records> Reader<R> {
    pub(crate) fn new(file: &str, records: R, options: &TraceOptions, standing: Standing) -> Self {
        let (base_ns, origin_ns) = match (standing, R::CLOCK) {
            (Standing::Beside, _) => (0, Some(0)),
            (Standing::After { base_ns }, Clock::Start) => (base_ns, Some(0)),
            (Standing::After { base_ns }, Clock::Date) => (base_ns, None),
        };
        let slack_ns = options.time_slack.ns;
        Self {
            file: file.to_owned(),
            records,
            rules: Rules { base_ns, origin_ns, latest_ns: 0, slack_ns, late: 0, late_ns_max: 0 },
            on_error: options.on_error,
            skipped: 0,
            first_skipped: None,
            satisfied: matches!(standing, Standing::Beside),
        }
    }

    fn problem(&self, problem: String) -> WorkloadError {
        WorkloadError::Trace { file: self.file.clone(), problem }
    }

    #[cold]
    fn malformed(&self, fault: Fault) -> WorkloadError {
        let line = self.records.number();
        WorkloadError::Malformed { file: self.file.clone(), line, field: fault.field, problem: fault.problem }
    }

    #[cold]
    fn fault(&mut self, fault: Fault) -> Result<(), WorkloadError> {
        let error = self.malformed(fault);
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
        fields: &FieldNames,
        devices: &mut Devices,
    ) -> Result<Request, Fault> {
        let &Record { length, op, .. } = record;
        let late_ns = self.latest_ns.saturating_sub(record.time_ns);
        if late_ns > self.slack_ns {
            return Err(backwards(fields.time, record.time_ns, self.latest_ns));
        }
        let time_ns = record.time_ns.max(self.latest_ns);
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
fn backwards(field: &'static str, time_ns: u64, latest_ns: u64) -> Fault {
    let by = Duration { ns: latest_ns - time_ns };
    let problem = format!(
        "time runs backwards by {by}: {time_ns} ns after {latest_ns} ns (time_slack = \"{by}\" or more lets such records \
         arrive with the one before, on_error = \"skip\" leaves them out)"
    );
    Fault { field, problem }
}

impl<R: Records> FileReader for Reader<R> {
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<(), WorkloadError> {
        while batch.len() < BATCH_REQUESTS {
            let request = match self.records.next(devices) {
                Ok(Some(record)) => self.rules.apply(&record, &R::FIELDS, devices),
                Ok(None) => break,
                Err(Trouble::Record(fault)) => Err(fault),
                Err(Trouble::Lost(fault)) => return Err(self.malformed(fault)),
                Err(Trouble::Input(problem)) => return Err(self.problem(problem)),
            };
            match request {
                Ok(request) => batch.push(request),
                Err(fault) => self.fault(fault)?,
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
        remarks.extend(self.late_remark());
        remarks.extend(self.skip_remark());
        remarks
    }

    fn end_ns(&self) -> u64 {
        let rules = &self.rules;
        rules.base_ns + (rules.latest_ns - rules.origin_ns.unwrap_or(rules.latest_ns))
    }
}
