//! Changes that had come to memory when the host could not write them: they are refused, and have no effect.
//!
//! Memory cannot take them back. So what the files hold of them is read once, and is what clients find from then on: the same as
//! after the next power on. Later changes are refused before they come to memory.

use crate::machine::Machine;
use crate::session::Failure;
use coflash_nbd::{Command, Extents, Request};
use coflash_store::StoreError;
use std::io;
use std::ops::Range;

/// The most bytes that are kept, more than one batch can write: of a longer trim nothing can be read before the next power on.
const KEPT_BYTES_MAX: u64 = 64 << 20;

/// Ranges of refused changes, with their contents where these could be read.
#[derive(Default)]
pub(crate) struct Refused(Vec<(Range<u64>, Option<Vec<u8>>)>);

impl Refused {
    /// Note the changes of a batch. Returns why their contents cannot be read.
    pub(crate) fn note(&mut self, machine: &mut Machine, ranges: Vec<Range<u64>>) -> Option<String> {
        let bytes = ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        let found = match bytes <= KEPT_BYTES_MAX {
            true => machine.in_files(&ranges).map_err(|problem| problem.to_string()),
            false => Err(format!("a change of {bytes} B is refused, and its range cannot be read")),
        };
        let (found, problem) = match found {
            Ok(found) => (found.into_iter().map(Some).collect(), None),
            Err(problem) => (vec![None; ranges.len()], Some(problem)),
        };
        self.0.extend(ranges.into_iter().zip(found));
        problem
    }

    /// Have a request that was served find the contents of refused ranges.
    pub(crate) fn mend(&self, request: &mut Request) -> Result<(), Failure> {
        let (offset, end) = (request.offset, request.offset + u64::from(request.length));
        for (range, found) in &self.0 {
            let (from, to) = (offset.max(range.start), end.min(range.end));
            if from >= to {
                continue;
            }
            match (request.command, found) {
                (Command::Read, Some(found)) => request.data
                    [(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&found[(from - range.start) as usize..(to - range.start) as usize]),
                (Command::Read, None) => {
                    let problem = io::Error::other("what the files hold of it is not known");
                    return Err(StoreError::host("reading a range of a refused change", &problem).into());
                }
                // Whether it is a hole is not known.
                (Command::BlockStatus, _) => request.extents = Extents::new(request.length, true),
                _ => {}
            }
        }
        Ok(())
    }
}
