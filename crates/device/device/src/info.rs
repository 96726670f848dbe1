//! A look at a device.

use crate::control;
use crate::description::Description;
use crate::folder::{DeviceError, Folder};
use coflash_store::{Disks, Finding, Overlay, Store, StoreError};
use std::io::ErrorKind;

/// Describe a device: that which is served, or the container, to which nothing is written.
///
/// # Errors
/// There is no device, or it is damaged.
pub fn info(folder: &Folder) -> Result<Description, DeviceError> {
    let disks = match folder.disks() {
        Err(DeviceError::Io { problem, .. }) if problem.kind() == ErrorKind::ResourceBusy => {
            return control::info(folder);
        }
        disks => disks?,
    };
    let overlay = |disk| Overlay::new(disk).map_err(|problem| folder.io(problem));
    let disks = Disks { data: overlay(disks.data)?, metadata: overlay(disks.metadata)? };
    Store::open(disks).map(|(store, _)| Description::of(&store)).map_err(|problem| folder.store(problem))
}

/// Check every record, checksum and table of a container, and all data. Nothing is written.
///
/// # Errors
/// There is no device, or it is served.
pub fn check(folder: &Folder) -> Result<Vec<Finding>, DeviceError> {
    coflash_store::check(&folder.disks()?).or_else(|problem| match problem {
        StoreError::Damaged(findings) => Ok(findings),
        other => Err(folder.store(other)),
    })
}
