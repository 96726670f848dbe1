//! The recorder of a session's trace.

use coflash_workload::{Op, Request};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The name of the trace's format, which the trace reader knows.
pub(crate) const FORMAT: &str = "coflash";

/// A writer of a trace. The first error is kept until the end, so that no request is stopped by it.
pub struct Recorder {
    out: BufWriter<Box<dyn Write + Send>>,
    written: io::Result<()>,
}

impl Recorder {
    /// Record to a new file, which only its owner may read.
    ///
    /// # Errors
    /// The file is there already, or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::to(private_file(path)?))
    }

    /// Record to a writer.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        let mut out = BufWriter::new(Box::new(out) as Box<dyn Write + Send>);
        let written = writeln!(out, "ns,op,offset,size");
        Self { out, written }
    }

    pub(crate) fn record(&mut self, request: &Request) {
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

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.written?;
        self.out.flush()
    }
}

/// Create a file that only its owner may read; no link is followed.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
