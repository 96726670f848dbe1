//! A recorder of GC's victims, and of what becomes of each of their pages.

use coflash_base::{Lpn, Time};
use coflash_ftl::{Candidate, CopySource, Decision, RecordsDecisions};
use coflash_media::{BlockId, Mode};

/// The victims since they were last taken, in words: for each one its block, the number of its pages that follow, and for each
/// page its index in the block, with the [`Answer`] and what another tier holds of it.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    pub(crate) words: Vec<u32>,
    /// The number of victims so far.
    pub(crate) count: u64,
    /// Where the pages of the last victim are counted.
    open: Option<(BlockId, usize)>,
    /// The words of pages that were answered in the request under way, and their logical pages.
    answered: Vec<(usize, Lpn)>,
}

/// What becomes of a valid page of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Answer {
    /// It is copied in flash.
    Copy = 0,
    /// It is dropped: another tier holds its data.
    Drop = 1,
    /// The newer data is taken from a buffer.
    FromBuffer = 2,
    /// It goes to a block of shadows, by a fast program.
    Fast = 3,
    /// It is read into the cache, which has the only copy from then on.
    MoveIn = 4,
}

impl Answer {
    /// Tell what a decision of GC is for a page.
    fn from_decision(decision: Decision) -> Self {
        match decision {
            Decision::Drop | Decision::Evict => Self::Drop,
            Decision::MoveIn(_) => Self::MoveIn,
            Decision::Copy { mode: Mode::Fast, .. } => Self::Fast,
            Decision::Copy { source: CopySource::Slot(_), .. } => Self::FromBuffer,
            Decision::Copy { source: CopySource::Flash, .. } | Decision::CopyUnmarked => Self::Copy,
        }
    }
}

impl Victims {
    /// The bit of a page's word at which its answer begins.
    const ANSWER_SHIFT: u32 = 24;
    const HELD_SHIFT: u32 = 28;
    /// What is said of newer data.
    const NEWER: u32 = 2;

    fn begin(&mut self, block: BlockId) {
        self.open = Some((block, self.words.len() + 1));
        self.words.extend([block.get(), 0]);
    }

    /// Note what another tier holds of the pages that were answered in a request, at its end. Returns how many of them were
    /// copied though it holds newer data.
    pub(crate) fn settle(&mut self, held: impl Fn(Lpn) -> u32) -> u64 {
        let mut wasted = 0;
        for (word, lpn) in self.answered.drain(..) {
            let answer = self.words[word] >> Self::ANSWER_SHIFT;
            let copied = answer == Answer::Copy as u32 || answer == Answer::Fast as u32;
            let held = held(lpn);
            wasted += u64::from(copied && held == Self::NEWER);
            self.words[word] |= held << Self::HELD_SHIFT;
        }
        wasted
    }

    /// Forget the victims told so far. A victim that is being cleaned is told anew with its next page.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.open = None;
    }
}

impl RecordsDecisions for Victims {
    fn opened(&mut self, _: BlockId, _: u32) {}

    fn picked(&mut self, _: u32, block: BlockId, _: Option<Time>, _: &mut dyn Iterator<Item = Candidate>) {
        self.count += 1;
        self.begin(block);
    }

    fn answered(&mut self, victim: BlockId, index: u32, lpn: Lpn, decision: Decision) {
        if self.open.is_none_or(|(block, _)| block != victim) {
            self.begin(victim);
        }
        if let Some((_, pages)) = self.open {
            self.words[pages] += 1;
        }
        self.answered.push((self.words.len(), lpn));
        self.words.push(index | (Answer::from_decision(decision) as u32) << Self::ANSWER_SHIFT);
    }
}
