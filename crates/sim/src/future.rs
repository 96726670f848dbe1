//! The future writes of a workload, for oracles among the placement policies: the workload is read an
//! additional time, before the run.

use crate::address::{AddressMap, Lpns};
use crate::error::RunError;
use crate::observer::{Observer, Phase};
use coflash_ftl::placement::Future;
use coflash_scenario::Scenario;
use coflash_workload::{Op, Source};

/// Read the writes and trims of a workload, for a device of `logical_pages`. Takes 4 bytes per page written.
///
/// # Errors
/// An error of the workload; a cancellation.
pub(crate) fn future(
    scenario: &Scenario,
    source: &mut dyn Source,
    logical_pages: u32,
    observer: &mut dyn Observer,
) -> Result<Future, RunError> {
    let mut future = Future::new(logical_pages);
    let mut address = AddressMap::new(scenario, logical_pages);
    let mut left = scenario.workload.requests_max.unwrap_or(u64::MAX);
    let (mut batch, mut lpns, mut read) = (Vec::new(), Lpns::default(), 0);
    loop {
        observer.progress(Phase::Precondition, source.progress(), read)?;
        source.next_batch(&mut batch)?;
        batch.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if batch.is_empty() {
            return Ok(future);
        }
        for request in &batch {
            if !address.look_up(request, address.pages(request), &mut lpns) {
                // The run will refuse it.
                return Ok(future);
            }
            for lpn in lpns.iter() {
                match request.op {
                    Op::Write => future.write(lpn),
                    Op::Trim => future.trim(lpn),
                    Op::Read | Op::Flush => {}
                }
            }
        }
        read += batch.len() as u64;
        left -= batch.len() as u64;
    }
}
