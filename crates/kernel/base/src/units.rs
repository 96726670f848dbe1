//! Quantities with units, as types and as text in a scenario (`"64GiB"`, `"25us"`, `"5%"`).

use crate::Save;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The error of a text that is not the expected quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not {expected}")]
pub struct UnitError {
    given: String,
    expected: String,
}

/// A unit: its name in a scenario and its value in the base unit.
type Unit = (&'static str, u64);

/// Parse `number unit` exactly: the value must be a whole number of base units and fit 64 bits.
fn parse(text: &str, units: &[Unit], what: &str) -> Result<u64, UnitError> {
    let wrong = |why: &str| UnitError { given: text.to_owned(), expected: format!("{what}{why}") };
    let trimmed = text.trim();
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    // Zero is the same in any unit.
    let unit = if trimmed == "0" { units[0].0 } else { unit.trim() };
    if unit.starts_with(['-', '−']) {
        return Err(wrong(": it is negative"));
    }
    if !number.is_empty() && unit.starts_with(['e', 'E']) {
        return Err(wrong(": write the number without an exponent"));
    }
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>();
    if unit.is_empty() {
        return Err(wrong(&format!(": the unit is missing (one of {})", names().join(", "))));
    }
    let Some(&(_, scale)) = units.iter().find(|u| u.0 == unit) else {
        return Err(wrong(&format!(": unit \"{unit}\" is unknown{}", crate::suggest::hint(unit, &names()))));
    };
    let digits = number.replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 18 || number.ends_with('.') {
        return Err(wrong(", a number and its unit"));
    }
    // Exact decimal arithmetic: "105.6us" must be exactly 105,600 ns.
    let ten = 10_u128.pow(fraction.len() as u32);
    let value =
        format!("{whole}{fraction}").parse::<u128>().ok().and_then(|n| n.checked_mul(u128::from(scale)));
    match value {
        Some(value) if value % ten != 0 => {
            Err(wrong(&format!(": it is not a whole number of {}", units[0].0)))
        }
        Some(value) => u64::try_from(value / ten).map_err(|_| wrong(": it does not fit 64 bits")),
        None => Err(wrong(": it does not fit 64 bits")),
    }
}

/// Format `value` in the largest unit that divides it.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let (name, scale) = units.iter().rev().find(|u| value.is_multiple_of(u.1)).unwrap_or(&units[0]);
    let (name, scale) = if value == 0 { (&units[0].0, &units[0].1) } else { (name, scale) };
    write!(f, "{}{}", value / scale, name)
}

macro_rules! quantity {
    ($(#[$meta:meta])* $name:ident.$field:ident, $what:literal, $example:literal, $units:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Save)]
        pub struct $name {
            /// The value in base units.
            pub $field: u64,
        }

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self { $field: 0 };
        }

        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $units, concat!($what, " such as \"", $example, "\"")).map(|$field| Self { $field })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, self.$field, $units)
            }
        }

        text_serde!($name, concat!($what, " such as \"", $example, "\""), $example);
    };
}

/// A type that is a string in scenarios.
macro_rules! text_serde {
    ($name:ident, $expecting:expr, $($example:literal),+ $(; number $number:ident => $text:expr)?) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$name, E> {
                        match number {
                            0 => self.visit_str("0"),
                            _ => Err(E::invalid_type(de::Unexpected::Signed(number), &self)),
                        }
                    }
                    $(fn visit_f64<E: de::Error>(self, $number: f64) -> Result<$name, E> {
                        self.visit_str(&$text)
                    })?
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "examples": [$($example),+], "description": $expecting })
            }
        }
    };
}

pub(crate) use text_serde;

const BYTE_UNITS: &[Unit] = &[
    ("B", 1),
    ("kB", 1000),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

quantity!(
    /// A number of bytes.
    Bytes.count, "a size", "64GiB", BYTE_UNITS
);

const TIME_UNITS: &[Unit] = &[
    ("ns", 1),
    ("us", 1000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

quantity!(
    /// A span of time in whole nanoseconds.
    Duration.ns, "a duration", "25us", TIME_UNITS
);

const ENERGY_UNITS: &[Unit] = &[("nJ", 1), ("uJ", 1000), ("mJ", 1_000_000), ("J", 1_000_000_000)];

quantity!(
    /// An energy in whole nanojoules.
    Energy.nj, "an energy", "17uJ", ENERGY_UNITS
);

/// A point of simulated time, in nanoseconds since the begin of the run.
///
/// Sums of times and durations saturate, which preserves the order; a run that comes near the limit is refused
/// ([`Time::LAST`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Save)]
pub struct Time {
    /// Nanoseconds since the begin of the run.
    pub ns: u64,
}

impl Time {
    /// Begin of the run.
    pub const ZERO: Self = Self { ns: 0 };
    /// The latest end of a run, after more than 36 years: far below the limit of sums.
    pub const LAST: Self = Self { ns: 1 << 60 };

    /// The span since `earlier`; panics if `earlier` is later.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration { ns: self.ns.checked_sub(earlier.ns).expect("time runs forward") }
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self { ns: self.ns.saturating_add(span.ns) }
    }
}

impl std::ops::AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl std::ops::Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns) }
    }
}

