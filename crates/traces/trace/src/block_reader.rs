//! Lines or bytes of an input, as slices of large blocks, so that no record allocates memory.

use std::io::{self, Read};

/// The size of a block: large enough to hide the cost of a read, small enough for a second-level cache.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// The longest permitted line.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// An input and its current block.
pub(crate) struct BlockReader {
    input: Box<dyn Read + Send>,
    /// `buffer[start..end]` is read and not yet consumed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// Why the input ended before its end.
    cut: Option<String>,
    /// The number of the last line, from 1.
    line: u64,
}

impl BlockReader {
    /// Create a reader of `input` with blocks of `block_bytes`.
    pub(crate) fn new(input: Box<dyn Read + Send>, block_bytes: usize) -> Self {
        Self {
            input,
            buffer: vec![0; block_bytes.max(1)],
            start: 0,
            end: 0,
            ended: false,
            cut: None,
            line: 0,
        }
    }

    /// The number of the last line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Number the lines from the second one on: the first holds the names of columns, the others are rows.
    pub(crate) fn count_rows(&mut self) {
        self.line = u64::MAX;
    }

    /// Take the next line, without its `\n` or `\r\n`; the last line may lack it.
    #[inline]
    pub(crate) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
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
        self.line = self.line.wrapping_add(1);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Peek at the next whole lines, up to `bytes` in all.
    pub(crate) fn peek_lines(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let ended = self.sample(bytes)?.len() <= bytes && self.ended;
        let ahead = &self.buffer[self.start..self.end];
        if ended {
            return Ok(ahead);
        }
        let ahead = &ahead[..bytes.min(ahead.len())];
        Ok(&ahead[..memchr::memrchr(b'\n', ahead).map_or(ahead.len(), |at| at + 1)])
    }

    /// Peek as [`peek`](Self::peek) does, to recognise the format: at an early end, return all bytes there
    /// are.
    pub(crate) fn sample(&mut self, bytes: usize) -> io::Result<&[u8]> {
        match self.peek(bytes).map(<[u8]>::len) {
            Err(error) if self.cut.is_none() || self.start == self.end => Err(error),
            _ => Ok(&self.buffer[self.start..self.end]),
        }
    }

    /// Peek at the next bytes: at least `bytes`, or the rest of the input.
    #[inline]
    pub(crate) fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.end - self.start < bytes && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Consume `bytes` after a peek.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Consume bytes that need not be in memory together, as many as there are.
    #[inline]
    pub(crate) fn skip(&mut self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 && !self.peek(1)?.is_empty() {
            let here = bytes.min((self.end - self.start) as u64);
            self.consume(here as usize);
            bytes -= here;
        }
        Ok(())
    }

    /// Read more bytes, after making room for them.
    #[cold]
    fn fill(&mut self) -> io::Result<()> {
        // A decoder need not tell it twice.
        if let Some(problem) = &self.cut {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem.clone()));
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end > LINE_BYTES_MAX {
                let problem =
                    format!("line {} is longer than {LINE_BYTES_MAX} bytes", self.line.wrapping_add(1));
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            self.buffer.resize(self.end * 2, 0);
        }
        let got = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.cut = (error.kind() == io::ErrorKind::UnexpectedEof).then(|| error.to_string());
                    return Err(error);
                }
                Ok(got) => break got,
            }
        };
        self.ended = got == 0;
        self.end += got;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn lines(data: &[u8], block_bytes: usize) -> Vec<Vec<u8>> {
        let mut input = BlockReader::new(Box::new(Cursor::new(data.to_vec())), block_bytes);
        let mut all = Vec::new();
        while let Some(line) = input.next_line().unwrap() {
            all.push(line.to_vec());
        }
        assert_eq!(input.line(), all.len() as u64);
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
        let mut endless = BlockReader::new(Box::new(io::repeat(b'x')), 64);
        let error = endless.next_line().unwrap_err().to_string();
        assert!(error.contains("line 1 is longer"), "{error}");
    }

    #[test]
    fn peeking_takes_nothing_and_gives_whole_lines() {
        let mut ahead = BlockReader::new(Box::new(Cursor::new(b"one\ntwo\nthree".to_vec())), 4);
        assert_eq!(ahead.peek_lines(6).unwrap(), b"one\n");
        assert_eq!(ahead.peek_lines(100).unwrap(), b"one\ntwo\nthree");
        assert_eq!(ahead.next_line().unwrap(), Some(&b"one"[..]));
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_blocks(data in proptest::collection::vec(0..14_u8, 0..200), block in 1..40_usize) {
            // Bytes below 14 hold both kinds of line ends, often.
            let expected = lines(&data, 4096);
            prop_assert_eq!(lines(&data, block), expected);
        }
    }
}
