//! The table of formats that are defined by their columns, in the notation of the option `columns`.
//!
//! Surplus fields are refused, unless the format permits them. The first line may contain the names of the columns.
//!
//! The formats of five ASCII columns (replay, ssdsim, disksim) agree in their order only. DiskSim uses milliseconds,
//! sectors and sectors; files of the same look use nanoseconds (ssdsim), bytes (replay), or pages of 4 KiB. The file
//! gives only hints: a time with a fraction is not in nanoseconds, and an offset that is no multiple of 512 is not in
//! bytes, as a replayer accesses whole sectors only. The remarks state the assumptions, and the options override them.

use super::Kind;
use super::columns::{ColumnLines, NamedColumn};
use super::judge::Headed;
use super::values::agrees;
use crate::devices::Devices;
use crate::fields::BLANK;
use crate::notation::{Column, Columns};
use crate::numbers::SECOND_NS;
use crate::record::{Clock, Conventions, FieldError, FieldNames, FormatInfo, Parsed, Record};
use crate::text::{LineParser, lines_of};
use coflash_base::{Bytes, Duration};
use coflash_workload::recorded::TraceOptions;
use std::sync::LazyLock;

/// A format, as a section of `formats.txt` describes it.
pub(crate) struct Format {
    pub(crate) info: FormatInfo,
    pub(crate) conventions: Conventions,
    pub(super) kind: Kind,
    /// Whether a trace consists of one file per processor.
    pub(crate) per_processor: bool,
    /// The columns with their names, if it is defined by these, and what stands between them.
    pub(super) columns: Vec<NamedColumn>,
    separator: u8,
    /// The line of column names.
    header: &'static str,
    /// How the last line begins of a head that begins with the header, if it must be there.
    head_end: Option<&'static str>,
    /// Whether times that are no dates deny the format.
    needs_dates: bool,
    /// Whether further fields may follow the last column.
    open_ended: bool,
    /// A remark for users of the trace.
    remark: Option<&'static str>,
    /// The formats that look the same, if any: then the units are options, with a remark.
    look_alikes: Option<&'static str>,
}

/// All formats, in the order of the documentation. Among formats that fit a file equally well, the first one wins.
pub(super) static FORMATS: LazyLock<Vec<Format>> =
    LazyLock::new(|| include_str!("formats.txt").split("\n[").skip(1).map(Format::read).collect());

impl Format {
    /// Read a section of the table of formats.
    fn read(section: &'static str) -> Self {
        let get = |key: &str| section.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let text = |key| get(key).unwrap_or_default();
        let words = |given: &'static str| &*given.split(' ').collect::<Vec<_>>().leak();
        let record = text("record");
        let separator = if record.contains(',') { b',' } else { BLANK };
        let columns = get("columns").map_or_else(Vec::new, |columns| {
            let columns: Columns = columns.parse().expect("a table's columns are written as a user's");
            record.split(separator as char).zip(columns.columns().iter().cloned()).collect()
        });
        let name = |role| {
            let found = columns.iter().rev().find(|(_, column): &&NamedColumn| column.role() == role);
            found.map_or(role, |&(name, _)| name)
        };
        let of_columns = || ["time", "device", "offset", "size"].map(name);
        let fields = get("fields").map(|names| words(names).try_into().expect("four names"));
        let [time, device, offset, length] = fields.unwrap_or_else(of_columns);
        let name = section.split(']').next().unwrap_or_default();
        let headed = get("names").map(|names| Headed { record, names, extra: text("extra") });
        let sort_window_s: u64 = get("sort_window_s").map_or(0, |given| given.parse().expect("seconds"));
        Self {
            info: FormatInfo {
                name,
                summary: text("summary"),
                source: text("source"),
                record,
                extensions: words(get("extensions").unwrap_or("csv")),
                options: get("options").map_or(&[], words),
            },
            conventions: Conventions {
                fields: FieldNames { time, device, offset, length },
                clock: if get("clock").is_some() { Clock::Start } else { Clock::Date },
                sort_window: Duration { ns: sort_window_s * SECOND_NS },
            },
            kind: Kind::of(name, headed),
            per_processor: get("per_processor").is_some(),
            separator,
            columns,
            header: get("header").unwrap_or(record),
            head_end: get("head_end"),
            needs_dates: get("has_dates").is_some(),
            open_ended: get("open_ended").is_some(),
            remark: get("remark"),
            look_alikes: get("look_alikes"),
        }
    }

