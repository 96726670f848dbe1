//! Numbers and times in text. Nearly all consist of ASCII digits; what else people and tools write for a number is
//! brought into this form first: a fraction of zeros, an exponent, `0x`, groups of digits, a decimal comma. A time may be
//! a date or a time of day as well.

use crate::record::{FieldError, Parsed};
use chrono::NaiveDate;

/// Parse a whole number.
#[inline]
pub(crate) fn whole(given: &[u8], field: &'static str) -> Parsed<u64> {
    number(given).ok_or_else(|| {
        let expected = match given {
            [b'-', b'0'..=b'9', ..] => "a whole number from 0: it is negative",
            _ if are_digits(given) => "a whole number below 2^64",
            _ => "a whole number",
        };
        FieldError::text(field, given, expected)
    })
}

/// The number of digits; `None` if there are none or others, or if it is 2^64 or more.
#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    let digit = |byte: u8| char::from(byte).to_digit(10).map(u64::from);
    let add = |number: u64, &byte: &u8| number.checked_mul(10)?.checked_add(digit(byte)?);
    digits.iter().try_fold(0, add).filter(|_| !digits.is_empty())
}

fn are_digits(given: &[u8]) -> bool {
    !given.is_empty() && given.iter().all(u8::is_ascii_digit)
}

/// Parse a whole number of `unit`s into the base unit (bytes, nanoseconds).
#[inline]
pub(crate) fn units(given: &[u8], unit: u64, field: &'static str) -> Parsed<u64> {
    let count = whole(given, field)?;
    count.checked_mul(unit).ok_or_else(|| too_large(given, unit, field))
}

#[cold]
pub(crate) fn too_large(given: &[u8], unit: u64, field: &'static str) -> FieldError {
    FieldError::text(field, given, &format!("a number that times {unit} is below 2^64"))
}

