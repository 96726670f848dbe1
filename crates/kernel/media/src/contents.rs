//! The durable remains of a device after a power cut.

use crate::{Mode, Oob, Ppn};
use coflash_base::{Lpn, Save};

/// The contents of non-volatile memory and flash after a power cut: the input of recovery. The data of slots
/// and pages are not part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Save)]
pub struct Contents {
    /// The words of non-volatile memory.
    pub words: Vec<u64>,
    /// All programmed pages in any order.
    pub pages: Vec<FoundPage>,
    /// The erase count of each block.
    pub erases: Vec<u32>,
}

/// A programmed page with its out-of-band data, or a torn page. It takes 16 bytes: a large device has many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct FoundPage {
    page: Ppn,
    lpn: Option<Lpn>,
    /// The sequence number times four, and the mode from 1; 0 if the page is torn.
    program: u64,
}

impl FoundPage {
    /// Sequence numbers are below this one.
    pub const SEQUENCES: u64 = 1 << 62;

    /// Describe a page; without out-of-band data it is torn.
    ///
    /// # Panics
    /// The sequence number is too large.
    #[must_use]
    pub fn new(page: Ppn, oob: Option<Oob>) -> Self {
        let Some(Oob { lpn, sequence, mode }) = oob else { return Self { page, lpn: None, program: 0 } };
        assert!(sequence < Self::SEQUENCES, "the sequence number {sequence} is too large");
        Self { page, lpn, program: sequence << 2 | (mode as u64 + 1) }
    }

    /// The page.
    #[must_use]
    pub fn page(self) -> Ppn {
        self.page
    }

    /// Its out-of-band data; `None` if it is torn.
    #[must_use]
    pub fn oob(self) -> Option<Oob> {
        let mode = match self.program & 3 {
            0 => return None,
            1 => Mode::Normal,
            2 => Mode::Fast,
            _ => Mode::Slc,
        };
        Some(Oob { lpn: self.lpn, sequence: self.program >> 2, mode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_as_it_was_programmed() {
        assert_eq!(size_of::<FoundPage>(), 16);
        let page = Ppn::new(7);
        assert_eq!(FoundPage::new(page, None).oob(), None);
        for mode in [Mode::Normal, Mode::Fast, Mode::Slc] {
            for (lpn, sequence) in [(None, 0), (Some(Lpn::new(0)), FoundPage::SEQUENCES - 1)] {
                let found = FoundPage::new(page, Some(Oob { lpn, sequence, mode }));
                assert_eq!((found.page(), found.oob()), (page, Some(Oob { lpn, sequence, mode })));
            }
        }
    }
}
