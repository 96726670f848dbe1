//! Positions by time since last use: the LRU stack model, separately for reads, writes and trims.
//!
//! All accessed pages are kept in the order of their last use. A request goes to a page that was never
//! accessed, or to a page at a random depth of that order: the nearest page with the drawn last operation
//! (read or write) and number of uses. So the miss ratios of LRU caches of all sizes are given, separately
//! for each pair of operations (read after write, write after write, …), and popular pages stay popular.
//!
//! A request may also continue the previous one of its operation. It then begins where that one ended if it
//! finds a page of about the same depth there, as in a repeated scan, and otherwise at another page of that
//! depth.
//!
//! Depths are shares of the footprint, the whole space: in another space the same curves hold for caches of
//! the same share. Pages that are read first have their own part of the space. Both parts have several
//! regions with consecutive new pages, so that a request which continues another finds new pages there. A
//! depth beyond the pages accessed so far means a new page; in exchange, the next new page that is drawn
//! becomes the least recently used one. Once the space is used up, every new page does. A trim does not
//! change the order.
//!
//! Source: Spirn, "Program behavior: models and measurements" (1977), for the LRU stack model; Mattson, Gecsei, Slutz
//! and Traiger, "Evaluation techniques for storage hierarchies" (1970), for its miss ratios. The kinds of use are ours.
//! Cost: O(log n) per page of a request; about 40 bytes per accessed page.

