//! The parser of lines with columns: those of a table of [`tables`](super::tables), of the option `columns`, or found by
//! the [`judge`](super::judge).
//!
//! With the option `columns`, the separator is the first of comma, semicolon, tab, bar and blanks that gives the first
//! record enough columns. The origin of the times is unknown, so the first request is at time 0.
//!
//! Cost: a jump per column, in addition to the parsing of its field.

use super::judge::{Headed, Reading, UNTOLD, judge};
use super::names::name_of;
use crate::devices::Devices;
use crate::fields::{BLANK, Fields, SEPARATORS, split};
use crate::notation::{self, ByteSteps, Column, Columns, Words};
use crate::numbers::{DAY_NS, any_decimal, decimal_sign, has_decimal_comma, moment, whole};
use crate::operations::{Kind, Kinds};
use crate::record::{Conventions, FieldError, Parsed, Record, show};
use crate::text::{LineParser, TextFormat, lines_of};
use coflash_base::suggest::hint;
use coflash_base::{Bytes, Duration, PlacementId};
use coflash_workload::Op;
use coflash_workload::recorded::TraceOptions;

/// A column and its name in messages.
pub(crate) type NamedColumn = (&'static str, Column);

/// What is longer than nearly all latencies: in the order of completion, requests are out of order by them.
const LATENCY_MAX: Duration = Duration { ns: 60_000_000_000 };

/// The format `columns`: columns given by the user, or found in the file.
#[derive(Default)]
pub(crate) struct UserColumns {
    lines: ColumnLines,
    header_lines: u64,
    /// Whether the columns are to be found.
    is_auto: bool,
    /// The recorder whose header names them.
    headed: Option<&'static Headed>,
    /// Whether the separator is known.
    separated: bool,
    /// Whether the next line may hold the names of columns that were given.
    at_top: bool,
    /// Why the columns that were found are not taken.
    refused: String,
    /// How the file is read.
    how: Vec<String>,
}

/// The parser of lines of columns.
#[derive(Default)]
pub(crate) struct ColumnLines {
    columns: Vec<NamedColumn>,
    separator: u8,
    /// Whether further fields may follow the last column.
    open_ended: bool,
    /// Whether the decimal sign is a comma.
    comma: bool,
    /// The operation of all records, for traces without such a column; else reads.
    op: Option<Op>,
    /// Whether operations were numbers.
    numbered: bool,
    /// Whether flags other than that of a read were set.
    pub(crate) flagged: bool,
    kinds: Kinds,
    /// The latest time of day, and the days that have passed since the first one.
    latest_ns: u64,
    days_ns: u64,
}

/// What the columns of a line have given so far.
struct Row {
    record: Record,
    /// Whether no word has skipped the row.
    kept: bool,
    latency_ns: u64,
    /// A column without a number, which only a flush may have.
    absent: Option<(&'static str, &'static [u8])>,
    /// The range of the device's columns in the line.
    device: Option<(usize, usize)>,
}

impl Row {
    fn new(op: Option<Op>) -> Self {
        let op = op.unwrap_or(Op::Read);
        let record = Record { time_ns: 0, device: 0, offset: 0, length: 0, op, placement: None };
        Self { record, kept: true, latency_ns: 0, absent: None, device: None }
    }

    /// Take an operation, or skip the row where the word names none.
    fn set_op(&mut self, op: Option<Op>) {
        match op {
            Some(op) => self.record.op = op,
            None => self.kept = false,
        }
    }
}

impl ColumnLines {
    /// Create a parser of lines of `columns` between `separator`s.
    pub(crate) fn new(columns: Vec<NamedColumn>, separator: u8, open_ended: bool) -> Self {
        Self { columns, separator, open_ended, ..Self::default() }
    }

    /// Parse a line; `None` if it is no request, or one of its words skips the row.
    #[inline(always)]
    pub(crate) fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        match self.separator {
            BLANK => self.record_of(Fields::between_blanks(line), devices),
            separator => self.record_of(Fields::<false>::new(line, separator), devices),
        }
    }

    #[inline(always)]
    fn record_of<const BLANKS: bool>(
        &mut self,
        mut fields: Fields<'_, BLANKS>,
        devices: &mut Devices,
    ) -> Parsed<Option<Record>> {
        fields.comma = self.comma;
        let mut row = Row::new(self.op);
        for index in 0..self.columns.len() {
            self.take(index, &mut fields, &mut row)?;
            // A row that is skipped need have no more than its beginning.
            if !row.kept && index > 0 {
                return Ok(None);
            }
        }
        if !self.open_ended {
            let last = self.columns.last().map_or("line", |&(name, _)| name);
            fields.nothing_more(last, self.columns.len())?;
        }
        let mut record = row.record;
        if let Some((name, given)) = row.absent.filter(|_| record.op != Op::Flush) {
            whole(given, name)?;
        }
        record.time_ns = record.time_ns.saturating_sub(row.latency_ns);
        if let Some((start, end)) = row.device {
            record.device = devices.number(&fields.line[start..end]);
        }
        Ok(Some(record))
    }

    /// Read the field of a column into its row.
    #[inline(always)]
    fn take<const BLANKS: bool>(
        &mut self,
        index: usize,
        fields: &mut Fields<'_, BLANKS>,
        row: &mut Row,
    ) -> Parsed<()> {
        let (name, ref column) = self.columns[index];
        match column {
            Column::Time { step_ns, whole: false } => {
                let step_ns = *step_ns;
                let plain = if self.comma { None } else { fields.plain_decimal(step_ns) };
                row.record.time_ns = match plain {
                    Some(time_ns) => time_ns,
                    None => self.other_time(fields, step_ns, name)?,
                };
                fields.comma = self.comma;
            }
            Column::Time { step_ns, whole: true } => {
                row.record.time_ns = fields.plain_units(*step_ns, name)?;
            }
            Column::Latency { step_ns } => {
                row.latency_ns = any_decimal(fields.text(), *step_ns, name, self.comma)?;
            }
            Column::Offset(steps) => row.record.offset = bytes(fields, *steps, name, &mut row.absent)?,
            Column::Size(steps) => row.record.length = bytes(fields, *steps, name, &mut row.absent)?,
            Column::Op(words) => {
                let word = fields.word();
                row.set_op(words.find(word).ok_or_else(|| unknown(words, word.1, name))?);
            }
            Column::UsualOp => {
                let given = fields.word().1.trim_ascii();
                self.numbered |= given.first().is_some_and(u8::is_ascii_digit);
                let kind = Kind::parse(given).ok_or_else(|| no_operation(name, given))?;
                self.kinds.count(kind);
                row.set_op(kind.op());
            }
            Column::Flags => {
                let given = fields.word().1.trim_ascii();
                row.record.op = flags(given, name)?;
                self.flagged |= !matches!(given, b"0" | b"1");
            }
            Column::Device { number } => {
                let (start, end) = fields.range();
                let given = &fields.line[start..end];
                if *number {
                    whole(given, name)?;
                } else if given.is_empty() {
                    return Err(FieldError::text(name, given, "the name of a device"));
                }
                row.device = Some((row.device.map_or(start, |(first, _)| first), end));
            }
            Column::Placement => row.record.placement = placement(fields.text(), name)?,
            Column::Word(words) => {
                let word = fields.word();
                row.kept &= words.find(word).ok_or_else(|| unknown(words, word.1, name))?;
            }
            // Nothing uses it, so whatever stands there is no reason to refuse the record. A line that was cut is.
            Column::Number if fields.text().is_empty() => {
                return Err(FieldError::text(name, b"", "a number"));
            }
            Column::Number => {}
            Column::Skip => drop(fields.text()),
            Column::Text => {
                let behind = self.columns.len() - index - 1;
                for _ in behind..fields.count().max(behind + 1) {
                    fields.range();
                }
            }
        }
        Ok(())
    }

    /// Take a time that is no plain number: a date, a time of day, or a number in another notation.
    #[cold]
    #[inline(never)]
    fn other_time<const BLANKS: bool>(
        &mut self,
        fields: &mut Fields<'_, BLANKS>,
        step_ns: u64,
        name: &'static str,
    ) -> Parsed<u64> {
        let (start, mut end) = fields.range();
        if BLANKS && end - start == 10 && moment(&fields.line[start..end]).is_some() {
            // The time of day behind a date.
            end = fields.range().1;
        }
        let given = &fields.line[start..end];
        match moment(given) {
            Some((time_ns, false)) => Ok(time_ns),
            Some((time_ns, true)) => {
                // Twelve hours back are midnight.
                let passed = time_ns + DAY_NS / 2 < self.latest_ns;
                self.days_ns = self.days_ns.saturating_add(if passed { DAY_NS } else { 0 });
                self.latest_ns = time_ns;
                Ok(self.days_ns.saturating_add(time_ns))
            }
            None => {
                self.comma = decimal_sign(given).map_or(self.comma, |sign| sign == b',');
                any_decimal(given, step_ns, name, self.comma)
            }
        }
    }

    /// Assumptions about operations and numbers.
    fn remarks(&self) -> impl Iterator<Item = String> {
        let fixed = [
            (
                self.numbered,
                "op 0 is read as a read, 1 as a write, 2 as a trim, 3 as a flush (op:1=read/0=write overrides)",
            ),
            (self.comma, "numbers were read with a decimal comma"),
        ];
        let fixed = fixed.into_iter().filter(|(holds, _)| *holds).map(|(_, remark)| remark.to_owned());
        fixed.chain(self.kinds.remarks())
    }
}

