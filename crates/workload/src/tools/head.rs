//! The first requests of a trace.

use crate::request::{Request, Source, WorkloadError};

/// The first `count` requests of `source`, or all where there are fewer.
///
/// # Errors
/// What is wrong with one of them; what comes later is not looked at, except for the rest of a batch.
pub fn head(source: &mut dyn Source, count: usize) -> Result<Vec<Request>, WorkloadError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while all.len() < count {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        all.extend(batch.iter().take(count - all.len()));
    }
    Ok(all)
}
