//! The values of options: numbers with fio's units, lists for reads, writes and trims, splits.
//!
//! A size without a unit is in bytes. With `kb_base=1024`, the default, `k` and `kb` are 1024 and `kib` is 1000; with
//! `kb_base=1000` it is the other way round, as fio has it. A time without a unit is in seconds or microseconds, as
//! the option says.

use coflash_base::{Amount, Bytes, Duration, Share};

/// Sizes beyond this are refused: 2^60 bytes.
const BYTES_MAX: u128 = 1 << 60;

/// The number before a unit, and the unit in lower case.
pub(super) fn number(text: &str) -> Option<(u128, String)> {
    let text = text.trim().to_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| (number.into(), String::new()));
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    digits.parse::<u64>().ok().map(|number| (number.into(), unit.trim().to_owned()))
}

/// Read a size in bytes.
pub(super) fn bytes(text: &str, kb_base: u64) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" was given; a size such as 4k, 512m or 1g is allowed");
    let (number, unit) = number(text).ok_or_else(wrong)?;
    let binary = unit.ends_with("ib");
    let base: u128 = if binary { 2024 - u128::from(kb_base) } else { kb_base.into() };
    let power = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" if !binary => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(wrong()),
    };
    let size = number * base.pow(power);
    if size > BYTES_MAX {
        return Err(format!("\"{text}\" was given; at most 1024p is allowed"));
    }
    Ok(size as u64)
}

/// Read a size, or a percentage of the device.
pub(super) fn amount(text: &str, kb_base: u64) -> Result<Amount, String> {
    match text.trim().strip_suffix('%') {
        Some(percent) => whole(percent, 0, 100).map(|percent| Amount::Share(Share::percent(percent))),
        None => bytes(text, kb_base).map(|count| Amount::Bytes(Bytes { count })),
    }
}

/// Read a time; without a unit it is in units of `unit_ns`.
pub(super) fn time(text: &str, unit_ns: u64) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" was given; a time such as 500us, 10ms, 30s or 1h is allowed");
    let (number, unit) = number(text).ok_or_else(wrong)?;
    let ns: u64 = match unit.as_str() {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(wrong()),
    };
    let ns = u64::try_from(number * u128::from(ns)).ok().filter(|&ns| ns < 1 << 60);
    ns.map(|ns| Duration { ns }).ok_or_else(|| format!("\"{text}\" was given; less than 36 years is allowed"))
}

/// Read a whole number in a range.
pub(super) fn whole(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let found =
        number(text).filter(|(_, unit)| unit.is_empty()).and_then(|(number, _)| u64::try_from(number).ok());
    found
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("\"{text}\" was given; a whole number from {least} to {most} is allowed"))
}

/// Read a switch.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        other => Err(format!("\"{other}\" was given; 0 or 1 is allowed")),
    }
}

/// Read values for reads, writes and trims: one for all, or one for each; an empty one keeps the earlier
/// value. The last one given is used for those after it.
pub(super) fn each<T: Clone>(
    text: &str,
    into: &mut [T; 3],
    mut read: impl FnMut(&str) -> Result<T, String>,
) -> Result<(), String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(format!(
            "\"{text}\" was given; one value, or one each for reads, writes and trims is allowed"
        ));
    }
    for (index, slot) in into.iter_mut().enumerate() {
        // With a comma at the end the last is left out: `4k,` is for reads only.
        let part = parts.get(index).or(parts.last()).copied().unwrap_or_default();
        if !part.is_empty() {
            *slot = read(part)?;
        }
    }
    Ok(())
}

/// Read a list such as `4k/60:64k/40`: pairs of a value and a percentage; values without one share the rest
/// equally.
pub(super) fn split<T>(
    text: &str,
    mut value: impl FnMut(&str) -> Result<T, String>,
) -> Result<Vec<(T, u64)>, String> {
    let mut pairs = Vec::new();
    for pair in text.split(':') {
        let (first, percent) = pair.split_once('/').map_or((pair, ""), |(first, percent)| (first, percent));
        let percent = match percent.trim().trim_end_matches('%') {
            "" => None,
            percent => Some(whole(percent, 1, 100)?),
        };
        pairs.push((value(first.trim())?, percent));
    }
    share_rest(text, pairs, true)
}

/// Give values without a percentage equal parts of the rest. All together have 100 percent, or no more if they need not be whole.
pub(super) fn share_rest<T>(
    text: &str,
    pairs: Vec<(T, Option<u64>)>,
    is_whole: bool,
) -> Result<Vec<(T, u64)>, String> {
    let given: u64 = pairs.iter().filter_map(|(_, percent)| *percent).sum();
    let missing = pairs.iter().filter(|(_, percent)| percent.is_none()).count() as u64;
    if given + missing > 100 || (is_whole && missing == 0 && given < 100) {
        return Err(format!("\"{text}\" was given: its percentages sum to {given}; 100 is allowed"));
    }
    let rest = (100 - given).checked_div(missing).unwrap_or(0);
    Ok(pairs.into_iter().map(|(value, percent)| (value, percent.unwrap_or(rest))).collect())
}
