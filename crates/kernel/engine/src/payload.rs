//! The data of requests, where the media holds bytes.

use coflash_media::HostPage;
use coflash_workload::Request;
use std::ops::Range;

/// The part of a request that lies in one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOfPage {
    /// Its bytes, relative to the beginning of the request.
    pub of_request: Range<usize>,
    /// Its first byte in the page.
    pub start: usize,
}

impl PartOfPage {
    /// The part of a request in the page of `bytes` bytes that begins at the address `page`.
    #[inline(always)]
    pub(crate) fn within(request: &Request, page: u64, bytes: u64) -> Self {
        let from = request.offset.max(page);
        let to = (request.offset + request.length).min(page + bytes);
        let of_request = (from - request.offset) as usize..(to - request.offset) as usize;
        Self { of_request, start: (from - page) as usize }
    }

    fn in_page(&self) -> Range<usize> {
        self.start..self.start + self.of_request.len()
    }
}

/// The data of a request, page by page.
pub trait Payload<M> {
    /// Give the media the data of the next page to be written.
    fn give(&mut self, part: PartOfPage, media: &mut M);

    /// Take the data of the page that the media has read; `None` for a page never written, or trimmed.
    fn take(&mut self, part: PartOfPage, media: Option<&M>);
}

/// No data, as in simulation.
impl<M> Payload<M> for () {
    #[inline(always)]
    fn give(&mut self, _: PartOfPage, _: &mut M) {}

    #[inline(always)]
    fn take(&mut self, _: PartOfPage, _: Option<&M>) {}
}

/// The same data, for a request that may be repeated.
impl<M, P: Payload<M>> Payload<M> for &mut P {
    fn give(&mut self, part: PartOfPage, media: &mut M) {
        (**self).give(part, media);
    }

    fn take(&mut self, part: PartOfPage, media: Option<&M>) {
        (**self).take(part, media);
    }
}

/// The data of a write.
impl<M: HostPage> Payload<M> for &[u8] {
    fn give(&mut self, part: PartOfPage, media: &mut M) {
        media.host_writes(part.start, &self[part.of_request]);
    }

    fn take(&mut self, _: PartOfPage, _: Option<&M>) {}
}

/// The destination of a read. Pages without data read as zeros.
impl<M: HostPage> Payload<M> for &mut [u8] {
    fn give(&mut self, _: PartOfPage, _: &mut M) {}

    fn take(&mut self, part: PartOfPage, media: Option<&M>) {
        let in_page = part.in_page();
        match media {
            Some(media) => self[part.of_request].copy_from_slice(&media.host_reads()[in_page]),
            None => self[part.of_request].fill(0),
        }
    }
}
