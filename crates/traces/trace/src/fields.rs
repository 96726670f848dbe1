//! The fields of a line. Eight bytes are examined together, for separators and for digits.
//!
//! Source: Lamport, "Multiple byte processing with full-word instructions" (1975); Lemire, "Quickly parsing eight
//! digits" (2018). Cost: about ten instructions per eight bytes.

use crate::notation::word_key;
use crate::numbers::{POWERS_OF_TEN, any_decimal, any_units, units};
use crate::record::{FieldError, Parsed};

/// What stands for any number of spaces and tabs.
pub(crate) const BLANK: u8 = b' ';
/// The separators of lines, besides blanks.
pub(crate) const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Every byte of a number set to 1.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The bytes of `chunk` that are `byte`, each marked by its highest bit; only the lowest mark is exact.
#[inline(always)]
fn marks_of(byte: u8, chunk: u64) -> u64 {
    let differs = chunk ^ (ONES * u64::from(byte));
    differs.wrapping_sub(ONES) & !differs & HIGH_BITS
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The fields of a line: with `BLANKS` any number of blanks stand between two, and before the first; else one separator, and blanks
/// around a field are no part of it.
pub(crate) struct Fields<'a, const BLANKS: bool> {
    pub(crate) line: &'a [u8],
    /// Where the next field begins.
    pub(crate) at: usize,
    separator: u8,
    /// Whether the decimal sign is a comma.
    pub(crate) comma: bool,
}

/// The fields of a line separated by blanks.
pub(crate) type BlankFields<'a> = Fields<'a, true>;

impl<'a> BlankFields<'a> {
    /// Create the fields of a line separated by blanks.
    #[inline]
    pub(crate) fn between_blanks(line: &'a [u8]) -> Self {
        Self::new(line, BLANK)
    }
}

impl<'a, const BLANKS: bool> Fields<'a, BLANKS> {
    #[inline]
    pub(crate) fn new(line: &'a [u8], separator: u8) -> Self {
        Self { line, at: 0, separator, comma: false }
    }

    /// Whether the byte separates fields.
    #[inline(always)]
    fn separates(&self, byte: u8) -> bool {
        if BLANKS { is_blank(byte) } else { byte == self.separator }
    }

    /// The bytes of `chunk` that separate fields, marked as by [`marks_of`].
    #[inline(always)]
    fn marks(&self, chunk: u64) -> u64 {
        if BLANKS { marks_of(b' ', chunk) | marks_of(b'\t', chunk) } else { marks_of(self.separator, chunk) }
    }

    /// Whether the line has no more fields.
    pub(crate) fn ended(&self) -> bool {
        self.start() >= self.line.len()
    }

    /// The number of the fields to come.
    #[cold]
    pub(crate) fn count(&self) -> usize {
        let mut ahead = Self { ..*self };
        std::iter::from_fn(|| (!ahead.ended()).then(|| ahead.range())).count()
    }

    /// The bounds of the text within the quotes of the field at `start`, and where the field ends; `None` without quotes
    /// around the whole field. A doubled quote is part of the text.
    #[cold]
    #[inline(never)]
    fn quoted(&self, start: usize) -> Option<(usize, usize, usize)> {
        let field = &self.line[start..];
        let lead = if BLANKS { 0 } else { field.len() - field.trim_ascii_start().len() };
        let quote = *self.line.get(start + lead).filter(|byte| **byte == b'"')?;
        let first = start + lead + 1;
        let mut at = first;
        loop {
            at += memchr::memchr(quote, self.line.get(at..)?)?;
            if self.line.get(at + 1) != Some(&quote) {
                break;
            }
            at += 2;
        }
        let behind = &self.line[at + 1..];
        let end = behind.iter().position(|&byte| self.separates(byte)).unwrap_or(behind.len());
        behind[..end].trim_ascii().is_empty().then_some((first, at, at + 1 + end))
    }

