//! Recorders, which hear of the decisions of garbage collection.

use coflash_base::Time;
use coflash_media::BlockId;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// A full block among which GC picks its victim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The block.
    pub block: BlockId,
    /// The number of its data pages.
    pub pages: u32,
    /// The number of valid ones among them.
    pub valid: u32,
    /// The number of valid ones that are marked: another memory holds their data.
    pub removable: u32,
    /// The cost of cleaning it in pages: its valid pages, with marked ones by their weight.
    pub cost: f64,
    /// Its age: programs of the device since it was sealed.
    pub age: u64,
    /// Its erase count.
    pub erases: u32,
}

/// Hears of decisions of garbage collection, and of what blocks are opened for.
pub trait RecordsDecisions: Debug + Send {
    /// A block was opened for a class of the placement policy; without one, for a group of write streams.
    fn opened(&mut self, block: BlockId, class: u32);

    /// GC picked a block of a pool, at a time if that is known. The picked block is one of the candidates, which are in
    /// the order of their numbers.
    fn picked(
        &mut self,
        pool: u32,
        block: BlockId,
        time: Option<Time>,
        candidates: &mut dyn Iterator<Item = Candidate>,
    );
}

/// A recorder that an FTL shares with others.
pub type DecisionRecorder = Arc<Mutex<dyn RecordsDecisions>>;
