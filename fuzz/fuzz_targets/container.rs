//! No bytes make a container panic when it is opened, checked and read.
//!
//!     cargo +nightly fuzz run container
//!
//! An input is a list of changes of a small container, six bytes each: four bytes for the place, one for the
//! file, and one for the new value.

#![no_main]

use coflash_base::{Bytes, Lpn};
use coflash_media::{Access, Cause, Flash, Geometry, HostPage, Memory, Mode, Nvm, Oob, Place, Ppn, Slot};
use coflash_store::{Disk, Disks, Format, Store, check};
use memory::MemoryDisk;

#[path = "../../crates/device/store/src/tests/memory.rs"]
mod memory;

const PAGE_BYTES: usize = 512;
const SLOTS: u32 = 3;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let disks = container();
    for change in data.chunks_exact(6) {
        let disk = if change[4].is_multiple_of(4) { &disks.data } else { &disks.metadata };
        let size = disk.size_bytes().expect("it is memory");
        let place = u64::from(u32::from_le_bytes([change[0], change[1], change[2], change[3]])) % size;
        disk.write_at(&change[5..6], place).expect("it is memory");
    }
    let findings = check(&disks);
    if let Ok((mut store, contents)) = Store::open(disks) {
        assert!(findings.is_ok());
        for found in contents.pages {
            let _ = store.read(found.page(), Place::Host, Cause::Host, ());
        }
        for slot in (0..SLOTS).map(slot) {
            store.access(slot, Access::Read { to: Place::Host }, ());
        }
    }
});

fn slot(number: u32) -> Slot {
    Slot { memory: Memory::Device, number }
}

/// A container with data, and changes that no sync point covers.
fn container() -> Disks<MemoryDisk> {
    let disks = Disks::<MemoryDisk>::default();
    let geometry = Geometry {
        channels: 1,
        blocks_per_plane: 4,
        pages_per_block: 4,
        page_size: Bytes { count: PAGE_BYTES as u64 },
        ..Geometry::default()
    };
    let (logical_bytes, scenario) = (8 * PAGE_BYTES as u64, "seed = 1".to_owned());
    let format = Format { geometry, logical_bytes, slots: SLOTS, words: 4, scenario, ..Format::default() };
    let files = Disks { data: &disks.data, metadata: &disks.metadata };
    let mut store = Store::create(files, &format).expect("it fits");
    for page in 0..10 {
        store.host_writes(0, &[page as u8; PAGE_BYTES]);
        let oob = Oob { lpn: Some(Lpn::new(page % 8)), sequence: page.into(), mode: Mode::Normal };
        store.program(Ppn::new(page), oob, Place::Host, Cause::Host, ()).expect("it is erased");
        store.access(slot(page % SLOTS), Access::WriteNew { from: Place::Host }, ());
        store.store(page % 4, page.into());
        if page == 5 {
            store.sync_point().expect("it is memory");
        }
        store.write_out().expect("it is memory");
    }
    disks
}
