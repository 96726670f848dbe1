//! The order of eviction of every policy, by search and shift: a slow version of each file's description.

use crate::scan_resistant::{self, Model};
use coflash_base::Lpn;
use coflash_cache::evict::{CflruConfig, PtLruConfig};
use coflash_cache::{BlocksConfig, EvictionConfig};
use std::num::NonZeroU16;

const BLOCK_PAGES: u32 = 4;

/// LRU as code from outside.
pub(crate) const EXTERNAL: &str = "external";

/// The policy of that name, with parameters that make a difference to a handful of pages.
pub(crate) fn config(name: &str) -> EvictionConfig {
    let blocks = BlocksConfig { block_pages: NonZeroU16::new(BLOCK_PAGES as u16).unwrap() };
    if name == EXTERNAL {
        return crate::external::lru();
    }
    match EvictionConfig::by_name(name).expect("a registered name") {
        EvictionConfig::Bplru(_) => EvictionConfig::Bplru(blocks),
        EvictionConfig::Cflru(_) => EvictionConfig::Cflru(CflruConfig { window: "40%".parse().unwrap() }),
        EvictionConfig::PtLru(_) => {
            EvictionConfig::PtLru(PtLruConfig { dirty_share: "60%".parse().unwrap() })
        }
        other => other,
    }
}

/// The order of eviction. A policy that is registered and has no model here fails.
pub(crate) enum Order {
    /// Next to leave first.
    Lru(Vec<Lpn>),
    /// Next to leave first.
    Fifo(Vec<Lpn>),
    /// A ring that stands still, which pages were used, and the hand that goes round it.
    Clock {
        ring: Vec<(Lpn, bool)>,
        hand: usize,
    },
    Cflru(Cflru),
    PtLru(PtLru),
    /// BPLRU.
    Blocks(Blocks),
    /// Policies that one pass over many pages does not empty.
    ScanResistant(Box<dyn Model>),
}

impl Order {
    pub(crate) fn of(name: &str, capacity: u32) -> Self {
        match name {
            "lru" | EXTERNAL => Self::Lru(Vec::new()),
            "fifo" => Self::Fifo(Vec::new()),
            "clock" => Self::Clock { ring: Vec::new(), hand: 0 },
            "cflru" => {
                let working_max = capacity as usize - (f64::from(capacity) * 0.4) as usize;
                Self::Cflru(Cflru { working_max, ..Cflru::default() })
            }
            "pt-lru" => Self::PtLru(PtLru::default()),
            "bplru" => Self::Blocks(Blocks::default()),
            _ => Self::ScanResistant(scan_resistant::model(name, capacity as usize)),
        }
    }

    pub(crate) fn insert(&mut self, page: Lpn, dirty: bool) {
        match self {
            Self::Lru(queue) | Self::Fifo(queue) => queue.push(page),
            Self::Clock { ring, hand } => {
                ring.insert(*hand, (page, false));
                *hand += 1;
            }
            Self::Cflru(model) => model.insert(page, dirty),
            Self::PtLru(model) => model.pages.push(Page { page, dirty, hot: false }),
            Self::Blocks(model) => model.insert(page),
            Self::ScanResistant(model) => model.insert(page),
        }
    }

    /// A page is about to be inserted, and a victim is asked for.
    pub(crate) fn arriving(&mut self, page: Lpn) {
        if let Self::ScanResistant(model) = self {
            model.arriving(page);
        }
    }

    pub(crate) fn touch(&mut self, page: Lpn) {
        match self {
            Self::Lru(queue) => {
                queue.retain(|&other| other != page);
                queue.push(page);
            }
            Self::Fifo(_) => {}
            Self::Clock { ring, .. } => ring.iter_mut().find(|p| p.0 == page).unwrap().1 = true,
            Self::Cflru(model) => {
                let dirty = model.remove(page);
                model.insert(page, dirty);
            }
            Self::PtLru(model) => {
                let known = model.remove(page);
                model.pages.push(Page { hot: true, ..known });
            }
            Self::Blocks(model) => model.touch(page),
            Self::ScanResistant(model) => model.touch(page),
        }
    }

    pub(crate) fn flag(&mut self, page: Lpn, dirty: bool) {
        match self {
            Self::Cflru(model) => model.flag(page, dirty),
            Self::PtLru(model) => {
                let known = model.remove(page);
                model.pages.push(Page { dirty, ..known });
            }
            _ => {}
        }
    }

    pub(crate) fn remove(&mut self, page: Lpn) {
        match self {
            Self::Lru(queue) | Self::Fifo(queue) => queue.retain(|&other| other != page),
            Self::Clock { ring, hand } => {
                let at = ring.iter().position(|p| p.0 == page).unwrap();
                ring.remove(at);
                *hand -= usize::from(at < *hand);
            }
            Self::Cflru(model) => {
                model.remove(page);
            }
            Self::PtLru(model) => {
                model.remove(page);
                if let Some((named, owed_tenths)) = model.named.take()
                    && named == page
                {
                    model.owed_tenths = owed_tenths;
                }
            }
            Self::Blocks(model) => model.remove(page),
            Self::ScanResistant(model) => model.remove(page),
        }
    }

