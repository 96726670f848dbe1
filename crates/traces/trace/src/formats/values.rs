//! The values of a column: what they can be, and what they deny.

use super::names::DAYS;
use crate::fields::split;
use crate::notation::Column;
use crate::numbers::{moment, plain};
use crate::operations::Kind;
use crate::text::lines_of;
use std::collections::BTreeSet;

/// What flags of a request may be.
const FLAG_WORDS: [&[u8]; 10] = [b"1", b"0", b"true", b"false", b"t", b"f", b"yes", b"no", b"y", b"n"];
/// The days from 1899-12-30, from which spreadsheets count, to 1955 and to 2119.
pub(super) const DAY_NUMBERS: std::ops::Range<f64> = 2e4..8e4;
/// Windows' ticks of 100 ns since 1601, from 1997 to 2108.
const TICKS: std::ops::Range<f64> = 1.25e17..1.6e17;
/// Units of times, and how many are a second.
const PER_SECOND: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
/// Seconds since 1970, from 2000 to 2100.
const YEARS: std::ops::Range<f64> = 9.4e8..4.1e9;
/// Beyond all drives, and beyond all requests.
const DRIVE_BYTES_MAX: f64 = 1e16;
const REQUEST_BYTES_MAX: f64 = 1e13;

/// The lines that are looked at.
pub(super) const LINES_MAX: usize = 200;

/// The values of a column in a sample, and whether their decimal sign is a comma.
pub(super) struct Values<'a>(pub(super) Vec<&'a [u8]>, pub(super) bool);