/// Take a number of steps and convert it to bytes; nothing is 0, and noted as absent.
#[inline(always)]
fn bytes<const BLANKS: bool>(
    fields: &mut Fields<'_, BLANKS>,
    ByteSteps { bytes: step, multiple }: ByteSteps,
    name: &'static str,
    absent: &mut Option<(&'static str, &'static [u8])>,
) -> Parsed<u64> {
    let before = fields.at;
    let value = match fields.units(step, name) {
        Ok(value) => value,
        Err(error) => {
            fields.at = before;
            return nothing(fields, name, absent, error);
        }
    };
    // The number in the file must be a multiple.
    if multiple > 1 && !(value / step).is_multiple_of(multiple) {
        return Err(FieldError::number(name, value / step, &format!("a multiple of {multiple} bytes")));
    }
    Ok(value)
}

/// Note that there is no number, which some recorders write as -1; what else is there is an error.
#[cold]
fn nothing<const BLANKS: bool>(
    fields: &mut Fields<'_, BLANKS>,
    name: &'static str,
    absent: &mut Option<(&'static str, &'static [u8])>,
    error: FieldError,
) -> Parsed<u64> {
    let given: &[u8] = match fields.text() {
        b"" | b"-" => b"",
        b"-1" | b"18446744073709551615" => b"-1",
        _ => return Err(error),
    };
    *absent = Some((name, given));
    Ok(0)
}