    /// The rest of the line.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// Take the next field, without blanks around it; empty at the end of the line.
    #[inline(always)]
    pub(crate) fn text(&mut self) -> &'a [u8] {
        let (start, end) = self.range();
        &self.line[start..end]
    }

    /// Take the next field like [`text`](Self::text), as a range of the line.
    #[inline(always)]
    pub(crate) fn range(&mut self) -> (usize, usize) {
        let start = self.start();
        if matches!(self.line.get(start), Some(b'"' | b' '))
            && let Some((first, last, end)) = self.quoted(start)
        {
            self.end_at(end);
            return (first, last);
        }
        let mut end = start;
        loop {
            let marks = self.marks(self.chunk(end));
            end += (marks.trailing_zeros() / 8) as usize;
            if marks != 0 || end >= self.line.len() {
                break;
            }
        }
        let end = end.min(self.line.len());
        self.end_at(end);
        if BLANKS {
            return (start, end);
        }
        let field = &self.line[start..end];
        let trimmed = field.trim_ascii();
        let start = start + trimmed.as_ptr().addr() - field.as_ptr().addr();
        (start, start + trimmed.len())
    }

    /// Take the next field with its [`word_key`].
    #[inline(always)]
    pub(crate) fn word(&mut self) -> (Option<u64>, &'a [u8]) {
        let start = self.start();
        let chunk = self.chunk(start);
        let marks = self.marks(chunk);
        let bytes = ((marks.trailing_zeros() / 8) as usize).min(self.line.len() - start);
        if (1..8).contains(&bytes) && !matches!(self.line[start], b'"' | b' ') {
            self.end_at(start + bytes);
            return (Some(chunk & ((1 << (8 * bytes)) - 1)), &self.line[start..start + bytes]);
        }
        let field = self.text();
        (word_key(field), field)
    }

    /// Take the next field, a whole number.
    #[inline(always)]
    pub(crate) fn whole(&mut self, name: &'static str) -> Parsed<u64> {
        self.units(1, name)
    }

    /// Take the next field, a whole number of `unit`s, in the unit's own base (bytes, nanoseconds).
    #[inline(always)]
    pub(crate) fn units(&mut self, unit: u64, name: &'static str) -> Parsed<u64> {
        self.digits(unit).map_or_else(|| self.units_slowly(unit, name), Ok)
    }

    /// Take the next field like [`units`](Self::units), in digits only.
    #[inline(always)]
    pub(crate) fn plain_units(&mut self, unit: u64, name: &'static str) -> Parsed<u64> {
        self.digits(unit).map_or_else(|| units(self.text(), unit, name), Ok)
    }

    /// Take the next field like [`units`](Self::units), if it has nothing but up to nineteen digits; `None` leaves it.
    #[inline(always)]
    fn digits(&mut self, unit: u64) -> Option<u64> {
        let start = self.start();
        let (count, digits) = self.leading_digits(start);
        let is_whole = (1..=19).contains(&digits) && self.ends_at(start + digits);
        let value = count.checked_mul(unit).filter(|_| is_whole)?;
        self.end_at(start + digits);
        Some(value)
    }

    #[cold]
    #[inline(never)]
    fn units_slowly(&mut self, unit: u64, name: &'static str) -> Parsed<u64> {
        any_units(self.text(), unit, name, self.comma)
    }

    /// Take the next field, a decimal number of `unit`s, in the unit's own base.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, unit: u64, name: &'static str) -> Parsed<u64> {
        self.plain_decimal(unit).map_or_else(|| self.decimal_slowly(unit, name), Ok)
    }

    /// Take the next field like [`decimal`](Self::decimal), if it is written in digits and a point; `None` leaves it.
    #[inline(always)]
    pub(crate) fn plain_decimal(&mut self, unit: u64) -> Option<u64> {
        let start = self.start();
        let (count, digits) = self.leading_digits(start);
        let mut end = start + digits;
        let (mut part, mut part_digits) = (0, 0);
        if self.line.get(end) == Some(&b'.') {
            (part, part_digits) = self.leading_digits(end + 1);
            // A point without a digit after it is not a part of the number.
            end += if part_digits > 0 { 1 + part_digits } else { 0 };
        }
        if (1..=19).contains(&digits)
            && part_digits <= 9
            && self.ends_at(end)
            && let (Some(value), Some(part)) = (count.checked_mul(unit), part.checked_mul(unit))
            && let Some(sum) = value.checked_add(part / POWERS_OF_TEN[part_digits])
        {
            self.end_at(end);
            return Some(sum);
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn decimal_slowly(&mut self, unit: u64, name: &'static str) -> Parsed<u64> {
        any_decimal(self.text(), unit, name, self.comma)
    }

    /// Refuse a further field: the record is complete with `count` of them, and `name` is the last.
    #[inline]
    pub(crate) fn nothing_more(&self, name: &'static str, count: usize) -> Parsed<()> {
        match self.rest().trim_ascii() {
            [] => Ok(()),
            more => Err(FieldError::text(name, more, &format!("expected: a record has {count} fields"))),
        }
    }

    /// Where the next field begins.
    #[inline(always)]
    fn start(&self) -> usize {
        let mut start = self.at;
        if BLANKS {
            while self.line.get(start).is_some_and(|&byte| self.separates(byte)) {
                start += 1;
            }
        }
        start
    }

    /// Whether a field that has begun ends before the byte at `end`.
    #[inline(always)]
    fn ends_at(&self, end: usize) -> bool {
        self.line.get(end).is_none_or(|&byte| self.separates(byte))
    }

    /// Take a field that ends before the byte at `end`.
    #[inline(always)]
    fn end_at(&mut self, end: usize) {
        self.at = if BLANKS { end } else { (end + 1).min(self.line.len()) };
    }

    /// Eight bytes of the line, padded with zeros.
    #[inline(always)]
    fn chunk(&self, at: usize) -> u64 {
        if let Some(chunk) = self.line.get(at..).and_then(<[u8]>::first_chunk) {
            return u64::from_le_bytes(*chunk);
        }
        let missing = (at + 8).saturating_sub(self.line.len()) as u32;
        match self.line.last_chunk() {
            Some(chunk) => u64::from_le_bytes(*chunk).checked_shr(8 * missing).unwrap_or(0),
            None => word_key(self.line.get(at..).unwrap_or_default()).unwrap_or(0),
        }
    }

    /// The number that begins at a byte of the line, modulo 2^64, and how many digits it has.
    #[inline(always)]
    fn leading_digits(&self, at: usize) -> (u64, usize) {
        let (mut value, mut digits) = digits_of(self.chunk(at));
        let mut all = digits;
        while digits == 8 {
            let part;
            (part, digits) = digits_of(self.chunk(at + all));
            value = value.wrapping_mul(POWERS_OF_TEN[digits]).wrapping_add(part);
            all += digits;
        }
        (value, all)
    }
}

/// The number that eight bytes begin with, and how many digits it has.
#[inline(always)]
fn digits_of(chunk: u64) -> (u64, usize) {
    let digits = chunk ^ (ONES * 0x30);
    // The highest bit of every byte above 9. A carry into the next byte does no harm: only the first one
    // matters.
    let others = (digits.wrapping_add(ONES * 0x76) | digits) & HIGH_BITS;
    let count = others.trailing_zeros() / 8;
    // Moved up, as if zeros came before them.
    let digits = digits.checked_shl(64 - 8 * count).unwrap_or(0);
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & MASK).wrapping_mul(1 + (10_000 << 32));
    (high.wrapping_add(low) >> 32, count as usize)
}

