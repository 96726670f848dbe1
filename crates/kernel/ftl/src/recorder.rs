//! Recorders of the decisions of garbage collection.

use crate::hook::Decision;
use coflash_base::{Lpn, Time};
use coflash_media::BlockId;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// A full block among the candidates for GC's victim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The block.
    pub block: BlockId,
    /// The number of its data pages.
    pub pages: u32,
    /// The number of its valid pages.
    pub valid: u32,
    /// The number of its valid pages that are marked: another memory holds their data.
    pub removable: u32,
    /// The cost of cleaning it in pages: its valid pages, with marked ones by their weight.
    pub cost: f64,
    /// Its age: programs of the device since it was sealed.
    pub age: u64,
    /// Its erase count.
    pub erases: u32,
}

/// A recorder of GC's decisions, and of the classes of opened blocks.
pub trait RecordsDecisions: Debug + Send {
    /// Record that a block was opened for a class of the placement policy; without a policy, for a group of
    /// write streams.
    fn opened(&mut self, block: BlockId, class: u32);

    /// Record that GC picked a block of a pool, with the time if known. The picked block is one of the
    /// candidates; these are in the order of their numbers.
    fn picked(
        &mut self,
        pool: u32,
        block: BlockId,
        time: Option<Time>,
        candidates: &mut dyn Iterator<Item = Candidate>,
    );

    /// Record what becomes of a valid page of a victim, at this index of its block.
    fn answered(&mut self, victim: BlockId, index: u32, page: Lpn, decision: Decision);
}

/// A recorder that an FTL shares with others.
pub type DecisionRecorder = Arc<Mutex<dyn RecordsDecisions>>;
