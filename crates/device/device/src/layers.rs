//! A device over changes in memory: a look at a container that leaves its files alone.

use crate::folder::{DeviceError, Folder};
use crate::recorder::Recorder;
use crate::session::Session;
use coflash_scenario::Scenario;
use coflash_store::{Disk, Disks, Overlay, Store};
use std::io;

/// A disk of any kind: the firmware is compiled for one.
pub(crate) type Shared<'a> = &'a (dyn Disk + Sync);
/// Changes in memory over the disks of a container.
pub(crate) type Layer<'a> = Disks<Overlay<Shared<'a>>>;
/// A device under power.
pub(crate) type Powered<'a> = Session<Store<Shared<'a>>>;

pub(crate) fn shared<D: Disk + Sync>(disks: &Disks<D>) -> Disks<Shared<'_>> {
    Disks { data: &disks.data, metadata: &disks.metadata }
}

/// Overlays in memory over other disks.
pub(crate) fn over<'d>(folder: &Folder, below: Disks<Shared<'d>>) -> Result<Layer<'d>, DeviceError> {
    let over = || Ok(Disks { data: Overlay::new(below.data)?, metadata: Overlay::new(below.metadata)? });
    over().map_err(|problem| folder.io(problem))
}

pub(crate) fn power_on<'d>(folder: &Folder, disks: Disks<Shared<'d>>) -> Result<Powered<'d>, DeviceError> {
    let (store, found) = Store::open(disks).map_err(|problem| folder.unusable(problem))?;
    let scenario = Scenario::from_toml(&store.format().scenario)?;
    let session = Session::start(scenario, store, Some(&found), Recorder::to(io::sink()), None);
    session.map_err(|problem| folder.unusable(problem))
}