/// Split a line into its fields; one that may hold separators takes all surplus ones.
pub(crate) fn split(line: &[u8], separator: u8, text: Option<(usize, usize)>) -> Vec<&[u8]> {
    fn all<const BLANKS: bool>(mut fields: Fields<'_, BLANKS>) -> Vec<&[u8]> {
        std::iter::from_fn(|| (!fields.ended()).then(|| fields.text())).collect()
    }
    let mut cells = match separator {
        BLANK => all(Fields::between_blanks(line)),
        separator => all(Fields::<false>::new(line, separator)),
    };
    if let Some((at, columns)) = text
        && cells.len() > columns
    {
        cells.drain(at + 1..at + 1 + cells.len() - columns);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn between_blanks(line: &[u8]) -> BlankFields<'_> {
        Fields::between_blanks(line)
    }

    fn between_commas(line: &[u8]) -> Fields<'_, false> {
        Fields::new(line, b',')
    }

    fn texts<const BLANKS: bool>(mut fields: Fields<'_, BLANKS>, count: usize) -> Vec<&[u8]> {
        (0..count).map(|_| fields.text()).collect()
    }

    #[test]
    fn fields_are_separated_by_blanks_or_commas() {
        assert_eq!(texts(between_blanks(b" \t12\t\tab  c "), 4), [&b"12"[..], b"ab", b"c", b""]);
        assert_eq!(texts(between_commas(b"1, two ,,4"), 5), [&b"1"[..], b"two", b"", b"4", b""]);
        assert_eq!(
            texts(between_commas(b"longer than eight,\ta long word\t"), 3)[1..],
            [&b"a long word"[..], b""]
        );
    }

    #[test]
    fn quotes_are_no_part_of_a_field_and_hide_separators() {
        assert_eq!(
            texts(between_commas(b"\"0\",\"C:\\\\a, b\", \" x\"\"y \" ,z"), 4),
            [&b"0"[..], b"C:\\\\a, b", b" x\"\"y ", b"z"]
        );
        assert_eq!(texts(between_blanks(b"\"a b\" c \"d"), 3), [&b"a b"[..], b"c", b"\"d"]);
        assert_eq!(texts(between_commas(b"\"a\"b,\"c"), 2), [&b"\"a\"b"[..], b"\"c"]);
        let mut fields = between_commas(b"\"W\",\"4096.0\",\"0x10\",8");
        assert_eq!(fields.count(), 4);
        assert_eq!(fields.word().1, b"W");
        assert_eq!(fields.units(512, "f").unwrap(), 4096 * 512);
        assert_eq!(fields.decimal(1, "f").unwrap(), 16);
        assert_eq!((fields.units(1, "f").unwrap(), fields.ended()), (8, true));
    }

    /// Random lines: each field is parsed as a number and as text.
    fn same_as_of_its_text<const BLANKS: bool>(mut texts: Fields<'_, BLANKS>, unit: u64) {
        let Fields { line, separator, .. } = texts;
        for _ in 0..line.len() + 2 {
            let fields = |take: &dyn Fn(&mut Fields<'_, BLANKS>) -> Parsed<u64>| {
                let mut fields = Fields { line, at: texts.at, separator, comma: false };
                (take(&mut fields).map_err(|error| error.problem), fields.at)
            };
            let whole_units = fields(&|fields| fields.units(unit, "f"));
            let decimal_units = fields(&|fields| fields.decimal(unit, "f"));
            let given = texts.text();
            let problem = |result: Parsed<u64>| result.map_err(|error| error.problem);
            assert_eq!(whole_units, (problem(any_units(given, unit, "f", false)), texts.at));
            assert_eq!(decimal_units, (problem(any_decimal(given, unit, "f", false)), texts.at));
        }
    }

    proptest! {
        #[test]
        fn a_number_is_that_of_its_text(
            line in "([0-9]{0,22}(\\.[0-9]{0,12})?[ ,\ta]{0,2}){0,4}",
            unit in prop_oneof![Just(1), 1..1_000_000_000_u64],
        ) {
            same_as_of_its_text(between_blanks(line.as_bytes()), unit);
            same_as_of_its_text(between_commas(line.as_bytes()), unit);
        }

        #[test]
        fn a_word_is_its_text(line in "([a-z0-9]{0,10}[ ,\t]{0,2}){0,4}") {
            let mut texts = between_commas(line.as_bytes());
            let mut words = between_commas(line.as_bytes());
            for _ in 0..6 {
                let text = texts.text();
                let (key, word) = words.word();
                prop_assert_eq!(word.trim_ascii(), text);
                prop_assert_eq!(key, word_key(word));
                prop_assert_eq!(words.at, texts.at);
            }
        }

        #[test]
        fn no_bytes_panic(line: Vec<u8>, separator: u8, unit: u64) {
            same_as_of_its_text(between_blanks(&line), unit);
            same_as_of_its_text(Fields::<false>::new(&line, separator), unit);
        }
    }
}
