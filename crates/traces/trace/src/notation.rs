//! The notation for the columns of a text trace: `time:us,op,offset:sectors,size:bytes`.
//!
//! | entry                    | meaning                                                                              |
//! |--------------------------|--------------------------------------------------------------------------------------|
//! | `time:UNIT`              | `s`, `ms`, `us`, `ns`, `filetime` (100 ns), or a step such as `10us`; a date or a    |
//! |                          | time of day needs none, and `iso` is its name                                        |
//! | `latency:UNIT`           | how long before `time`, that of completion, the request arrived                      |
//! | `offset:UNIT`, `size:UNIT` | `bytes`, `sectors` (512 bytes), `pages` (4 KiB), or a step such as `4KiB`; with     |
//! |                          | suffix `%N`, the number is a multiple of N                                           |
//! | `op`                     | an operation in one of the usual words                                               |
//! | `op:W\|W=OP/W=OP`        | an operation in the given words, of which `*` is any other; `=skip` skips the row    |
//! | `op:flags`               | a hexadecimal number whose lowest bit is 1 for a read and 0 for a write              |
//! | `op=OP`                  | no column: every row is this operation                                               |
//! | `device`                 | a device; adjacent columns together form its name; `device:number` for a whole       |
//! |                          | number                                                                               |
//! | `placement`              | a placement identifier (an FDP handle or a stream); empty or `-` is none             |
//! | `number`                 | a number, ignored                                                                    |
//! | `word:W\|W/W=skip`       | one of these words; `=skip` skips the row                                            |
//! | `skip`                   | anything                                                                             |
//! | `text`                   | anything, also with the separator in it, as names of processes between blanks        |
//!
//! `auto` instead of the entries lets the reader find them, from the names in a header or from the values.

use coflash_base::suggest::hint;
use coflash_base::{Bytes, Duration};
use coflash_workload::Op;
use std::fmt;
use std::str::FromStr;

/// The columns of a trace, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The original text.
    text: String,
    columns: Vec<Column>,
    /// The operation of all rows, for traces without such a column.
    op: Option<Op>,
}

/// The role of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the notation explains them")]
pub enum Column {
    /// In steps of `step_ns`; `whole` excludes fractions.
    Time {
        step_ns: u64,
        whole: bool,
    },
    /// The time from arrival to `time`.
    Latency {
        step_ns: u64,
    },
    Offset(ByteSteps),
    Size(ByteSteps),
    /// One of the given words; `None` skips the row.
    Op(Words<Option<Op>>),
    /// One of the usual words.
    UsualOp,
    /// A hexadecimal number whose lowest bit is 1 for a read.
    Flags,
    /// A name, or a whole number.
    Device {
        number: bool,
    },
    /// A placement identifier, or none.
    Placement,
    Number,
    /// Whether the row is kept.
    Word(Words<bool>),
    Skip,
    /// Anything, with the separator in it.
    Text,
}

/// Numbers of steps of `bytes` each; a number is a multiple of `multiple`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ByteSteps {
    pub bytes: u64,
    pub multiple: u64,
}

impl Column {
    /// The name in the notation.
    pub fn role(&self) -> &'static str {
        match self {
            Self::Time { .. } => "time",
            Self::Latency { .. } => "latency",
            Self::Offset(_) => "offset",
            Self::Size(_) => "size",
            Self::Op(_) | Self::UsualOp | Self::Flags => "op",
            Self::Device { .. } => "device",
            Self::Placement => "placement",
            Self::Number => "number",
            Self::Word(_) => "word",
            Self::Skip => "skip",
            Self::Text => "text",
        }
    }

    /// The step of its numbers, in ns or bytes.
    pub(crate) fn step(&self) -> Option<u64> {
        match self {
            Self::Time { step_ns, .. } | Self::Latency { step_ns } => Some(*step_ns),
            Self::Offset(steps) | Self::Size(steps) => Some(steps.bytes),
            _ => None,
        }
    }
}

/// A word of up to eight bytes as a number; `None` for a longer one.
#[inline]
#[must_use]
pub fn word_key(word: &[u8]) -> Option<u64> {
    (word.len() <= 8).then(|| word.iter().rev().fold(0, |key, &byte| key << 8 | u64::from(byte)))
}

