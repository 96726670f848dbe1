//! The columns of a text that says nothing of its format: by the names in a header, or else by the values.
//!
//! What is found is written as a user would write it, in the notation of the option `columns`. It is certain where names
//! or values tell every unit: then the file is read at once. Otherwise it is proposed.

use crate::fields::{BLANK, Blanks, Fields, SEPARATORS, Separation, Separator};
use crate::numbers::{decimal_sign, has_decimal_comma, moment, plain};
use crate::operations::Kind;
use crate::record::FormatInfo;
use crate::text::{COMMENT, is_blank};
use coflash_workload::recorded::Columns;

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
}

/// A recorder with a header of its own, and what its header does not say.
pub(crate) struct Headed {
    pub(crate) info: FormatInfo,
    /// The names that its header has.
    pub(crate) names: &'static [&'static str],
    /// The unit of times without one.
    pub(crate) time: &'static str,
    /// The usual disorder of its records, in seconds.
    pub(crate) sort_window_s: u64,
    /// Further columns: a name, and what it is.
    pub(crate) extra: &'static [(&'static str, &'static str)],
    pub(crate) remark: &'static str,
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
    time: "s",
    sort_window_s: 60,
    // A row that sums several requests has none of them.
    extra: &[("count", "word:1")],
    remark: "",
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
    time: "s",
    sort_window_s: 1,
    extra: &[],
    remark: "times are those of completion: a request arrived earlier by its latency",
};

/// Names of columns without blanks and signs, after their role and the unit that they tell.
const NAMES: &str = "\
time - time timestamp ts inittime starttime arrival arrivaltime issuetime submittime submissiontime datetime date when \
clock elapsed start begin requesttime eventtime timeofday
time ns nsecs timens nanoseconds
offset sectors sector lba lbn slba startsector startlba firstsector sectornumber logicalblockaddress
offset pages lpn lpa page pagenumber
offset - offset address addr minoffset byteoffset startoffset diskoffset position pos startaddress
size bytes bytes numbytes nbytes bytecount
size sectors sectors nrsector nrsectors nsectors nsector numsectors sectorcount
size pages pages npages numpages
size - size length len iosize requestsize reqsize blocksize bs transfersize
op - op optype operation type rw rwbs iotype opcode opname request requesttype cmd command action t dir direction \
rwflag rwtype reqtype iodirection accesstype readwrite
device - disk device dev volume volumeid lun asu disknumber deviceid disks diskname devname drive namespace nsid
placement - placement placementid placementhandle fdphandle stream streamid writehint
text - comm process processname task taskcomm";

/// Columns that say of each request whether it is one thing.
const FLAGS: [(&str, &str); 2] = [
    ("iswrite", "op:1|true|t|yes=write/0|false|f|no=read"),
    ("isread", "op:1|true|t|yes=read/0|false|f|no=write"),
];

/// Units in names.
const UNITS: [(&str, &[&str]); 9] = [
    ("ns", &["ns", "nsec", "nanoseconds"]),
    ("us", &["us", "usec", "\u{b5}s", "\u{3bc}s", "microseconds"]),
    ("ms", &["ms", "msec", "milliseconds"]),
    ("s", &["s", "sec", "secs", "seconds"]),
    ("bytes", &["b", "byte", "bytes"]),
    ("1KiB", &["kb", "kib"]),
    ("1MiB", &["mb", "mib"]),
    ("sectors", &["sectors", "sector"]),
    ("pages", &["pages"]),
];

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
        let is = |cell: &&[u8]| Kind::of(cell).is_some() && (numbers || !cell.iter().all(u8::is_ascii_digit));
        self.0.iter().all(is) && !self.0.is_empty()
    }

    fn are_multiples(&self, of: f64) -> bool {
        self.numbers().all(|number| number.is_some_and(|number| number % of == 0.0))
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
            digits => ("s", digits > 3),
        }
    }
}

/// Split a line into its fields; one that may hold separators takes all surplus ones.
pub(crate) fn split(line: &[u8], separator: u8, text: Option<(usize, usize)>) -> Vec<&[u8]> {
    fn all<'a, S: Separation>(mut fields: Fields<'a, S>) -> Vec<&'a [u8]> {
        std::iter::from_fn(|| (!fields.ended()).then(|| fields.text())).collect()
    }
    let mut cells = match separator {
        BLANK => all(Fields::new(line, Blanks)),
        separator => all(Fields::new(line, Separator(separator))),
    };
    if let Some((at, columns)) = text
        && cells.len() > columns
    {
        cells.drain(at + 1..at + 1 + cells.len() - columns);
    }
    cells
}

/// A name of a column without blanks and signs, and its unit.
fn name_of(given: &[u8]) -> (String, &'static str) {
    let lower = String::from_utf8_lossy(given).to_lowercase();
    let bare = |text: &str| {
        let name = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        // `size_in_bytes`.
        match name.strip_suffix("in") {
            Some(short) if role_of(short).is_some() => short.to_owned(),
            _ => name,
        }
    };
    let unit = |text: &str| UNITS.iter().find(|(_, words)| words.contains(&text)).map(|(unit, _)| *unit);
    let cut = lower.trim_end_matches([')', ']']);
    match cut.rsplit_once(['(', '[', '_', ' ']) {
        Some((name, last)) if unit(last.trim()).is_some() && role_of(&bare(name)).is_some() => {
            (bare(name), unit(last.trim()).unwrap_or_default())
        }
        _ => (bare(&lower), ""),
    }
}