/// A sum of spans in nanoseconds, as in a counter.
impl std::ops::AddAssign<Duration> for u64 {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = self.saturating_add(span.ns);
    }
}

impl std::ops::Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self { ns: self.ns.saturating_mul(times) }
    }
}

/// A share of a whole, written `"5%"` or `"0.05"`; stored in parts per billion, exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Save)]
pub struct Share {
    /// Billionths of the whole.
    pub ppb: u64,
}

impl Share {
    const WHOLE_PPB: u64 = 1_000_000_000;
    /// 0 %.
    pub const ZERO: Self = Self { ppb: 0 };
    /// 100 %.
    pub const ONE: Self = Self { ppb: Self::WHOLE_PPB };

    /// A share in percent.
    #[must_use]
    pub const fn percent(percent: u64) -> Self {
        Self { ppb: percent * (Self::WHOLE_PPB / 100) }
    }

    /// The share of `whole`, rounded down.
    #[must_use]
    pub fn part_of(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.ppb) / u128::from(Self::WHOLE_PPB);
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// The share as a floating-point number from 0.0 to 1.0.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.ppb as f64 / Self::WHOLE_PPB as f64
    }
}

const SHARE: &str = "a share such as \"5%\" or \"0.05\"";

impl FromStr for Share {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Ratio(share) = text.parse()?;
        if share > Self::ONE {
            return Err(UnitError { given: text.to_owned(), expected: "a share from 0% to 100%".to_owned() });
        }
        Ok(share)
    }
}

/// A ratio to a whole of which it is no part, so that it may exceed 100 %; written as a share.
#[derive(Clone, Copy, PartialEq, Eq, Save)]
pub struct Ratio(pub Share);

impl FromStr for Ratio {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let ppb = if trimmed.ends_with('%') {
            parse(trimmed, &[("parts per billion", 1), ("%", Share::WHOLE_PPB / 100)], SHARE)
        } else if trimmed.ends_with(|c: char| c.is_ascii_digit()) {
            parse(
                &format!("{trimmed} of the whole"),
                &[("parts per billion", 1), ("of the whole", Share::WHOLE_PPB)],
                SHARE,
            )
        } else {
            Err(UnitError { given: text.to_owned(), expected: SHARE.to_owned() })
        };
        ppb.map(|ppb| Self(Share { ppb })).map_err(|error| UnitError { given: text.to_owned(), ..error })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.ppb / 10_000_000, self.ppb % 10_000_000);
        if rest == 0 {
            write!(f, "{whole}%")
        } else {
            write!(f, "{whole}.{}%", format!("{rest:07}").trim_end_matches('0'))
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

text_serde!(Share, "a share such as \"5%\" or \"0.05\"", "5%"; number share => share.to_string());
text_serde!(Ratio, "a share such as \"5%\" or \"0.05\"", "5%"; number share => share.to_string());

/// A quantity of a kind given by its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// A size.
    Bytes(Bytes),
    /// A time.
    Duration(Duration),
    /// An energy.
    Energy(Energy),
    /// A share of a whole.
    Share(Share),
}

impl Quantity {
    /// All units, each with the quantity of one unit.
    pub fn units() -> impl Iterator<Item = (&'static str, Self)> {
        let sizes = BYTE_UNITS.iter().map(|&(name, count)| (name, Self::Bytes(Bytes { count })));
        let times = TIME_UNITS.iter().map(|&(name, ns)| (name, Self::Duration(Duration { ns })));
        let energies = ENERGY_UNITS.iter().map(|&(name, nj)| (name, Self::Energy(Energy { nj })));
        sizes.chain(times).chain(energies).chain([("%", Self::Share(Share::percent(1)))])
    }
}

