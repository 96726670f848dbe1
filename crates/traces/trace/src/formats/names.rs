//! The names of columns in a header: the role of each, and the unit that it tells.

/// A row has a role, a unit and names.
const NAMES: &str = include_str!("names.txt");

/// A name of a column.
#[derive(Default, PartialEq)]
pub(super) struct Name {
    /// Without blanks and signs.
    pub(super) name: String,
    pub(super) role: Option<&'static str>,
    /// Whether the name is known as a whole, and not by one of its words.
    pub(super) is_whole: bool,
    /// The unit that it tells, or nothing.
    pub(super) unit: String,
    /// What it tells where a unit stands, if that is none.
    pub(super) unknown: Option<String>,
}

/// Words behind names of places that are no units.
const NO_UNITS: [&str; 9] = ["start", "begin", "first", "number", "num", "no", "nr", "id", "index"];
/// Words in names that say nothing.
const FILLERS: [&str; 3] = ["in", "of", "the"];

/// Units of times.
pub(super) const TIMES: [&str; 7] = ["ns", "us", "ms", "s", "min", "h", DAYS];
pub(super) const DAYS: &str = "24h";

/// The rows of names: role, unit, names.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, std::str::Split<'static, char>)> {
    NAMES.lines().filter_map(|row| {
        let (role, row) = row.split_once(' ')?;
        let (unit, names) = row.split_once(' ')?;
        (role != "#").then(|| (role, unit.trim_start_matches('-'), names.split(' ')))
    })
}

/// The words for units.
fn units() -> impl Iterator<Item = (&'static str, std::str::Split<'static, char>)> {
    rows().filter(|(role, ..)| *role == "unit").map(|(_, unit, words)| (unit, words))
}

/// A unit in words: whether it is one of times, and its notation; a step such as `4k` is one of places.
fn unit_of(text: &str) -> Option<(bool, String)> {
    let known = units().find(|(_, words)| words.clone().any(|word| word == text));
    let known = known.map(|(unit, _)| (TIMES.contains(&unit), unit.to_owned()));
    known.or_else(|| {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let prefix = match text[digits..].trim() {
            "" | "b" | "byte" | "bytes" => "B",
            "k" | "kb" | "kib" => "KiB",
            "m" | "mb" | "mib" => "MiB",
            _ => return None,
        };
        // `offset_2` is a second one.
        let is_step = |count: &u64| *count >= 512 || *count > 0 && digits < text.len();
        text[..digits].parse().ok().filter(is_step).map(|count| (false, format!("{count}{prefix}")))
    })
}

/// The words of a name: between signs, and where a capital follows a small letter.
fn words_of(given: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in given.chars() {
        let is_letter = c.is_alphanumeric();
        if !is_letter || was_small && c.is_uppercase() {
            words.push(String::new());
        }
        was_small = c.is_lowercase();
        words.last_mut().expect("there is one").extend(c.to_lowercase().filter(|_| is_letter));
    }
    words.retain(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()));
    words
}

/// The role of words and the unit that they tell, whether they are known as a whole or by the last word that has a role.
fn role_of_words(words: &[String]) -> Option<(&'static str, &'static str, bool)> {
    let whole = role_of(&words.concat()).map(|(role, unit)| (role, unit, true));
    whole.or_else(|| {
        let is_number = |word: &&String| !NO_UNITS.contains(&word.as_str());
        let last = words.iter().rfind(is_number).filter(|_| words.len() > 1);
        let (role, unit) = role_of(last.or(words.last())?)?;
        let ends = matches!(words[0].as_str(), "end" | "last" | "stop");
        Some((if ends && role == "offset" { "last" } else { role }, unit, false))
    })
}

/// Take a name of a column apart.
pub(super) fn name_of(given: &[u8]) -> Name {
    let given = String::from_utf8_lossy(given.trim_ascii());
    let words = words_of(&given);
    let name = words.concat();
    let in_brackets = given.ends_with([')', ']']);
    let named = |role: Option<(&'static str, &'static str, bool)>, unit: Option<String>| {
        let unit = unit.or(role.map(|(_, unit, _)| unit.to_owned())).unwrap_or_default();
        let is_whole = role.is_some_and(|(_, _, is_whole)| is_whole);
        Name { name: name.clone(), role: role.map(|(role, ..)| role), is_whole, unit, unknown: None }
    };
    if let Some((role, unit)) = role_of(&name) {
        return named(Some((role, unit, true)), None);
    }
    // `sizeKiB` has its unit as two words or as none.
    let words_of_units = units().flat_map(|(_, words)| words.filter(|word| word.len() > 1));
    let glued = words_of_units.into_iter().find_map(|unit| {
        let (role, _) = role_of(name.strip_suffix(unit)?)?;
        Some(((role, "", true), unit_of(unit)?))
    });
    let Some((last, rest)) = words.split_last() else { return named(None, None) };
    let role = role_of_words(rest);
    let (role, unit) = match (glued, unit_of(last)) {
        (Some((role, unit)), _) => (Some(role), Some(unit)),
        (None, unit) => (role, unit),
    };
    let is_place = matches!(role, Some(("offset" | "size" | "count" | "last", ..)));
    let is_time = matches!(role, Some(("time" | "end" | "latency", ..)));
    match unit {
        Some((of_time, unit)) if (is_time && of_time) || (is_place && !of_time) => {
            Name { name: rest.concat(), ..named(role, Some(unit)) }
        }
        // What it is must be told by the values, or by the unit itself: `xfer_bytes`.
        Some((true, unit)) => named(None, Some(unit)),
        Some((false, unit)) => named(role_of_words(&words).filter(|(role, ..)| *role != "time"), Some(unit)),
        None if is_place && NO_UNITS.contains(&last.as_str()) => named(role, None),
        None => {
            let by_last = role_of_words(&words);
            let tells_unit =
                is_place && role.is_some_and(|(.., is_whole)| is_whole) || is_time && in_brackets;
            if tells_unit
                && !matches!(by_last, Some(("size" | "offset" | "time" | "other" | "op" | "last", ..)))
            {
                return Name { unknown: Some(given.to_lowercase()), ..named(role, Some(String::new())) };
            }
            let first =
                words.iter().find_map(|word| unit_of(word).filter(|(of_time, _)| *of_time && word.len() > 1));
            let is_time = matches!(by_last, None | Some(("time" | "end" | "latency", ..)));
            named(by_last, first.filter(|_| is_time).map(|(_, unit)| unit))
        }
    }
}

/// The role of a name, and the unit that it tells.
pub(super) fn role_of(name: &str) -> Option<(&'static str, &'static str)> {
    let mut known = rows().filter(|(role, ..)| *role != "unit");
    known.find_map(|(role, unit, mut names)| names.any(|known| known == name).then_some((role, unit)))
}
