//! The requests of a workload that is read an additional time, before the run: for preconditioning by the run's own writes, and for
//! a lower bound of flash programs.

use crate::address::{AddressMap, Lpns};
use crate::error::RunError;
use crate::observer::Cancelled;
use coflash_scenario::Scenario;
use coflash_workload::{Request, Source};

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
