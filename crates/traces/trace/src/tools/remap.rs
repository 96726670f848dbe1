//! The remap of addresses, page by page, to fit a trace to a smaller device.
//!
//! A request with scattered pages is split into several simultaneous ones. `dense` numbers pages in the order
//! of their first read or write; a trim of an unused page is skipped. With `modulo`, different pages may
//! collide if the trace reaches beyond the size.

use crate::Result;
use crate::record::counted;
use coflash_base::Bytes;
use coflash_workload::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The rule for new addresses of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemapTo {
    /// Pages are numbered in the order of their first use.
    #[default]
    Dense,
    /// Page numbers are taken modulo a size.
    Modulo,
}

/// Options of a remap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remap {
    /// The rule for new addresses.
    pub to: RemapTo,
    /// The size of a page.
    pub page: Bytes,
    /// The size for `modulo`.
    pub size: Option<Bytes>,
}

impl Default for Remap {
    fn default() -> Self {
        Self { to: RemapTo::Dense, page: Bytes { count: 4096 }, size: None }
    }
}

/// Pages that one chunk of the dense table covers.
const CHUNK_PAGES: u64 = 1024;

type Chunk = Box<[Option<u32>; CHUNK_PAGES as usize]>;

enum Map {
    Dense(Dense),
    Modulo { bytes: u64 },
}

/// Pages in the order of their first use.
#[derive(Default)]
struct Dense {
    /// Looked up, never listed: a trim goes through `keys`, which are in order.
    chunks: FxHashMap<u64, Chunk>,
    keys: BTreeSet<u64>,
    used: u32,
}

/// A source with remapped addresses.
pub(super) struct Remapped<S> {
    source: S,
    page_bytes: u64,
    map: Map,
    input: Vec<Request>,
    /// The current request of `input`, and the number of its remapped bytes.
    next: usize,
    done_bytes: u64,
    untouched_trims: u64,
    split: u64,
}

impl<S: Source> Remapped<S> {
    pub(super) fn new(source: S, remap: &Remap) -> Result<Self> {
        let refuse = |problem: String| Err(WorkloadError::tool("remap", problem));
        let page = remap.page;
        if !page.count.is_power_of_two() || page.count > 1 << 30 {
            return refuse(format!("a page of {page} was given, a power of two up to 1GiB expected"));
        }
        let map = match (remap.to, remap.size) {
            (RemapTo::Dense, None) => Map::Dense(Dense::default()),
            (RemapTo::Dense, Some(_)) => {
                return refuse("a size was given, which goes with modulo only".to_owned());
            }
            (RemapTo::Modulo, Some(size))
                if size.count > 0 && size.count <= 1 << 63 && size.count.is_multiple_of(page.count) =>
            {
                Map::Modulo { bytes: size.count }
            }
            (RemapTo::Modulo, Some(size)) => {
                return refuse(format!(
                    "a size of {size} was given, a multiple of the page ({page}) expected"
                ));
            }
            (RemapTo::Modulo, None) => return refuse("modulo needs a size".to_owned()),
        };
        let (input, page_bytes) = (Vec::new(), page.count);
        Ok(Self { source, page_bytes, map, input, next: 0, done_bytes: 0, untouched_trims: 0, split: 0 })
    }

    /// Remap the next contiguous part of a request; `None` for a trim of an unused page.
    fn piece(&mut self, request: &Request) -> Result<Option<Request>> {
        let at = request.offset + self.done_bytes;
        let left = request.length - self.done_bytes;
        let (place, bytes) = match &mut self.map {
            Map::Modulo { bytes } => (Some(at % *bytes), left.min(*bytes - at % *bytes)),
            Map::Dense(dense) => {
                let pages = (at / self.page_bytes, (at + left - 1) / self.page_bytes);
                let (first, count) = dense.place(pages, request.op == Op::Trim)?;
                let within = at % self.page_bytes;
                let bytes = left.min((count * self.page_bytes) - within);
                (first.map(|first| u64::from(first) * self.page_bytes + within), bytes)
            }
        };
        if self.done_bytes == 0 {
            self.split += u64::from(bytes < left);
        }
        self.done_bytes += bytes;
        if place.is_none() {
            self.untouched_trims += 1;
        }
        Ok(place.map(|offset| Request { offset, length: bytes, ..*request }))
    }
}

impl Dense {
    /// The number of a page and one page; where it has none, at least as many pages have none: a trim may span the whole space.
    fn known(&self, page: u64) -> (Option<u32>, u64) {
        let key = page / CHUNK_PAGES;
        match self.chunks.get(&key) {
            Some(chunk) => (chunk[(page % CHUNK_PAGES) as usize], 1),
            None => (None, self.keys.range(key..).next().map_or(u64::MAX, |next| next * CHUNK_PAGES) - page),
        }
    }

    /// Give a page the next number.
    fn assign(&mut self, page: u64) -> Result<u32> {
        let (key, number) = (page / CHUNK_PAGES, self.used);
        let problem = "more than 2^32 pages are used: give larger pages, or modulo a size";
        self.used = number.checked_add(1).ok_or_else(|| WorkloadError::tool("remap", problem))?;
        let chunk = self.chunks.entry(key).or_insert_with(|| {
            self.keys.insert(key);
            Box::new([None; CHUNK_PAGES as usize])
        });
        chunk[(page % CHUNK_PAGES) as usize] = Some(number);
        Ok(number)
    }

    /// The new number of the first page, and the number of pages that stay contiguous after it. Assigns numbers to new
    /// pages, unless the request is a trim.
    fn place(&mut self, (page, last): (u64, u64), is_trim: bool) -> Result<(Option<u32>, u64)> {
        let (first, mut count) = match self.known(page) {
            (None, _) if !is_trim => (Some(self.assign(page)?), 1),
            known => known,
        };
        while page + count <= last {
            let next = first.map(|first| first + count as u32);
            match self.known(page + count) {
                (number, pages) if number == next => count += pages,
                // A new page continues the run only if the run ends with the highest number.
                (None, _) if !is_trim && next == Some(self.used) => {
                    self.assign(page + count)?;
                    count += 1;
                }
                _ => break,
            }
        }
        Ok((first, count.min(last + 1 - page)))
    }
}

impl<S: Source> Source for Remapped<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<()> {
        batch.clear();
        loop {
            while batch.len() < BATCH_REQUESTS
                && let Some(&request) = self.input.get(self.next)
            {
                if request.op == Op::Flush {
                    batch.push(request);
                } else {
                    batch.extend(self.piece(&request)?);
                }
                if self.done_bytes == request.length {
                    (self.next, self.done_bytes) = (self.next + 1, 0);
                }
            }
            if !batch.is_empty() {
                return Ok(());
            }
            self.source.next_batch(&mut self.input)?;
            self.next = 0;
            if self.input.is_empty() {
                return Ok(());
            }
        }
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&self.source)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.source.remarks();
        if let Map::Dense(Dense { used, .. }) = self.map {
            let size = Bytes { count: u64::from(used) * self.page_bytes };
            remarks.push(format!("{used} pages are used: the trace fits a device of {size}"));
        }
        remarks.extend(counted(self.split, "request", "split, as the pages lie apart"));
        remarks.extend(counted(self.untouched_trims, "trim", "of unused pages skipped, in whole or in part"));
        remarks
    }
}
