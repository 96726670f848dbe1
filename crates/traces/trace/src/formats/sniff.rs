//! The columns of a text that says nothing of its format: by the names in a header, or else by the values.
//!
//! What is found is written as a user would write it, in the notation of the option `columns`. It is certain where names
//! or values tell every unit: then the file is read at once. Otherwise it is proposed.

use super::names::{DAYS, Name, TIMES, name_of, role_of};
use crate::fields::{BLANK, SEPARATORS, split};
use crate::notation::Columns;
use crate::numbers::{decimal_sign, has_decimal_comma, moment, plain};
use crate::operations::Kind;
use crate::record::FormatInfo;
use crate::text::{COMMENT, is_blank};

/// What is found.
pub(crate) struct Sniffed {
    pub(crate) columns: Columns,
    pub(crate) separator: u8,
    /// Lines before the first record, comments and blank ones excluded.
    pub(crate) header_lines: u64,
    /// Whether the decimal sign is a comma.
    pub(crate) comma: bool,
    /// Whether the file tells everything.
    pub(crate) is_certain: bool,
    /// Whether the names are coflash's own: then times are those since the start.
    pub(crate) is_own: bool,
    /// What told it, and what is assumed.
    pub(crate) why: String,
    /// Names that tell a unit that is not known: then nobody but the user can say it.
    pub(crate) unknown_units: String,
}

/// A recorder with a header of its own, in the order of completion, and what its header does not say: times without a unit are seconds.
pub(crate) struct Headed {
    pub(crate) info: FormatInfo,
    /// The names that its header has.
    pub(crate) names: &'static [&'static str],
    /// Further columns: a name, and what it is.
    pub(crate) extra: &'static [(&'static str, &'static str)],
}

pub(crate) static WPA: Headed = Headed {
    info: FormatInfo {
        name: "wpa",
        summary: "disk I/O table exported from Windows Performance Analyzer as CSV",
        source: "Microsoft, Windows Performance Toolkit",
        record: "a header that names IO Type, Init Time, Min Offset and Size in any order, then rows",
        extensions: &["csv"],
        options: &["device_stride"],
    },
    names: &["iotype", "inittime"],
    // A row that sums several requests has none of them.
    extra: &[("count", "word:1")],
};

pub(crate) static BIOSNOOP: Headed = Headed {
    info: FormatInfo {
        name: "biosnoop",
        summary: "output of biosnoop (bcc, libbpf-tools): sectors of 512 bytes, in the order of completion",
        source: "Gregg, biosnoop, https://github.com/iovisor/bcc",
        record: "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)",
        extensions: &["biosnoop"],
        options: &["device_stride"],
    },
    names: &["time", "comm", "disk", "sector", "bytes"],
    extra: &[("lat", "latency:ms")],
};

/// Their values.
const FLAG_WORDS: [&[u8]; 10] = [b"1", b"0", b"true", b"false", b"t", b"f", b"yes", b"no", b"y", b"n"];

/// The days from 1899-12-30, from which spreadsheets count, to 1955 and to 2119.
const DAY_NUMBERS: std::ops::Range<f64> = 2e4..8e4;

/// The lines that are looked at.
const LINES_MAX: usize = 200;
/// The first lines, among which a header may be.
const HEADER_LINES_MAX: usize = 20;

/// A column of the sample.
struct Values<'a>(Vec<&'a [u8]>, bool);

