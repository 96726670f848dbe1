//! Atomic writes of files: under a temporary name in the same folder, synced, then renamed.

use coflash_workload::WorkloadError;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file being written. A drop before `commit` leaves nothing.
pub(super) struct AtomicFile {
    name: String,
    file: File,
    /// The temporary name and the final one; `None` for a pipe or a device, which is written directly.
    rename: Option<(PathBuf, PathBuf)>,
}

impl AtomicFile {
    /// Create the temporary file for `path`.
    pub(super) fn create(path: &str) -> Result<Self, WorkloadError> {
        let refused = |error: io::Error| WorkloadError::trace(path, format!("cannot be written: {error}"));
        let about = std::fs::metadata(path).ok();
        if about.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(WorkloadError::trace(path, "is a folder; give the name of a file"));
        }
        if about.as_ref().is_some_and(|about| !about.is_file()) {
            let file = OpenOptions::new().write(true).open(path).map_err(refused)?;
            return Ok(Self { name: path.to_owned(), file, rename: None });
        }
        // Replace the target of a link, not the link.
        let last =
            if about.is_some() { Path::new(path).canonicalize().map_err(refused)? } else { path.into() };
        let name = last
            .file_name()
            .ok_or_else(|| WorkloadError::trace(path, "is not the name of a file"))?
            .to_owned();
        for attempt in 0.. {
            let mut temporary = std::ffi::OsString::from(".");
            temporary.push(&name);
            temporary.push(format!(".{}-{attempt}", std::process::id()));
            let temporary = last.with_file_name(temporary);
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    return Ok(Self { name: path.to_owned(), file, rename: Some((temporary, last)) });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(error) => return Err(refused(error)),
            }
        }
        unreachable!("after a hundred attempts an error is returned")
    }

    /// Rename the file to its final name and return its size.
    pub(super) fn commit(mut self) -> Result<u64, WorkloadError> {
        let result = self.place();
        result.map_err(|error| self.failed(&error))
    }

    fn place(&mut self) -> io::Result<u64> {
        self.file.flush()?;
        let Some((temporary, last)) = &self.rename else {
            return Ok(0);
        };
        self.file.sync_all()?;
        let bytes = self.file.metadata()?.len();
        std::fs::rename(temporary, last)?;
        let folder = last.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        self.rename = None;
        File::open(folder)?.sync_all()?;
        Ok(bytes)
    }

    /// Create the error for the user.
    pub(super) fn failed(&self, error: &dyn std::fmt::Display) -> WorkloadError {
        WorkloadError::trace(&self.name, format!("cannot be written: {error}"))
    }
}

impl Write for &AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.file).flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.rename {
            // A failed clean-up cannot be handled further.
            let _ = std::fs::remove_file(temporary);
        }
    }
}
