//! The options of fio, as a table (`known.txt`): read, without effect, refused with a reason, neutral values.

use super::value::number;
use coflash_base::suggest::nearest;

const TABLE: &str = include_str!("known.txt");

/// The lines of the table, each with the head of its group: ("refuse", why, line).
fn lines() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    TABLE.split("\n\n").filter_map(|group| group.split_once('\n')).flat_map(|(head, lines)| {
        let (verdict, why) = head.split_once(' ').unwrap_or((head, ""));
        lines.lines().map(move |line| (verdict, why, line))
    })
}

fn options() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    lines().filter(|(verdict, ..)| ["read", "note", "refuse"].contains(verdict))
}

/// Look an option up: what becomes of it ("read", "note", "refuse", or "same" for a value that changes nothing in fio either), why,
/// and its name. `None` if fio has none of that name. Of "ioengine=x" the value is looked up.
pub(super) fn look_up(name: &str, value: Option<&str>) -> Option<(&'static str, &'static str, &'static str)> {
    options().find_map(|(verdict, why, line)| {
        let (names, same) = line.split_once(" = ").unwrap_or((line, ""));
        let name = names.split_whitespace().find(|known| *known == name)?;
        let is_same = same.split_whitespace().any(|known| is_same(known, value.unwrap_or("1")));
        Some((if is_same { "same" } else { verdict }, why, name))
    })
}

/// Whether two values are the same: the same text, or nothing of any unit.
fn is_same(known: &str, given: &str) -> bool {
    let zero = |text: &str| number(text.trim_end_matches('%')).is_some_and(|(number, _)| number == 0);
    known.eq_ignore_ascii_case(given.trim()) || (zero(known) && given.split([',', ':']).all(zero))
}

/// The engines that take requests, and whether one has one request under way, whatever `iodepth` says.
pub(super) fn engines() -> impl Iterator<Item = (&'static str, bool)> {
    let lines = lines().filter(|(verdict, ..)| *verdict == "engines");
    lines.flat_map(|(_, why, line)| {
        line.split_whitespace().map(move |name| (name, why.starts_with("with one")))
    })
}

/// The option nearest to a name.
pub(super) fn near(name: &str) -> String {
    let names = options().flat_map(|(.., line)| line.split(" = ").take(1)).flat_map(str::split_whitespace);
    let found = nearest(name, names.collect::<Vec<_>>());
    found.map(|found| format!("; did you mean \"{found}\"?")).unwrap_or_default()
}
