//! The pages in the controller's memory: the page of the host's request, the page of the last read, and a
//! work buffer.

use std::ops::Range;

/// Buffers of a page each.
#[derive(Debug)]
pub(crate) struct PageBuffers {
    /// The host's page, and the part of it that the request covers.
    pub(crate) host: Vec<u8>,
    pub(crate) covered: Range<usize>,
    /// The data of the last read that waits for the host's part.
    pub(crate) merged: Vec<u8>,
    /// Whether that data was damaged.
    pub(crate) merged_is_damaged: bool,
    /// The page to be written. Copies by GC use this buffer, too, and leave the other two alone.
    pub(crate) work: Vec<u8>,
}

/// The contents of [`PageBuffers::work`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    /// The expected checksum.
    pub(crate) checksum: u32,
    /// Whether the data does not match it.
    pub(crate) is_damaged: bool,
}

impl PageBuffers {
    pub(crate) fn new(page_bytes: usize) -> Self {
        let page = || vec![0; page_bytes];
        Self { host: page(), covered: 0..page_bytes, merged: page(), merged_is_damaged: false, work: page() }
    }

    /// Whether the request covers the whole page.
    pub(crate) fn is_covered(&self) -> bool {
        self.covered == (0..self.host.len())
    }

    /// Put the part of the request over the page to be written.
    pub(crate) fn overlay(&mut self) {
        self.work[self.covered.clone()].copy_from_slice(&self.host[self.covered.clone()]);
    }

    /// Compute the checksum of the page to be written. Damaged data gets a checksum that does not match: it
    /// stays damaged.
    pub(crate) fn sum(&self, is_damaged: bool) -> Loaded {
        let checksum = crc32c::crc32c(&self.work);
        Loaded { checksum: if is_damaged { !checksum } else { checksum }, is_damaged }
    }

    /// Check the page to be written, which was read together with its checksum.
    pub(crate) fn carry(&self, checksum: u32) -> Loaded {
        Loaded { checksum, is_damaged: crc32c::crc32c(&self.work) != checksum }
    }
}
