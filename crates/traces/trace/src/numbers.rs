//! Numbers in text. They consist of ASCII digits only; other bytes are refused without decoding.

use crate::record::FieldError;

/// Parse a whole number.
#[inline]
pub(crate) fn whole(given: &[u8], field: &'static str) -> Result<u64, FieldError> {
    // Nineteen digits always fit.
    match digits(given) {
        Some(value) if given.len() <= 19 => Ok(value),
        _ => whole_slow(given, field),
    }
}

/// The value of `given` modulo 2^64; `None` unless it consists of digits.
#[inline]
fn digits(given: &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for &byte in given {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    if given.is_empty() { None } else { Some(value) }
}

#[cold]
fn whole_slow(given: &[u8], field: &'static str) -> Result<u64, FieldError> {
    if given.is_empty() || !given.iter().all(u8::is_ascii_digit) {
        return Err(FieldError::text(field, given, "a whole number"));
    }
    let value = given
        .iter()
        .try_fold(0_u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')));
    value.ok_or_else(|| FieldError::text(field, given, "a whole number below 2^64"))
}

/// Parse a whole number of `unit`s into the base unit (bytes, nanoseconds).
#[inline]
pub(crate) fn units(given: &[u8], unit: u64, field: &'static str) -> Result<u64, FieldError> {
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
pub(crate) fn decimal(given: &[u8], unit: u64, field: &'static str) -> Result<u64, FieldError> {
    let wrong = || FieldError::text(field, given, "a decimal number");
    let Some(point) = given.iter().position(|&b| b == b'.') else {
        digits(given).ok_or_else(wrong)?;
        return units(given, unit, field);
    };
    let fraction = &given[point + 1..];
    // Eighteen digits of a fraction are far below a nanosecond of any unit; the rest need only be digits.
    let (fraction, beyond) = fraction.split_at(fraction.len().min(POWERS_OF_TEN.len() - 1));
    let part = digits(fraction).ok_or_else(wrong)?;
    if !beyond.iter().all(u8::is_ascii_digit) || digits(&given[..point]).is_none() {
        return Err(wrong());
    }
    let scale = POWERS_OF_TEN[fraction.len()];
    let part = match part.checked_mul(unit) {
        Some(product) => product / scale,
        // Below `unit`, because `part` is below `scale`.
        None => (u128::from(part) * u128::from(unit) / u128::from(scale)) as u64,
    };
    units(&given[..point], unit, field)?.checked_add(part).ok_or_else(|| too_large(given, unit, field))
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

    proptest! {
        #[test]
        fn a_decimal_is_the_division_it_stands_for(whole_part in 0..1_u64 << 40, part in 0..1_000_000_u64, unit in 1..1_000_000_u64) {
            let text = format!("{whole_part}.{part:06}");
            let exact = (u128::from(whole_part) * 1_000_000 + u128::from(part)) * u128::from(unit) / 1_000_000;
            prop_assert_eq!(u128::from(decimal(text.as_bytes(), unit, "f").unwrap()), exact);
        }

        #[test]
        fn no_bytes_panic(data: Vec<u8>, unit: u64) {
            let _ = (whole(&data, "f"), decimal(&data, unit, "f"), units(&data, unit, "f"));
        }
    }
}
