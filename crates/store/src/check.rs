//! Looks for damage.

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
        let mut look = |part, number, at, checksum| {
            let problem = match self.disks.data.read_at(&mut bytes, at) {
                Ok(()) if crc32c::crc32c(&bytes) == checksum => return,
                Ok(()) => "its data does not match its checksum".to_owned(),
                Err(error) => format!("its data cannot be read: {error}"),
            };
            findings.push(Finding { part, number, problem });
        };
        for (number, &checksum) in tables.checksums.iter().enumerate() {
            let page = Ppn::from_index(number);
            if tables.is_programmed(page, layout)
                && let Some(at) = tables.page_data(page, layout)
            {
                look("page", number as u64, at, checksum);
            }
        }
        for (number, slot) in tables.slots.iter().enumerate() {
            if let Some(location) = slot.location {
                look("slot", number as u64, layout.slot_data(location), slot.checksum);
            }
        }
        findings
    }
}
