//! The files of a container, or substitutes for them.

use crate::read_ahead::ReadAhead;
use rustix::fs::{FlockOperation, OFlags, SeekFrom, flock, seek};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that survive a loss of power after a sync. A sector of [`SECTOR_BYTES`] is written whole or not at
/// all; other writes between two syncs may be lost or kept in any order.
#[auto_impl::auto_impl(&)]
pub trait Disk {
    /// Read `bytes.len()` bytes at `offset`. Past the end there are zeros.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Write bytes at `offset`; the file grows where necessary.
    ///
    /// # Errors
    /// The bytes cannot be written, or not all of them.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Make all written data durable.
    ///
    /// # Errors
    /// A failure: it is not known how much is durable.
    fn sync(&self) -> io::Result<()>;

    /// The size in bytes.
    ///
    /// # Errors
    /// The size is not known.
    fn size_bytes(&self) -> io::Result<u64>;

    /// A place in a range behind which it has only zeros: its end, where a nearer one is not known.
    fn data_end(&self, range: &Range<u64>) -> u64 {
        range.end
    }
}

/// The unit of an atomic write.
pub const SECTOR_BYTES: usize = 512;

/// The two files of a container.
#[derive(Clone, Debug, Default)]
pub struct Disks<D> {
    /// The data of flash pages and of cache slots.
    pub data: D,
    /// All other parts: the superblock, the journal, and the tables of blocks, pages, words and slots.
    pub metadata: D,
}

impl Disks<FileDisk> {
    /// The names of the two files.
    const NAMES: [&'static str; 2] = ["data", "metadata"];

    /// Create the files in a folder that exists.
    ///
    /// # Errors
    /// A file of that name exists, or cannot be created. Then neither file is left.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let [data, metadata] = Self::NAMES.map(|name| folder.join(name));
        let disks = Self {
            metadata: FileDisk::create(&metadata)?,
            data: FileDisk::create(&data).inspect_err(|_| {
                // A failed removal is ignored: the error of the second file is returned.
                let _ = std::fs::remove_file(&metadata);
            })?,
        };
        // The names are durable, too.
        File::open(folder)?.sync_all()?;
        Ok(disks)
    }

    /// Open the files of a folder.
    ///
    /// # Errors
    /// A file is missing, is a link, or is in use.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let [data, metadata] = Self::NAMES.map(|name| FileDisk::open(&folder.join(name)));
        Ok(Self { data: data?, metadata: metadata? })
    }
}

/// A file that is locked for this process.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    /// Why it cannot be written: the host has it for reading only.
    refusal: Option<ErrorKind>,
    read_ahead: ReadAhead,
}

impl FileDisk {
    /// Create a file that only its owner may read and write.
    ///
    /// # Errors
    /// The name is taken, or the file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::locked(OpenOptions::new().create_new(true).mode(0o600), path)
    }

    /// Open a file; for reading only, where the host allows no more.
    ///
    /// # Errors
    /// It does not exist, is a link, or another process has it open.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::locked(&mut OpenOptions::new(), path)
    }

    fn locked(options: &mut OpenOptions, path: &Path) -> io::Result<Self> {
        let because = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let options = options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let (file, refusal) = match options.open(path) {
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                let reading = options.write(false).create_new(false).open(path);
                (reading.map_err(because)?, Some(error.kind()))
            }
            opened => (opened.map_err(because)?, None),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { read_ahead: ReadAhead::instead_of_the_system(&file), file, refusal }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let problem = format!("{}: another process has it open", path.display());
                Err(io::Error::new(ErrorKind::ResourceBusy, problem))
            }
            Err(error) => Err(because(error.into())),
        }
    }
}

impl Disk for FileDisk {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_ahead.before(&self.file, offset, bytes.len() as u64);
        match self.file.read_exact_at(bytes, offset) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let there = self.size_bytes()?.saturating_sub(offset).min(bytes.len() as u64) as usize;
                bytes[there..].fill(0);
                self.file.read_exact_at(&mut bytes[..there], offset)
            }
            done => done,
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.refusal {
            Some(kind) => Err(kind.into()),
            None => self.file.write_all_at(bytes, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// After its last hole.
    fn data_end(&self, range: &Range<u64>) -> u64 {
        let (mut at, mut end) = (range.start, range.start);
        while at < range.end {
            match seek(&self.file, SeekFrom::Data(at)) {
                Ok(data) if data < range.end => {
                    let Ok(hole) = seek(&self.file, SeekFrom::Hole(data)) else { return range.end };
                    (at, end) = (hole, hole.min(range.end));
                }
                Ok(_) | Err(rustix::io::Errno::NXIO) => break,
                Err(_) => return range.end,
            }
        }
        end
    }
}