    /// Whether a line has the names of its columns.
    fn is_header(&self, line: &[u8]) -> bool {
        line.trim_ascii().eq_ignore_ascii_case(self.header.as_bytes())
    }

    /// Create a parser for a file; `at_top` if its first line may hold the names of the columns.
    pub(crate) fn parser(&'static self, options: &TraceOptions, at_top: bool) -> TableParser {
        let mut columns = self.columns.clone();
        let units = if self.look_alikes.is_none() { Default::default() } else { options.units };
        let bytes = |given: Option<Bytes>| given.map(|unit| unit.count);
        let given = [units.time.map(|time| time.ns), bytes(units.address), bytes(units.size)];
        let mut scale = [0; 3];
        for (_, column) in &mut columns {
            let (at, step) = match column {
                Column::Time { step_ns, whole } => {
                    // Times with a fraction are neither nanoseconds nor ticks.
                    *whole = matches!(*step_ns, 1 | 100);
                    (0, step_ns)
                }
                Column::Offset(steps) => (1, &mut steps.bytes),
                Column::Size(steps) => (2, &mut steps.bytes),
                _ => continue,
            };
            *step = given[at].unwrap_or(*step);
            scale[at] = *step;
        }
        let lines = ColumnLines::new(columns, self.separator, self.open_ended);
        TableParser { format: self, lines, scale, at_top, in_head: false, has_dates: true }
    }

    /// What the values of a file that begins with `sample` say to its columns: `None` if they deny them, else whether times are dates.
    pub(crate) fn agrees(&self, sample: &[u8]) -> Option<bool> {
        let is_named = lines_of(sample).next().is_some_and(|line| self.is_header(line));
        agrees(&self.columns, self.separator, sample, self.needs_dates).or(is_named.then_some(true))
    }
}

/// The parser of a format defined by its columns.
pub(crate) struct TableParser {
    format: &'static Format,
    lines: ColumnLines,
    /// The units of times, addresses and sizes.
    scale: [u64; 3],
    /// Whether the next line may be of the head.
    at_top: bool,
    /// Whether the head has begun.
    in_head: bool,
    /// Whether the times of the file are dates, if the format's are.
    has_dates: bool,
}

impl TableParser {
    /// Whether a line is of the head: the names of the columns, or all lines to the end of a head that must be there.
    #[cold]
    fn is_head(&mut self, line: &[u8]) -> Parsed<bool> {
        let Format { header, head_end, .. } = self.format;
        let is_header = self.format.is_header(line);
        let Some(end) = head_end else {
            self.at_top = false;
            return Ok(is_header);
        };
        self.in_head |= is_header;
        if !self.in_head {
            return Err(FieldError::text("header", line, &format!("the first line of the format, {header}")));
        }
        self.at_top = !line.starts_with(end.as_bytes());
        Ok(true)
    }
}

impl LineParser for TableParser {
    fn look_ahead(&mut self, beginning: &[u8]) {
        self.has_dates = !self.format.needs_dates || self.format.agrees(beginning) != Some(false);
    }

    #[inline(always)]
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>> {
        if self.at_top && self.is_head(line)? {
            return Ok(None);
        }
        self.lines.record(line, devices)
    }

    fn remarks(&self) -> Vec<String> {
        let Format { info: FormatInfo { name, .. }, remark, look_alikes, .. } = self.format;
        let mut remarks: Vec<_> = remark.iter().map(|remark| (*remark).to_owned()).collect();
        if !self.has_dates {
            let time = Duration { ns: self.scale[0] };
            remarks.push(format!("times are no dates, as those of {name} are: {time} since the first request is assumed (option columns)"));
        }
        if let Some(look_alikes) = look_alikes {
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
