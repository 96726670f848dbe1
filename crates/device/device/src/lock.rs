//! Locks of what threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock what threads share. It is consistent at any moment, so that a panic of another thread does not matter.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
