//! The recorder of a session's trace.

use crate::contents_file;
use coflash_media::Contents;
use coflash_workload::{Op, Request};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name of the trace's format, which the trace reader knows.
pub(crate) const FORMAT: &str = "coflash";

/// The first line of a trace.
pub(crate) const HEADER: &str = "ns,op,offset,size\n";

/// A writer of a trace. The first error is kept until the end, so that no request is stopped by it.
pub struct Recorder {
    out: BufWriter<Box<dyn Write + Send>>,
    written: io::Result<()>,
    requests: u64,
    /// The folder for what restarts find.
    folder: Option<PathBuf>,
}

impl Recorder {
    /// Record to a new file, which only its owner may read, and what restarts find to files in a folder.
    ///
    /// # Errors
    /// The file is there already, or cannot be created.
    pub fn create(trace: &Path, folder: &Path) -> io::Result<Self> {
        Ok(Self { folder: Some(folder.to_owned()), ..Self::to(private_file(trace)?) })
    }

    /// Record to a writer.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        let mut out = BufWriter::new(Box::new(out) as Box<dyn Write + Send>);
        let written = out.write_all(HEADER.as_bytes());
        Self { out, written, requests: 0, folder: None }
    }

    /// The number of recorded requests.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Keep what a restart of the device has found.
    pub(crate) fn keep_contents(&mut self, restart: usize, contents: &Contents) {
        let Some(folder) = &self.folder else { return };
        if self.written.is_ok() {
            let file = private_file(&restart_file(folder, restart));
            self.written = file.and_then(|file| contents_file::write(contents, file));
        }
    }

    pub(crate) fn record(&mut self, request: &Request) {
        self.requests += 1;
        let Request { arrival, offset, length, op, .. } = request;
        let op = match op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        };
        if self.written.is_ok() {
            self.written = writeln!(self.out, "{},{op},{offset},{length}", arrival.ns);
        }
    }

    /// Record nothing from here on; requests are still counted.
    pub(crate) fn stop(&mut self) {
        *self = Self { requests: self.requests, ..Self::to(io::sink()) };
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.written?;
        self.out.flush()
    }
}

/// The contents that a restart of the device has found, counted from 1.
pub(crate) fn restart_file(folder: &Path, restart: usize) -> PathBuf {
    folder.join(format!("restart-{restart:04}.zst"))
}

/// Create a file that only its owner may read; no link is followed.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
