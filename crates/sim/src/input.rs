//! The files of a trace, and the digests by which a result names them.
//!
//! A file is digested before the run. What can be read only once, the standard input or a pipe, is digested while the
//! run reads it, and read to its end afterwards: the digest is always that of the whole.

use crate::error::RunError;
use crate::observer::{Observer, Phase};
use coflash_workload::trace::Tap;
use coflash_workload::{STANDARD_INPUT, WorkloadError};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// As the user named it.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// The digest of its bytes.
    pub sha256: String,
}

/// Read at a time where nobody looks at what is read.
const BLOCK_BYTES: usize = 1 << 20;

/// The inputs of a run.
pub(crate) struct Inputs<'a> {
    files: &'a [String],
    digests: Vec<Option<Input>>,
    /// Those that are digested as they are read, once they have been opened.
    streams: Arc<Mutex<Vec<Stream>>>,
}

impl<'a> Inputs<'a> {
    /// Of these files, none of them read yet.
    pub(crate) fn of(files: &'a [String]) -> Self {
        Self { files, digests: vec![None; files.len()], streams: Arc::default() }
    }

    /// One that can be read only once.
    pub(crate) fn stream(&self) -> Option<&'a str> {
        self.files.iter().map(String::as_str).find(|file| is_stream(file))
    }

    /// Sees what is read of the streams.
    pub(crate) fn tap(&self) -> Tap {
        let streams = Arc::clone(&self.streams);
        Arc::new(move |file, input| {
            let digested = Digested { input, digest: Sha256::new(), bytes: 0 };
            let digested = Arc::new(Mutex::new(digested));
            let opened = Stream { file: file.to_owned(), digested: Arc::clone(&digested) };
            streams.lock().unwrap_or_else(PoisonError::into_inner).push(opened);
            Box::new(Shared(digested))
        })
    }

    /// Digests the files that are none.
    pub(crate) fn digest_files(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        for (file, digest) in self.files.iter().zip(&mut self.digests) {
            if !is_stream(file) {
                let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
                let mut whole = Digested { input: Box::new(opened), digest: Sha256::new(), bytes: 0 };
                *digest = Some(whole.finish(file, observer)?);
            }
        }
        Ok(())
    }

    /// All of them, the streams read to their ends; whatever else reads them must be done.
    pub(crate) fn finish(self, observer: &mut dyn Observer) -> Result<Vec<Input>, RunError> {
        let mut streams = std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner));
        let each = self.files.iter().zip(self.digests).map(|(file, digest)| {
            if let Some(digest) = digest {
                return Ok(digest);
            }
            let Some(stream) = streams.iter().position(|stream| stream.file == *file) else {
                let problem = "it can be read only once, and the run ended before it was: leave it out";
                return Err(unusable(file, problem).into());
            };
            let digested = streams.swap_remove(stream).digested;
            let mut digested = digested.lock().unwrap_or_else(PoisonError::into_inner);
            digested.finish(file, observer)
        });
        each.collect()
    }
}

/// Whether it can be read only once. What is not there, or is a folder, is refused where it is opened.
fn is_stream(file: &str) -> bool {
    let special = || std::fs::metadata(file).is_ok_and(|about| !about.is_file() && !about.is_dir());
    file == STANDARD_INPUT || special()
}

fn unusable(file: &str, problem: impl Into<String>) -> WorkloadError {
    let file = if file == STANDARD_INPUT { "standard input" } else { file };
    WorkloadError::Trace { file: file.to_owned(), problem: problem.into() }
}

fn unreadable(file: &str, error: &io::Error) -> WorkloadError {
    unusable(file, error.to_string())
}

struct Stream {
    file: String,
    digested: Arc<Mutex<Digested>>,
}

/// An input that is digested as it is read.
struct Digested {
    input: Box<dyn Read + Send>,
    digest: Sha256,
    bytes: u64,
}

impl Digested {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.digest.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    /// Reads it to its end.
    fn finish(&mut self, file: &str, observer: &mut dyn Observer) -> Result<Input, RunError> {
        let mut buffer = vec![0; BLOCK_BYTES];
        loop {
            observer.progress(Phase::Inputs, None, 0)?;
            if self.read(&mut buffer).map_err(|error| unreadable(file, &error))? == 0 {
                break;
            }
        }
        let digest = std::mem::take(&mut self.digest).finalize();
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Input { file: file.to_owned(), bytes: self.bytes, sha256 })
    }
}

/// What the reader of the trace has of it.
struct Shared(Arc<Mutex<Digested>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}