/// Words and their meanings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words<T> {
    words: Vec<(String, T)>,
    /// The words of up to eight bytes as numbers, for a fast comparison.
    keys: Vec<(u64, T)>,
}

impl<T: Copy> Words<T> {
    /// Parse `word|word=meaning/word=meaning`; `read` parses the optional meaning of a word.
    fn parse(text: &str, read: impl Fn(&str, Option<&str>) -> Result<T, String>) -> Result<Self, String> {
        let mut all = Vec::new();
        for group in text.split('/') {
            let (words, given) = group.split_once('=').map_or((group, None), |(words, m)| (words, Some(m)));
            let meaning = read(words, given)?;
            all.extend(words.split('|').map(|word| (word.trim().to_owned(), meaning)));
        }
        let keys = all.iter().filter_map(|(word, meaning)| Some((word_key(word.as_bytes())?, *meaning)));
        Ok(Self { keys: keys.collect(), words: all })
    }

    /// The meaning of a word, given with its `word_key`. An exact match precedes a match without regard to case.
    #[inline]
    pub fn find(&self, (given_key, given): (Option<u64>, &[u8])) -> Option<T> {
        let found = self.keys.iter().find(|(key, _)| Some(*key) == given_key);
        found.map(|&(_, meaning)| meaning).or_else(|| self.find_slowly(given.trim_ascii()))
    }

    #[cold]
    fn find_slowly(&self, given: &[u8]) -> Option<T> {
        let same = |(word, _): &&(String, T)| word.as_bytes() == given;
        let alike = |(word, _): &&(String, T)| word.as_bytes().eq_ignore_ascii_case(given);
        let any = |(word, _): &&(String, T)| word == "*";
        let find = |fits: &dyn Fn(&&(String, T)) -> bool| self.words.iter().find(fits);
        let found = find(&same).or_else(|| find(&alike)).or_else(|| find(&any));
        found.map(|&(_, meaning)| meaning)
    }

    /// All words, for messages.
    pub fn known(&self) -> Vec<&str> {
        self.words.iter().map(|(word, _)| word.as_str()).collect()
    }
}

const EXAMPLE: &str = "time:us,op,offset:sectors,size:bytes";
/// The columns that the reader is to find.
pub(crate) const AUTO: &str = "auto";
const ROLES: [&str; 11] =
    ["time", "latency", "op", "offset", "size", "device", "placement", "number", "word", "skip", "text"];
const MEANINGS: [(&str, Option<Op>); 5] = [
    ("read", Some(Op::Read)),
    ("write", Some(Op::Write)),
    ("trim", Some(Op::Trim)),
    ("flush", Some(Op::Flush)),
    ("skip", None),
];

impl Columns {
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The operation of all rows, for traces without such a column.
    pub fn op(&self) -> Option<Op> {
        self.op
    }

