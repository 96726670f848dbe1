//! The counters of a trace, from which a workload is fitted.

use super::accesses::Accesses;
use super::distributions::SizeCounts;
use super::flows;
use crate::info::Pages;
use coflash_workload::synthetic::reuse_flows::ReuseFlowsConfig;
use coflash_workload::synthetic::size::{ByOpConfig, ChoiceConfig};
use coflash_workload::{Op, Request};

const PAGES_PER_REQUEST_MAX_BYTES: u64 = 256 << 20;

/// The most pages that are tracked; see [`Pages`].
const PAGES_MAX: usize = 1 << 20;

/// The counters of one pass.
pub(super) struct Counters {
    page_bytes: u64,
    /// Of reads, writes and trims.
    sizes: [SizeCounts; 3],
    /// Of those at least half of whose pages are new, and of the others, counted in pages.
    new_sizes: [SizeCounts; 3],
    reused_sizes: [SizeCounts; 3],
    pages: Pages,
    pub(super) accesses: Accesses,
    /// Requests by the largest power of two, 2^index bytes, that divides their start address.
    aligned: [u64; 64],
}

impl Counters {
    pub(super) fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            sizes: Default::default(),
            new_sizes: Default::default(),
            reused_sizes: Default::default(),
            pages: Pages::new(PAGES_MAX),
            accesses: Accesses::new(page_bytes),
            aligned: [0; 64],
        }
    }

    pub(super) fn add(&mut self, request: &Request) {
        if request.op == Op::Flush {
            return;
        }
        let op = request.op as usize;
        let (start, end) = (request.offset, request.offset + request.length);
        self.sizes[op].add(request.length);
        self.aligned[(start.trailing_zeros() as usize).min(63)] += 1;
        let first_page = start / self.page_bytes;
        let last_page = (end - 1).min(start + PAGES_PER_REQUEST_MAX_BYTES) / self.page_bytes;
        self.accesses.add(request, first_page, last_page);
        let known = (first_page..=last_page).filter_map(|page| self.pages.is_new(page));
        let (new, all) = known.fold((0, 0_u64), |(new, all), is_new| (new + u64::from(is_new), all + 1));
        if all > 0 && new * 2 >= all {
            self.new_sizes[op].add(request.length);
        } else if all > 0 {
            self.reused_sizes[op].add((last_page - first_page + 1) * self.page_bytes);
        }
        if request.op != Op::Trim {
            (first_page..=last_page).for_each(|page| self.pages.access(page, op));
        }
    }

    /// The generator of addresses.
    pub(super) fn generator(&self) -> ReuseFlowsConfig {
        flows::config(&self.accesses, self.align(), self.by_op(&self.reused_sizes))
    }

    /// The sizes of each operation at new pages.
    pub(super) fn size(&self) -> ByOpConfig {
        self.by_op(&self.new_sizes)
    }

    /// The sizes of each operation; for one without such requests, all its sizes, or those of another.
    fn by_op(&self, sizes: &[SizeCounts; 3]) -> ByOpConfig {
        let [read, write, trim] = [0, 1, 2].map(|op| {
            let given = [&sizes[op], &self.sizes[op]].into_iter().chain(&self.sizes);
            let sizes = given.into_iter().find(|sizes| sizes.total() > 0);
            ChoiceConfig { sizes: sizes.map_or_else(Vec::new, SizeCounts::choice) }
        });
        ByOpConfig { read, write, trim }
    }

    /// The largest power of two, from 512 bytes to a page, to which at least 99 of 100 requests are aligned.
    pub(super) fn align(&self) -> u64 {
        let at_least = |align: u64| self.aligned[align.trailing_zeros() as usize..].iter().sum::<u64>();
        let mut align = self.page_bytes;
        while align > 512 && at_least(align) * 100 < at_least(1) * 99 {
            align /= 2;
        }
        align
    }
}
