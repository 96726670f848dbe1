//! Lines and the fields in them: large blocks are read, newlines are found by `memchr`, and a field is a slice of the
//! block. Nothing is allocated per line, and bytes are never checked to be text: a number is digits or it is refused.

use super::Fault;
use std::io::{self, Read};

/// How much is read at a time: large enough that the cost of a read vanishes, small enough for a second-level cache.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// The longest line any format could mean; what is longer is not a text trace.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// The lines of an input.
pub(crate) struct Lines {
    input: Box<dyn Read + Send>,
    /// `buffer[start..end]` is read and not yet handed out.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// Lines handed out so far, so the number of the last, from 1.
    number: u64,
}

impl Lines {
    /// The lines of `input`, read `block_bytes` at a time.
    pub(crate) fn new(input: Box<dyn Read + Send>, block_bytes: usize) -> Self {
        Self { input, buffer: vec![0; block_bytes.max(1)], start: 0, end: 0, ended: false, number: 0 }
    }

    /// The number of the line last handed out, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line, without its `\n` or `\r\n`; the last may lack it.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = self.start;
        let (line_end, next) = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                break (searched + at, searched + at + 1);
            }
            let unfinished = self.end - self.start;
            if self.ended {
                if unfinished == 0 {
                    return Ok(None);
                }
                break (self.end, self.end);
            }
            self.fill()?;
            searched = self.start + unfinished;
        };
        let line = &self.buffer[self.start..line_end];
        self.start = next;
        self.number += 1;
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// What comes next, up to `bytes` of it in whole lines, without taking it.
    pub(crate) fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while !self.ended && self.end - self.start < bytes {
            self.fill()?;
        }
        let ahead = &self.buffer[self.start..self.end];
        if self.ended && ahead.len() <= bytes {
            return Ok(ahead);
        }
        let ahead = &ahead[..bytes.min(ahead.len())];
        Ok(&ahead[..memchr::memrchr(b'\n', ahead).map_or(ahead.len(), |at| at + 1)])
    }

    /// What comes next as plain bytes: at least `bytes` of it, or all that is left.
    #[inline]
    pub(crate) fn ahead(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.end - self.start < bytes && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Takes `bytes` of what is ahead.
    #[inline]
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Takes the next `bytes`, or all that is left; memory grows as it is read, whatever is asked for.
    pub(crate) fn take(&mut self, bytes: u64) -> io::Result<Vec<u8>> {
        let ahead = &self.buffer[self.start..self.end];
        let mut taken = ahead[..usize::try_from(bytes).unwrap_or(usize::MAX).min(ahead.len())].to_vec();
        self.pass(taken.len());
        self.input.by_ref().take(bytes - taken.len() as u64).read_to_end(&mut taken)?;
        Ok(taken)
    }

    /// Reads more behind what is there, making room first.
    #[cold]
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end > LINE_BYTES_MAX {
                let problem = format!("line {} is longer than {LINE_BYTES_MAX} bytes", self.number + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            self.buffer.resize(self.end * 2, 0);
        }
        let got = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.ended = got == 0;
        self.end += got;
        Ok(())
    }
}

/// Whether the byte separates fields of a line.
#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `bytes` without blanks at its ends.
#[inline]
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_blank(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_blank(*last)
    {
        bytes = rest;
    }
    bytes
}

/// The next field of a line of fields separated by blanks, taken off `rest`; empty at the end of the line.
#[inline]
pub(crate) fn blank_field<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let start = rest.iter().position(|&b| !is_blank(b)).unwrap_or(rest.len());
    let line = &rest[start..];
    let end = line.iter().position(|&b| is_blank(b)).unwrap_or(line.len());
    let (field, tail) = line.split_at(end);
    *rest = tail;
    field
}

/// The next field of a line of fields separated by `separator`, taken off `rest`, without blanks around it; empty at the
/// end of the line.
#[inline]
pub(crate) fn field<'a>(rest: &mut &'a [u8], separator: u8) -> &'a [u8] {
    let end = rest.iter().position(|&b| b == separator).unwrap_or(rest.len());
    let field = &rest[..end];
    *rest = rest.get(end + 1..).unwrap_or_default();
    trim(field)
}

/// As [`field`], where commas separate.
#[inline]
pub(crate) fn comma_field<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    field(rest, b',')
}

/// Refuses a further field: the record is complete with `count` of them, the last being `field`.
#[inline]
pub(crate) fn nothing_more(rest: &[u8], field: &'static str, count: &str) -> Result<(), Fault> {
    // Nearly every line ends right behind its last field.
    if rest.is_empty() || trim(rest).is_empty() {
        return Ok(());
    }
    Err(Fault::unexpected(field, trim(rest), &format!("expected: a record has {count} fields")))
}

