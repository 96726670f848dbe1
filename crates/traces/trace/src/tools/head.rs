//! The first requests of a trace.

use crate::Result;
use coflash_workload::{Request, Source};

/// The first `count` requests of `source`, or all if there are fewer.
///
/// # Errors
/// An error in one of them, or in the rest of a batch.
pub fn head(source: &mut dyn Source, count: usize) -> Result<Vec<Request>> {
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