/// The role of a name, and the unit that it tells.
fn role_of(name: &str) -> Option<(&'static str, &'static str)> {
    let found = NAMES.lines().find_map(|row| {
        let (role, row) = row.split_once(' ')?;
        let (unit, names) = row.split_once(' ')?;
        names.split(' ').any(|known| known == name).then_some((role, unit.trim_start_matches('-')))
    });
    found.or_else(|| FLAGS.iter().find(|(known, _)| *known == name).map(|&(_, role)| (role, "")))
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
            names.iter().any(|name| role_of(&name_of(name).0).is_some_and(|(role, _)| role == wanted))
        };
        let mut fit = names.filter(|(_, names)| has(names, "offset") && has(names, "size"));
        let (separator, names) = fit.next()?;
        Some((index, separator, names.into_iter().map(name_of).collect::<Vec<_>>()))
    });
    match header {
        Some((index, separator, names)) => {
            let data = lines[index + 1..].iter().filter(|line| !is_comment(line)).copied().collect();
            let before = lines[..=index].iter().filter(|line| !is_comment(line)).count();
            by_names(&names, data, separator, before as u64, headed)
        }
        None if headed.is_some() => None,
        None => by_values(&lines.into_iter().filter(|line| !is_comment(line)).collect::<Vec<_>>()),
    }
}