/// The line of column names that some files have at the top.
pub(crate) struct Header {
    /// Whether the next line is the first.
    at_top: bool,
}

impl Header {
    pub(crate) fn new() -> Self {
        Self { at_top: true }
    }

    /// Whether `line` is the first and holds the `names`.
    #[inline]
    pub(crate) fn is(&mut self, line: &[u8], names: &str) -> bool {
        std::mem::take(&mut self.at_top) && trim(line).eq_ignore_ascii_case(names.as_bytes())
    }
}

/// A whole number.
#[inline]
pub(crate) fn whole(given: &[u8], field: &'static str) -> Result<u64, Fault> {
    // Nineteen digits always fit.
    match digits(given) {
        Some(value) if given.len() <= 19 => Ok(value),
        _ => whole_slow(given, field),
    }
}

/// The value of `given` modulo 2^64, where it is digits and nothing else.
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
fn whole_slow(given: &[u8], field: &'static str) -> Result<u64, Fault> {
    if given.is_empty() || !given.iter().all(u8::is_ascii_digit) {
        return Err(Fault::unexpected(field, given, "a whole number"));
    }
    let value = given
        .iter()
        .try_fold(0_u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte - b'0')));
    value.ok_or_else(|| Fault::unexpected(field, given, "a whole number below 2^64"))
}

/// A whole number of `unit`s, in the unit's own base (bytes, nanoseconds).
#[inline]
pub(crate) fn units(given: &[u8], unit: u64, field: &'static str) -> Result<u64, Fault> {
    let count = whole(given, field)?;
    count.checked_mul(unit).ok_or_else(|| too_large(given, unit, field))
}

#[cold]
fn too_large(given: &[u8], unit: u64, field: &'static str) -> Fault {
    Fault::unexpected(field, given, &format!("a number that times {unit} is below 2^64"))
}

const POWERS_OF_TEN: [u64; 19] = {
    let mut powers = [1; 19];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// A decimal number of `unit`s, in the unit's own base, computed in whole numbers: "0.026214" s is 26,214,000 ns. What
/// lies below the base is cut off, which keeps the order of times.
#[inline]
pub(crate) fn decimal(given: &[u8], unit: u64, field: &'static str) -> Result<u64, Fault> {
    let wrong = || Fault::unexpected(field, given, "a decimal number");
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
    use std::io::Cursor;

    fn lines(data: &[u8], block_bytes: usize) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(Box::new(Cursor::new(data.to_vec())), block_bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push(line.to_vec());
        }
        assert_eq!(lines.number(), all.len() as u64);
        all
    }

    #[test]
    fn lines_end_in_either_way_and_the_last_need_not() {
        assert_eq!(lines(b"a\nb\r\n\nc", 8), [&b"a"[..], b"b", b"", b"c"]);
        assert_eq!(lines(b"", 8), [b""; 0]);
        assert_eq!(lines(b"\n", 8), [b""]);
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_fills_the_memory() {
        let mut endless = Lines::new(Box::new(io::repeat(b'x')), 64);
        let error = endless.next().unwrap_err().to_string();
        assert!(error.contains("line 1 is longer"), "{error}");
    }

    #[test]
    fn peeking_takes_nothing_and_gives_whole_lines() {
        let mut ahead = Lines::new(Box::new(Cursor::new(b"one\ntwo\nthree".to_vec())), 4);
        assert_eq!(ahead.peek(6).unwrap(), b"one\n");
        assert_eq!(ahead.peek(100).unwrap(), b"one\ntwo\nthree");
        assert_eq!(ahead.next().unwrap(), Some(&b"one"[..]));
    }

    #[test]
    fn fields_are_separated_by_blanks_or_commas() {
        let mut rest: &[u8] = b" \t12\t\tab  c ";
        let fields: Vec<_> = (0..4).map(|_| blank_field(&mut rest)).collect();
        assert_eq!(fields, [&b"12"[..], b"ab", b"c", b""]);
        let mut rest: &[u8] = b"1, two ,,4";
        let fields: Vec<_> = (0..5).map(|_| comma_field(&mut rest)).collect();
        assert_eq!(fields, [&b"1"[..], b"two", b"", b"4", b""]);
    }

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
        fn lines_do_not_depend_on_blocks(data in proptest::collection::vec(0..14_u8, 0..200), block in 1..40_usize) {
            // Bytes below 14 hold both kinds of line ends, often.
            let expected = lines(&data, 4096);
            prop_assert_eq!(lines(&data, block), expected);
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
        }
    }
}
