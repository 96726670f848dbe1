//! The energy of flash operations.

use coflash_base::Energy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Energy of flash operations, from a data sheet or from measurements such as those of Grupp et al. (MICRO 2009). Without any,
/// a result has no energy. What the device takes when idle, and its controller, are not part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EnergyConfig {
    /// Energy of the array for a page read, also of one that is copied.
    pub page_read: Energy,
    /// Energy of the array for a page program, also of a copy.
    pub page_program: Energy,
    /// Energy of a block erase.
    pub block_erase: Energy,
    /// Energy of a page's transfer over the bus of its channel.
    pub page_transfer: Energy,
}