#[cold]
fn unknown<T: Copy>(words: &Words<T>, given: &[u8], name: &'static str) -> FieldError {
    FieldError::text(name, given, &format!("a word known here{}", hint(&show(given), &words.known())))
}

#[cold]
fn no_operation(name: &'static str, given: &[u8]) -> FieldError {
    let near = hint(&show(given), &["read", "write", "trim", "flush"]);
    let expected = format!(
        "an operation{near}; R, W, letters of the kernel and 0, 1, 2, 3 are known, too (op:word=read overrides)"
    );
    FieldError::text(name, given, &expected)
}

/// Parse a placement identifier; no digits, or a dash, are a request without one.
#[inline]
fn placement(given: &[u8], name: &'static str) -> Parsed<Option<PlacementId>> {
    if matches!(given, b"" | b"-") {
        return Ok(None);
    }
    let number = whole(given, name)?;
    let expected = "a placement identifier (0 to 254; empty or - is none)";
    PlacementId::new(number).map(Some).ok_or_else(|| FieldError::number(name, number, expected))
}

/// Parse hexadecimal flags; the lowest bit is 1 for a read.
#[inline]
fn flags(given: &[u8], name: &'static str) -> Parsed<Op> {
    let digits = std::str::from_utf8(given).ok().filter(|_| given.iter().all(u8::is_ascii_hexdigit));
    let flags = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let expected = "a hexadecimal number (bit 0: 1 is a read, 0 a write)";
    let flags = flags.ok_or_else(|| FieldError::text(name, given, expected))?;
    Ok(if flags & 1 == 1 { Op::Read } else { Op::Write })
}

