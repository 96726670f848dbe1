//! A look at a device.

use crate::control;
use crate::folder::{DeviceError, Folder};
use crate::layers::{over, shared};
use coflash_store::{Finding, Info, Store};
use std::io::ErrorKind;

/// Describe a device: that which is served, or the container, to which nothing is written.
///
/// # Errors
/// There is no device, or it is damaged.
pub fn info(folder: &Folder) -> Result<Info, DeviceError> {
    let disks = match folder.disks() {
        Err(DeviceError::Io { problem, .. }) if problem.kind() == ErrorKind::ResourceBusy => {
            return control::info(folder);
        }
        disks => disks?,
    };
    let layer = over(folder, shared(&disks))?;
    Store::open(layer).map(|(store, _)| store.info()).map_err(|problem| folder.unusable(problem))
}

/// Check every record, checksum and table of a container, and all data. Nothing is written.
///
/// # Errors
/// There is no device, or it is served.
pub fn check(folder: &Folder) -> Result<Vec<Finding>, DeviceError> {
    coflash_store::check(&folder.disks()?).map_err(|problem| folder.unusable(problem))
}
