//! Where the files of a trace lie: on disk, on standard input, or in a tar archive.
//!
//! An archive stands for its files, in the order in which it holds them; empty ones say nothing and are passed over.
//! Files that are merged by time are read at the same time, and an archive cannot be read at several places at once: each
//! of its files is opened for itself. In a plain archive that costs nothing; a compressed one is decompressed up to each
//! of its files anew.

use crate::compressed::{Compression, decompress};
use crate::formats::Input;
use crate::request::WorkloadError;
use crate::trace::Tap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name by which a user asks for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// The first bytes of an archive that tell it is one.
const TAR_BYTES: usize = 512;

/// Where a file of a trace lies.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// As messages call it.
    pub(crate) name: String,
    /// Its size as far as progress goes; nothing where that is not known.
    pub(crate) bytes: Option<u64>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Input,
    Path(String),
    /// Part of the archive at `path`, behind `offset` bytes of its content.
    Member {
        path: String,
        offset: u64,
        bytes: u64,
        compression: Compression,
    },
}

pub(crate) fn unusable(file: &str, problem: impl Into<String>) -> WorkloadError {
    WorkloadError::Trace { file: file.to_owned(), problem: problem.into() }
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission to read it is denied".to_owned(),
        _ => format!("cannot be opened: {error}"),
    }
}

/// Whether the content of a file that begins with `head` is an archive.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.len() >= TAR_BYTES && &head[257..262] == b"ustar"
}

/// The files that `path` stands for, all of which can be opened.
pub(crate) fn find(path: &str) -> Result<Vec<Place>, WorkloadError> {
    if path == STANDARD_INPUT {
        return Ok(vec![Place { name: "standard input".to_owned(), bytes: None, kind: Kind::Input }]);
    }
    let refused = |error: io::Error| unusable(path, explain(&error));
    let about = std::fs::metadata(path).map_err(refused)?;
    if about.is_dir() {
        return Err(unusable(path, "a directory, a file expected"));
    }
    let one = |bytes| vec![Place { name: path.to_owned(), bytes, kind: Kind::Path(path.to_owned()) }];
    if !about.is_file() {
        // Opening a pipe would wait for its writer, or steal from it.
        return Ok(one(None));
    }
    let file = File::open(path).map_err(refused)?;
    let mut head = Vec::new();
    let archive = match decompress(Box::new(file)) {
        Ok((compression, plain)) => {
            let read = plain.take(TAR_BYTES as u64).read_to_end(&mut head);
            (read.is_ok() && is_archive(&head)).then_some(compression)
        }
        // What is wrong with it is said where it is read.
        Err(_) => None,
    };
    match archive {
        Some(compression) => members(path, compression),
        None => Ok(one(Some(about.len()))),
    }
}

/// The files in the archive at `path`.
fn members(path: &str, compression: Compression) -> Result<Vec<Place>, WorkloadError> {
    let list = || -> io::Result<Vec<Option<Place>>> {
        let mut file = File::open(path)?;
        // A plain archive is walked by seeking, a compressed one has to be read.
        if compression == Compression::Plain {
            let mut archive = tar::Archive::new(&mut file);
            archive.entries_with_seek()?.map(|entry| member(path, compression, entry?)).collect()
        } else {
            let mut archive = tar::Archive::new(decompress(Box::new(file))?.1);
            archive.entries()?.map(|entry| member(path, compression, entry?)).collect()
        }
    };
    let places = list().map_err(|error| unusable(path, format!("the archive cannot be read: {error}")))?;
    let places: Vec<_> = places.into_iter().flatten().collect();
    if places.is_empty() {
        return Err(unusable(path, "the archive holds no files, or only empty ones: it has no requests"));
    }
    Ok(places)
}

/// Where the content of an entry lies, if it has any.
fn member<R: Read>(
    path: &str,
    compression: Compression,
    entry: tar::Entry<'_, R>,
) -> io::Result<Option<Place>> {
    let (bytes, kind) = (entry.size(), entry.header().entry_type());
    if kind.is_gnu_sparse() {
        return Err(io::Error::other("it holds a sparse file, which is not supported"));
    }
    if !(kind.is_file() || kind.is_contiguous()) || bytes == 0 {
        return Ok(None);
    }
    let name = format!("{path}/{}", entry.path()?.display());
    let (path, offset) = (path.to_owned(), entry.raw_file_position());
    Ok(Some(Place { name, bytes: Some(bytes), kind: Kind::Member { path, offset, bytes, compression } }))
}

impl Place {
    /// Opens the file; what is read of it, as far as progress goes, is added to `consumed_bytes`. What can be read only
    /// once goes through `tap`.
    pub(crate) fn open(
        &self,
        consumed_bytes: &Arc<AtomicU64>,
        tap: Option<&Tap>,
    ) -> Result<Input, WorkloadError> {
        let refused = |error: io::Error| unusable(&self.name, explain(&error));
        let counted =
            |input: Input| Box::new(Counted { input, consumed_bytes: Arc::clone(consumed_bytes) }) as Input;
        let once = |path: &str, input: Input| match tap {
            Some(tap) => tap(path, input),
            None => input,
        };
        match &self.kind {
            Kind::Input => Ok(once(STANDARD_INPUT, Box::new(Waiting(io::stdin())))),
            Kind::Path(path) => {
                let file = File::open(path).map_err(refused)?;
                let whole: Input = match self.bytes {
                    Some(_) => Box::new(file),
                    None => once(path, Box::new(Waiting(file))),
                };
                Ok(counted(whole))
            }
            Kind::Member { path, offset, bytes, compression } => {
                let mut file = File::open(path).map_err(refused)?;
                let content: Input = if *compression == Compression::Plain {
                    file.seek(SeekFrom::Start(*offset)).map_err(refused)?;
                    Box::new(file)
                } else {
                    let (_, mut plain) = decompress(Box::new(file)).map_err(refused)?;
                    io::copy(&mut plain.by_ref().take(*offset), &mut io::sink()).map_err(refused)?;
                    plain
                };
                Ok(counted(Box::new(content.take(*bytes))))
            }
        }
    }

    /// The file itself, where it is one and lies on disk as it is.
    pub(crate) fn file(&self, consumed_bytes: &Arc<AtomicU64>) -> Option<Result<CountedFile, WorkloadError>> {
        let Kind::Path(path) = &self.kind else {
            return None;
        };
        let open = || {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            Ok(CountedFile { file: Arc::new(file), bytes, consumed_bytes: Arc::clone(consumed_bytes) })
        };
        Some(open().map_err(|error| unusable(path, explain(&error))))
    }
}

/// An input that may let one wait, and so long that a signal must end it: it would be read on otherwise.
struct Waiting<R>(R);

impl<R: Read> Read for Waiting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => io::Error::other("interrupted"),
            _ => error,
        })
    }
}

/// An input that counts what is read of it.
struct Counted {
    input: Input,
    consumed_bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.consumed_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A file that is read at any place, and counts what is read of it.
pub(crate) struct CountedFile {
    file: Arc<File>,
    bytes: u64,
    consumed_bytes: Arc<AtomicU64>,
}

impl CountedFile {
    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What lies from byte `start` on.
    pub(crate) fn from(&self, start: u64) -> From {
        From { file: Arc::clone(&self.file), at: start, consumed_bytes: Arc::clone(&self.consumed_bytes) }
    }
}

/// A file from some byte on.
pub(crate) struct From {
    file: Arc<File>,
    at: u64,
    consumed_bytes: Arc<AtomicU64>,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        self.consumed_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
