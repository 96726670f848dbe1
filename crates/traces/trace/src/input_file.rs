//! The files of a trace: on disk, on standard input, or in a tar archive.
//!
//! An archive is equivalent to its files in their order; empty files are skipped. Files merged by time are read in
//! parallel, so each file of an archive is opened separately. That is free for a plain archive; a compressed one is
//! decompressed again up to each of its files.

use crate::Result;
use crate::compression::{Compression, decompress};
use crate::input::{Counted, Input, Retold, SeekableFile, interrupted};
use coflash_base::suggest::unread;
use coflash_workload::WorkloadError;
use coflash_workload::recorded::{STANDARD_INPUT, Tap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The bytes of a file that identify an archive.
const TAR_BYTES: usize = 512;

/// A file of a trace.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    /// Its name in messages.
    pub(crate) name: String,
    /// Its size, if known, for the progress.
    pub(crate) bytes: Option<u64>,
    /// For a part of a file, where it begins.
    pub(crate) cut_at: Option<u64>,
    /// The path; `-` is the standard input.
    path: String,
    /// Of a file in the archive at `path`, or a part of the file there: where it begins in the content.
    within: Option<(u64, Compression)>,
}

/// Whether a file that begins with `head` is an archive.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.len() >= TAR_BYTES && &head[257..262] == b"ustar"
}

/// The name of a file in messages: one that was made of a frame is `frame`.
fn told(path: &str) -> &str {
    let digest = path.strip_suffix("-frame.parquet").and_then(|path| path.rsplit(['/', '\\']).next());
    let is_frame = |digest: &str| digest.len() == 32 && digest.bytes().all(|digit| digit.is_ascii_hexdigit());
    if digest.is_some_and(is_frame) { "frame" } else { path }
}

/// The files denoted by `path`. All of them can be opened.
pub(crate) fn input_files(path: &str) -> Result<Vec<InputFile>> {
    let whole = |name: &str, bytes| {
        let (name, path) = (told(name).to_owned(), path.to_owned());
        vec![InputFile { name, bytes, cut_at: None, path, within: None }]
    };
    if path == STANDARD_INPUT {
        return Ok(whole("standard input", None));
    }
    let refused = |error: io::Error| WorkloadError::trace(path, unread(Path::new(path), &error));
    let about = std::fs::metadata(path).map_err(refused)?;
    if about.is_dir() {
        let told = unread(Path::new(path), &io::ErrorKind::IsADirectory.into());
        let survey = "`coflash trace survey TABLE.parquet FOLDER` describes all of its files";
        return Err(WorkloadError::trace(path, format!("{told}; {survey}")));
    }
    if !about.is_file() {
        // Opening a pipe would block or consume its data.
        return Ok(whole(path, None));
    }
    let file = File::open(path).map_err(refused)?;
    let mut head = Vec::new();
    let archive = match decompress(Box::new(file)) {
        Ok((compression, plain)) => {
            let read = plain.take(TAR_BYTES as u64).read_to_end(&mut head);
            (read.is_ok() && is_archive(&head)).then_some(compression)
        }
        // A later read reports the error.
        Err(_) => None,
    };
    match archive {
        Some(compression) => archived_files(path, compression),
        None => Ok(whole(path, Some(about.len()))),
    }
}

/// The files in the archive at `path`.
fn archived_files(path: &str, compression: Compression) -> Result<Vec<InputFile>> {
    let list = || -> io::Result<Vec<Option<InputFile>>> {
        let mut file = File::open(path)?;
        // A plain archive permits seeking, a compressed one must be read.
        if compression == Compression::Plain {
            let mut archive = tar::Archive::new(&mut file);
            archive.entries_with_seek()?.map(|entry| archived_file(path, compression, entry?)).collect()
        } else {
            let mut archive = tar::Archive::new(decompress(Box::new(file))?.1);
            archive.entries()?.map(|entry| archived_file(path, compression, entry?)).collect()
        }
    };
    let files =
        list().map_err(|error| WorkloadError::trace(path, format!("the archive cannot be read: {error}")))?;
    let files: Vec<_> = files.into_iter().flatten().collect();
    if files.is_empty() {
        let problem = "the archive holds no files, or only empty ones: it has no requests";
        return Err(WorkloadError::trace(path, problem));
    }
    Ok(files)
}