    /// Whether the reader is to find the columns.
    pub fn is_auto(&self) -> bool {
        self.text == AUTO
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text == AUTO {
            return Ok(Self { text: text.to_owned(), columns: Vec::new(), op: None });
        }
        let (mut columns, mut op) = (Vec::new(), Vec::new());
        for entry in text.split(',').map(str::trim) {
            match entry.strip_prefix("op=") {
                Some(constant) => op.push(meaning(constant)?.ok_or("op=skip would skip every row")?),
                None => columns.push(column(entry)?),
            }
        }
        for role in ["time", "latency", "op", "offset", "size", "placement", "text"] {
            let needed = matches!(role, "offset" | "size");
            let constants = if role == "op" { op.len() } else { 0 };
            let count = constants + columns.iter().filter(|column| column.role() == role).count();
            if count > 1 || (needed && count == 0) {
                let expected = if needed { "exactly one" } else { "at most one" };
                return Err(format!("{count} columns are {role}, {expected} expected"));
            }
        }
        let is_device = |column: &Column| column.role() == "device";
        let devices = columns.iter().filter(|column| is_device(column)).count();
        let mut from_first = columns.iter().skip_while(|column| !is_device(column)).take(devices);
        if from_first.any(|column| !is_device(column)) {
            return Err("columns of one device must follow each other".to_owned());
        }
        Ok(Self { text: text.to_owned(), columns, op: op.pop() })
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
            .map_err(|problem| format!("\"{text}\" is not columns such as \"{EXAMPLE}\": {problem}"))
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parse one column: a role, and its unit or its words.
pub(crate) fn column(text: &str) -> Result<Column, String> {
    let (role, detail) =
        text.split_once(':').map_or((text, None), |(role, detail)| (role, Some(detail.trim())));
    match (role.trim(), detail) {
        ("time", Some(unit)) => time_unit(unit).map(|step_ns| Column::Time { step_ns, whole: false }),
        ("latency", Some(unit)) => time_unit(unit).map(|step_ns| Column::Latency { step_ns }),
        ("offset", Some(unit)) => steps(unit).map(Column::Offset),
        ("size", Some(unit)) => steps(unit).map(Column::Size),
        (role @ ("time" | "latency"), None) => {
            Err(format!("{role} has no unit, as in {role}:us (s, ms, us, ns, iso)"))
        }
        (role @ ("offset" | "size"), None) => {
            Err(format!("{role} has no unit, as in {role}:sectors (bytes, pages)"))
        }
        ("op", None) => Ok(Column::UsualOp),
        ("op", Some("flags")) => Ok(Column::Flags),
        ("op", Some(words)) => {
            let operation = |word: &str, given: Option<&str>| {
                given
                    .ok_or_else(|| format!("\"{word}\" is not a word and its meaning, as in 1=read"))
                    .and_then(meaning)
            };
            Words::parse(words, operation).map(Column::Op)
        }
        ("word", Some(words)) => {
            let kept = |_: &str, given: Option<&str>| match given {
                None => Ok(true),
                Some("skip") => Ok(false),
                Some(other) => Err(format!("\"{other}\" is not a meaning of a word; skip is allowed")),
            };
            Words::parse(words, kept).map(Column::Word)
        }
        ("word", None) => Err("word has no words, as in word:D/C=skip".to_owned()),
        ("device", None) => Ok(Column::Device { number: false }),
        ("device", Some("number")) => Ok(Column::Device { number: true }),
        ("placement", None) => Ok(Column::Placement),
        ("number", None) => Ok(Column::Number),
        ("skip", None) => Ok(Column::Skip),
        ("text", None) => Ok(Column::Text),
        ("device" | "placement" | "number" | "skip" | "text", Some(_)) => Err(format!("{role} has no unit")),
        (role, _) => Err(format!("\"{role}\" is not a role{}", hint(role, &ROLES))),
    }
}

fn time_unit(unit: &str) -> Result<u64, String> {
    let step = match unit {
        "filetime" => Ok(Duration { ns: 100 }),
        "iso" => Ok(Duration { ns: 1_000_000_000 }),
        "s" | "ms" | "us" | "ns" | "min" | "h" => format!("1{unit}").parse(),
        step => step.parse(),
    };
    match step {
        Ok(Duration { ns }) if ns > 0 => Ok(ns),
        _ => Err(format!(
            "\"{unit}\" is not a unit of time{}",
            hint(unit, &["s", "ms", "us", "ns", "filetime", "iso"])
        )),
    }
}

/// Parse a step in bytes, and the divisor of the number of steps.
fn steps(given: &str) -> Result<ByteSteps, String> {
    let (unit, multiple) = given.split_once('%').unwrap_or((given, "1"));
    let step = match unit {
        "bytes" => Ok(Bytes { count: 1 }),
        "sectors" => Ok(Bytes { count: 512 }),
        "pages" => Ok(Bytes { count: 4096 }),
        // `KiB` is one.
        step => step.parse().or_else(|error| format!("1{step}").parse().map_err(|_| error)),
    };
    match (step, multiple.parse()) {
        (Ok(Bytes { count: bytes }), Ok(multiple)) if bytes > 0 && multiple > 0 => {
            Ok(ByteSteps { bytes, multiple })
        }
        _ => Err(format!("\"{given}\" is not a unit of bytes{}", hint(unit, &["bytes", "sectors", "pages"]))),
    }
}

/// Parse the name of an operation; `None` for `skip`.
fn meaning(name: &str) -> Result<Option<Op>, String> {
    let found = MEANINGS.iter().find(|(known, _)| *known == name.trim());
    let known = MEANINGS.map(|(known, _)| known);
    found.map(|&(_, op)| op).ok_or_else(|| format!("\"{name}\" is not an operation{}", hint(name, &known)))
}
