//! A look at a device that is not served.

use crate::folder::{DeviceError, Folder};
use coflash_scenario::Scenario;
use coflash_store::{Finding, Info, StoreError};

/// Describe a container, and return its scenario.
///
/// # Errors
/// There is no device, it is served, or it is damaged.
pub fn info(folder: &Folder) -> Result<(Info, Scenario), DeviceError> {
    let (store, _) = folder.open()?;
    let info = store.info();
    let scenario = Scenario::from_toml(&info.format.scenario)?;
    store.close().map_err(|problem| folder.store(problem))?;
    Ok((info, scenario))
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