/// The file of an archive's entry; `None` for an entry without content.
fn archived_file<R: Read>(
    path: &str,
    compression: Compression,
    entry: tar::Entry<'_, R>,
) -> io::Result<Option<InputFile>> {
    let (bytes, kind) = (entry.size(), entry.header().entry_type());
    if kind.is_gnu_sparse() {
        return Err(io::Error::other("it holds a sparse file, which is not supported"));
    }
    if !(kind.is_file() || kind.is_contiguous()) || bytes == 0 {
        return Ok(None);
    }
    let name = format!("{path}/{}", entry.path()?.display());
    let (path, within) = (path.to_owned(), Some((entry.raw_file_position(), compression)));
    Ok(Some(InputFile { name, bytes: Some(bytes), cut_at: None, path, within }))
}

impl InputFile {
    /// Open the file; its reads are added to `consumed_bytes`. Input that can be read only once passes through `tap`.
    pub(crate) fn open(&self, consumed_bytes: &Arc<AtomicU64>, tap: Option<&Tap>) -> Result<Input> {
        let refused =
            |error: io::Error| WorkloadError::trace(&self.name, unread(Path::new(&self.name), &error));
        let once = |input: Input| match tap {
            Some(tap) => tap(&self.path, input),
            None => input,
        };
        if self.path == STANDARD_INPUT {
            return Ok(once(Box::new(Retold(io::stdin(), interrupted))));
        }
        let mut file = File::open(&self.path).map_err(refused)?;
        let input: Input = match (self.within, self.bytes) {
            (None, None) => once(Box::new(Retold(file, interrupted))),
            (None, Some(_)) => Box::new(file),
            (Some((offset, Compression::Plain)), bytes) => {
                file.seek(SeekFrom::Start(offset)).map_err(refused)?;
                Box::new(file.take(bytes.unwrap_or(u64::MAX)))
            }
            (Some((offset, _)), bytes) => {
                let (_, mut plain) = decompress(Box::new(file)).map_err(refused)?;
                io::copy(&mut plain.by_ref().take(offset), &mut io::sink()).map_err(refused)?;
                Box::new(plain.take(bytes.unwrap_or(u64::MAX)))
            }
        };
        Ok(Box::new(Counted { input, consumed_bytes: Arc::clone(consumed_bytes) }))
    }

    /// The path of a plain file on disk, as a whole.
    fn plain(&self) -> Option<String> {
        (self.within.is_none() && self.bytes.is_some()).then(|| self.path.clone())
    }

    /// The beginning of the first line after some bytes of a plain file; `None` if none begins there.
    pub(crate) fn line_after(&self, bytes: u64) -> Option<u64> {
        let mut file = File::open(self.plain()?).ok()?;
        file.seek(SeekFrom::Start(bytes)).ok()?;
        let rest = BufReader::new(file).skip_until(b'\n').ok()?;
        Some(bytes + rest as u64)
    }

    /// A range of a plain file as a file.
    pub(crate) fn cut(&self, range: Range<u64>) -> Option<Self> {
        let (name, path, Range { start, end }) = (self.name.clone(), self.plain()?, range);
        let within = Some((start, Compression::Plain));
        Some(Self { name, bytes: Some(end - start), cut_at: Some(start), path, within })
    }

    /// The file for a reader that opens it itself; `None` unless it is a plain file on disk.
    pub(crate) fn seekable(&self, consumed_bytes: &Arc<AtomicU64>) -> Option<SeekableFile> {
        let (path, bytes) = (self.plain()?, self.bytes?);
        Some(SeekableFile { path, bytes, consumed_bytes: Arc::clone(consumed_bytes) })
    }
}