impl Values<'_> {
    fn numbers(&self) -> impl Iterator<Item = Option<f64>> {
        let filled = self.0.iter().filter(|cell| !matches!(**cell, b"" | b"-"));
        filled.map(|cell| std::str::from_utf8(&plain(cell, self.1)?).ok()?.parse().ok())
    }

    fn are_numbers(&self) -> bool {
        self.numbers().all(|number| number.is_some()) && self.numbers().next().is_some()
    }

    fn are_moments(&self) -> bool {
        self.0.iter().all(|cell| moment(cell).is_some()) && !self.0.is_empty()
    }

    fn are_operations(&self, numbers: bool) -> bool {
        let is_taken = |cell: &[u8]| numbers || !cell.iter().all(u8::is_ascii_digit);
        self.0.iter().all(|cell| Kind::parse(cell).is_some() && is_taken(cell)) && !self.0.is_empty()
    }

    fn are_flags(&self) -> bool {
        self.0.iter().all(|cell| FLAG_WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word)))
            && !self.0.is_empty()
    }

    fn are_multiples(&self, of: f64) -> bool {
        self.numbers().all(|number| number.is_some_and(|number| number % of == 0.0))
    }

    /// Whether most of them are whole sectors in bytes: a row that is cut short or not aligned does not change what the others are.
    fn are_whole_sectors(&self) -> bool {
        // With a decimal comma a number of three decimals is one in groups.
        let whole = |number: f64| if self.1 && number % 1.0 != 0.0 { number * 1000.0 } else { number };
        let given: Vec<_> = self.numbers().flatten().filter(|&number| number != 0.0).map(whole).collect();
        2 * given.iter().filter(|&number| number % 512.0 == 0.0).count() >= given.len()
    }

    fn largest(&self) -> f64 {
        self.numbers().flatten().fold(0.0, f64::max)
    }

    /// The unit of times, and whether their size or their fraction tells it.
    fn time_unit(&self) -> (&'static str, bool) {
        if self.are_moments() {
            return ("iso", true);
        }
        // From 2000 to 2100; FILETIME counts from 1601.
        let year_2000_s = 9.4e8;
        let largest = self.largest();
        let since_1970 = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
        let is_date = |per_s: f64| (year_2000_s * per_s..4.1e9 * per_s).contains(&largest);
        if (1.25e17..1.6e17).contains(&largest) {
            return ("filetime", true);
        }
        if let Some((unit, _)) = since_1970.into_iter().find(|&(_, per_s)| is_date(per_s)) {
            return (unit, true);
        }
        // More than three digits behind the point are below a microsecond, if they are not seconds.
        let sign = if self.1 { b',' } else { b'.' };
        let fraction =
            |cell: &&[u8]| cell.iter().position(|&byte| byte == sign).map_or(0, |at| cell.len() - at - 1);
        match self.0.iter().map(fraction).max().unwrap_or(0) {
            _ if self.are_multiples(1.0) => ("us", false),
            digits if digits > 9 && DAY_NUMBERS.contains(&largest) => (DAYS, true),
            digits => ("s", digits > 3),
        }
    }
}

/// Find the columns of a text that begins with `sample`, or those of a recorder.
pub(crate) fn sniff(sample: &[u8], headed: Option<&Headed>) -> Option<Sniffed> {
    let lines = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    // Names may stand in a comment.
    let told = |line: &&[u8]| !is_blank(line) || line.trim_ascii_start().first() == Some(&COMMENT);
    let lines: Vec<_> = lines.filter(told).take(LINES_MAX).collect();
    let is_comment = |line: &[u8]| line.trim_ascii_start().first() == Some(&COMMENT);
    let header = lines.iter().take(HEADER_LINES_MAX).enumerate().find_map(|(index, line)| {
        let text = line.trim_ascii_start().strip_prefix(b"#").unwrap_or(line).trim_ascii();
        let separators = SEPARATORS.into_iter().chain([BLANK]);
        let names = separators.map(|separator| (separator, split(text, separator, None)));
        let has = |names: &[&[u8]], wanted| {
            names.iter().any(|name| role_of(&name_of(name).name).is_some_and(|(role, _)| role == wanted))
        };
        let sizes = |names: &[&[u8]]| has(names, "size") || has(names, "count");
        let mut fit = names.filter(|(_, names)| has(names, "offset") && sizes(names));
        let (separator, names) = fit.next()?;
        Some((index, separator, names.into_iter().map(name_of).collect::<Vec<_>>()))
    });
    match header {
        Some((index, separator, names)) => {
            let data = lines[index + 1..].iter().filter(|line| !is_comment(line)).copied().collect();
            let before = lines[..=index].iter().filter(|line| !is_comment(line)).count();
            by_names(names, data, separator, before, headed)
        }
        None if headed.is_some() => None,
        None => {
            let comments = lines.iter().take_while(|line| is_comment(line)).copied();
            let comments: Vec<_> = comments.map(|line| line.trim_ascii_start()[1..].trim_ascii()).collect();
            by_values(&lines.into_iter().filter(|line| !is_comment(line)).collect::<Vec<_>>(), &comments)
        }
    }
}

