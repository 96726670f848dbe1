//! The judge of tables: known formats, headers and proposals alike are judged by it before anything is taken.
//!
//! Names in a header beat values; values may deny what names and shapes say: an operation is a word of operations, a time
//! rises, a byte address is a multiple of 512. What is found is written as a user would write it, in the notation of the
//! option `columns`. It is certain where names or values tell every unit: then the file is read at once. Otherwise it is
//! proposed, or asked about.

use super::names::{DAYS, Name, TIMES, name_of};
use super::unread::unread;
use super::values::{DAY_NUMBERS, LINES_MAX, Values};
use crate::fields::{BLANK, SEPARATORS, split};
use crate::notation::Columns;
use crate::numbers::{decimal_sign, has_decimal_comma, moment, plain};
use crate::text::{COMMENT, is_blank};
use std::collections::BTreeSet;

/// How a table is read.
pub(crate) struct Reading {
    pub(crate) columns: Columns,
    pub(crate) layout: Layout,
    /// Whether the file tells everything.
    pub(crate) is_certain: bool,
    /// Whether the names are coflash's own: then times are those since the start.
    pub(crate) is_own: bool,
    /// What told it, and what is assumed.
    pub(crate) why: String,
    /// What nobody but the user can say.
    pub(crate) question: Option<String>,
}

/// A recorder with a header of its own, in the order of completion: what the header has, and what it does not say.
pub(crate) struct Headed {
    /// The names of the columns, for messages.
    pub(crate) record: &'static str,
    /// The names that it has. Times without a unit are seconds.
    pub(crate) names: &'static str,
    /// A further column: its name, and its role.
    pub(crate) extra: &'static str,
}

/// How lines are taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) separator: u8,
    /// Lines before the first record, comments and blank ones excluded.
    pub(crate) header_lines: u64,
    /// Whether the decimal sign is a comma.
    pub(crate) comma: bool,
}

/// How a file is read whose columns nothing tells.
pub(crate) const UNTOLD: &str = "it can be read if --read says what its columns are, as in columns=time:us,op,offset:sectors,size:bytes, and \
                                 --read header_lines=1 that a header comes first";

/// The units that names may tell.
const UNITS: &str =
    "known are ns, us, ms, s, min, h of times, and bytes, sectors, pages, KiB, MiB of addresses and sizes";
/// The first lines, among which a header may be.
const HEADER_LINES_MAX: usize = 20;
/// The different words of a column that may be operations of names that are not known.
const OPERATIONS_MAX: usize = 6;

/// Judge a text that begins with `sample`, or the table of a recorder.
///
/// # Errors
/// What the text is, and how it can be read.
pub(crate) fn judge(sample: &[u8], headed: Option<&Headed>) -> Result<Reading, String> {
    match Judge::new(sample, headed).and_then(Judge::reading) {
        Some(Ok(reading)) if reading.is_certain || headed.is_some() => Ok(reading),
        other => unread(sample).map_or_else(|| other.unwrap_or_else(|| Err(UNTOLD.to_owned())), Err),
    }
}

/// The separator of most lines, with at least three columns; the number of columns, and the first line with as many.
fn separated(lines: &[&[u8]]) -> Option<(u8, usize, usize)> {
    SEPARATORS.into_iter().chain([BLANK]).find_map(|separator| {
        let counts: Vec<_> = lines.iter().map(|line| split(line, separator, None).len()).collect();
        let agree = |count: usize| counts.iter().filter(|other| **other == count).count();
        let usual = *counts.iter().max_by_key(|count| agree(**count))?;
        let first = counts.iter().position(|count| *count == usual)?;
        (usual >= 3 && agree(usual) * 2 > counts.len()).then_some((separator, usual, first))
    })
}

/// Whether the decimal sign is a comma: a number shows it, or none shows a point.
fn is_comma(separator: u8, rows: &[Vec<&[u8]>]) -> bool {
    let sign = |cell: &&[u8]| plain(cell, false).and_then(|_| decimal_sign(cell));
    let shown = rows.iter().flatten().find_map(sign);
    let first = || rows.first().is_some_and(|row| row.iter().any(|cell| has_decimal_comma(cell)));
    separator != b',' && shown.map_or_else(first, |sign| sign == b',')
}

/// A column: its name, its values in the sample, and its role in the notation of the option `columns`.
struct Cells<'a> {
    name: Name,
    values: Values<'a>,
    role: String,
}