pub(crate) const POWERS_OF_TEN: [u64; 19] = {
    let mut powers = [1; 19];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// Parse a decimal number of `unit`s into the base unit, in integer arithmetic: "0.026214" s is 26,214,000
/// ns. The result is rounded down, so that the order of times is preserved.
#[inline]
pub(crate) fn decimal(given: &[u8], unit: u64, field: &'static str) -> Parsed<u64> {
    let point = given.iter().position(|&b| b == b'.');
    let (whole, fraction) = point.map_or((given, &b"0"[..]), |point| (&given[..point], &given[point + 1..]));
    if !are_digits(whole) || !are_digits(fraction) {
        return Err(FieldError::text(field, given, "a decimal number from 0"));
    }
    // Eighteen digits of a fraction are far below a nanosecond of any unit.
    let fraction = &fraction[..fraction.len().min(POWERS_OF_TEN.len() - 1)];
    let part = u128::from(number(fraction).unwrap_or(0)) * u128::from(unit);
    // Below `unit`, because the fraction is below 1.
    let part = (part / u128::from(POWERS_OF_TEN[fraction.len()])) as u64;
    units(whole, unit, field)?.checked_add(part).ok_or_else(|| too_large(given, unit, field))
}

/// The largest exponent of a number in any unit.
const EXPONENT_MAX: i32 = 40;

/// Bring a number as people and tools write it into digits and a point; `comma` is the decimal sign of an ambiguous one.
#[cold]
pub(crate) fn plain(given: &[u8], comma: bool) -> Option<Vec<u8>> {
    if let [b'0', b'x' | b'X', digits @ ..] = given {
        let sign = digits.iter().copied().find(|byte| !byte.is_ascii_hexdigit());
        let digits = without_groups(digits, sign.unwrap_or(b','), 4)?;
        let digits = std::str::from_utf8(&digits).ok().filter(|digits| !digits.starts_with('+'))?;
        return Some(u64::from_str_radix(digits, 16).ok()?.to_string().into_bytes());
    }
    let given = given.strip_prefix(b"+").unwrap_or(given);
    let (mantissa, exponent) = match given.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&given[..at], std::str::from_utf8(&given[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (given, 0),
    };
    let sign = decimal_sign(mantissa).unwrap_or(if comma { b',' } else { b'.' });
    let group = mantissa.iter().copied().find(|&byte| !byte.is_ascii_digit() && byte != sign);
    let point = mantissa.iter().position(|&byte| byte == sign).unwrap_or(mantissa.len());
    let fraction = mantissa.get(point + 1..).unwrap_or_default();
    let known = matches!(group, None | Some(b',' | b'.' | b'\'' | b'_'));
    if !known
        || exponent.abs() > EXPONENT_MAX
        || !fraction.iter().all(u8::is_ascii_digit)
        || mantissa.len() < 2 && point == 0
    {
        return None;
    }
    let mut digits = without_groups(&mantissa[..point], group.unwrap_or(b'_'), 3)?;
    // The place of the point among all digits.
    let place = digits.len() as i32 + exponent;
    digits.extend(fraction);
    let missing = usize::try_from(1 - place).unwrap_or(0);
    digits.splice(..0, std::iter::repeat_n(b'0', missing));
    let place = place.max(1) as usize;
    digits.resize(digits.len().max(place), b'0');
    let end = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1).max(place);
    digits.truncate(end);
    if end > place {
        digits.insert(place, b'.');
    }
    Some(digits)
}

/// Whether numbers of a line have commas, and none has a point.
#[cold]
pub(crate) fn has_decimal_comma(line: &[u8]) -> bool {
    let between =
        |sign| line.windows(3).any(|w| w[0].is_ascii_digit() && w[1] == sign && w[2].is_ascii_digit());
    between(b',') && !between(b'.')
}

/// The decimal sign of an unambiguous number: the last of two signs, or one that separates no groups of three digits.
pub(crate) fn decimal_sign(given: &[u8]) -> Option<u8> {
    let last = |sign| given.iter().rposition(|&byte| byte == sign);
    match (last(b','), last(b'.')) {
        (Some(comma), Some(point)) => Some(if comma > point { b',' } else { b'.' }),
        (Some(_), None) => without_groups(given, b',', 3).is_none().then_some(b','),
        (None, Some(_)) => without_groups(given, b'.', 3).is_none().then_some(b'.'),
        (None, None) => None,
    }
}

/// `digits` without the signs between groups; `None` if these are of another size.
fn without_groups(digits: &[u8], sign: u8, size: usize) -> Option<Vec<u8>> {
    let mut groups = digits.split(|&byte| byte == sign);
    let first = groups.next().unwrap_or_default();
    // A grouped decimal number has no leading zeros: 0.125 is a fraction.
    let grouped = (1..=size).contains(&first.len()) && (size == 4 || first[0] != b'0');
    if digits.contains(&sign) && !(grouped && groups.all(|group| group.len() == size)) {
        return None;
    }
    Some(digits.iter().copied().filter(|&byte| byte != sign).collect())
}

/// Parse a whole number of `unit`s, however it is written. What is no whole number with one sign may be one with groups.
#[cold]
pub(crate) fn any_units(given: &[u8], unit: u64, field: &'static str, comma: bool) -> Parsed<u64> {
    let whole = |comma| plain(given, comma).filter(|digits| !digits.contains(&b'.'));
    let digits = whole(comma).or_else(|| whole(comma && !given.contains(&b',')));
    match digits {
        Some(digits) => units(&digits, unit, field).map_err(|_| too_large(given, unit, field)),
        None => units(given, unit, field),
    }
}

/// Parse a decimal number of `unit`s, however it is written.
#[cold]
pub(crate) fn any_decimal(given: &[u8], unit: u64, field: &'static str, comma: bool) -> Parsed<u64> {
    match plain(given, comma) {
        Some(digits) => decimal(&digits, unit, field).map_err(|_| too_large(given, unit, field)),
        None => decimal(given, unit, field),
    }
}

pub(crate) const MICROSECOND_NS: u64 = 1000;
pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const DAY_NS: u64 = 24 * 3600 * SECOND_NS;
/// What most recorders count in.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Read a date or a time of day as ns, of a date since 1970; also whether it is a time of day. A time zone may follow.
#[cold]
pub(crate) fn moment(given: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(given).ok()?.trim();
    let is_date = text.len() >= 10 && matches!(text.as_bytes()[4], b'-' | b'/');
    let (date, time) = if is_date { text.split_at_checked(10)? } else { ("", text) };
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.as_bytes()[0].is_ascii_digit());
    let mut date_ns = 0;
    if is_date {
        let parts = date.split(['-', '/']).map(number).collect::<Option<Vec<_>>>()?;
        let [year, month, day] = parts[..] else { return None };
        let date = NaiveDate::from_ymd_opt(year as i32, month as u32, day as u32)?;
        let days = (date - NaiveDate::from_epoch_days(0)?).num_days();
        date_ns = u64::try_from(days).ok()?.checked_mul(DAY_NS)?;
        if time.is_empty() {
            return Some((date_ns, false));
        }
    }
    let time = if is_date { time.strip_prefix(['T', 't', ' ', '_'])?.trim_start() } else { time };
    let end = time.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.' | ',')).unwrap_or(time.len());
    let (clock, zone) = (&time[..end], time[end..].trim());
    let mut parts = clock.split(':');
    let [hours, minutes] = [parts.next().and_then(number)?, parts.next().and_then(number)?];
    let seconds = parts.next().unwrap_or("0").replace(',', ".");
    let seconds_ns = decimal(seconds.as_bytes(), SECOND_NS, "time").ok()?;
    let hours = match zone {
        "AM" | "PM" => hours % 12 + if zone == "PM" { 12 } else { 0 },
        _ => hours,
    };
    if parts.next().is_some() || hours > 24 || minutes > 59 || seconds_ns >= 61_000_000_000 {
        return None;
    }
    let local_ns = date_ns.checked_add((hours * 60 + minutes) * 60_000_000_000 + seconds_ns)?;
    let shifted = |shift: &str| {
        let digits = shift.replace(':', "");
        let minutes = number(digits.get(..2)?)? * 60 + digits.get(2..4).map_or(Some(0), number)?;
        (digits.len() <= 4).then_some(minutes * 60_000_000_000)
    };
    let ns = match zone.as_bytes() {
        b"" | b"Z" | b"z" | b"UTC" | b"GMT" | b"AM" | b"PM" => Some(local_ns),
        [b'+', ..] => local_ns.checked_sub(shifted(&zone[1..])?),
        [b'-', ..] => local_ns.checked_add(shifted(&zone[1..])?),
        _ => None,
    };
    Some((ns?, !is_date))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_exact_to_the_last_one_that_fits() {
        assert_eq!(whole(b"18446744073709551615", "f").unwrap(), u64::MAX);
        assert_eq!(whole(b"000000000000000000000000000042", "f").unwrap(), 42);
        assert!(whole(b"18446744073709551616", "f").unwrap_err().problem.contains("below 2^64"));
        assert_eq!(decimal(b"0.026214", 1_000_000_000, "f").unwrap(), 26_214_000);
        assert_eq!(decimal(b"15849.28847", 1_000_000, "f").unwrap(), 15_849_288_470);
        assert_eq!(decimal(b"1.9999999999999999999999", 1000, "f").unwrap(), 1999);
        assert_eq!(decimal(b"7", 1000, "f").unwrap(), 7000);
        assert_eq!(decimal(b"18446744073709551.615", 1000, "f").unwrap(), u64::MAX);
        assert!(decimal(b"18446744073709551.616", 1000, "f").is_err());
        for wrong in ["", "-1", "+1", "1e3", "0x10", " 1", "1,0", "\u{661}"] {
            assert!(whole(wrong.as_bytes(), "f").is_err(), "{wrong}");
            assert!(decimal(wrong.as_bytes(), 1, "f").is_err(), "{wrong}");
        }
        for wrong in [".", ".5", "1.", "1..2", "1.2.3", "1.5s", "1.0000000000000000000000x", "nan", "inf"] {
            assert!(decimal(wrong.as_bytes(), 1, "f").is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_of_any_tool_become_digits_and_a_point() {
        let plain = |given: &str, comma| {
            super::plain(given.as_bytes(), comma).map(|digits| String::from_utf8(digits).unwrap())
        };
        for (given, comma, expected) in [
            ("4096.0", false, "4096"),
            ("4096.50", false, "4096.5"),
            ("1.5e3", false, "1500"),
            ("2.5E+03", false, "2500"),
            ("25e-1", false, "2.5"),
            ("1e-3", false, "0.001"),
            ("0x1A2B4000", false, "439042048"),
            ("0x1,0000", false, "65536"),
            ("4,096", false, "4096"),
            ("4,096", true, "4.096"),
            ("1.234,5", false, "1234.5"),
            ("1,234.5", true, "1234.5"),
            ("0,5", false, "0.5"),
            ("1'000'000", false, "1000000"),
            ("+7", false, "7"),
            (".5", false, "0.5"),
            ("5.", false, "5"),
            ("0.0", false, "0"),
        ] {
            assert_eq!(plain(given, comma).as_deref(), Some(expected), "{given}");
        }
        for wrong in [
            "",
            ".",
            "-1",
            "1-2",
            "0x",
            "0xg",
            "0x1,000",
            "e5",
            "1e",
            "1e99",
            "1,2,3.4,5",
            "abc",
            "1.2,3.4",
            ",123,4",
        ] {
            assert_eq!(plain(wrong, false), None, "{wrong}");
        }
        assert_eq!(any_units(b"4.096", 512, "f", true).unwrap(), 4096 * 512);
        assert_eq!(any_units(b"4,096", 1, "f", true).unwrap(), 4096);
        assert!(any_units(b"512.5", 1, "f", false).is_err());
    }

    #[test]
    fn dates_and_times_of_day_are_times() {
        let second = 1_000_000_000;
        for (given, expected) in [
            ("1970-01-01T00:00:00Z", Some((0, false))),
            ("2025-11-02T10:15:01.000123Z", Some((1_762_078_501 * second + 123_000, false))),
            ("2025/11/02 10:15:01,5", Some((1_762_078_501 * second + second / 2, false))),
            ("2025-11-02 11:15:01+01:00", Some((1_762_078_501 * second, false))),
            ("2025-11-02T05:15:01-0500", Some((1_762_078_501 * second, false))),
            ("2000-02-29", Some((951_782_400 * second, false))),
            ("10:15:01.25", Some((36_901 * second + second / 4, true))),
            ("1:15:01 PM", Some((47_701 * second, true))),
            ("10:15", Some((36_900 * second, true))),
            ("1969-12-31T00:00:00", None),
            ("2025-13-02T10:15:01", None),
            ("2025-02-29", None),
            ("2025-04-31T10:15:01", None),
            ("10.5", None),
            ("128:0", None),
            ("a:b", None),
            ("2025-11-02Tx", None),
        ] {
            assert_eq!(moment(given.as_bytes()), expected, "{given}");
        }
    }

    proptest! {
        #[test]
        fn no_time_panics(given in "[0-9]{0,4}[-/:]?[0-9]{0,2}[-/]?[0-9]{0,2}[T ]?[0-9:.,]{0,12}[ AZ+-]{0,2}[0-9:]{0,5}") {
            let _ = (moment(given.as_bytes()), plain(given.as_bytes(), true), plain(given.as_bytes(), false));
        }

        #[test]
        fn a_decimal_is_the_division_it_stands_for(whole_part in 0..1_u64 << 40, part in 0..1_000_000_u64, unit in 1..1_000_000_u64) {
            let text = format!("{whole_part}.{part:06}");
            let exact = (u128::from(whole_part) * 1_000_000 + u128::from(part)) * u128::from(unit) / 1_000_000;
            prop_assert_eq!(u128::from(decimal(text.as_bytes(), unit, "f").unwrap()), exact);
        }

        #[test]
        fn no_bytes_panic(data: Vec<u8>, unit: u64) {
            let _ = (whole(&data, "f"), decimal(&data, unit, "f"), units(&data, unit, "f"));
            let _ = (moment(&data), any_units(&data, unit, "f", true), any_decimal(&data, unit, "f", false));
        }
    }
}
