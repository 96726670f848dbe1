//! Looks for damage.

use crate::code::Looked;
use crate::disk::{Disk, Disks};
use crate::error::{Finding, StoreError, while_doing};
use crate::overlay::Overlay;
use crate::store::Store;
use coflash_media::Ppn;

/// Check every record, checksum and table of a container, and all data. Nothing is written.
///
/// # Errors
/// The files are no container, or cannot be read.
pub fn check(disks: &Disks<impl Disk>) -> Result<Vec<Finding>, StoreError> {
    let overlay = |disk| Overlay::new(disk).map_err(while_doing("opening the container"));
    let disks = Disks { data: overlay(&disks.data)?, metadata: overlay(&disks.metadata)? };
    match Store::open(disks) {
        Ok((mut store, _)) => Ok([store.take_found(), store.scrub()].concat()),
        Err(StoreError::Damaged(findings)) => Ok(findings),
        Err(other) => Err(other),
    }
}

impl<D: Disk> Store<D> {
    /// Read all data, and report checksum mismatches.
    #[must_use]
    pub fn scrub(&self) -> Vec<Finding> {
        let (tables, layout) = (&self.tables, &self.layout);
        let programmed = |&page: &u32| tables.is_programmed(Ppn::new(page), layout);
        let pages = (0..tables.data.len() as u32).filter(programmed);
        let pages = pages.map(|page| (tables.data[page as usize].place, Use::Page(page)));
        let slots = (0..).zip(&tables.slots);
        let slots = slots.filter_map(|(slot, cell)| Some((cell.data?.place, Use::Slot(slot))));
        let mut uses: Vec<_> = pages.chain(slots).collect();
        // The file is read in its order, and each place once.
        uses.sort_unstable();
        let (mut bytes, mut copy) = (vec![0; layout.page_bytes], vec![0; layout.page_bytes]);
        let mut findings = Vec::new();
        for of_place in uses.chunk_by(|(one, _), (other, _)| one == other) {
            let found = self.data.read(&mut bytes, of_place[0].0);
            for &(_, its_use) in of_place {
                let (part, number, data) = match its_use {
                    Use::Page(page) => ("page", page, Some(tables.data[page as usize])),
                    Use::Slot(slot) => ("slot", slot, tables.slots[slot as usize].data),
                };
                copy.copy_from_slice(&bytes);
                let looked = data.map_or(Looked::Damaged, |data| data.code.mend(&mut copy));
                let problem = match (&found, looked) {
                    (Ok(()), Looked::Sound) => continue,
                    (Ok(()), Looked::Mended(at)) => {
                        format!("byte {at} of its data is damaged; its code mends it")
                    }
                    (Ok(()), Looked::Damaged) => "its data does not match its checksum".to_owned(),
                    (Err(error), _) => format!("its data cannot be read: {error}"),
                };
                findings.push(Finding { part, number: number.into(), problem });
            }
        }
        findings.sort_unstable_by_key(|finding| (finding.part, finding.number));
        findings
    }
}

/// What has its data at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Page(u32),
    Slot(u32),
}
