//! A disk in memory.

use super::Disk;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryDisk(Mutex<Vec<u8>>);

impl MemoryDisk {
    /// Create a disk with contents.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(Mutex::new(bytes))
    }

    /// A copy of the contents.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for MemoryDisk {
    fn clone(&self) -> Self {
        Self::new(self.to_vec())
    }
}

impl Disk for MemoryDisk {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let all = self.bytes();
        let start = (offset as usize).min(all.len());
        let there = bytes.len().min(all.len() - start);
        bytes[..there].copy_from_slice(&all[start..start + there]);
        bytes[there..].fill(0);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut all = self.bytes();
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if all.len() < end {
            all.resize(end, 0);
        }
        all[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }
}
