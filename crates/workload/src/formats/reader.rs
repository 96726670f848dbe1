//! From lines to requests: the rules that hold for every format, in one place.

use super::{Carry, Clock, Devices, Fault, FileReader, Format, Lines, Record, is_empty};
use crate::request::{BATCH_REQUESTS, Op, Request, WorkloadError};
use crate::trace::{OnError, TraceOptions};
use coflash_base::{Duration, Time};

/// No request reaches beyond this byte.
const ADDRESS_END: u64 = 1 << 63;

/// A file read in format `F`.
pub(crate) struct Reader<F> {
    file: String,
    lines: Lines,
    format: F,
    rules: Rules,
    on_error: OnError,
    skipped: u64,
    first_skipped: Option<WorkloadError>,
    /// Whether the file had a request at all.
    any: bool,
}

/// What must hold between requests.
struct Rules {
    devices: Devices,
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

impl<F: Format> Reader<F> {
    pub(crate) fn new(file: &str, lines: Lines, options: &TraceOptions, carry: Carry) -> Self {
        let origin_ns = match F::CLOCK {
            Clock::Start => Some(0),
            Clock::Date => None,
        };
        Self {
            file: file.to_owned(),
            lines,
            format: F::new(options),
            rules: Rules {
                devices: carry.devices,
                base_ns: carry.base_ns,
                origin_ns,
                latest_ns: 0,
                slack_ns: options.time_slack.ns,
                late: 0,
                late_ns_max: 0,
            },
            on_error: options.on_error,
            skipped: 0,
            first_skipped: None,
            any: false,
        }
    }

    fn problem(&self, problem: String) -> WorkloadError {
        WorkloadError::Trace { file: self.file.clone(), problem }
    }

    #[cold]
    fn fault(&mut self, fault: Fault) -> Result<(), WorkloadError> {
        let error = WorkloadError::Malformed {
            file: self.file.clone(),
            line: self.lines.number(),
            field: fault.field,
            problem: fault.problem,
        };
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
    fn apply<F: Format>(&mut self, record: &Record) -> Result<Request, Fault> {
        let &Record { length, op, .. } = record;
        let late_ns = self.latest_ns.saturating_sub(record.time_ns);
        if late_ns > self.slack_ns {
            return Err(backwards::<F>(record.time_ns, self.latest_ns));
        }
        let time_ns = record.time_ns.max(self.latest_ns);
        let origin_ns = self.origin_ns.unwrap_or(time_ns);
        let Some(arrival_ns) = self.base_ns.checked_add(time_ns - origin_ns) else {
            let problem = "the trace is longer than 2^64 ns (584 years)".to_owned();
            return Err(Fault { field: F::FIELDS.time, problem });
        };
        let (offset, length) = if op == Op::Flush { (0, 0) } else { (self.place::<F>(record)?, length) };
        // Only an accepted record moves the clock: a skipped one must leave no trace.
        self.origin_ns = Some(origin_ns);
        self.latest_ns = time_ns;
        self.late += u64::from(late_ns > 0);
        self.late_ns_max = self.late_ns_max.max(late_ns);
        Ok(Request { arrival: Time { ns: arrival_ns }, offset, length, op })
    }

    #[inline]
    fn place<F: Format>(&mut self, record: &Record) -> Result<u64, Fault> {
        if record.length == 0 {
            let problem = "0 is not a length: a request has at least one byte".to_owned();
            return Err(Fault { field: F::FIELDS.length, problem });
        }
        let beyond = |offset: u64| {
            let problem = format!(
                "a request of {} bytes at byte {offset} ends beyond the address space of 2^63 bytes",
                record.length
            );
            Fault { field: F::FIELDS.offset, problem }
        };
        let fits = |offset: u64| offset.checked_add(record.length).filter(|&end| end <= ADDRESS_END);
        let end = fits(record.offset).ok_or_else(|| beyond(record.offset))?;
        let offset = self.devices.place(record.device, record.offset, end, F::FIELDS.device)?;
        fits(offset).map(|_| offset).ok_or_else(|| beyond(offset))
    }
}

#[cold]
fn backwards<F: Format>(time_ns: u64, latest_ns: u64) -> Fault {
    let by = Duration { ns: latest_ns - time_ns };
    let problem = format!(
        "time runs backwards by {by}: {time_ns} ns after {latest_ns} ns (time_slack = \"{by}\" or more lets such records \
         arrive with the one before, on_error = \"skip\" leaves them out)"
    );
    Fault { field: F::FIELDS.time, problem }
}

impl<F: Format> FileReader for Reader<F> {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        while batch.len() < BATCH_REQUESTS {
            let line = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => return Err(self.problem(error.to_string())),
            };
            if is_empty(line) {
                continue;
            }
            let record = self.format.record(line, &mut self.rules.devices);
            let request = record.and_then(|record| record.map(|r| self.rules.apply::<F>(&r)).transpose());
            match request {
                Ok(Some(request)) => batch.push(request),
                Ok(None) => {}
                Err(fault) => self.fault(fault)?,
            }
        }
        self.any |= !batch.is_empty();
        if !self.any {
            let skipped = self.skip_remark().map(|remark| format!(" ({remark})")).unwrap_or_default();
            return Err(self.problem(format!("it has no requests{skipped}")));
        }
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.format.remarks();
        remarks.extend(self.rules.devices.remark());
        remarks.extend(self.late_remark());
        remarks.extend(self.skip_remark());
        remarks
    }

    fn finish(self: Box<Self>) -> Carry {
        let rules = self.rules;
        Carry {
            base_ns: rules.base_ns + (rules.latest_ns - rules.origin_ns.unwrap_or(rules.latest_ns)),
            devices: rules.devices,
        }
    }
}