    /// Who should leave next.
    pub(crate) fn victim(&mut self) -> Option<Lpn> {
        match self {
            Self::Lru(queue) | Self::Fifo(queue) => queue.first().copied(),
            Self::Clock { ring, hand } => loop {
                if ring.is_empty() {
                    return None;
                }
                *hand %= ring.len();
                match &mut ring[*hand] {
                    (_, used @ true) => *used = false,
                    (page, false) => return Some(*page),
                }
                *hand += 1;
            },
            Self::Cflru(model) => model.victim(),
            Self::PtLru(model) => model.victim(),
            Self::Blocks(model) => model.victim(),
            Self::ScanResistant(model) => model.victim(),
        }
    }
}

/// Both queues with the next to leave first.
#[derive(Default)]
pub(crate) struct Cflru {
    working_max: usize,
    working: Vec<(Lpn, bool)>,
    region: Vec<(Lpn, bool)>,
}

impl Cflru {
    fn insert(&mut self, page: Lpn, dirty: bool) {
        self.working.push((page, dirty));
        if self.working.len() > self.working_max {
            self.region.push(self.working.remove(0));
        }
    }

    fn remove(&mut self, page: Lpn) -> bool {
        for queue in [&mut self.working, &mut self.region] {
            if let Some(at) = queue.iter().position(|p| p.0 == page) {
                return queue.remove(at).1;
            }
        }
        panic!("{page:?} is not there")
    }

    fn flag(&mut self, page: Lpn, dirty: bool) {
        if let Some(at) = self.region.iter().position(|p| p.0 == page) {
            self.region.remove(at);
            self.region.push((page, dirty));
        } else {
            self.working.iter_mut().find(|p| p.0 == page).unwrap().1 = dirty;
        }
    }

    fn victim(&self) -> Option<Lpn> {
        let clean = self.region.iter().find(|p| !p.1);
        clean.or(self.region.first()).or(self.working.first()).map(|p| p.0)
    }
}

#[derive(Clone, Copy)]
struct Page {
    page: Lpn,
    dirty: bool,
    hot: bool,
}

/// Next to leave of each kind first.
#[derive(Default)]
pub(crate) struct PtLru {
    pages: Vec<Page>,
    owed_tenths: i32,
    named: Option<(Lpn, i32)>,
}

impl PtLru {
    fn remove(&mut self, page: Lpn) -> Page {
        let at = self.pages.iter().position(|p| p.page == page).expect("it is there");
        self.pages.remove(at)
    }

    fn victim(&mut self) -> Option<Lpn> {
        self.named = None;
        let clean = |pages: &[Page], hot| pages.iter().find(|p| !p.dirty && p.hot == hot).map(|p| p.page);
        if let Some(page) = clean(&self.pages, false) {
            return Some(page);
        }
        let hot_clean = clean(&self.pages, true);
        if !self.pages.iter().any(|p| p.dirty) {
            return hot_clean;
        }
        let owed = self.owed_tenths + 6;
        if let Some(page) = hot_clean
            && owed < 5
        {
            self.named = Some((page, owed));
            return Some(page);
        }
        let page = loop {
            let at = self.pages.iter().position(|p| p.dirty).unwrap();
            if !self.pages[at].hot {
                break self.pages[at].page;
            }
            let cooled = Page { hot: false, ..self.pages.remove(at) };
            self.pages.push(cooled);
        };
        if hot_clean.is_some() {
            self.named = Some((page, owed - 10));
        }
        Some(page)
    }
}

struct Block {
    number: u32,
    /// The one that came first is first.
    pages: Vec<Lpn>,
    /// Pages written in order from the first on, while that is all that happened.
    in_order: Option<u32>,
}

/// The blocks of BPLRU, the next to leave first.
#[derive(Default)]
pub(crate) struct Blocks(Vec<Block>);

impl Blocks {
    fn take(&mut self, number: u32) -> Option<Block> {
        let at = self.0.iter().position(|block| block.number == number)?;
        Some(self.0.remove(at))
    }

    fn insert(&mut self, page: Lpn) {
        let (number, offset) = (page.get() / BLOCK_PAGES, page.get() % BLOCK_PAGES);
        let mut block = self.take(number).unwrap_or(Block { number, pages: Vec::new(), in_order: Some(0) });
        block.in_order = (block.in_order == Some(offset)).then_some(offset + 1);
        block.pages.push(page);
        let is_complete = block.in_order == Some(BLOCK_PAGES);
        self.0.insert(if is_complete { 0 } else { self.0.len() }, block);
    }

    fn touch(&mut self, page: Lpn) {
        let mut block = self.take(page.get() / BLOCK_PAGES).expect("it is there");
        block.in_order = None;
        self.0.push(block);
    }

    fn remove(&mut self, page: Lpn) {
        let number = page.get() / BLOCK_PAGES;
        let at = self.0.iter().position(|block| block.number == number).expect("it is there");
        self.0[at].pages.retain(|&other| other != page);
        if self.0[at].pages.is_empty() {
            self.0.remove(at);
        }
    }

    fn victim(&self) -> Option<Lpn> {
        Some(self.0.first()?.pages[0])
    }
}