/// The lines of a text in cells, and the names of its columns, if it has any.
struct Sample<'a> {
    names: Vec<Name>,
    rows: Vec<Vec<&'a [u8]>>,
    separator: u8,
    comma: bool,
}

impl<'a> Sample<'a> {
    fn new(names: Vec<Name>, rows: Vec<Vec<&'a [u8]>>, separator: u8) -> Self {
        Self { names, comma: is_comma(separator, &rows), rows, separator }
    }

    fn values(&self, at: usize) -> Values<'a> {
        Values(self.rows.iter().filter_map(|row| row.get(at).copied()).collect(), self.comma)
    }

    fn role(&self, at: usize) -> Option<&'static str> {
        role_of(&self.names.get(at)?.name).map(|(role, _)| role)
    }

    /// The unit that the name of a column tells, or nothing.
    fn unit(&self, at: usize) -> &str {
        self.names.get(at).map_or("", |given| match given.unit.as_str() {
            "" => role_of(&given.name).map_or("", |(_, unit)| unit),
            unit => unit,
        })
    }

    /// The columns whose names tell a role.
    fn named(&self, wanted: &str) -> impl Iterator<Item = usize> {
        let is_wanted = move |role: &'static str| role.split(':').next() == Some(wanted);
        (0..self.names.len()).filter(move |&at| self.role(at).is_some_and(is_wanted))
    }

    /// Of the columns with a role those whose values fit, the first one with a known unit.
    fn fitting(&self, wanted: &str, fits: fn(&Values<'_>) -> bool) -> Option<usize> {
        let fit = self.named(wanted).filter(|&at| fits(&self.values(at)));
        fit.min_by_key(|&at| self.names[at].unknown.is_some())
    }

    /// The column with a role; a value that fits no column is reported with its line.
    fn column(&self, wanted: &str, fits: fn(&Values<'_>) -> bool) -> Option<usize> {
        self.fitting(wanted, fits).or_else(|| self.named(wanted).next())
    }

    /// The role of the time in `at`, and of a latency to it, with what they are.
    fn time_roles(&self, at: usize, headed: bool, roles: &mut [String], unclear: &mut Vec<(String, bool)>) {
        let values = self.values(at);
        let is_date = self.names[at].name.starts_with("date") && DAY_NUMBERS.contains(&values.largest());
        let (unit, is_told) = match self.unit(at) {
            "" if headed && !values.are_moments() => ("s", true),
            "" if is_date => (DAYS, true),
            "" => values.time_unit(),
            unit => (unit, true),
        };
        if self.names[at].unit.is_empty() {
            unclear.push((format!("times in {unit}"), is_told));
        }
        roles[at] = format!("time:{unit}");
        if self.role(at) != Some("end") {
            return;
        }
        let latency = self.column("latency", are_numbers).filter(|_| !headed);
        let Some(latency) = latency else {
            unclear.push(("times are those of completion".to_owned(), true));
            return;
        };
        let given = match self.unit(latency) {
            "" => unit,
            given => given,
        };
        roles[latency] = format!("latency:{given}");
        let what = format!("requests arrived before the times of completion by a latency in {given}");
        unclear.push((what, !self.names[latency].unit.is_empty()));
    }

    /// What is found, from the roles of the columns.
    fn sniffed(
        &self,
        roles: &[String],
        used: [Option<usize>; 3],
        header_lines: usize,
        why: String,
    ) -> Option<Sniffed> {
        let unknown = used.into_iter().flatten().filter_map(|at| self.names.get(at)?.unknown.as_deref());
        Some(Sniffed {
            columns: roles.join(",").parse().ok()?,
            separator: self.separator,
            header_lines: header_lines as u64,
            comma: self.comma,
            is_certain: false,
            is_own: false,
            why,
            unknown_units: unknown.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "),
        })
    }
}

fn are_numbers(values: &Values<'_>) -> bool {
    values.are_numbers()
}

fn are_times(values: &Values<'_>) -> bool {
    values.are_numbers() || values.are_moments()
}

fn are_ops(values: &Values<'_>) -> bool {
    values.are_operations(true) || values.are_flags()
}

/// Find the columns by their names.
fn by_names(
    mut names: Vec<Name>,
    data: Vec<&[u8]>,
    separator: u8,
    header_lines: usize,
    headed: Option<&Headed>,
) -> Option<Sniffed> {
    let is_named = |needed: &&str| names.iter().any(|given| given.name == *needed);
    if headed.is_some_and(|headed| !headed.names.iter().all(is_named)) {
        return None;
    }
    let text = names.iter().position(|given| role_of(&given.name).is_some_and(|(role, _)| role == "text"));
    let text = text.filter(|_| separator == BLANK).map(|at| (at, names.len()));
    let rows: Vec<_> = data.iter().map(|line| split(line, separator, text)).collect();
    let is_longer =
        |row: &Vec<&[u8]>| row.len() == names.len() + 1 && row.last().is_some_and(|cell| !cell.is_empty());
    if text.is_none() && !rows.is_empty() && rows.iter().all(is_longer) {
        // R's write.table gives the names of rows no name of their own.
        names.insert(0, name_of(b"row"));
    }
    let sample = Sample::new(names, rows, separator);
    let names = &sample.names;
    let time = sample.column("time", are_times).or_else(|| sample.column("end", are_times));
    let offset = sample.column("offset", are_numbers)?;
    let counted = || sample.column("count", are_numbers);
    let size = sample.column("size", are_numbers).or_else(counted)?;
    let op = sample.column("op", are_ops);
    let (mut roles, mut unclear) = (vec!["skip".to_owned(); names.len()], Vec::new());
    if let Some(at) = time {
        sample.time_roles(at, headed.is_some(), &mut roles, &mut unclear);
    }
    // coflash's own names are of bytes.
    let own =
        |at: usize, name: &str| time.is_some_and(|at| sample.unit(at) == "ns") && names[at].name == name;
    let is_own = own(offset, "offset") && own(size, "length");
    let is_count = sample.role(size) == Some("count");
    let given = match [sample.unit(offset), sample.unit(size)] {
        // A count is of what addresses are in.
        [offset, ""] if is_count => [offset, offset],
        units => units,
    };
    let in_bytes = (is_own || headed.is_some()) && given[0].is_empty();
    let given_offset = if in_bytes { "bytes" } else { given[0] };
    let (offset_unit, size_unit) =
        places(&sample.values(offset), given_offset, &sample.values(size), given[1]);
    roles[offset] = format!("offset:{offset_unit}");
    roles[size] = format!("size:{size_unit}");
    let told = !is_count || !names[size].unit.is_empty();
    unclear.push((format!("addresses in {offset_unit}, sizes in {size_unit}"), told));
    let is_filled: fn(&Values<'_>) -> bool = |values| values.0.iter().all(|cell| !cell.is_empty());
    let device = sample.column("device", is_filled).map(|at| (at, "device"));
    let placement = sample.column("placement", |_| true).map(|at| (at, "placement"));
    let named_op = op.and_then(|at| Some((at, sample.role(at)?)));
    let text = text.map(|(at, _)| (at, "text"));
    let place = |name: &str| names.iter().position(|given| given.name == name);
    let extra =
        headed.iter().flat_map(|headed| headed.extra).filter_map(|&(name, role)| Some((place(name)?, role)));
    for (at, role) in [named_op, device, placement, text].into_iter().flatten().chain(extra) {
        roles[at] = role.to_owned();
    }
    if op.is_none() {
        roles.push("op=read".to_owned());
    }
    let is_like_device =
        |at: &usize| ["vol", "dev", "disk", "lun"].iter().any(|of| names[*at].name.starts_with(of));
    if !roles.iter().any(|role| role == "device")
        && let Some(at) = (0..names.len()).filter(is_like_device).find(|&at| roles[at] == "skip")
    {
        unclear
            .push((format!("{} is skipped: device in its place makes it the volume", names[at].name), true));
    }
    let why = unclear.iter().map(|(what, told)| format!("{what}{}", if *told { "" } else { " (assumed)" }));
    let why = format!("its header names them; {}", why.collect::<Vec<_>>().join(", "));
    let found = sample.sniffed(&roles, [time, Some(offset), Some(size)], header_lines, why)?;
    let is_certain = op.is_some() && unclear.iter().all(|(_, told)| *told) && found.unknown_units.is_empty();
    Some(Sniffed { is_certain, is_own, ..found })
}

/// The separator of most lines, with at least three columns; the number of columns, and the first line with as many.
fn separated(lines: &[&[u8]]) -> Option<(u8, usize, usize)> {
    SEPARATORS.into_iter().chain([BLANK]).find_map(|separator| {
        let counts: Vec<_> = lines.iter().map(|line| split(line, separator, None).len()).collect();
        let usual =
            *counts.iter().max_by_key(|count| counts.iter().filter(|other| other == count).count())?;
        let agree = counts.iter().filter(|count| **count == usual).count();
        let first = counts.iter().position(|count| *count == usual)?;
        (usual >= 3 && agree * 2 > counts.len()).then_some((separator, usual, first))
    })
}

/// Find the columns by their values, and by those names that are known; they may stand in one of the `comments`.
fn by_values(lines: &[&[u8]], comments: &[&[u8]]) -> Option<Sniffed> {
    let (separator, columns, first) = separated(lines)?;
    // A first line without any number holds names.
    let is_name = |cell: &&[u8]| plain(cell, false).is_none() && moment(cell).is_none();
    let has_header = split(lines[first], separator, None).iter().all(is_name);
    let commented =
        || comments.iter().rev().find(|line| split(line, separator, None).len() == columns).copied();
    let header = if has_header { Some(lines[first]) } else { commented() };
    let names =
        header.map_or_else(Vec::new, |line| split(line, separator, None).into_iter().map(name_of).collect());
    let first = first + usize::from(has_header);
    let rows = lines.iter().skip(first).map(|line| split(line, separator, None));
    let sample = Sample::new(names, rows.filter(|row| row.len() == columns).collect(), separator);
    let is_free = |at: &usize| sample.role(*at).is_none();
    let by_word = || (0..columns).filter(is_free).find(|&at| sample.values(at).are_operations(false));
    let both =
        |values: &Values<'_>| values.largest() > 0.0 && values.numbers().any(|number| number == Some(0.0));
    let is_number = |at: &usize| {
        let values = sample.values(*at);
        values.are_operations(true) && both(&values)
    };
    let by_number = || (0..columns).filter(is_free).find(is_number);
    let op = sample.fitting("op", are_ops).or_else(by_word).or_else(by_number);
    let left: Vec<_> = (0..columns).filter(|at| Some(*at) != op).collect();
    let rises = |at: &usize| {
        let values = sample.values(*at);
        let numbers: Vec<_> = values.numbers().collect();
        values.are_moments() || values.are_numbers() && sample.rows.len() > 1 && numbers.is_sorted()
    };
    let is_time = |at: usize| TIMES.contains(&sample.unit(at));
    let may_be_time = |at: &usize| is_free(at) && (is_time(*at) || sample.unit(*at).is_empty()) && rises(at);
    let time = sample.fitting("time", are_times).or_else(|| sample.fitting("end", are_times));
    let time = time.or_else(|| left.iter().copied().find(may_be_time).filter(|_| left.len() > 2));
    if op.is_none() && !time.as_ref().is_some_and(rises) {
        return None;
    }
    let numeric = left.into_iter().filter(|&at| Some(at) != time && sample.values(at).are_numbers());
    let numeric = numeric.filter(|&at| !is_time(at) && sample.values(at).are_multiples(1.0));
    let (offset, size) = place_and_size(&sample, &numeric.filter(is_free).collect::<Vec<_>>())?;
    let (offset_unit, size_unit) =
        places(&sample.values(offset), sample.unit(offset), &sample.values(size), sample.unit(size));
    let is_told = sample.names.iter().any(|given| role_of(&given.name).is_some() || !given.unit.is_empty());
    let how = if is_told { "by their names where these are known, else " } else { "" };
    let mut why = format!(
        "{how}by their values, times in the unit and the columns in the order that are usual; addresses in {offset_unit}, sizes in {size_unit}"
    );
    let mut roles = vec!["skip".to_owned(); columns];
    roles[offset] = format!("offset:{offset_unit}");
    roles[size] = format!("size:{size_unit}");
    match op {
        Some(at) => roles[at] = sample.role(at).unwrap_or("op").to_owned(),
        None => roles.push("op=read".to_owned()),
    }
    match time {
        Some(at) if is_time(at) => roles[at] = format!("time:{}", sample.unit(at)),
        Some(at) => roles[at] = format!("time:{}", sample.values(at).time_unit().0),
        None => why += "; no time was found",
    }
    sample.sniffed(&roles, [time, Some(offset), Some(size)], first, why)
}

/// The columns of addresses and of sizes, by their names or else among the `free` columns of whole numbers.
fn place_and_size(sample: &Sample<'_>, free: &[usize]) -> Option<(usize, usize)> {
    let largest = |at: usize| sample.values(at).largest();
    let fitting = |wanted| sample.fitting(wanted, are_numbers);
    let named_size = fitting("size").or_else(|| fitting("count"));
    let find = |fits: &dyn Fn(usize) -> bool| free.iter().copied().find(|&at| fits(at));
    let size_beside = |offset: usize| {
        let is_size = |at: usize| at != offset && largest(at) > 0.0 && largest(at) <= 1e9;
        named_size
            .or_else(|| find(&|at| is_size(at) && sample.values(at).are_multiples(512.0)))
            .or_else(|| find(&|at| at > offset && is_size(at)))
            .or_else(|| find(&is_size))
    };
    let pair = |offset: usize| Some((offset, size_beside(offset)?));
    let farthest = || free.iter().copied().max_by(|&a, &b| largest(a).total_cmp(&largest(b)).then(b.cmp(&a)));
    // Where all addresses are 0, the largest numbers are sizes.
    fitting("offset").or_else(farthest).and_then(pair).or_else(|| free.iter().copied().find_map(pair))
}

/// Whether the decimal sign is a comma: a number shows it, or none shows a point.
fn is_comma(separator: u8, rows: &[Vec<&[u8]>]) -> bool {
    let sign = |cell: &&[u8]| plain(cell, false).and_then(|_| decimal_sign(cell));
    let shown = rows.iter().flatten().find_map(sign);
    separator != b','
        && shown.map_or_else(
            || rows.first().is_some_and(|row| row.iter().any(|cell| has_decimal_comma(cell))),
            |sign| sign == b',',
        )
}

/// The units of addresses and sizes, by what names tell or else by what the values can be: a disk is accessed in sectors.
fn places<'a>(
    offsets: &Values<'_>,
    offset: &'a str,
    sizes: &Values<'_>,
    size: &'a str,
) -> (&'a str, &'a str) {
    let size_bytes = sizes.are_whole_sectors();
    let offset = match offset {
        "" if !offsets.are_whole_sectors()
            && (size == "sectors" || size_bytes || sizes.largest() < 65_536.0) =>
        {
            "sectors"
        }
        "" => "bytes",
        told => told,
    };
    let size = match size {
        "" if !size_bytes && offset != "bytes" => offset,
        "" => "bytes",
        told => told,
    };
    (offset, size)
}
