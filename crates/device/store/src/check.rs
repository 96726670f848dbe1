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
    pub fn scrub(&self) -> Vec<Finding> {
        let (tables, layout) = (&self.tables, &self.layout);
        let programmed = |&page: &u32| tables.is_programmed(Ppn::new(page), layout);
        let pages = (0..tables.data.len() as u32).filter(programmed);
        let pages = pages.map(|page| ("page", page, tables.data[page as usize]));
        let slots = (0..).zip(&tables.slots).filter_map(|(slot, cell)| Some(("slot", slot, cell.data?)));
        let mut uses: Vec<_> = pages.chain(slots).collect();
        // The file is read in its order, and each place once.
        uses.sort_unstable_by_key(|&(part, number, data)| (data.place, part, number));
        let (mut bytes, mut copy) = (vec![0; layout.page_bytes], vec![0; layout.page_bytes]);
        let mut findings = Vec::new();
        for same_place in uses.chunk_by(|(.., one), (.., other)| one.place == other.place) {
            let read = self.data.read(&mut bytes, same_place[0].2.place);
            for &(part, number, data) in same_place {
                copy.copy_from_slice(&bytes);
                let problem = match (&read, data.code.mend(&mut copy)) {
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
