//! Looks for damage.

use crate::cell::Data;
use crate::disk::{Disk, Disks};
use crate::error::{Finding, StoreError, while_doing};
use crate::overlay::Overlay;
use crate::store::Store;
use coflash_base::Index;
use coflash_media::Ppn;

/// Check every record, checksum and table of a container, and all data. Nothing is written.
///
/// # Errors
/// The files are no container, or cannot be read.
pub fn check(disks: &Disks<impl Disk>) -> Result<Vec<Finding>, StoreError> {
    let overlay = |disk| Overlay::new(disk).map_err(while_doing("opening the container"));
    let disks = Disks { data: overlay(&disks.data)?, metadata: overlay(&disks.metadata)? };
    match Store::open(disks) {
        Ok((store, _)) => Ok(store.scrub()),
        Err(StoreError::Damaged(findings)) => Ok(findings),
        Err(other) => Err(other),
    }
}

impl<D: Disk> Store<D> {
    /// Read all data, and report checksum mismatches.
    #[must_use]
    pub fn scrub(&self) -> Vec<Finding> {
        let (tables, layout) = (&self.tables, &self.layout);
        let mut bytes = vec![0; layout.page_bytes];
        let mut findings = Vec::new();
        let mut look = |part, number, Data { place, checksum }| {
            let problem = match self.data.read(&mut bytes, place) {
                Ok(()) if crc32c::crc32c(&bytes) == checksum => return,
                Ok(()) => "its data does not match its checksum".to_owned(),
                Err(error) => format!("its data cannot be read: {error}"),
            };
            findings.push(Finding { part, number, problem });
        };
        for (number, &data) in tables.data.iter().enumerate() {
            if tables.is_programmed(Ppn::from_index(number), layout) {
                look("page", number as u64, data);
            }
        }
        for (number, slot) in tables.slots.iter().enumerate() {
            if let Some(data) = slot.data {
                look("slot", number as u64, data);
            }
        }
        findings
    }
}
