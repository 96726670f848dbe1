//! The pages in the controller's memory: the page of the host's request, the page of the last read, and a
//! work buffer.

use crate::cell::Data;
use crate::code::{Code, Looked};
use crate::error::Damage;
use std::io;
use std::ops::Range;

/// Buffers of a page each.
#[derive(Debug)]
pub(crate) struct PageBuffers {
    /// The host's page, where it was read from, and the part of it that the request covers.
    pub(crate) host: Vec<u8>,
    pub(crate) host_data: Option<Data>,
    pub(crate) covered: Range<usize>,
    /// The data of the last read that waits for the host's part.
    pub(crate) merged: Vec<u8>,
    /// Whether that data was damaged.
    pub(crate) merged_is_damaged: bool,
    /// The page to be written. Copies by GC use this buffer, too, and leave the other two alone.
    pub(crate) work: Vec<u8>,
    /// Why the page to be written was read as damaged, the last time that it was.
    pub(crate) damage: Damage,
}

/// The page to be written, in a buffer or at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    /// Where the data is already.
    pub(crate) place: Option<u32>,
    /// Whether its buffer is that of the host's page, and not [`PageBuffers::work`].
    pub(crate) is_host: bool,
    /// The expected code.
    pub(crate) code: Code,
    /// Whether the data is known not to match it.
    pub(crate) is_damaged: bool,
}

impl Loaded {
    /// Data that goes from one page or slot to another without being read.
    pub(crate) fn unread(Data { place, code }: Data) -> Self {
        Self { place: Some(place), is_host: false, code, is_damaged: false }
    }
}

impl PageBuffers {
    pub(crate) fn new(page_bytes: usize) -> Self {
        let page = || vec![0; page_bytes];
        Self {
            host: page(),
            host_data: None,
            covered: 0..page_bytes,
            merged: page(),
            merged_is_damaged: false,
            work: page(),
            damage: Damage::Changed,
        }
    }

    /// Whether the request covers the whole page.
    pub(crate) fn is_covered(&self) -> bool {
        self.covered == (0..self.host.len())
    }

    /// Put the part of the request over the page to be written.
    pub(crate) fn overlay(&mut self) {
        self.work[self.covered.clone()].copy_from_slice(&self.host[self.covered.clone()]);
    }

    /// Compute the code of the page to be written. Damaged data gets a code that does not match: it
    /// stays damaged.
    pub(crate) fn sum(&self, is_damaged: bool) -> Loaded {
        let code = Code::compute(&self.work);
        let code = if is_damaged { code.damaged() } else { code };
        Loaded { place: None, is_host: false, code, is_damaged }
    }

    /// The host's whole page is the page to be written.
    pub(crate) fn host(&self) -> Loaded {
        Loaded { place: None, is_host: true, code: Code::compute(&self.host), is_damaged: false }
    }

    /// The data of a loaded page, unless it is at a place.
    pub(crate) fn data(&self, loaded: Loaded) -> &[u8] {
        if loaded.is_host { &self.host } else { &self.work }
    }

    /// Check the page to be written, which was read from a place with its code. Unreadable data counts as damaged.
    pub(crate) fn loaded(&mut self, data: Data, read: io::Result<()>) -> Loaded {
        let is_damaged = read.is_err() || data.code.mend(&mut self.work) == Looked::Damaged;
        if is_damaged {
            self.damage = read.err().map_or(Damage::Changed, |error| Damage::Unread(error.to_string()));
        }
        Loaded { is_damaged, ..Loaded::unread(data) }
    }
}
