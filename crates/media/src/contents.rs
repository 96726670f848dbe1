//! The durable remains of a device after a power cut.

use crate::{Oob, Ppn};

/// What non-volatile memory and flash hold after a power cut: all that recovery reads. The data of slots and pages stay
/// where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The words of non-volatile memory.
    pub words: Vec<u64>,
    /// All programmed pages in any order, with their out-of-band data, or `None` for a torn page.
    pub pages: Vec<(Ppn, Option<Oob>)>,
    /// The erase count of each block.
    pub erases: Vec<u32>,
}
