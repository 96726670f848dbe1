//! The options of fio that are not read, as a table (`known.txt`): without effect, refused with a reason, neutral values.

use super::value::number;
use coflash_base::suggest::nearest;

/// What becomes of an option, or of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It changes nothing; a remark says so.
    Noted { name: &'static str, why: &'static str },
    /// It has a value that changes nothing in fio either.
    Neutral,
    /// It is not simulated.
    Refused { why: &'static str },
}

const TABLE: &str = include_str!("known.txt");

/// The groups of the table: what is said of them ("refuse", why), and their lines.
fn groups() -> impl Iterator<Item = (&'static str, &'static str, std::str::Lines<'static>)> {
    TABLE.split("\n\n").filter_map(|group| {
        let (head, lines) = group.split_once('\n')?;
        let (verdict, why) = head.split_once(' ')?;
        Some((verdict, why, lines.lines()))
    })
}

/// Look an option up that is not read; `None` if fio has none of that name. Of "ioengine=x" the value is looked up.
pub(super) fn verdict(name: &str, value: Option<&str>) -> Option<Verdict> {
    groups().filter(|(verdict, ..)| ["note", "refuse"].contains(verdict)).find_map(
        |(verdict, why, mut lines)| {
            lines.find_map(|line| {
                let (names, neutral) = line.split_once(" = ").unwrap_or((line, ""));
                let name = names.split_whitespace().find(|known| *known == name)?;
                let value = value.unwrap_or("1");
                Some(match verdict {
                    _ if neutral.split_whitespace().any(|known| is_same(known, value)) => Verdict::Neutral,
                    "note" => Verdict::Noted { name, why },
                    _ => Verdict::Refused { why },
                })
            })
        },
    )
}

/// Whether two values are the same: the same text, or nothing of any unit.
fn is_same(known: &str, given: &str) -> bool {
    let zero = |text: &str| number(text.trim_end_matches('%')).is_some_and(|(number, _)| number == 0);
    known.eq_ignore_ascii_case(given.trim()) || (zero(known) && given.split([',', ':']).all(zero))
}

/// The engines that take requests, and whether one has one request under way, whatever `iodepth` says.
pub(super) fn engines() -> impl Iterator<Item = (&'static str, bool)> {
    groups().filter(|(verdict, ..)| *verdict == "engines").flat_map(|(_, why, lines)| {
        lines.flat_map(str::split_whitespace).map(move |name| (name, why.starts_with("with one")))
    })
}

/// The option of the table nearest to a name, or one of `others`.
pub(super) fn near(name: &str, others: &[&'static str]) -> String {
    let lines = groups().filter(|(verdict, ..)| *verdict != "engines").flat_map(|(.., lines)| lines);
    let known: Vec<&str> =
        lines.flat_map(|line| line.split(" = ").next().unwrap_or(line).split_whitespace()).collect();
    let found = nearest(name, others.iter().copied()).or_else(|| nearest(name, known));
    found.map(|found| format!("; did you mean \"{found}\"?")).unwrap_or_default()
}
