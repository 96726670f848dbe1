//! Atomic writes of files: under a temporary name in the same folder, synced, then renamed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What tells the temporary files of this module from those of others.
const MARK: &str = ".coflash-";

/// A file being written. A drop before [`commit`](Self::commit) leaves the old file.
pub struct AtomicFile {
    file: File,
    /// Where it is written.
    place: PathBuf,
    /// The temporary and the final name; `None` for a pipe or a device: these are written directly.
    rename: Option<(PathBuf, PathBuf)>,
}

impl AtomicFile {
    /// Create the temporary file for `path`.
    ///
    /// # Errors
    /// An error of the file system; a path that is a folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path).ok();
        if about.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; give the name of a file"));
        }
        if about.as_ref().is_some_and(|about| !about.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self { file, place: path.to_owned(), rename: None });
        }
        // Replace the target of a link, not the link.
        let last = if about.is_some() { path.canonicalize()? } else { path.to_owned() };
        let not_a_name = || io::Error::new(io::ErrorKind::InvalidFilename, "is not the name of a file");
        let name = last.file_name().ok_or_else(not_a_name)?.to_owned();
        let mut attempt = 0;
        loop {
            let mut temporary = OsString::from(".");
            temporary.push(&name);
            temporary.push(format!("{MARK}{}-{attempt}", std::process::id()));
            let temporary = last.with_file_name(temporary);
            match File::create_new(&temporary) {
                Ok(file) => {
                    // A file system without locks keeps what is left of a killed process.
                    let _ = file.lock();
                    // Another process may have found it before it was locked.
                    if temporary.exists() {
                        return Ok(Self { file, place: temporary.clone(), rename: Some((temporary, last)) });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Remove what processes that were killed left of `path`: temporary files that no process holds.
    pub fn clear(path: &Path) {
        let last = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (Some(folder), Some(name)) = (last.parent(), last.file_name().and_then(OsStr::to_str)) else {
            return;
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let is_left = |file: &OsStr| {
            let numbers = file.to_str()?.strip_prefix('.')?.strip_prefix(name)?.strip_prefix(MARK)?;
            numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-').then_some(())
        };
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            if is_left(&file.file_name()).is_some()
                && file.file_type().is_ok_and(|kind| kind.is_file())
                && File::open(file.path()).is_ok_and(|left| left.try_lock().is_ok())
            {
                // What cannot be removed harms nobody.
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// The place of the file, for another library that writes to it.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn hand_over(&self) -> io::Result<&Path> {
        // On Windows nobody else writes to a file that is locked.
        if cfg!(windows) {
            self.file.unlock()?;
        }
        Ok(&self.place)
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
        fs::rename(temporary, last)?;
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

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.rename {
            // A failed clean-up cannot be handled further.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_and_what_another_one_fills_stays() {
        let folder = std::env::temp_dir().join(format!("coflash-atomic-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("kept");
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
            names.sort();
            names
        };
        for name in [".kept.coflash-77-0", ".kept.77-0", ".kept.coflash-x", ".kept2.coflash-77-0"] {
            File::create(folder.join(name)).unwrap();
        }
        let filled = AtomicFile::create(&path).unwrap();
        let own = OsString::from(format!(".kept.coflash-{}-0", std::process::id()));
        (&filled).write_all(b"whole").unwrap();
        AtomicFile::clear(&path);
        let mut expected =
            [".kept.77-0", ".kept.coflash-x", ".kept2.coflash-77-0"].map(OsString::from).to_vec();
        expected.push(own);
        expected.sort();
        assert_eq!(names(), expected);
        filled.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        AtomicFile::clear(&folder.join("none/kept"));
        fs::remove_dir_all(folder).unwrap();
    }
}
