//! Text formats: a record per line.

use crate::Result;
use crate::block_reader::BlockReader;
use crate::devices::Devices;
use crate::reader::{Opening, ReadError, Reader, Records, RequestReader};
use crate::record::{Conventions, Parsed, Record};
use coflash_workload::recorded::TraceOptions;

/// The size of the sample for the detection of a format.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;

/// A text format.
pub(crate) trait TextFormat: LineParser {
    /// Create a parser for a file.
    fn new(options: &TraceOptions) -> Self;
}

/// The parser of a file's lines.
pub(crate) trait LineParser: Send + 'static {
    /// Inspect the beginning of the file before its first line.
    fn look_ahead(&mut self, _beginning: &[u8]) {}

    /// Parse a line; `None` for headers and other lines without a request. Called once per line that is not blank, in order, even
    /// after a malformed line.
    ///
    /// # Errors
    /// A malformed field.
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Parsed<Option<Record>>;

    /// The conventions of a file whose beginning the parser has seen, given those of the format.
    fn conventions(&self, format: Conventions) -> Conventions {
        format
    }

    /// Assumptions about ambiguities of the format.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The records of a text file.
struct Text<P> {
    input: BlockReader,
    parser: P,
}

/// Read the lines of a file.
pub(crate) fn open(
    mut input: BlockReader,
    mut parser: impl LineParser,
    opening: &Opening<'_>,
) -> Result<Box<dyn RequestReader>> {
    parser.look_ahead(input.peek_lines(SAMPLE_BYTES).map_err(|error| opening.refused(error))?);
    let conventions = parser.conventions(opening.conventions);
    Ok(Box::new(Reader::new(Text { input, parser }, &Opening { conventions, ..*opening })))
}

impl<P: LineParser> Records for Text<P> {
    #[inline(always)]
    fn next(&mut self, devices: &mut Devices) -> Result<Option<Record>, ReadError> {
        while let Some(line) = self.input.next_line()? {
            if is_blank(line) {
                continue;
            }
            if let Some(record) = self.parser.record(line, devices)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn number(&self) -> u64 {
        self.input.line()
    }

    fn remarks(&self) -> Vec<String> {
        self.parser.remarks()
    }
}

/// How well a format fits a sample: the accepted lines, and whether the first is one of them.
#[derive(Clone, Copy)]
pub(crate) struct Score {
    pub(crate) lines: u32,
    pub(crate) first: bool,
}

/// The lines of `sample` that the parser accepts; `None` if it rejects the first line and more than half of all.
pub(crate) fn score(mut parser: impl LineParser, sample: &[u8], options: &TraceOptions) -> Option<Score> {
    let mut devices = Devices::new(options.device_stride);
    let (mut first, mut lines, mut total) = (false, 0, 0_u32);
    for line in lines_of(sample) {
        total += 1;
        if parser.record(line, &mut devices).is_ok() {
            lines += 1;
            first |= total == 1;
        }
    }
    (lines > 0 && (first || lines * 2 >= total)).then_some(Score { lines, first })
}

/// The lines of a sample that say something.
pub(crate) fn lines_of(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = sample.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !is_blank(line))
}

/// Whether a line says nothing: it is blank, the zeros behind a file that was cut, or a comment.
#[inline]
pub(crate) fn is_blank(line: &[u8]) -> bool {
    // The first byte decides for nearly all lines.
    let first = line.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != 0);
    first.is_none_or(|&byte| byte == COMMENT)
}

/// The first byte of a comment.
pub(crate) const COMMENT: u8 = b'#';
