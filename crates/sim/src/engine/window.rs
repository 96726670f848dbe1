//! The requests that are issued next, with their logical pages. Each page is looked up once, and the memory that it needs
//! is asked for before its request is issued.

use crate::address::{AddressMap, pages_of};
use coflash_base::{Ahead, Lpn};
use coflash_scenario::Scenario;
use coflash_workload::Request;
use std::ops::Range;

/// The most requests: the next one, and those that are looked at ahead of it; a power of two.
const REQUESTS: usize = (Ahead::Far.distance() + 1).next_power_of_two();

/// Pages of a request that are looked at ahead: more would push each other out of the processor's nearest cache.
const LOOK_PAGES: usize = 8;

/// A request that is issued soon.
#[derive(Clone, Debug)]
struct Expected {
    /// Its first byte, and the one after its last.
    offset: u64,
    end: u64,
    /// Its logical pages; some of them, if not all are on the device.
    lpns: Vec<Lpn>,
    fits: bool,
}

/// The next requests, in order.
#[derive(Clone, Debug)]
pub(super) struct Window {
    address: AddressMap,
    page_bytes: u64,
    /// The binary logarithm of `page_bytes`, where that is a power of two: a division takes as long as ten shifts.
    page_shift: Option<u32>,
    logical_bytes: u64,
    /// A ring. Its vectors are used again.
    ring: [Expected; REQUESTS],
    first: usize,
    len: usize,
}

impl Window {
    pub(super) fn new(scenario: &Scenario, logical_pages: u32) -> Self {
        let page_bytes = scenario.flash.page_size.count;
        Self {
            address: AddressMap::new(scenario.workload.remap, logical_pages),
            page_bytes,
            page_shift: page_bytes.is_power_of_two().then(|| page_bytes.trailing_zeros()),
            logical_bytes: u64::from(logical_pages) * page_bytes,
            ring: std::array::from_fn(|_| Expected { offset: 0, end: 0, lpns: Vec::new(), fits: true }),
            first: 0,
            len: 0,
        }
    }

    pub(super) fn logical_bytes(&self) -> u64 {
        self.logical_bytes
    }

    pub(super) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Pages assigned by a dense address map.
    pub(super) fn pages_touched(&self) -> Option<u64> {
        self.address.touched()
    }

    /// Enter a request's pages into the address map without expecting it, to count them.
    pub(super) fn touch(&mut self, request: &Request) {
        for page in self.pages(request) {
            self.address.page(page);
        }
    }

    /// The pages of a request, as the workload numbers them.
    #[inline(always)]
    pub(super) fn pages(&self, request: &Request) -> Range<u64> {
        let page_of = |byte| self.page_shift.map_or_else(|| byte / self.page_bytes, |shift| byte >> shift);
        pages_of(request, self.page_bytes, page_of)
    }

    /// Ask for the memory of the address map's entries of a request. Those of adjacent pages are adjacent.
    #[inline(always)]
    pub(super) fn look_up(&self, request: &Request) {
        self.address.prefetch(self.pages(request).start);
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Expect a request behind the others. There is room for those of the farthest look.
    #[inline(always)]
    pub(super) fn push(&mut self, request: &Request) {
        assert!(self.len < REQUESTS, "{REQUESTS} requests are expected already");
        let pages = self.pages(request);
        let Expected { offset, end, lpns, fits } = &mut self.ring[(self.first + self.len) % REQUESTS];
        self.len += 1;
        (*offset, *end) = (request.offset, request.offset + request.length);
        lpns.clear();
        // Also with remapped addresses: a longer request would overlap itself.
        *fits = request.length <= self.logical_bytes;
        for page in pages {
            let lpn = self.address.page(page).filter(|_| *fits);
            *fits &= lpn.is_some();
            let Some(lpn) = lpn else { break };
            lpns.push(lpn);
        }
    }

    /// Take the next request out; its pages are put into `lpns`. Returns whether all of them are on the device.
    #[inline(always)]
    pub(super) fn pop(&mut self, lpns: &mut Vec<Lpn>) -> bool {
        assert!(self.len > 0, "a request is issued after it is expected");
        let next = &mut self.ring[self.first];
        std::mem::swap(lpns, &mut next.lpns);
        (self.first, self.len) = ((self.first + 1) % REQUESTS, self.len - 1);
        next.fits
    }

    /// The first pages of a request `distance` behind the next one. None, if it continues the one before it: the processor
    /// prefetches adjacent memory by itself.
    #[inline(always)]
    pub(super) fn look(&self, distance: usize) -> &[Lpn] {
        if distance >= self.len {
            return &[];
        }
        let [before, looked] =
            [distance - 1, distance].map(|place| &self.ring[(self.first + place) % REQUESTS]);
        if looked.offset == before.end {
            return &[];
        }
        &looked.lpns[..looked.lpns.len().min(LOOK_PAGES)]
    }
}