use super::draw::{self, AliasTable};
use super::{AddressPolicy, Space, refuse, share_at_most_all};
use crate::recency::RankedBits;
use crate::{Op, WorkloadError};
use coflash_base::seed::Rng;
use coflash_base::{Bytes, Policy, RandomStream, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters of `"lru-stack"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LruStackConfig {
    /// Size of a page, a multiple of `align`. What is used, and how long ago, is kept in pages.
    pub page: Bytes,
    /// Weights of the alignment units of a page as the first unit of a request. Default: the first unit only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<u32>,
    /// Share of the space whose pages are read before they are written.
    pub read_first: Share,
    /// Where reads go.
    pub read: Accesses,
    /// Where writes go.
    pub write: Accesses,
    /// Where trims go.
    pub trim: Accesses,
}

/// Where the requests of one operation go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Accesses {
    /// Share of requests to pages that were never accessed after which the next of the operation continues.
    pub continued_new: Share,
    /// Share of the other requests after which the next of the operation continues.
    pub continued: Share,
    /// Share of the requests that continue one and begin in its last page; the others begin in the page after it.
    pub overlapping: Share,
    /// Where those go that continue none, by their size. Default: anywhere new.
    pub sizes: Vec<OfSize>,
}

/// Where requests of some sizes go that continue none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfSize {
    /// The least size in pages: 1, 2 or 5; it holds up to the next one in the list.
    pub pages: u32,
    /// Weight of pages that were never accessed.
    pub new: u32,
    /// Weights of pages that were accessed before, by their last operation and the number of accesses.
    #[serde(default)]
    pub again: Vec<Again>,
}

/// Weights of pages that were accessed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// The last operation.
    pub after: LastOp,
    /// The least number of accesses so far: 1, 2, 8, 32 or 128; it holds up to the next one.
    pub uses: u32,
    /// Weights of the depths, the pages since used as shares of the space. The first weight is for the half octave below
    /// 100%, down to 71%, the next one for that from 71% to 50%, and so on.
    pub depths: Vec<u32>,
}

/// The last operation on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the operations that leave data to be used")]
pub enum LastOp {
    Read,
    Write,
}

impl Default for LruStackConfig {
    /// One page in four is new, and as many are from each octave of depths.
    fn default() -> Self {
        let accesses = |after| Accesses {
            sizes: vec![OfSize {
                pages: 1,
                new: 8,
                again: vec![Again { after, uses: 1, depths: vec![1; 24] }],
            }],
            ..Accesses::default()
        };
        Self {
            page: Bytes { count: 4096 },
            offsets: Vec::new(),
            read_first: Share::percent(50),
            read: accesses(LastOp::Read),
            write: accesses(LastOp::Write),
            trim: accesses(LastOp::Write),
        }
    }
}

/// Bins of depths per octave.
pub const DEPTHS_PER_OCTAVE: u32 = 2;
/// The most bins of depths: one page of the largest space.
pub const DEPTHS_MAX: usize = 64;
/// The classes by number of accesses.
const USES: u32 = 5;
/// The classes by last operation and number of accesses.
const CLASSES: usize = 2 * USES as usize;
/// The least sizes in pages.
pub const SIZES: [u32; 3] = [1, 2, 5];

/// The class of a size in pages, at least one.
#[inline]
#[must_use]
pub fn size_class(pages: u64) -> usize {
    usize::from(pages >= SIZES[1].into()) + usize::from(pages >= SIZES[2].into())
}

impl Again {
    /// The class of a page: its last operation and its number of accesses, at least one.
    #[inline]
    #[must_use]
    pub fn class(after: LastOp, uses: u32) -> usize {
        (after as u32 * USES + uses.ilog2().div_ceil(2).min(USES - 1)) as usize
    }

    /// All classes, each with its last operation and its least number of accesses, in the order of [`Self::class`].
    pub fn classes() -> impl Iterator<Item = (LastOp, u32)> {
        let uses = |class: u32| if class == 0 { 1 } else { 1 << (2 * class - 1) };
        [LastOp::Read, LastOp::Write]
            .into_iter()
            .flat_map(move |op| (0..USES).map(move |class| (op, uses(class))))
    }

    /// The index of a depth in `depths`.
    #[must_use]
    pub fn bin(depth_share: f64) -> usize {
        ((-libm::log2(depth_share) * f64::from(DEPTHS_PER_OCTAVE)).max(0.0) as usize).min(DEPTHS_MAX - 1)
    }
}

/// Where a request goes that continues none.
#[derive(Clone, Copy, Debug)]
enum Target {
    New,
    /// Class, and the least and the largest depth in pages.
    Again(usize, f64, f64),
}

/// Where a request went.
#[derive(Clone, Copy, Debug)]
enum Place {
    New,
    /// Class, and others above the page in the order.
    Again(usize, u32),
}

/// Where requests of a size go, and how often.
#[derive(Clone, Debug)]
struct Targets {
    targets: Vec<Target>,
    weights: AliasTable,
}

impl Targets {
    fn new(key: &'static str, config: &OfSize, pages: u64) -> Result<Self, WorkloadError> {
        let mut targets = vec![Target::New];
        let mut weights = vec![u64::from(config.new)];
        for again in &config.again {
            let is_class = Again::classes().any(|(_, uses)| uses == again.uses);
            if !is_class || again.depths.len() > DEPTHS_MAX {
                let problem = format!(
                    "uses = {} and {} depths were given; 1, 2, 8, 32 or 128 uses and at most {DEPTHS_MAX} depths are \
                     allowed",
                    again.uses,
                    again.depths.len()
                );
                return refuse(key, problem);
            }
            let class = Again::class(again.after, again.uses);
            let edge = |bin: usize| pages as f64 * libm::exp2(-(bin as f64) / f64::from(DEPTHS_PER_OCTAVE));
            targets.extend((0..again.depths.len()).map(|bin| Target::Again(class, edge(bin + 1), edge(bin))));
            weights.extend(again.depths.iter().map(|&weight| u64::from(weight)));
        }
        if weights.iter().all(|&weight| weight == 0) {
            return refuse(key, "no weight above 0 was given; at least one is needed".to_owned());
        }
        Ok(Self { targets, weights: AliasTable::new(&weights) })
    }
}

/// The requests of one operation.
#[derive(Clone, Debug)]
struct Kind {
    /// Whether the next one continues, after a request to old and to new pages.
    continues: [AliasTable; 2],
    /// Whether it begins in the last page.
    overlaps: AliasTable,
    /// By class of size.
    targets: [Targets; SIZES.len()],
    /// The end of the previous request, and where it went; `None` before the first.
    previous: Option<(u64, Place)>,
}

impl Kind {
    fn new(key: &'static str, config: &Accesses, pages: u64) -> Result<Self, WorkloadError> {
        let given: Vec<u32> = config.sizes.iter().map(|size| size.pages).collect();
        if given.iter().any(|pages| !SIZES.contains(pages)) || !given.is_sorted() {
            let problem =
                format!("sizes from {given:?} pages were given; 1, 2 and 5 in this order are allowed");
            return refuse(key, problem);
        }
        let all_new = OfSize { pages: 1, new: 1, again: Vec::new() };
        let targets = |pages_min: u32| {
            let given = config.sizes.iter().rfind(|size| size.pages <= pages_min);
            Targets::new(key, given.or(config.sizes.first()).unwrap_or(&all_new), pages)
        };
        let chance = |share: Share| {
            share_at_most_all(key, share)?;
            Ok(AliasTable::new(&[Share::ONE.ppb - share.ppb, share.ppb]))
        };
        Ok(Self {
            continues: [chance(config.continued)?, chance(config.continued_new)?],
            overlaps: chance(config.overlapping)?,
            targets: [targets(SIZES[0])?, targets(SIZES[1])?, targets(SIZES[2])?],
            previous: None,
        })
    }
}

/// An accessed page.
#[derive(Clone, Copy, Debug)]
struct Page {
    slot: u32,
    /// The accesses, at most 2^16 − 1; 0 for a page that was left out.
    uses: u16,
    /// The first unit of the last request that began in it, or `NO_START`.
    offset: u16,
    last: LastOp,
    /// The class of the size of that request.
    size: u8,
}

impl Page {
    /// Its set among those of [`LruStack::classes`], if a request began in it.
    fn set(&self) -> Option<usize> {
        (self.offset != NO_START).then(|| set_of(Again::class(self.last, self.uses.into()), self.size.into()))
    }
}

/// The set of a class and a class of size.
fn set_of(class: usize, size: usize) -> usize {
    class + CLASSES * size
}

const NO_START: u16 = u16::MAX;

/// A part of the space: its first page, its end, and its pages up to the last accessed one.
#[derive(Clone, Debug)]
struct Region {
    first: u64,
    end: u64,
    pages: Vec<Page>,
}

impl Region {
    /// The next new page.
    fn next(&self) -> u64 {
        self.first + self.pages.len() as u64
    }

    fn has_room(&self) -> bool {
        self.next() < self.end
    }
}

/// One side of the space: pages that are read first, or pages that are written first. It has several regions,
/// so that new pages which were accessed one after another are not adjacent by chance.
#[derive(Clone, Debug)]
struct Side {
    /// Its first region, and the pages of each.
    first: usize,
    pages: u64,
    /// Regions that may have room.
    open: Vec<u32>,
}

/// The most regions of a side, and the least pages of a region.
const REGIONS: u64 = 64;
const REGION_PAGES: u64 = 64;

/// The generator `"lru-stack"`.
#[derive(Clone, Debug)]
pub struct LruStack {
    space_units: u64,
    page_units: u64,
    offsets: Option<AliasTable>,
    /// Reads, writes and trims.
    kinds: [Kind; 3],
    /// The parts of the space of pages that are read first, and after them those of pages that are written first.
    regions: Vec<Region>,
    /// The first page of pages that are written first, and the pages of a region on either side.
    split: u64,
    sides: [Side; 2],
    /// The slots of all accessed pages, in the order of last use.
    order: RankedBits,
    /// The slots of the pages at which a request began, by class and class of size.
    classes: Vec<RankedBits>,
    /// The page of each slot.
    page_at: Vec<u32>,
    /// The next slot.
    next: u32,
    /// New pages that were taken for depths beyond the order.
    ahead: u64,
}

impl Policy for LruStack {
    type Config = LruStackConfig;
    const SUMMARY: &'static str =
        "The LRU stack model: reuse distances as given, by operation, last operation and number of accesses.";
    const SOURCE: &'static str = "Spirn, \"Program behavior: models and measurements\" (1977)";
}

impl AddressPolicy for LruStack {
    fn new(config: &LruStackConfig, space: Space) -> Result<Self, WorkloadError> {
        let LruStackConfig { page, ref offsets, read_first, .. } = *config;
        let page_units = page.count / space.align.count;
        if page_units == 0
            || page_units >= u64::from(NO_START)
            || !page.count.is_multiple_of(space.align.count)
        {
            let problem = format!("{page} was given; a multiple of align, {}, is allowed", space.align);
            return refuse("generator.page", problem);
        }
        let pages = space.units.div_ceil(page_units);
        if pages >= 1 << 31 {
            let problem = format!("{page} was given; a page of at least 1/2^31 of the space is allowed");
            return refuse("generator.page", problem);
        }
        if offsets.len() as u64 > page_units
            || !offsets.is_empty() && offsets.iter().all(|&weight| weight == 0)
        {
            let problem = format!(
                "{} weights were given; none, or up to one for each of the {page_units} alignment units of a page, and \
                 not all 0, are allowed",
                offsets.len()
            );
            return refuse("generator.offsets", problem);
        }
        let weights: Vec<u64> = offsets.iter().map(|&weight| u64::from(weight)).collect();
        share_at_most_all("generator.read_first", read_first)?;
        let split = read_first.of(pages);
        let mut regions = Vec::new();
        let sides = [(0, split), (split, pages)].map(|(begin, end): (u64, u64)| {
            let side_pages = (end - begin).div_ceil(REGIONS).max(REGION_PAGES);
            let first = regions.len();
            let firsts = (begin..end).step_by(side_pages as usize);
            regions.extend(firsts.map(|at| Region {
                first: at,
                end: end.min(at + side_pages),
                pages: Vec::new(),
            }));
            Side { first, pages: side_pages, open: (first as u32..regions.len() as u32).collect() }
        });
        let kinds = [
            Kind::new("generator.read", &config.read, pages)?,
            Kind::new("generator.write", &config.write, pages)?,
            Kind::new("generator.trim", &config.trim, pages)?,
        ];
        let mut stack = Self {
            space_units: space.units,
            page_units,
            offsets: (!weights.is_empty()).then(|| AliasTable::new(&weights)),
            kinds,
            regions,
            split,
            sides,
            order: RankedBits::new(0, 0),
            classes: Vec::new(),
            page_at: Vec::new(),
            next: 0,
            ahead: 0,
        };
        stack.renumber();
        Ok(stack)
    }

    fn start(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let op = op as usize;
        let kind = &self.kinds[op];
        let size = size_class(length_units.div_ceil(self.page_units));
        let continued = kind
            .previous
            .filter(|&(_, place)| kind.continues[usize::from(matches!(place, Place::New))].draw(stream) == 1);
        let (wanted, place) = match continued {
            Some((end, place)) => {
                let is_within = !end.is_multiple_of(self.page_units);
                let begin = match (kind.overlaps.draw(stream) == 1, is_within) {
                    (true, true) => end,
                    (true, false) => end - self.page_units,
                    (false, _) => end.next_multiple_of(self.page_units),
                };
                (self.after(begin, length_units, place), place)
            }
            None => self.begin(op, size, stream),
        };
        let start = wanted.min(self.space_units - length_units);
        self.kinds[op].previous = Some((start + length_units, place));
        if op != Op::Trim as usize {
            let last = if op == Op::Read as usize { LastOp::Read } else { LastOp::Write };
            let page = Page { slot: 0, uses: 0, offset: NO_START, last, size: size as u8 };
            let first = start / self.page_units;
            self.touch(first, Page { offset: (start % self.page_units) as u16, ..page });
            (first + 1..=(start + length_units - 1) / self.page_units)
                .for_each(|number| self.touch(number, page));
        }
        start
    }
}

impl LruStack {
    /// The start of a request that continues one, at `begin` if the pages there are of that kind.
    fn after(&self, begin: u64, length_units: u64, place: Place) -> u64 {
        let Place::Again(class, above) = place else { return begin };
        let (region, index) =
            self.index((begin + length_units - 1).min(self.space_units - 1) / self.page_units);
        let is_there = self.regions[region]
            .pages
            .get(index)
            .is_some_and(|page| page.uses > 0 && is_near(self.order.after(page.slot), above));
        let size = size_class(length_units.div_ceil(self.page_units));
        if is_there { begin } else { self.at_depth(above, class, size) }
    }

    /// Draw the start of a request that continues none.
    fn begin(&mut self, op: usize, size: usize, stream: &mut RandomStream) -> (u64, Place) {
        let Targets { targets, weights } = &self.kinds[op].targets[size];
        let target = targets[weights.draw(stream)];
        let used = self.order.ones();
        if let Target::Again(class, least, most) = target {
            let fraction = (stream.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64);
            // Rounded to whole pages: a depth of 1 is the page used last.
            let depth = ((least + (most - least) * fraction + 0.5) as u64).max(1);
            if depth <= u64::from(used) {
                let above = (depth - 1) as u32;
                return (self.at_depth(above, class, size), Place::Again(class, above));
            }
            self.ahead += 1;
        } else if self.ahead > 0 && used > 0 {
            self.ahead -= 1;
            return self.oldest();
        }
        // The other side of the space when that of the operation is used.
        let own = usize::from(op != Op::Read as usize);
        let Some(region) = self.open(own, stream).or_else(|| self.open(1 - own, stream)) else {
            return self.oldest();
        };
        let within = self.offsets.as_ref().map_or(0, |offsets| offsets.draw(stream) as u64);
        (self.regions[region].next() * self.page_units + within, Place::New)
    }

    /// A region of a side with room, drawn.
    fn open(&mut self, side: usize, stream: &mut RandomStream) -> Option<usize> {
        let open = &mut self.sides[side].open;
        while !open.is_empty() {
            let drawn = draw::below(stream, open.len() as u64) as usize;
            let region = open[drawn] as usize;
            if self.regions[region].has_room() {
                return Some(region);
            }
            open.swap_remove(drawn);
        }
        None
    }

    /// The start in the least recently used page.
    fn oldest(&self) -> (u64, Place) {
        let above = self.order.ones() - 1;
        let page = self.page_at[self.order.with_after(above) as usize];
        let (region, index) = self.index(u64::from(page));
        let used = &self.regions[region].pages[index];
        (self.start_in(page), Place::Again(Again::class(used.last, used.uses.into()), above))
    }

    /// The start in a page of the class that is near to `above` others in the order, if possible one at which a request
    /// of the size began; else in one of the same last operation; in the very page there if none of them is near.
    fn at_depth(&self, above: u32, class: usize, size: usize) -> u64 {
        let slot = self.order.with_after(above);
        let nearest = |set: usize| {
            let slots = &self.classes[set];
            let newer = slots.after(slot);
            let ranks = [(newer < slots.ones()).then_some(newer), newer.checked_sub(1)];
            let mut found = ranks.into_iter().flatten().map(|rank| slots.with_after(rank));
            found.find(|&found| is_near(self.order.after(found), above))
        };
        let uses = USES as usize;
        let sets = (0..uses * SIZES.len()).map(|step| {
            let class = class / uses * uses + (class + step / SIZES.len()) % uses;
            set_of(class, (size + step) % SIZES.len())
        });
        self.start_in(self.page_at[sets.filter_map(nearest).next().unwrap_or(slot) as usize])
    }

    /// Where the last request that began in a page did so.
    fn start_in(&self, page: u32) -> u64 {
        let (region, index) = self.index(u64::from(page));
        let offset = self.regions[region].pages[index].offset;
        u64::from(page) * self.page_units + if offset == NO_START { 0 } else { u64::from(offset) }
    }

    fn index(&self, page: u64) -> (usize, usize) {
        let (side, begin) =
            if page < self.split { (&self.sides[0], 0) } else { (&self.sides[1], self.split) };
        let region = side.first + ((page - begin) / side.pages) as usize;
        (region, (page - self.regions[region].first) as usize)
    }

    /// Use a page: all but slot and number of accesses are given.
    fn touch(&mut self, number: u64, given: Page) {
        if self.next as usize == self.page_at.len() {
            self.renumber();
        }
        let slot = self.next;
        self.next += 1;
        let (region, index) = self.index(number);
        let pages = &mut self.regions[region].pages;
        if index >= pages.len() {
            // A request that was moved back to fit may leave out pages.
            pages.resize(index + 1, given);
        }
        let page = &mut pages[index];
        if page.uses > 0 {
            self.order.clear(page.slot);
            page.set().into_iter().for_each(|set| self.classes[set].clear(page.slot));
        }
        *page = Page { slot, uses: page.uses.saturating_add(1), ..given };
        self.order.set(slot);
        page.set().into_iter().for_each(|set| self.classes[set].set(slot));
        self.page_at[slot as usize] = number as u32;
    }

    /// Number the slots anew without gaps, and make room for as many uses as there are pages, and more.
    #[cold]
    fn renumber(&mut self) {
        let pages: Vec<u32> = self.order.iter().map(|slot| self.page_at[slot as usize]).collect();
        let slots = (pages.len() * 3).max(SLOTS_MIN);
        self.order = RankedBits::new(slots, pages.len() as u32);
        self.classes = vec![RankedBits::new(slots, 0); CLASSES * SIZES.len()];
        self.next = pages.len() as u32;
        for (slot, &page) in (0..).zip(&pages) {
            let (region, index) = self.index(u64::from(page));
            let page = &mut self.regions[region].pages[index];
            page.slot = slot;
            page.set().into_iter().for_each(|set| self.classes[set].set(slot));
        }
        self.page_at = pages;
        self.page_at.resize(slots, 0);
    }
}

/// Whether two depths are within a factor of two.
fn is_near(one: u32, other: u32) -> bool {
    one / 2 <= other && other / 2 <= one
}

/// The least number of slots.
const SLOTS_MIN: usize = 1 << 10;
