//! From lines to requests: the rules that hold for every format, in one place.

use super::window::{Waiting, Window};
use super::{Carry, Clock, Devices, Fault, FileReader, Format, Lines, Record, SAMPLE_BYTES, is_empty};
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
    /// The records that wait for their turn.
    window: Window,
    rules: Rules,
    on_error: OnError,
    skipped: u64,
    first_skipped: Option<WorkloadError>,
    /// Whether the format has seen the beginning.
    begun: bool,
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
    /// How large a step forward is a clock that was set.
    jump_ns: u64,
    /// The sum of such steps.
    jumped_ns: u64,
    /// How many there were.
    jumps: u64,
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
            window: Window::new(options.sort_window.unwrap_or(F::SORT_WINDOW)),
            rules: Rules {
                devices: carry.devices,
                base_ns: carry.base_ns,
                origin_ns,
                latest_ns: 0,
                slack_ns: options.time_slack.ns,
                late: 0,
                late_ns_max: 0,
                jump_ns: options.clock_jump.map_or(u64::MAX, |jump| jump.ns),
                jumped_ns: 0,
                jumps: 0,
            },
            on_error: options.on_error,
            skipped: 0,
            first_skipped: None,
            begun: false,
            any: false,
        }
    }

    fn problem(&self, problem: String) -> WorkloadError {
        WorkloadError::Trace { file: self.file.clone(), problem }
    }

    /// The next record in order, with the number of its line.
    #[inline]
    fn next_record(&mut self) -> Result<Option<Waiting>, WorkloadError> {
        loop {
            if let Some(record) = self.window.pop() {
                return Ok(Some(record));
            }
            let line = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) if self.window.end() => continue,
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.problem(error.to_string())),
            };
            if is_empty(line) {
                continue;
            }
            let record = self.format.record(line, &mut self.rules.devices);
            let line = self.lines.number();
            match record {
                Ok(Some(record)) if self.window.is_open() => self.window.push(Waiting { record, line }),
                Ok(Some(record)) => return Ok(Some(Waiting { record, line })),
                Ok(None) => {}
                Err(fault) => self.fault(line, fault)?,
            }
        }
    }

    #[cold]
    fn begin(&mut self) -> Result<(), WorkloadError> {
        self.begun = true;
        match self.lines.peek(SAMPLE_BYTES) {
            Ok(beginning) => self.format.look_ahead(beginning),
            Err(error) => return Err(self.problem(error.to_string())),
        }
        Ok(())
    }

    #[cold]
    fn fault(&mut self, line: u64, fault: Fault) -> Result<(), WorkloadError> {
        let error = WorkloadError::Malformed {
            file: self.file.clone(),
            line,
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
    fn apply<F: Format>(&mut self, record: &Record, newest_ns: u64) -> Result<Request, Fault> {
        let &Record { length, op, .. } = record;
        // As the file has it, up to the steps left out.
        let given_ns = record.time_ns.saturating_sub(self.jumped_ns);
        let late_ns = self.latest_ns.saturating_sub(given_ns);
        if late_ns > self.slack_ns {
            return Err(backwards::<F>(record.time_ns, late_ns, newest_ns));
        }
        let pause_ns = given_ns.saturating_sub(self.latest_ns);
        let jump_ns = if pause_ns > self.jump_ns && self.origin_ns.is_some() { pause_ns } else { 0 };
        let time_ns = given_ns.max(self.latest_ns) - jump_ns;
        let origin_ns = self.origin_ns.unwrap_or(time_ns);
        let Some(arrival_ns) = self.base_ns.checked_add(time_ns - origin_ns) else {
            let problem = "the trace is longer than 2^64 ns (584 years)".to_owned();
            return Err(Fault { field: F::FIELDS.time, problem });
        };
        let (offset, length) = if op == Op::Flush { (0, 0) } else { (self.place::<F>(record)?, length) };
        // Only an accepted record moves the clock: a skipped one must leave no trace.
        self.origin_ns = Some(origin_ns);
        self.latest_ns = time_ns;
        self.jumped_ns += jump_ns;
        self.jumps += u64::from(jump_ns > 0);
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
fn backwards<F: Format>(time_ns: u64, late_ns: u64, newest_ns: u64) -> Fault {
    let (by, window) =
        (Duration { ns: late_ns }, Duration { ns: newest_ns.saturating_sub(time_ns).max(late_ns) });
    let latest_ns = u128::from(time_ns) + u128::from(late_ns);
    let problem = format!(
        "time runs backwards by {by}: {time_ns} ns after {latest_ns} ns (sort_window = \"{window}\" or more puts such records \
         in order, time_slack = \"{by}\" or more lets them arrive with the one before, on_error = \"skip\" leaves them out)"
    );
    Fault { field: F::FIELDS.time, problem }
}

impl<F: Format> FileReader for Reader<F> {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        if !self.begun {
            self.begin()?;
        }
        while batch.len() < BATCH_REQUESTS {
            let Some(Waiting { record, line }) = self.next_record()? else {
                break;
            };
            match self.rules.apply::<F>(&record, self.window.newest_ns()) {
                Ok(request) => batch.push(request),
                Err(fault) => self.fault(line, fault)?,
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
        remarks.extend(self.window.remark(&self.file));
        remarks.extend(self.late_remark());
        remarks.extend(self.jump_remark());
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
