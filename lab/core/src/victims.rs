//! A recorder of GC's victims, and of what becomes of each of their pages.

use coflash_base::{Lpn, Time};
use coflash_ftl::{Candidate, CopySource, Decision, RecordsDecisions};
use coflash_media::{BlockId, Mode};
use serde::Serialize;

/// A victim, and those of its pages that GC decided on.
#[derive(Debug, Serialize)]
pub(crate) struct Victim {
    block: u32,
    pages: Vec<Page>,
}

/// A page of a victim: its index in the block, what becomes of it, and what another tier holds of it after the request, as in a
/// page's word of [`Lab`](crate::lab::Lab).
#[derive(Debug, Serialize)]
struct Page {
    index: u32,
    answer: &'static str,
    held: u32,
}

/// The victims since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    told: Vec<Victim>,
    /// The number of victims so far.
    pub(crate) count: u64,
    /// The pages that were decided on in the request under way: the places of their victims, and their own, and their logical pages.
    answered: Vec<(usize, usize, Lpn)>,
}

const COPIED: &str = "copied";
/// It goes to a block of shadows, by a fast program.
const FAST: &str = "fast";
/// What is said of newer data.
const NEWER: u32 = 2;

/// What becomes of a valid page of a victim.
fn answer(decision: Decision) -> &'static str {
    match decision {
        Decision::Drop | Decision::Evict => "dropped",
        Decision::MoveIn(_) => "moved-in",
        Decision::Copy { mode: Mode::Fast, .. } => FAST,
        Decision::Copy { source: CopySource::Slot(_), .. } => "from-buffer",
        Decision::Copy { source: CopySource::Flash, .. } | Decision::CopyUnmarked => COPIED,
    }
}

impl Victims {
    /// Note what another tier holds of the pages that were decided on in a request, at its end. Returns how many of them were
    /// copied though it holds newer data.
    pub(crate) fn settle(&mut self, held: impl Fn(Lpn) -> u32) -> u64 {
        let mut wasted = 0;
        for (victim, place, lpn) in self.answered.drain(..) {
            let page = &mut self.told[victim].pages[place];
            page.held = held(lpn);
            wasted += u64::from(page.held == NEWER && [COPIED, FAST].contains(&page.answer));
        }
        wasted
    }

    /// Take the victims that were told so far. A victim that is still cleaned is told again with its next page.
    pub(crate) fn take(&mut self) -> Vec<Victim> {
        std::mem::take(&mut self.told)
    }

    fn begin(&mut self, block: BlockId) {
        self.told.push(Victim { block: block.get(), pages: Vec::new() });
    }
}

impl RecordsDecisions for Victims {
    fn opened(&mut self, _: BlockId, _: u32) {}

    fn picked(&mut self, _: u32, block: BlockId, _: Option<Time>, _: &mut dyn Iterator<Item = Candidate>) {
        self.count += 1;
        self.begin(block);
    }

    fn answered(&mut self, victim: BlockId, index: u32, lpn: Lpn, decision: Decision) {
        if self.told.last().is_none_or(|last| last.block != victim.get()) {
            self.begin(victim);
        }
        let (victim, pages) = (self.told.len() - 1, &mut self.told.last_mut().expect("it has begun").pages);
        self.answered.push((victim, pages.len(), lpn));
        pages.push(Page { index, answer: answer(decision), held: 0 });
    }
}