impl Values<'_> {
    pub(super) fn numbers(&self) -> impl Iterator<Item = Option<f64>> {
        let filled = self.0.iter().filter(|cell| !matches!(**cell, b"" | b"-" | b"-1"));
        filled.map(|cell| std::str::from_utf8(&plain(cell, self.1)?).ok()?.parse().ok())
    }

    pub(super) fn are_numbers(&self) -> bool {
        self.numbers().all(|number| number.is_some()) && self.numbers().next().is_some()
    }

    pub(super) fn are_moments(&self) -> bool {
        self.0.iter().all(|cell| moment(cell).is_some()) && !self.0.is_empty()
    }

    pub(super) fn are_times(&self) -> bool {
        self.are_numbers() || self.are_moments()
    }

    pub(super) fn are_words_of_operations(&self) -> bool {
        let is_word = |cell: &&[u8]| Kind::parse(cell).is_some() && !cell.iter().all(u8::is_ascii_digit);
        self.0.iter().all(is_word) && !self.0.is_empty()
    }

    pub(super) fn are_operations(&self) -> bool {
        let is_flag = |cell: &&[u8]| FLAG_WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word));
        let all = self.0.iter().all(|cell| Kind::parse(cell).is_some()) || self.0.iter().all(is_flag);
        all && !self.0.is_empty()
    }

    pub(super) fn has_zero(&self) -> bool {
        self.numbers().any(|number| number == Some(0.0))
    }

    /// The number of different values.
    pub(super) fn different(&self) -> usize {
        self.0.iter().collect::<BTreeSet<_>>().len()
    }

    /// Whether they rise, but for a few that come late.
    pub(super) fn rise(&self) -> bool {
        let numbers: Vec<_> = self.numbers().flatten().collect();
        let falls = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
        self.are_moments() || self.are_numbers() && self.different() > 1 && falls * 8 <= numbers.len()
    }

    /// Whether they rise as the numbers of rows do: a column of few different values has few falls, too.
    pub(super) fn count_up(&self) -> bool {
        self.rise() && 2 * self.different() > self.0.len()
    }

    pub(super) fn are_multiples(&self, of: f64) -> bool {
        self.numbers().all(|number| number.is_some_and(|number| number % of == 0.0))
    }

    /// Whether most of them are whole sectors in bytes: a row that is cut short or not aligned does not change what the others are.
    pub(super) fn are_whole_sectors(&self) -> bool {
        // With a decimal comma a number of three decimals is one in groups.
        let whole = |number: f64| if self.1 && number % 1.0 != 0.0 { number * 1000.0 } else { number };
        let all: Vec<_> = self.numbers().flatten().filter(|&number| number != 0.0).map(whole).collect();
        let count = all.iter().filter(|&number| number % 512.0 == 0.0).count();
        all.is_empty() || 2 * count > all.len()
    }

    pub(super) fn largest(&self) -> f64 {
        self.numbers().flatten().fold(0.0, f64::max)
    }

    /// The digits behind the decimal sign.
    pub(super) fn decimals(&self) -> usize {
        let sign = if self.1 { b',' } else { b'.' };
        let of =
            |cell: &&[u8]| cell.iter().position(|&byte| byte == sign).map_or(0, |at| cell.len() - at - 1);
        if self.are_multiples(1.0) { 0 } else { self.0.iter().map(of).max().unwrap_or(0) }
    }

    /// The unit in which they are dates, if they are, and how many are a second.
    pub(super) fn date_unit(&self) -> Option<(&'static str, f64)> {
        let largest = self.largest();
        if self.are_moments() {
            return Some(("iso", 0.0));
        }
        let is_date = |per_s: f64| YEARS.contains(&(largest / per_s));
        let since_1970 = PER_SECOND.into_iter().find(|&(_, per_s)| is_date(per_s));
        since_1970.or(TICKS.contains(&largest).then_some(("filetime", 1e7)))
    }

    /// The unit of times, and whether their size or their fraction tells it.
    pub(super) fn time_unit(&self) -> (&'static str, bool) {
        if let Some((unit, _)) = self.date_unit() {
            return (unit, true);
        }
        // More than three digits behind the point are below a microsecond, if they are not seconds.
        match self.decimals() {
            0 => ("us", false),
            digits if digits > 9 && DAY_NUMBERS.contains(&self.largest()) => (DAYS, true),
            digits => ("s", digits > 3),
        }
    }

    /// How well they are times: dates best, then fractions, then numbers that are no addresses, numbers of rows last.
    pub(super) fn time_rank(&self) -> u8 {
        let numbers: Vec<_> = self.numbers().flatten().collect();
        let is_even = numbers.windows(3).all(|three| three[2] - three[1] == three[1] - three[0]);
        match () {
            () if self.date_unit().is_some() => 4,
            () if self.decimals() > 0 => 3,
            () if numbers.len() > 3 && is_even => 0,
            () if self.largest() > 0.0 && self.are_multiples(8.0) => 1,
            () => 2,
        }
    }
}

/// What the values of a text that begins with `sample` say to these columns: `None` if they deny them, else whether times are dates.
pub(super) fn agrees(
    columns: &[(&str, Column)],
    separator: u8,
    sample: &[u8],
    has_dates: bool,
) -> Option<bool> {
    let rows: Vec<_> = lines_of(sample).take(LINES_MAX).map(|line| split(line, separator, None)).collect();
    let (mut are_dates, mut agree) = (false, true);
    for (at, (_, column)) in columns.iter().enumerate() {
        let values = Values(rows.iter().filter_map(|row| row.get(at).copied()).collect(), false);
        let largest = values.largest();
        match *column {
            Column::Time { step_ns, .. } => {
                let date = values.date_unit();
                are_dates = date.is_some_and(|(_, per_s)| (per_s * step_ns as f64 - 1e9).abs() < 1.0);
                // What is a date in another unit is none in this one; a tick has no fraction.
                agree &= !has_dates || are_dates || date.is_none() && values.decimals() == 0;
            }
            Column::Offset(steps) => agree &= largest * steps.bytes as f64 <= DRIVE_BYTES_MAX,
            Column::Size(steps) => agree &= largest * steps.bytes as f64 <= REQUEST_BYTES_MAX,
            _ => {}
        }
    }
    agree.then_some(are_dates)
}
