//! The writes of a workload that is read an additional time, before the run: for oracles among the placement policies, and for
//! preconditioning by the run's own writes.

use crate::address::{AddressMap, Lpns};
use crate::error::RunError;
use crate::observer::{Cancelled, Observer, Phase};
use coflash_ftl::placement::Future;
use coflash_scenario::Scenario;
use coflash_workload::{Op, Request, Source};
use std::cell::Cell;

/// Read a workload for a device of `logical_pages`, and show each request with its pages. Ends with false before a request that does
/// not fit, which the run will refuse. `look` is called now and then, with the part that was read.
///
/// # Errors
/// An error of the workload; a cancellation.
pub(crate) fn each_request(
    scenario: &Scenario,
    source: &mut dyn Source,
    logical_pages: u32,
    mut look: impl FnMut(Option<f64>) -> Result<(), Cancelled>,
    mut show: impl FnMut(&Request, &Lpns),
) -> Result<bool, RunError> {
    let mut address = AddressMap::new(scenario, logical_pages);
    let mut left = scenario.workload.most_requests();
    let (mut batch, mut lpns) = (Vec::new(), Lpns::default());
    loop {
        look(source.progress())?;
        source.next_batch(&mut batch)?;
        batch.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if batch.is_empty() {
            return Ok(true);
        }
        for request in &batch {
            if !address.look_up(request, address.pages(request), &mut lpns) {
                return Ok(false);
            }
            show(request, &lpns);
        }
        left -= batch.len() as u64;
    }
}

/// Read the writes and trims of a workload, for a device of `logical_pages`. Takes 4 bytes per page written.
///
/// # Errors
/// See [`each_request`].
pub(crate) fn future(
    scenario: &Scenario,
    source: &mut dyn Source,
    logical_pages: u32,
    observer: &mut dyn Observer,
) -> Result<Future, RunError> {
    let (mut future, read) = (Future::new(logical_pages), Cell::new(0));
    let look = |share| observer.progress(Phase::Precondition, share, read.get());
    each_request(scenario, source, logical_pages, look, |request, lpns| {
        read.set(read.get() + 1);
        lpns.iter().for_each(|lpn| match request.op {
            Op::Write => future.write(lpn),
            Op::Trim => future.trim(lpn),
            Op::Read | Op::Flush => {}
        });
    })?;
    Ok(future)
}
