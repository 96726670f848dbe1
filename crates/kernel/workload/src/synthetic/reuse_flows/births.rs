//! The places of new pages.
//!
//! Pages that will be accessed next in the same window, by the same operation, lie together: a later request may then
//! cover pages of several earlier ones, as requests do that write back what was changed here and there. A region is filled
//! upwards by requests that continue one another, and downwards by the others, which so are adjacent, but no stream.

use super::{OPS, ReuseFlowsConfig, chance, weighted};
use crate::synthetic::draw::AliasTable;
use coflash_base::RandomStream;
use std::ops::Range;

/// The place of new pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The first page and the number of pages.
    pub(super) first: u64,
    pub(super) pages: u64,
    /// The first alignment unit and the end, both counted from the first page.
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The free places for new pages.
#[derive(Clone)]
pub(super) struct Births {
    page_units: u64,
    offsets: Option<AliasTable>,
    continues: AliasTable,
    windows: usize,
    /// The free pages of each region: by operation, window and operation of the next access; the last one is for all.
    regions: Vec<Range<u64>>,
}

impl Births {
    /// Divide `pages` among the regions.
    pub(super) fn new(config: &ReuseFlowsConfig, page_units: u64, pages: u64) -> Self {
        let windows = config.windows as usize;
        let mut births = Self {
            page_units,
            offsets: weighted(&config.offsets),
            continues: chance(config.sequential_share),
            windows,
            regions: vec![0..0; OPS.len() * (windows + 1) * OPS.len()],
        };
        for flow in config.flows.iter().filter(|flow| flow[2] == config.windows) {
            let region = births.region(flow[1] as usize, flow[4] as usize, flow[5] as usize);
            births.regions[region].end += u64::from(flow[7]);
        }
        let mut free = 0;
        for region in &mut births.regions {
            *region = free..free + region.end;
            free = region.end;
        }
        births.regions.push(free..pages.max(free));
        births
    }

    fn region(&self, op: usize, to: usize, next_op: usize) -> usize {
        (op * (self.windows + 1) + to) * OPS.len() + next_op
    }

    /// Take the place of a request of `units` by `op` that will be accessed next by `next_op` in the window `to`; a
    /// shorter one if there is less room, none without room or units.
    pub(super) fn place(
        &mut self,
        (op, to, next_op): (usize, usize, usize),
        units: u64,
        stream: &mut RandomStream,
    ) -> Option<Place> {
        if units == 0 {
            return None;
        }
        let begin = self.offsets.as_ref().map_or(0, |offsets| offsets.draw(stream) as u64);
        let pages = (begin + units).div_ceil(self.page_units);
        let continues = self.continues.draw(stream) == 1;
        let room = |region: &Range<u64>| region.end - region.start;
        let mut region = self.region(op, to, next_op);
        if room(&self.regions[region]) < pages {
            region = (0..self.regions.len()).max_by_key(|&other| room(&self.regions[other]))?;
        }
        let free = &mut self.regions[region];
        let pages = pages.min(room(free));
        let first = if continues { free.start } else { free.end - pages };
        if continues {
            free.start += pages;
        } else {
            free.end -= pages;
        }
        let end = (begin + units).min(pages * self.page_units);
        (end > begin).then_some(Place { first, pages, begin, end })
    }
}