impl Cells<'_> {
    /// The role that its name tells, or nothing.
    fn named_role(&self) -> &'static str {
        self.name.role.map_or("", |role| role.split(':').next().unwrap_or(role))
    }

    /// Whether no name gives it a role, or one that its values deny.
    fn is_free(&self) -> bool {
        let told = self.named_role();
        told.is_empty() || told == "op" && (!self.values.are_operations() || self.values.count_up())
    }

    fn is_of_times(&self) -> bool {
        TIMES.contains(&self.name.unit.as_str())
    }
}

/// The columns of a sample, and what is known of them.
struct Judge<'a> {
    columns: Vec<Cells<'a>>,
    headed: Option<&'a Headed>,
    layout: Layout,
    /// What is told or assumed, and whether all is told.
    why: Vec<String>,
    is_told: bool,
    question: Option<String>,
}

impl<'a> Judge<'a> {
    /// Find the header and the cells; `None` if there are none, or the header of the recorder has other names.
    fn new(sample: &'a [u8], headed: Option<&'a Headed>) -> Option<Self> {
        let is_comment = |line: &&[u8]| line.trim_ascii_start().first() == Some(&COMMENT);
        let lines = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
        // Names may stand in a comment.
        let lines = lines.filter(|line| !is_blank(line) || is_comment(line));
        let lines: Vec<_> = lines.take(LINES_MAX).collect();
        let data: Vec<_> = lines.iter().copied().filter(|line| !is_comment(line)).collect();
        let bare = |line: &'a [u8]| line.trim_ascii_start().strip_prefix(b"#").unwrap_or(line).trim_ascii();
        let names_of = |line: &'a [u8], separator| -> Vec<Name> {
            split(bare(line), separator, None).into_iter().map(name_of).collect()
        };
        let has = |names: &[Name], roles: &[&str]| {
            names.iter().any(|name| roles.contains(&name.role.unwrap_or("")))
        };
        let header = lines.iter().take(HEADER_LINES_MAX).enumerate().find_map(|(index, line)| {
            let before = lines[..=index].iter().filter(|line| !is_comment(line)).count();
            let fits = |(separator, names): &(u8, Vec<Name>)| {
                // A comment may be prose.
                let mut next = data[before..].iter().take(HEADER_LINES_MAX);
                let next =
                    !is_comment(line) || next.any(|line| split(line, *separator, None).len() >= names.len());
                next && has(names, &["offset"]) && has(names, &["size", "count", "last"])
            };
            let all = SEPARATORS.into_iter().chain([BLANK]);
            Some((before, all.map(|separator| (separator, names_of(line, separator))).find(fits)?))
        });
        if let Some((before, (separator, names))) = header {
            let text = names.iter().position(|name| name.role == Some("text")).filter(|_| separator == BLANK);
            let text = text.map(|at| (at, names.len()));
            let rows = data[before..].iter().map(|line| split(line, separator, text)).collect();
            return Self::with_cells(names, rows, separator, before, headed);
        }
        let (separator, columns, first) = separated(&data)?;
        // A first line without any number holds names; else a comment may.
        let is_name = |cell: &&[u8]| plain(cell, false).is_none() && moment(cell).is_none();
        let has_header = split(data[first], separator, None).iter().all(is_name);
        let comments = lines.iter().take_while(|line| is_comment(line));
        let commented = comments.filter(|line| split(bare(line), separator, None).len() == columns).last();
        let header = if has_header { Some(&data[first]) } else { commented };
        let names = header.map(|line| names_of(line, separator));
        let names = names.unwrap_or_else(|| (0..columns).map(|_| Name::default()).collect());
        let first = first + usize::from(has_header);
        let rows = data[first..].iter().map(|line| split(line, separator, None));
        Self::with_cells(names, rows.filter(|row| row.len() == columns).collect(), separator, first, headed)
    }

    fn with_cells(
        mut names: Vec<Name>,
        rows: Vec<Vec<&'a [u8]>>,
        separator: u8,
        before: usize,
        headed: Option<&'a Headed>,
    ) -> Option<Self> {
        let has = |name: &str| names.iter().any(|given| given.name == name);
        if headed.is_some_and(|headed| !headed.names.split(' ').all(has)) {
            return None;
        }
        let more = names.len() + 1;
        let is_longer = |row: &Vec<&[u8]>| row.len() == more && !row[more - 1].is_empty();
        if !rows.is_empty() && rows.iter().all(is_longer) {
            // R's write.table gives the names of rows no name of their own.
            names.insert(0, name_of(b"row"));
        }
        let layout = Layout { separator, header_lines: before as u64, comma: is_comma(separator, &rows) };
        let columns = names.into_iter().enumerate().map(|(at, name)| {
            let values = Values(rows.iter().filter_map(|row| row.get(at).copied()).collect(), layout.comma);
            Cells { name, values, role: "skip".to_owned() }
        });
        let columns = columns.collect();
        Some(Self { columns, headed, layout, why: Vec::new(), is_told: true, question: None })
    }

    /// Give the columns their roles; `None` if too few are known.
    fn reading(mut self) -> Option<Result<Reading, String>> {
        let op = self.operation();
        let time = self.time();
        let has_size = self.named("size").or(self.named("count")).is_some();
        if let Some(end) = self.named("last").filter(|_| !has_size) {
            let what = "says where a request ends, and none says how long it is: write the difference as a column, size";
            return Some(Err(format!("its column {} {what}", end + 1)));
        }
        let (offset, size) = self.places()?;
        let is_own = self.units_of_places(offset, size, time);
        self.further();
        let mut constant = "";
        if op.is_none() {
            let is_named = [offset, size].iter().all(|&at| !self.columns[at].named_role().is_empty());
            if !is_named && !self.columns[time?].values.rise() {
                return None;
            }
            self.no_operation();
            constant = ",op=read";
        }
        let used = [time, Some(offset), Some(size)].into_iter().flatten();
        let unknown = used.filter_map(|at| self.columns[at].name.unknown.as_ref());
        let unknown: Vec<_> = unknown.map(|name| format!("\"{name}\"")).collect();
        if !unknown.is_empty() {
            self.question = Some(format!("the unit in {} is not known ({UNITS})", unknown.join(", ")));
        }
        let names: Vec<_> = self.columns.iter().map(|column| &column.name).collect();
        let is_again = |&at: &usize| {
            names[at].role.is_some_and(|role| role != "other") && names[..at].contains(&names[at])
        };
        if let Some(at) = (0..names.len()).find(is_again) {
            self.question = Some(format!("several columns are named \"{}\"", names[at].name));
        }
        let roles: Vec<_> = self.columns.iter().map(|column| column.role.as_str()).collect();
        let columns = (roles.join(",") + constant).parse::<Columns>().ok()?;
        let Self { layout, why, is_told, question, .. } = self;
        let (is_certain, why) = (question.is_none() && is_told, why.join(", "));
        Some(Ok(Reading { columns, layout, is_certain, is_own, why, question }))
    }

    /// The column with a role by its name: of several, one whose values fit it, one that is known as a whole and with its unit, one
    /// whose values differ.
    fn named(&self, role: &str) -> Option<usize> {
        let all = (0..self.columns.len()).filter(|&at| self.columns[at].named_role() == role);
        all.min_by_key(|&at| {
            let Cells { name, values, .. } = &self.columns[at];
            let fits = match role {
                "time" | "end" => values.are_times(),
                "op" => values.are_operations() && !values.count_up(),
                "device" => values.0.iter().all(|cell| !cell.is_empty()),
                _ => values.are_numbers(),
            };
            let is_word = role == "op" && values.are_words_of_operations();
            let rises = role == "time" && values.rise();
            (!fits, !is_word && !rises, name.unknown.is_some(), !name.is_whole, values.different() < 2)
        })
    }

    /// The columns that have no role yet, and none by their names.
    fn free(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].role == "skip" && self.columns[at].is_free())
    }

    fn has_header(&self) -> bool {
        self.columns.iter().any(|column| !column.name.name.is_empty())
    }

    fn assume(&mut self, what: &str, is_told: bool) {
        self.why.push(what.to_owned() + if is_told { "" } else { " (assumed)" });
        self.is_told &= is_told;
    }

    /// Find the operation: by its name, by its words, or as zeros and ones.
    fn operation(&mut self) -> Option<usize> {
        let values = |at: usize| &self.columns[at].values;
        let named = self.named("op");
        let fits = named.filter(|&at| values(at).are_operations() && !values(at).count_up());
        let found = fits.or_else(|| self.free().find(|&at| values(at).are_words_of_operations()));
        let is_switch =
            |&at: &usize| values(at).are_operations() && values(at).different() == 2 && values(at).has_zero();
        let switches: Vec<_> = self.free().filter(is_switch).collect();
        // Of two, a time rises.
        let switch = switches.iter().find(|&&at| !values(at).rise()).or(switches.first()).copied();
        let is_told = |at: usize| self.columns[at].name.role.is_some_and(|role| role.starts_with("op:"));
        if switch.is_some_and(|at| found.is_none() && !is_told(at)) {
            self.assume("0 is a read and 1 a write, else op:1=read/0=write", false);
        }
        // Else a name tells it, and a value that is no operation is reported with its line.
        let at = found.or(switch).or(named.filter(|&at| !self.columns[at].values.count_up()))?;
        let column = &mut self.columns[at];
        column.role = column.name.role.filter(|role| role.starts_with("op")).unwrap_or("op").to_owned();
        Some(at)
    }

    /// Find the time: by its name, by a unit of times in its name, or among the columns that rise.
    fn time(&mut self) -> Option<usize> {
        let are_times = |&at: &usize| self.columns[at].values.are_times();
        let [time, end] = ["time", "end"].map(|role| self.named(role));
        // A value that is no time is reported with its line.
        if let Some(at) = time.filter(are_times).or(end.filter(are_times)).or(time) {
            self.time_roles(at);
            return Some(at);
        }
        let column = |at: usize| &self.columns[at];
        let rising: Vec<_> = self.free().filter(|&at| column(at).values.rise()).collect();
        let told: Vec<_> = rising.iter().copied().filter(|&at| column(at).is_of_times()).collect();
        // Where all that is left are an address and a size, one of these may rise.
        let needed = 2 - ["offset", "size"].iter().filter(|role| self.named(role).is_some()).count();
        let by_rank = rising.iter().copied().filter(|&at| column(at).name.unit.is_empty()).rev();
        let by_rank = by_rank.max_by_key(|&at| column(at).values.time_rank());
        let Some(at) = told.first().copied().or(by_rank.filter(|_| self.free().count() > needed)) else {
            let may_be = self.free().any(|at| column(at).is_of_times() || column(at).values.are_moments());
            let is_told = self.has_header() && !may_be;
            self.assume("no column is a time", is_told);
            return None;
        };
        let is_date = column(at).values.date_unit().is_some() && rising.len() == 1;
        self.time_roles(at);
        self.assume(&format!("column {} is the time", at + 1), told.len() == 1 || is_date);
        Some(at)
    }

    /// The role of the time in `at`, and of a latency to it, with what they are.
    fn time_roles(&mut self, at: usize) {
        let Cells { name, values, .. } = &self.columns[at];
        let is_date = name.name.starts_with("date") && DAY_NUMBERS.contains(&values.largest());
        let (unit, is_told) = match name.unit.as_str() {
            "" if self.headed.is_some() && !values.are_moments() => ("s", true),
            "" if is_date => (DAYS, true),
            "" => values.time_unit(),
            unit => (unit, true),
        };
        let unit = unit.to_owned();
        self.columns[at].role = format!("time:{unit}");
        self.assume(&format!("times in {unit}"), is_told);
        if self.columns[at].named_role() != "end" {
            return;
        }
        let Some(latency) = self.named("latency").filter(|_| self.headed.is_none()) else {
            return self.assume("times are those of completion", true);
        };
        let given = self.columns[latency].name.unit.clone();
        let (is_told, unit) = (!given.is_empty(), if given.is_empty() { unit } else { given });
        self.columns[latency].role = format!("latency:{unit}");
        self.assume(
            &format!("requests arrived before the times of completion by a latency in {unit}"),
            is_told,
        );
    }

    /// Find the columns of addresses and sizes: by their names, or among the columns of whole numbers that are left.
    fn places(&mut self) -> Option<(usize, usize)> {
        let values = |at: usize| &self.columns[at].values;
        let is_whole = |&at: &usize| values(at).are_numbers() && values(at).are_multiples(1.0);
        let free: Vec<_> =
            self.free().filter(|&at| is_whole(&at) && !self.columns[at].is_of_times()).collect();
        let size = self.named("size").or(self.named("count"));
        let is_size = |at: usize| (1.0..=1e9).contains(&values(at).largest());
        // Whole sectors are sizes rather than other numbers; a size follows its address.
        let rank = |offset: usize, at: usize| {
            let in_eights = values(at).are_multiples(8.0) && !values(at).has_zero();
            (!values(at).rise(), values(at).are_multiples(512.0), in_eights, at == offset + 1, at > offset)
        };
        let beside = |offset: usize| {
            let others = free.iter().copied().filter(|&at| at != offset && is_size(at));
            size.or_else(|| others.rev().max_by_key(|&at| rank(offset, at)))
        };
        let others = free.iter().copied().filter(|&at| Some(at) != size).rev();
        let farthest = others.max_by(|&a, &b| values(a).largest().total_cmp(&values(b).largest()));
        let pair = |offset: usize| Some((offset, beside(offset)?));
        let found = self.named("offset").or(farthest).and_then(pair);
        // Where all addresses are 0, the largest numbers are sizes.
        let (offset, size) = found.or_else(|| free.iter().copied().find_map(pair))?;
        if [offset, size].iter().any(|&at| self.columns[at].named_role().is_empty()) {
            self.assume(&format!("column {} is the address, {} the size", offset + 1, size + 1), false);
        }
        Some((offset, size))
    }

    /// The units of addresses and sizes, by what names tell or else by what the values can be: a disk is accessed in sectors.
    /// Returns whether the names are coflash's own.
    fn units_of_places(&mut self, offset: usize, size: usize, time: Option<usize>) -> bool {
        let is_ns = time.is_some_and(|at| self.columns[at].name.unit == "ns");
        let [of_offset, of_size] = [offset, size].map(|at| &self.columns[at]);
        // coflash's own names are of bytes.
        let is_own = is_ns && of_offset.name.name == "offset" && of_size.name.name == "length";
        let is_count = of_size.named_role() == "count";
        let given = match [of_offset.name.unit.as_str(), of_size.name.unit.as_str()] {
            ["", size] if is_own || self.headed.is_some() => ["bytes", size],
            // A count is of what addresses are in.
            [offset, ""] if is_count => [offset, offset],
            units => units,
        };
        let (in_bytes, largest) = (of_size.values.are_whole_sectors(), of_size.values.largest());
        // Sizes of a few bytes are none of a disk.
        let are_few = given == ["", ""] && !in_bytes && largest < 4096.0;
        let may_be = given[1] == "sectors" || in_bytes || largest < 65_536.0;
        let in_sectors = !of_offset.values.are_whole_sectors() && may_be;
        let offset_unit = match given[0] {
            "" if in_sectors || are_few && of_offset.values.different() < 4 => "sectors",
            "" => "bytes",
            told => told,
        };
        let size_unit = match given[1] {
            "" if !in_bytes && offset_unit != "bytes" => offset_unit,
            "" if are_few => "sectors",
            "" => "bytes",
            told => told,
        };
        let is_told = |cells: &Cells<'_>| !cells.named_role().is_empty() || !cells.name.unit.is_empty();
        let is_told = is_told(of_offset) && is_told(of_size) && (!is_count || !of_size.name.unit.is_empty());
        let roles = [(offset, format!("offset:{offset_unit}")), (size, format!("size:{size_unit}"))];
        // Names told the columns, and values that these are in sectors.
        let is_by_values = [(given[0], offset_unit), (given[1], size_unit)].contains(&("", "sectors"));
        let by_values = if is_told && is_by_values { " (assumed)" } else { "" };
        let what = format!("addresses in {offset_unit}, sizes in {size_unit}{by_values}");
        self.assume(&what, is_told);
        for (at, role) in roles {
            self.columns[at].role = role;
        }
        is_own
    }

    /// The roles of a device, a placement hint, a text, and of what a recorder has besides.
    fn further(&mut self) {
        let text = self.named("text").filter(|_| self.layout.separator == BLANK);
        let place = |name: &str| self.columns.iter().position(|column| column.name.name == name);
        let extra = self.headed.and_then(|headed| headed.extra.split_once(' '));
        let extra = extra.map(|(name, role)| (place(name), role));
        let roles =
            [(self.named("device"), "device"), (self.named("placement"), "placement"), (text, "text")];
        for (at, role) in roles.into_iter().chain(extra) {
            if let Some(at) = at {
                role.clone_into(&mut self.columns[at].role);
            }
        }
        // Without a header, a first column of a few numbers that come again.
        let Cells { values, role, .. } = &self.columns[0];
        let comes_again = values.different() > 1 && values.different() * 3 <= values.0.len() * 2;
        let is_whole = values.are_numbers() && values.are_multiples(1.0);
        if !self.has_header() && role == "skip" && is_whole && comes_again {
            "device".clone_into(&mut self.columns[0].role);
            self.assume("column 1 is the device", false);
        }
    }

    /// Without a column of operations: take all requests for reads, unless words that are not known may be operations.
    fn no_operation(&mut self) {
        let is_word =
            |cell: &&[u8]| !cell.is_empty() && plain(cell, false).is_none() && moment(cell).is_none();
        let values = |at: usize| &self.columns[at].values;
        let may_be = |at: usize| {
            (2..=OPERATIONS_MAX).contains(&values(at).different()) && values(at).0.iter().all(is_word)
        };
        let question = self.free().find(|&at| may_be(at)).map(|at| {
            let words: BTreeSet<_> = values(at).0.iter().map(|cell| String::from_utf8_lossy(cell)).collect();
            let words: Vec<_> = words.into_iter().collect();
            let (at, all, first) = (at + 1, words.join(", "), &words[0]);
            format!("column {at} ({all}) may say what a request does, as in op:{first}=read in its place")
        });
        self.question = question;
        self.assume("no column is an operation: all are reads", false);
    }
}
