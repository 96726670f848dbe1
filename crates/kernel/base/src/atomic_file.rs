//! Atomic writes of files: under a temporary name in the same folder, synced, then renamed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file being written. A drop before [`commit`](Self::commit) leaves the old file.
pub struct AtomicFile {
    file: File,
    /// The temporary and the final name; `None` for a pipe or a device: these are written directly.
    rename: Option<(PathBuf, PathBuf)>,
}

impl AtomicFile {
    /// Create the temporary file for `path`.
    ///
    /// # Errors
    /// An error of the file system; a path that is a folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        let about = std::fs::metadata(path).ok();
        if about.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; give the name of a file"));
        }
        if about.as_ref().is_some_and(|about| !about.is_file()) {
            return Ok(Self { file: OpenOptions::new().write(true).open(path)?, rename: None });
        }
        // Replace the target of a link, not the link.
        let last = if about.is_some() { path.canonicalize()? } else { path.to_owned() };
        let not_a_name = || io::Error::new(io::ErrorKind::InvalidFilename, "is not the name of a file");
        let name = last.file_name().ok_or_else(not_a_name)?.to_owned();
        let mut attempt = 0;
        loop {
            let mut temporary = std::ffi::OsString::from(".");
            temporary.push(&name);
            temporary.push(format!(".{}-{attempt}", std::process::id()));
            let temporary = last.with_file_name(temporary);
            match File::create_new(&temporary) {
                Ok(file) => return Ok(Self { file, rename: Some((temporary, last)) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Rename the file to its final name. Returns its size in bytes, 0 for a pipe or a device.
    ///
    /// # Errors
    /// An error of the file system; then nothing was replaced.
    pub fn commit(mut self) -> io::Result<u64> {
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
        // A synced folder makes the name durable; some systems cannot open folders.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(bytes)
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

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
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