/// Find the columns by their names.
fn by_names(
    names: &[(String, &'static str)],
    data: Vec<&[u8]>,
    separator: u8,
    header_lines: u64,
    headed: Option<&Headed>,
) -> Option<Sniffed> {
    if headed
        .is_some_and(|headed| !headed.names.iter().all(|needed| names.iter().any(|(name, _)| name == needed)))
    {
        return None;
    }
    let text = names.iter().position(|(name, _)| role_of(name).is_some_and(|(role, _)| role == "text"));
    let text = text.filter(|_| separator == BLANK).map(|at| (at, names.len()));
    let rows: Vec<_> = data.iter().map(|line| split(line, separator, text)).collect();
    let comma = is_comma(separator, &rows);
    let values = |at: usize| Values(rows.iter().filter_map(|row| row.get(at).copied()).collect(), comma);
    let column = |wanted: &str, fits: &dyn Fn(&Values<'_>) -> bool| {
        let role = |name: &str| role_of(name).filter(|(role, _)| role.split(':').next() == Some(wanted));
        let mut named = names.iter().enumerate().filter_map(|(at, (name, given))| {
            let (role, unit) = role(name)?;
            Some((at, role, if given.is_empty() { unit } else { given }))
        });
        // A value that fits no column is reported with its line.
        let first = named.clone().next();
        named.find(|(at, ..)| fits(&values(*at))).or(first)
    };
    let sizes = |values: &Values<'_>| values.are_numbers();
    let time = column("time", &|values| values.are_numbers() || values.are_moments());
    let (offset, size) = (column("offset", &sizes)?, column("size", &sizes)?);
    let op = column("op", &|values| {
        values.are_operations(true)
            || values
                .0
                .iter()
                .all(|cell| cell.eq_ignore_ascii_case(b"true") || cell.eq_ignore_ascii_case(b"false"))
    });
    let mut roles: Vec<String> = names.iter().map(|_| "skip".to_owned()).collect();
    let mut unclear = Vec::new();
    if let Some((at, _, unit)) = time {
        let found = if values(at).are_moments() { ("iso", true) } else { values(at).time_unit() };
        let (unit, is_told) = match (unit, headed) {
            ("", Some(headed)) if !values(at).are_moments() => (headed.time, true),
            ("", _) => found,
            (unit, _) => (unit, true),
        };
        if names[at].1.is_empty() {
            unclear.push((format!("times in {unit}"), is_told));
        }
        roles[at] = format!("time:{unit}");
    }
    // coflash's own names are of bytes.
    let own = |at: usize, name: &str| time.is_some_and(|(.., unit)| unit == "ns") && names[at].0 == name;
    let is_own = own(offset.0, "offset") && own(size.0, "length");
    let offset_given = if (is_own || headed.is_some()) && offset.2.is_empty() { "bytes" } else { offset.2 };
    let (offset_unit, size_unit) = places(&values(offset.0), offset_given, &values(size.0), size.2);
    roles[offset.0] = format!("offset:{offset_unit}");
    roles[size.0] = format!("size:{size_unit}");
    unclear.push((format!("addresses in {offset_unit}, sizes in {size_unit}"), true));
    if let Some((at, role, _)) = op {
        roles[at] = role.to_owned();
    }
    for role in ["device", "placement"] {
        if let Some((at, ..)) =
            column(role, &|values| values.0.iter().all(|cell| role == "placement" || !cell.is_empty()))
        {
            roles[at] = role.to_owned();
        }
    }
    if let Some((at, _)) = text {
        roles[at] = "text".to_owned();
    }
    for (name, role) in headed.iter().flat_map(|headed| headed.extra) {
        if let Some(at) = names.iter().position(|(given, _)| given == name) {
            roles[at] = (*role).to_owned();
        }
    }
    if op.is_none() {
        roles.push("op=read".to_owned());
    }
    let why = unclear.iter().map(|(what, told)| format!("{what}{}", if *told { "" } else { " (assumed)" }));
    let why = format!("its header names them; {}", why.collect::<Vec<_>>().join(", "));
    let is_certain = op.is_some() && unclear.iter().all(|(_, told)| *told);
    let found = found(&roles, separator, header_lines, comma, why)?;
    Some(Sniffed { is_certain, is_own, ..found })
}

/// Find the columns by their values.
fn by_values(lines: &[&[u8]]) -> Option<Sniffed> {
    let mut fit = SEPARATORS.into_iter().chain([BLANK]).filter_map(|separator| {
        let counts: Vec<_> = lines.iter().map(|line| split(line, separator, None).len()).collect();
        let usual =
            *counts.iter().max_by_key(|count| counts.iter().filter(|other| other == count).count())?;
        let agree = counts.iter().filter(|count| **count == usual).count();
        (usual >= 3 && agree * 2 > counts.len()).then_some((separator, usual, counts))
    });
    let (separator, columns, counts) = fit.next()?;
    let first = counts.iter().position(|count| *count == columns)?;
    // A first line without any number holds names.
    let is_name = |cell: &&[u8]| plain(cell, false).is_none() && moment(cell).is_none();
    let first = first + usize::from(split(lines[first], separator, None).iter().all(is_name));
    let data = lines.get(first..).unwrap_or_default();
    let rows = data.iter().map(|line| split(line, separator, None)).filter(|row| row.len() == columns);
    let rows: Vec<_> = rows.collect();
    let comma = is_comma(separator, &rows);
    let values = |at: usize| Values(rows.iter().map(|row| row[at]).collect(), comma);
    let mut left: Vec<usize> = (0..columns).collect();
    let mut take = |found: Option<usize>| {
        left.retain(|at| Some(*at) != found);
        (found, left.clone())
    };
    let by_word = (0..columns).find(|&at| values(at).are_operations(false));
    let by_number = || {
        let both = |values: &Values<'_>| {
            values.largest() > 0.0 && values.numbers().any(|number| number == Some(0.0))
        };
        (0..columns).find(|&at| values(at).are_operations(true) && both(&values(at)))
    };
    let (op, left) = take(by_word.or_else(by_number));
    let rises = |at: &usize| {
        let numbers: Vec<_> = values(*at).numbers().collect();
        values(*at).are_moments() || values(*at).are_numbers() && rows.len() > 1 && numbers.is_sorted()
    };
    let (time, left) = take(left.iter().copied().find(rises).filter(|_| left.len() > 2));
    if op.is_none() && time.is_none() {
        return None;
    }
    let numeric = left.into_iter().filter(|&at| values(at).are_numbers());
    let numeric: Vec<_> = numeric.filter(|&at| values(at).are_multiples(1.0)).collect();
    let farthest = numeric
        .iter()
        .copied()
        .max_by(|a, b| values(*a).largest().total_cmp(&values(*b).largest()).then(b.cmp(a)));
    let offset = farthest?;
    let is_size = |at: &usize| *at != offset && values(*at).largest() > 0.0 && values(*at).largest() <= 1e9;
    let whole_sectors = |at: &usize| is_size(at) && values(*at).are_multiples(512.0);
    let size = numeric.iter().copied().find(whole_sectors);
    let size = size
        .or_else(|| numeric.iter().copied().filter(|at| *at > offset).find(is_size))
        .or_else(|| numeric.iter().copied().find(is_size))?;
    let (offset_unit, size_unit) = places(&values(offset), "", &values(size), "");
    let mut roles = vec!["skip".to_owned(); columns];
    let mut why = format!(
        "by their values, times in the unit and the columns in the order that are usual; addresses in {offset_unit}, sizes in {size_unit}"
    );
    roles[offset] = format!("offset:{offset_unit}");
    roles[size] = format!("size:{size_unit}");
    match op {
        Some(at) => roles[at] = "op".to_owned(),
        None => roles.push("op=read".to_owned()),
    }
    match time {
        Some(at) => roles[at] = format!("time:{}", values(at).time_unit().0),
        None => why += "; no time was found",
    }
    found(&roles, separator, first as u64, comma, why)
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
    let size_bytes = sizes.are_multiples(512.0);
    let offset = match offset {
        "" if !offsets.are_multiples(512.0)
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

fn found(roles: &[String], separator: u8, header_lines: u64, comma: bool, why: String) -> Option<Sniffed> {
    let columns = roles.join(",").parse().ok()?;
    Some(Sniffed { columns, separator, header_lines, comma, is_certain: false, is_own: false, why })
}