impl TextFormat for UserColumns {
    fn new(options: &TraceOptions) -> Self {
        let given =
            options.columns.as_ref().map(|text| text.parse::<Columns>().expect("options are checked"));
        let mut parser = Self {
            header_lines: options.header_lines,
            is_auto: given.as_ref().is_none_or(Columns::is_auto),
            at_top: options.header_lines == 0 && options.columns.is_some(),
            // Fields behind the last column are ignored.
            lines: ColumnLines::new(Vec::new(), BLANK, true),
            ..Self::default()
        };
        if let Some(given) = given.filter(|given| !given.is_auto()) {
            parser.take(&given);
        }
        parser
    }
}

impl UserColumns {
    /// Create a parser for a file of a recorder with a header of its own.
    pub(crate) fn headed(headed: &'static Headed) -> Self {
        Self { headed: Some(headed), is_auto: true, ..Self::new(&TraceOptions::default()) }
    }

    /// How the first records of a file that begins with `sample` are read, or the line that is not.
    fn preview(found: &Reading, sample: &[u8]) -> Result<String, String> {
        let mut parser = Self::new(&TraceOptions::default());
        parser.adopt(found);
        let mut devices = Devices::new(TraceOptions::default().device_stride);
        let mut shown = Vec::new();
        for line in lines_of(sample) {
            let text = show(line);
            let read = parser.record(line, &mut devices).map_err(|FieldError { field, problem }| {
                format!("columns={} do not read \"{text}\": {field}: {problem}", found.columns)
            });
            let Some(Record { time_ns, op, offset, length, .. }) = read? else { continue };
            let (time, length) = (Duration { ns: time_ns }, Bytes { count: length });
            let op = format!("{op:?}").to_lowercase();
            shown.push(format!("\"{text}\" is a {op} of {length} at byte {offset} at {time}"));
            if shown.len() == LINES_SHOWN {
                break;
            }
        }
        Ok(shown.join("; "))
    }

    /// How an unknown file that begins with `sample` can be read.
    pub(crate) fn proposal(found: &Result<Reading, String>, sample: &[u8]) -> String {
        let reading = match found {
            Ok(reading) => reading,
            Err(problem) => return problem.clone(),
        };
        let Reading { columns, why, question, .. } = reading;
        let read = match Self::preview(reading, sample) {
            Ok(read) => read,
            Err(problem) => return format!("{UNTOLD}; {problem}"),
        };
        if let Some(question) = question {
            return format!("{question}, so --read must say it, as in columns={columns}, with which {read}");
        }
        format!("it can be read with --read columns={columns} ({why}), which columns=auto takes: {read}")
    }

    /// Read the columns that were found.
    fn adopt(&mut self, found: &Reading) {
        self.take(&found.columns);
        self.header_lines = self.header_lines.max(found.layout.header_lines);
        self.lines.separator = found.layout.separator;
        self.lines.comma = found.layout.comma;
        self.separated = true;
    }

    /// Read these columns.
    fn take(&mut self, given: &Columns) {
        let columns: Vec<_> = given.columns().iter().map(|column| (column.role(), column.clone())).collect();
        let is = |role| columns.iter().any(|&(name, _)| name == role);
        let missing = [
            (
                is("op") || given.op().is_some(),
                "no column is an operation: all requests are reads (op=write overrides)",
            ),
            (is("time"), "no column is a time: all requests arrive at the start"),
        ];
        self.how.extend(missing.iter().filter(|(there, _)| !there).map(|(_, remark)| (*remark).to_owned()));
        self.lines.op = given.op();
        self.lines.columns = columns;
    }
}

