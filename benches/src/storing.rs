//! The pace of a container of 1 GiB in the folder for temporary files; `TMPDIR=/dev/shm` takes the disk out of it.

use crate::Measured;
use crate::machine::thread_cpu_seconds;
use crate::row::{Row, row};
use coflash_base::seed::RngExt;
use coflash_base::{Bytes, Lpn, Seed};
use coflash_media::{
    Access, BlockId, Cause, Flash, Geometry, HostPage, Memory, Mode, Nvm, Oob, Place, Ppn, Slot,
};
use coflash_store::{Disks, FileDisk, Format, Store};
use std::path::PathBuf;
use std::time::Instant;

const PAGE_BYTES: usize = 4096;
const SLOTS: u32 = 1 << 14;

/// Rows for programs, reads, slots, opening, and opening with a check of all data.
pub(crate) fn rows() -> Vec<Row> {
    vec![
        row("store, programs", || measured(|store, geometry| programs(store, geometry, 1 << 18))),
        row("store, reads", || measured(reads)),
        row("store, cache slots and a fence", || measured(|store, _| slots(store))),
        row("store, opening", || opening(false)),
        row("store, opening and checking", || opening(true)),
    ]
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure leaves the files in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn filled() -> (Folder, Geometry, Store<FileDisk>) {
    let folder = Folder(std::env::temp_dir().join(format!("coflash-bench-{}", std::process::id())));
    std::fs::create_dir(&folder.0).expect("a new folder");
    let page_size = Bytes { count: PAGE_BYTES as u64 };
    let geometry = Geometry { blocks_per_plane: 512, page_size, ..Geometry::default() };
    let format = Format {
        logical_bytes: geometry.capacity().count,
        geometry: geometry.clone(),
        slots: SLOTS,
        volatile: false,
        in_host: false,
        words: SLOTS,
        scenario: String::new(),
        uuid: 1,
    };
    let files = Disks::<FileDisk>::create(&folder.0).expect("a new container");
    let mut store = Store::create(files, &format).expect("a new container");
    programs(&mut store, &geometry, geometry.pages());
    (folder, geometry, store)
}

/// Program pages one after the other, from erased blocks.
fn programs(store: &mut Store<FileDisk>, geometry: &Geometry, pages: u32) -> u32 {
    store.host_writes(0, &[7; PAGE_BYTES]);
    for page in (0..pages).map(Ppn::new) {
        if page.get().is_multiple_of(geometry.pages_per_block) {
            store
                .erase(BlockId::new(page.get() / geometry.pages_per_block), Cause::Gc, ())
                .expect("there is room");
        }
        let oob = Oob { lpn: Some(Lpn::new(page.get())), sequence: page.get().into(), mode: Mode::Normal };
        store.program(page, oob, Place::Host, Cause::Host, ()).expect("there is room");
    }
    pages
}

fn reads(store: &mut Store<FileDisk>, geometry: &Geometry) -> u32 {
    const READS: u32 = 1 << 19;
    let mut stream = Seed(1).stream("reads");
    for _ in 0..READS {
        let page = Ppn::new(stream.random_range(0..geometry.pages()));
        store.read(page, Place::Host, Cause::Host, ()).expect("it was programmed");
    }
    READS
}

/// Write slots as a cache does: data, fence, label, fence, and the answer, one in eight requests at a time.
fn slots(store: &mut Store<FileDisk>) -> u32 {
    const WRITES: u32 = 1 << 19;
    let mut stream = Seed(1).stream("slots");
    store.host_writes(0, &[7; PAGE_BYTES]);
    for write in 0..WRITES {
        let number = stream.random_range(0..SLOTS);
        store.access(Slot { memory: Memory::Device, number }, Access::WriteNew { from: Place::Host }, ());
        store.fence();
        store.store(number, write.into());
        store.fence();
        if write.is_multiple_of(8) {
            store.write_out().expect("there is room");
        }
    }
    WRITES
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (start, cpu) = (Instant::now(), thread_cpu_seconds());
    let done = work();
    (done, start.elapsed().as_secs_f64(), thread_cpu_seconds() - cpu)
}

fn measured(work: impl FnOnce(&mut Store<FileDisk>, &Geometry) -> u32) -> Measured {
    let (_folder, geometry, mut store) = filled();
    let (count, seconds, cpu) = timed(|| work(&mut store, &geometry));
    Measured {
        requests_per_second: f64::from(count) / seconds,
        note: format!("{:.2} µs of CPU each", cpu * 1e6 / f64::from(count)),
        ..Measured::default()
    }
}

fn opening(checks: bool) -> Measured {
    let (folder, geometry, store) = filled();
    store.close().expect("there is room");
    let ((), seconds, cpu) = timed(|| {
        let files = Disks::<FileDisk>::open(&folder.0).expect("it is there");
        let (store, contents) = Store::open(files).expect("it is whole");
        assert_eq!(contents.pages.len(), geometry.pages() as usize);
        assert!(!checks || store.scrub().is_empty());
    });
    Measured {
        requests_per_second: f64::from(geometry.pages()) / seconds,
        note: format!("{seconds:.3} s for 1 GiB, {cpu:.3} s of CPU"),
        ..Measured::default()
    }
}
