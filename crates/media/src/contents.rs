//! The durable remains of a device after a power cut.

use crate::{Oob, Ppn};

/// The contents of non-volatile memory and flash after a power cut: the input of recovery. The data of slots
/// and pages are not part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The words of non-volatile memory.
    pub words: Vec<u64>,
    /// All programmed pages in any order, with their out-of-band data, or `None` for a torn page.
    pub pages: Vec<(Ppn, Option<Oob>)>,
    /// The erase count of each block.
    pub erases: Vec<u32>,
}