impl LineParser for UserColumns {
    fn look_ahead(&mut self, beginning: &[u8]) {
        if !self.is_auto {
            return;
        }
        match judge(beginning, self.headed) {
            Ok(found) if found.question.is_none() => {
                self.how.push(format!("read with columns={}: {}", found.columns, found.why));
                self.adopt(&found);
            }
            found => self.refused = Self::proposal(&found, beginning),
        }
    }

    #[inline(always)]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        if self.header_lines > 0 {
            self.header_lines -= 1;
            return Ok(None);
        }
        if self.lines.columns.is_empty() {
            return Err(self.unknown(line));
        }
        if !self.separated {
            self.lines.separator = find_separator(line, self.lines.columns.len())?;
            self.lines.comma = self.lines.separator != b',' && has_decimal_comma(line);
            if self.at_top && self.is_header(line)? {
                return Ok(None);
            }
            self.separated = true;
        }
        self.lines.record(line, devices)
    }

    fn conventions(&self, format: Conventions) -> Conventions {
        let is_earlier = self.lines.columns.iter().any(|&(role, _)| role == "latency");
        if is_earlier { Conventions { sort_window: LATENCY_MAX, ..format } } else { format }
    }

    fn remarks(&self) -> Vec<String> {
        self.how.iter().cloned().chain(self.lines.remarks()).collect()
    }
}

impl UserColumns {
    /// Whether the first line has names where the columns that were given are numbers.
    #[cold]
    fn is_header(&mut self, line: &[u8]) -> Parsed<bool> {
        self.at_top = false;
        let cells = split(line, self.lines.separator, None);
        let is_name = |cell: &[u8]| {
            let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
            !cell.first().is_some_and(u8::is_ascii_digit) && cell.iter().any(is_letter)
        };
        let columns = self.lines.columns.iter().map(|(_, column)| column);
        if !cells.iter().zip(columns.clone()).all(|(cell, column)| column.step().is_none() || is_name(cell)) {
            return Ok(false);
        }
        self.how.push(format!("its first line, \"{}\", is a header and was left out", show(line)));
        check_names(&cells, columns).map(|()| true)
    }

    #[cold]
    fn unknown(&self, line: &[u8]) -> FieldError {
        let problem = match self.headed {
            Some(headed) => format!("\"{}\" is not {}", show(line), headed.record),
            None if self.refused == UNTOLD => format!("neither names nor values tell the columns: {UNTOLD}"),
            None => self.refused.clone(),
        };
        FieldError { field: "header", problem }
    }
}

/// Refuse the names of a header that say something else than the columns that were given.
pub(super) fn check_names<'a>(cells: &[&[u8]], columns: impl Iterator<Item = &'a Column>) -> Parsed<()> {
    for (cell, given) in cells.iter().zip(columns) {
        let Some(step) = given.step() else { continue };
        let (name, role) = (name_of(cell), given.role());
        let is_other =
            ["time", "latency", "offset", "size"].iter().any(|one| name.role == Some(one) && *one != role);
        let told = notation::column(&format!("{role}:{}", name.unit)).ok().and_then(|told| told.step());
        // Sectors and pages have several sizes, but none is a byte.
        let may_be = matches!(name.unit.as_str(), "sectors" | "pages") && step > 1;
        if is_other || told.is_some_and(|told| told != step && !may_be) {
            let expected = format!("{role} in the unit of columns= (header_lines=1 passes over it)");
            return Err(FieldError::text(role, cell, &expected));
        }
    }
    Ok(())
}

/// The lines of an unknown file that are shown as they would be read.
const LINES_SHOWN: usize = 3;

#[cold]
fn find_separator(line: &[u8], columns: usize) -> Parsed<u8> {
    let fits = |&separator: &u8| line.iter().filter(|&&b| b == separator).count() + 1 >= columns.max(2);
    let blanks = || Fields::between_blanks(line).count() >= columns;
    SEPARATORS.into_iter().find(fits).or_else(|| blanks().then_some(BLANK)).ok_or_else(|| {
        let expected = format!("{columns} columns between commas, semicolons, tabs, bars or blanks");
        FieldError::text("line", line, &expected)
    })
}
