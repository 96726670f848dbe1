//! The input files of a run, identified by their digests.
//!
//! A file is digested before the run. An input that can be read only once (the standard input, a pipe) is digested
//! while the run reads it, and read to its end afterwards: the digest always covers the whole input.

use crate::error::RunError;
use crate::observer::{Observer, Phase};
use coflash_workload::WorkloadError;
use coflash_workload::recorded::{STANDARD_INPUT, Tap};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// The name given by the user.
    pub file: String,
    /// The size.
    pub bytes: u64,
    /// The digest of its bytes.
    pub sha256: String,
}

/// The buffer size of reads for the digest only.
const BLOCK_BYTES: usize = 1 << 20;

/// The inputs of a run.
pub(crate) struct Inputs<'a> {
    files: Cow<'a, [String]>,
    digests: Vec<Option<Input>>,
    /// The opened inputs that are digested during the run.
    streams: Arc<Mutex<Vec<Stream>>>,
}

impl<'a> Inputs<'a> {
    /// Create the inputs; no file is read yet. A browser has no files: requests that a page brings have no digest.
    pub(crate) fn new(files: &'a [String]) -> Self {
        let files = if cfg!(target_family = "wasm") { &[] } else { files };
        Self { files: files.into(), digests: vec![None; files.len()], streams: Arc::default() }
    }

    /// Set the files to those that the reader of the input lists: a job file includes others.
    pub(crate) fn set_files(&mut self, files: &[String]) {
        self.digests.resize(files.len(), None);
        self.files = Cow::Owned(files.to_vec());
    }

    /// Add an input that can be read only once.
    pub(crate) fn stream(&self) -> Option<&str> {
        self.files.iter().map(String::as_str).find(|file| is_stream(file))
    }

    /// The tap that digests the streams.
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

    /// Digest the regular files.
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

    /// The digests of the regular files, in order.
    pub(crate) fn digests(&self) -> Vec<String> {
        self.digests.iter().flatten().map(|input| input.sha256.clone()).collect()
    }

    /// Read the streams to their ends and return all inputs. The run must have released the streams.
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

/// Whether a path can be read only once. A missing file or a folder is refused when it is opened.
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

/// An input that is digested during the run.
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

    /// Read the input to its end.
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

/// The trace reader's handle of the input.
struct Shared(Arc<Mutex<Digested>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}
