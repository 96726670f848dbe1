//! Byte inputs of a trace.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A byte input.
pub(crate) type Input = Box<dyn Read + Send>;

/// An input that may block. A signal ends the read with an error instead of a retry.
pub(crate) struct Interruptible<R>(pub(crate) R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => io::Error::other("interrupted"),
            _ => error,
        })
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

/// A file with random access that counts the bytes read.
pub(crate) struct CountedFile {
    /// Locked, since a read moves the position of all: to read at a position is another call on each system.
    file: Arc<Mutex<File>>,
    bytes: u64,
    consumed_bytes: Arc<AtomicU64>,
}

impl CountedFile {
    pub(crate) fn open(path: &str, consumed_bytes: &Arc<AtomicU64>) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(Mutex::new(file)), bytes, consumed_bytes: Arc::clone(consumed_bytes) })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A reader that begins at `start`.
    pub(crate) fn from(&self, start: u64) -> FileCursor {
        FileCursor {
            file: Arc::clone(&self.file),
            position: start,
            consumed_bytes: Arc::clone(&self.consumed_bytes),
        }
    }
}

/// A position in a [`CountedFile`].
pub(crate) struct FileCursor {
    file: Arc<Mutex<File>>,
    position: u64,
    consumed_bytes: Arc<AtomicU64>,
}

impl Read for FileCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().expect("reading does not panic");
        file.seek(SeekFrom::Start(self.position))?;
        let count = file.read(buffer)?;
        self.position += count as u64;
        self.consumed_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