impl FromStr for Quantity {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        let unit = text.trim().trim_start_matches(number).trim_start();
        match Self::units().find(|&(name, _)| name == unit) {
            Some((_, Self::Bytes(_))) => text.parse().map(Self::Bytes),
            Some((_, Self::Duration(_))) => text.parse().map(Self::Duration),
            Some((_, Self::Energy(_))) => text.parse().map(Self::Energy),
            Some((_, Self::Share(_))) => text.parse().map(|Ratio(share)| Self::Share(share)),
            None => {
                let names: Vec<_> = Self::units().map(|(name, _)| name).collect();
                let hint = crate::suggest::hint(unit, &names);
                let expected = format!(
                    "a number and its unit, such as \"64MiB\", \"25us\" or \"5%\": unit \"{unit}\" is unknown{hint}"
                );
                Err(UnitError { given: text.to_owned(), expected })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_and_durations_are_exact() {
        assert_eq!("64GiB".parse(), Ok(Bytes { count: 64 << 30 }));
        assert_eq!("1.5 MiB".parse(), Ok(Bytes { count: 3 << 19 }));
        assert_eq!("105.6us".parse(), Ok(Duration { ns: 105_600 }));
        assert_eq!("1_000ns".parse(), Ok(Duration { ns: 1000 }));
        assert_eq!("5%".parse(), Ok(Share::percent(5)));
        assert_eq!("0.05".parse(), Ok(Share::percent(5)));
        assert_eq!("12.5%".parse(), Ok(Share { ppb: 125_000_000 }));
    }

    #[test]
    fn zero_needs_no_unit() {
        assert_eq!(("0".parse(), " 0 ".parse()), (Ok(Bytes::ZERO), Ok(Duration::ZERO)));
        let read = |text: &str| -> Result<Duration, _> {
            crate::read::read(&serde_json::from_str::<serde_json::Value>(text).unwrap())
        };
        assert_eq!((read("0").unwrap(), read("\"0\"").unwrap()), (Duration::ZERO, Duration::ZERO));
        assert!(read("1").unwrap_err().to_string().contains("its unit is missing"));
        assert!(
            "00".parse::<Bytes>().is_err() && "0.".parse::<Bytes>().is_err() && "1".parse::<Bytes>().is_err()
        );
    }

    #[test]
    fn a_wrong_unit_names_the_nearest() {
        let error = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        assert!(error("64").contains("unit is missing"), "{}", error("64"));
        assert!(error("64Gib").contains("did you mean \"GiB\""), "{}", error("64Gib"));
        assert!(error("99999999999TiB").contains("does not fit"), "{}", error("99999999999TiB"));
        assert!(error("-1GiB").contains("not a size"), "{}", error("-1GiB"));
        let error = "0.5ns".parse::<Duration>().unwrap_err().to_string();
        assert!(error.contains("whole number of ns"), "{error}");
        for text in ["", "%", ".", "1..2s", "s", "5%%", "1e3ns", "NaN", "100.0000001%", "1.01", "101%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_unit_tells_what_a_quantity_is() {
        assert_eq!("1TB".parse(), Ok(Quantity::Bytes(Bytes { count: 1_000_000_000_000 })));
        assert_eq!("1.5 min".parse(), Ok(Quantity::Duration(Duration { ns: 90_000_000_000 })));
        assert_eq!("12.5%".parse(), Ok(Quantity::Share(Share { ppb: 125_000_000 })));
        for (name, one) in Quantity::units() {
            assert_eq!(format!("1{name}").parse(), Ok(one), "{name}");
        }
        let error = |text: &str| text.parse::<Quantity>().unwrap_err().to_string();
        assert!(error("2Gib").contains("did you mean \"GiB\""), "{}", error("2Gib"));
        assert!(error("0.5ns").contains("whole number of ns"), "{}", error("0.5ns"));
        assert!(error("-5%").contains("is unknown"), "{}", error("-5%"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(count: u64, ppb in 0_u64..10_000_000_000) {
            prop_assert_eq!(Bytes { count }.to_string().parse(), Ok(Bytes { count }));
            prop_assert_eq!(Duration { ns: count }.to_string().parse(), Ok(Duration { ns: count }));
            prop_assert_eq!(Share { ppb }.to_string().parse(), Ok(Ratio(Share { ppb })));
            prop_assert_eq!(Share { ppb }.to_string().parse::<Share>().is_ok(), ppb <= Share::ONE.ppb);
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = (text.parse::<Bytes>(), text.parse::<Duration>(), text.parse::<Share>());
        }
    }
}
