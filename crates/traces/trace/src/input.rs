//! Byte inputs of a trace.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A byte input.
pub(crate) type Input = Box<dyn Read + Send>;

/// An input, and what its errors are told as.
pub(crate) struct Retold<R, F>(pub(crate) R, pub(crate) F);

impl<R: Read, F: FnMut(io::Error) -> io::Error> Read for Retold<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(&mut self.1)
    }
}

/// Of an input that may block: a signal ends the read with an error instead of a retry.
pub(crate) fn interrupted(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => io::Error::other("interrupted"),
        _ => error,
    }
}

/// An input that counts the bytes read.
pub(crate) struct Counted {
    pub(crate) input: Input,
    pub(crate) consumed_bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.consumed_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A plain file on disk, for a reader that opens it itself.
pub(crate) struct SeekableFile {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) consumed_bytes: Arc<AtomicU64>,
}
