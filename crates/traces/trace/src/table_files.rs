//! Files of tables, as Parquet and Arrow: the program around the core reads and writes them, with libraries that the core
//! does without. It takes and gives rows in batches, so that memory is bounded.

use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

/// What reads and writes files of tables. Its errors are sentences that do not name the file.
pub trait TableFiles: Send + Sync {
    /// Open a file: one with the columns of coflash's own layout, or another one as a text with a line of names.
    ///
    /// # Errors
    /// The file cannot be read.
    fn open(&self, file: &str, as_text: bool) -> Result<TableFile, String>;

    /// Write the table of a stream of Arrow to a file in a format.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&self, stream: Stream, file: &Path, format: &str) -> Result<(), String>;
}

/// An open file.
pub struct TableFile {
    /// The remarks in it.
    pub remarks: Vec<String>,
    /// Whether its parts are text.
    pub is_text: bool,
    /// Reads the next part; the first number is that of the bytes of the file that were read by then.
    pub next: Box<NextPart>,
}

/// Reads the next part of a file; `None` at its end.
pub type NextPart = dyn FnMut() -> Option<Result<(u64, Part), String>> + Send;

/// Part of a file.
pub enum Part {
    /// The columns `time_ns`, `op`, `offset`, `length`, and `placement` if there is one, equally long.
    Rows(Vec<Numbers>),
    /// Part of its text.
    Text(Vec<u8>),
}

/// Whole numbers of a column.
pub struct Numbers {
    /// The bits of each.
    pub values: Vec<u64>,
    /// Whether they have signs.
    pub are_signed: bool,
    /// For each row whether it has a value; `None` if all have.
    pub present: Option<Vec<bool>>,
}

static FILES: OnceLock<&'static dyn TableFiles> = OnceLock::new();

/// Say once what reads and writes files of tables in this process.
pub fn provide(files: &'static dyn TableFiles) {
    FILES.get_or_init(|| files);
}

/// What reads and writes files of tables.
pub(crate) fn files() -> Result<&'static dyn TableFiles, String> {
    let missing = "this program has no library for Parquet and Arrow; coflash's package for Python has";
    FILES.get().copied().ok_or_else(|| missing.to_owned())
}

/// Whether a file that begins with `ahead` is of Parquet.
pub(crate) fn is_parquet(ahead: &[u8]) -> bool {
    ahead.starts_with(b"PAR1")
}

/// Whether a file that begins with `ahead` is a file or a stream of Arrow.
pub(crate) fn is_arrow(ahead: &[u8]) -> bool {
    // A stream begins with a message: a mark, then the length of its metadata, which are short.
    let is_stream = |length: &[u8; 4]| {
        let length = u32::from_le_bytes(*length);
        length.is_multiple_of(8) && (8..1 << 24).contains(&length)
    };
    let stream = ahead.strip_prefix(&[0xff; 4]).and_then(<[u8]>::first_chunk);
    ahead.starts_with(b"ARROW1") || stream.is_some_and(is_stream)
}

/// Whether a file on disk is one of tables.
#[must_use]
pub fn is_table_file(file: &str) -> bool {
    let mut head = Vec::new();
    let mut read = || std::fs::File::open(file).and_then(|file| file.take(8).read_to_end(&mut head));
    Path::new(file).is_file() && read().is_ok() && (is_parquet(&head) || is_arrow(&head))
}

/// A stream of bytes to a file that another thread writes.
pub struct FilePipe {
    /// `None` at its end.
    bytes: Option<SyncSender<Vec<u8>>>,
    remarks: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

/// The other end: reads what was written.
pub struct Stream {
    bytes: Receiver<Vec<u8>>,
    ahead: Cursor<Vec<u8>>,
    remarks: Arc<Mutex<Vec<String>>>,
}

impl FilePipe {
    /// Begin a file in a format.
    ///
    /// # Errors
    /// Nothing in this program writes such files.
    pub fn create(file: &Path, format: &'static str) -> io::Result<Self> {
        let files = files().map_err(io::Error::other)?;
        let (bytes, receiver) = sync_channel(2);
        let remarks = Arc::default();
        let stream = Stream { bytes: receiver, ahead: Cursor::default(), remarks: Arc::clone(&remarks) };
        let file: PathBuf = file.to_owned();
        let thread = thread::spawn(move || files.write(stream, &file, format));
        Ok(Self { bytes: Some(bytes), remarks, thread: Some(thread) })
    }

    /// End the file, with remarks on its table.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, remarks: &[String]) -> io::Result<()> {
        *self.remarks.lock().unwrap_or_else(PoisonError::into_inner) = remarks.to_vec();
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        self.bytes = None;
        let written = self.thread.take().map(JoinHandle::join);
        match written {
            Some(Ok(Err(problem))) => Err(io::Error::other(problem)),
            Some(Err(_)) => Err(io::Error::other("what writes the file has failed")),
            Some(Ok(Ok(()))) | None => Ok(()),
        }
    }
}

impl Write for FilePipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.as_ref().is_none_or(|sender| sender.send(bytes.to_vec()).is_err()) {
            // The thread that wrote the file has ended, and says why.
            self.close()?;
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for FilePipe {
    fn drop(&mut self) {
        // The file is not wanted any more.
        let _ = self.close();
    }
}

impl Stream {
    /// Take the remarks on the table, known at its end: who reads the table sees its last row before they are given.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        while self.bytes.recv().is_ok() {}
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.position() == self.ahead.get_ref().len() as u64 {
            self.ahead = Cursor::new(self.bytes.recv().unwrap_or_default());
        }
        self.ahead.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn remarks_that_come_after_the_end_of_the_table_are_waited_for() {
        let (bytes, receiver) = sync_channel(2);
        let remarks: Arc<Mutex<Vec<String>>> = Arc::default();
        let stream = Stream { bytes: receiver, ahead: Cursor::default(), remarks: Arc::clone(&remarks) };
        let writer = thread::spawn(move || {
            bytes.send(b"rows".to_vec()).unwrap();
            thread::sleep(Duration::from_millis(50));
            remarks.lock().unwrap().push("late".to_owned());
        });
        assert_eq!(stream.remarks(), ["late"]);
        writer.join().unwrap();
    }
}
