//! The standard job counted, without time: page map, greedy GC and nothing else, with the same look ahead as the simulation. The
//! difference from the simulation is the cost of time, levels, measures and choices.

use crate::Measured;
use crate::simulating::scenario;
use coflash_base::{Ahead, Index, Lists, Seed, prefetch::prefetch};
use coflash_media::BlockId;
use coflash_scenario::Requests;
use coflash_workload::Source;
use coflash_workload::synthetic::Synthetic;
use std::collections::VecDeque;
use std::time::Instant;

/// The pages of a block: their valid bits are a word.
const PAGES: u32 = u64::BITS;

/// A die: it is written, and cleaned, on its own.
struct Die {
    free: VecDeque<BlockId>,
    /// The block being filled, and its next page.
    active: Option<(BlockId, u32)>,
    /// The full blocks by their number of valid pages; in a list, the block with that number for longest is
    /// the first.
    full: Lists<BlockId>,
    /// The lists below this are empty.
    lowest: u32,
}

/// Counted flash.
struct Flash {
    dies: Vec<Die>,
    /// The flash page of each logical page; `u32::MAX` for none.
    map: Vec<u32>,
    owner: Vec<u32>,
    /// A word for each block.
    valid: Vec<u64>,
    low_mark: usize,
    programs: u64,
}

impl Flash {
    fn new(dies: u32, blocks_per_die: u32, logical_pages: u32, low_mark: u32) -> Self {
        let blocks = dies * blocks_per_die;
        let die = |die| Die {
            free: (die * blocks_per_die..(die + 1) * blocks_per_die).map(BlockId::new).collect(),
            active: None,
            full: Lists::new(PAGES + 1, blocks),
            lowest: PAGES,
        };
        Self {
            dies: (0..dies).map(die).collect(),
            map: vec![u32::MAX; logical_pages as usize],
            owner: vec![0; (blocks * PAGES) as usize],
            valid: vec![0; blocks as usize],
            low_mark: low_mark as usize,
            programs: 0,
        }
    }

    #[inline(always)]
    fn look_ahead(&self, lpn: u32, ahead: Ahead) {
        match ahead {
            Ahead::Far => prefetch(&self.map, lpn as usize),
            Ahead::Near => prefetch(&self.valid, (self.map[lpn as usize] / PAGES) as usize),
            Ahead::Last => {}
        }
    }

    fn write(&mut self, lpn: u32) {
        let die = lpn as usize % self.dies.len();
        while self.dies[die].free.len() <= self.low_mark {
            self.clean(die);
        }
        let old = self.map[lpn as usize];
        if old != u32::MAX {
            let block = BlockId::new(old / PAGES);
            let valid = &mut self.valid[block.index()];
            *valid &= !(1 << (old % PAGES));
            let (left, full) = (valid.count_ones(), &mut self.dies[die].full);
            if full.contains(block) {
                full.move_to_back(left, block);
                self.dies[die].lowest = self.dies[die].lowest.min(left);
            }
        }
        self.program(die, lpn);
    }

    #[inline(always)]
    fn program(&mut self, die: usize, lpn: u32) {
        let Die { free, active, full, lowest } = &mut self.dies[die];
        let (block, page) = active.unwrap_or_else(|| (free.pop_front().expect("GC keeps a block"), 0));
        let to = block.get() * PAGES + page;
        self.map[lpn as usize] = to;
        self.owner[to as usize] = lpn;
        let valid = &mut self.valid[block.index()];
        *valid |= 1 << page;
        self.programs += 1;
        *active = (page + 1 < PAGES).then_some((block, page + 1));
        if active.is_none() {
            full.push_back(valid.count_ones(), block);
            *lowest = (*lowest).min(valid.count_ones());
        }
    }

    fn clean(&mut self, die: usize) {
        let Die { full, lowest, .. } = &mut self.dies[die];
        let victim = loop {
            match full.front(*lowest) {
                Some(victim) => break victim,
                None => *lowest += 1,
            }
        };
        full.remove(victim);
        let mut rest = std::mem::take(&mut self.valid[victim.index()]);
        let owner = |rest: u64| (victim.get() * PAGES + rest.trailing_zeros()) as usize;
        let mut ahead = rest;
        while ahead != 0 {
            prefetch(&self.map, self.owner[owner(ahead)] as usize);
            ahead &= ahead - 1;
        }
        while rest != 0 {
            self.program(die, self.owner[owner(rest)]);
            rest &= rest - 1;
        }
        self.dies[die].free.push_back(victim);
    }
}

/// The requests of the standard job, one page each.
pub(crate) fn standard() -> Measured {
    let scenario = scenario("random-5g", &[]);
    let geometry = &scenario.flash;
    assert_eq!(geometry.pages_per_block, PAGES, "the valid bits of a block are a word");
    let logical_pages = scenario.ftl.logical_pages(geometry);
    let low_mark = scenario.gc.low_mark.blocks(geometry.blocks_per_die());
    let mut flash = Flash::new(geometry.dies(), geometry.blocks_per_die(), logical_pages, low_mark);
    (0..logical_pages).for_each(|lpn| flash.write(lpn));
    let page_bytes = geometry.page_size.count;
    let Requests::Synthetic(config) = &scenario.workload.requests else {
        panic!("the standard job is synthetic")
    };
    let seed = Seed(scenario.seed).child("workload");
    let mut source = Synthetic::new(config, u64::from(logical_pages) * page_bytes, seed).expect("a workload");
    flash.programs = 0;
    let (mut batch, mut requests, start) = (Vec::new(), 0, Instant::now());
    loop {
        source.next_batch(&mut batch).expect("a workload");
        if batch.is_empty() {
            break;
        }
        requests += batch.len() as u64;
        let page = |index: usize| batch.get(index).map(|request| (request.offset / page_bytes) as u32);
        for index in 0..batch.len() {
            for ahead in [Ahead::Far, Ahead::Near] {
                if let Some(lpn) = page(index + ahead.distance()) {
                    flash.look_ahead(lpn, ahead);
                }
            }
            flash.write(page(index).expect("an index of the batch"));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    Measured {
        requests_per_second: requests as f64 / seconds,
        programs_per_second: Some(flash.programs as f64 / seconds),
        programs: Some(flash.programs as f64),
        note: format!("WAF {:.3}", flash.programs as f64 / requests as f64),
        ..Measured::default()
    }
}
