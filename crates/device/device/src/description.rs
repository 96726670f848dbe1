//! The description of a device.

use coflash_store::{Disk, Info, Store};
use serde::{Deserialize, Serialize};

/// The description of a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The description of its container.
    pub info: Info,
    /// Why it is read-only, if it is; only of a device that is served.
    pub refusal: Option<String>,
}

impl Description {
    pub(crate) fn of(store: &Store<impl Disk>) -> Self {
        Self { info: store.info(), refusal: store.failure().map(ToString::to_string) }
    }
}
