//! Damaged containers: refused, intact, or with the damaged page reported.

use super::memory::MemoryDisk;
use super::model::{Operation, PAGE_BYTES, State, call, erased, format, look, oob, page_of, slot};
use crate::cell::{self, Cell, PageCell};
use crate::disk::{Disk, Disks, FileDisk};
use crate::format::{Layout, Superblock, VERSION, VERSION_WITHOUT_COPIES};
use crate::sabotage::{self, Sabotage};
use crate::{Damage, DeviceBytes, Format, Store, StoreError, check};
use coflash_base::Seed;
use coflash_base::seed::RngExt;
use coflash_media::{Access, BlockId, Cause, Flash, FoundPage, HostPage, Mode, Nvm, Oob, Place, Ppn};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

fn refs<D>(disks: &Disks<D>) -> Disks<&D> {
    Disks { data: &disks.data, metadata: &disks.metadata }
}

/// A container with some data, its contents, and whether it was closed.
fn filled(is_closed: bool) -> (Disks<MemoryDisk>, State) {
    let memory = erased();
    let (mut store, _) = Store::open(refs(&memory)).expect("the container is whole");
    let (mut state, mut stream) = (State::erased(), Seed(3).stream("damage"));
    for tag in 1..60 {
        let operation = state.draw(tag, &mut stream);
        let oob = oob(&state, operation, tag);
        state.apply(operation, oob);
        call(&mut store, operation, oob).expect("memory does not fail");
        if tag % 8 == 0 {
            store.sync_point().expect("memory does not fail");
        }
    }
    store.sync_point().expect("memory does not fail");
    if is_closed {
        store.close().expect("memory does not fail");
    }
    (memory, state)
}

/// Flip the bits of a mask in a byte of a disk.
fn flip(disk: &MemoryDisk, at: usize, mask: u8) {
    let mut byte = [0];
    disk.read_at(&mut byte, at as u64).expect("it is memory");
    disk.write_at(&[byte[0] ^ mask], at as u64).expect("it is memory");
}

/// Put a container back.
fn put_back(memory: &Disks<MemoryDisk>, before: &Disks<MemoryDisk>) {
    memory.metadata.write_at(&before.metadata.to_vec(), 0).expect("it is memory");
    memory.data.write_at(&before.data.to_vec(), 0).expect("it is memory");
}

/// Places of interest in the metadata: superblocks and journals are mostly empty.
fn of_interest(size: usize) -> impl Iterator<Item = usize> {
    (0..size).filter(|at| *at >= 64 << 10 || at % (32 << 10) < 1024 || at.is_multiple_of(61))
}

#[test]
fn no_flipped_byte_of_the_metadata_loses_anything_and_a_check_tells_where_it_was() {
    for (is_closed, mask) in [(true, 1), (true, 255), (false, 16), (false, 255)] {
        let (memory, state) = filled(is_closed);
        let (before, size) = (memory.clone(), memory.metadata.to_vec().len());
        let mut told = 0;
        for at in of_interest(size) {
            flip(&memory.metadata, at, mask);
            told += usize::from(!check(&memory).expect("it is a container").is_empty());
            let (mut store, contents) = Store::open(refs(&memory)).expect("each part is there twice");
            let found = look(&mut store, &contents).expect("all is readable");
            assert!(found == state, "byte {at} of {size}, closed: {is_closed}");
            drop(store);
            assert_eq!(
                check(&memory).expect("it is a container"),
                [],
                "opening has mended byte {at} of {size}"
            );
            put_back(&memory, &before);
        }
        assert!(told > 1000, "{told} flips were told");
    }
}

#[test]
fn a_lost_sector_of_the_metadata_loses_nothing() {
    for is_closed in [true, false] {
        let (memory, state) = filled(is_closed);
        let before = memory.clone();
        for sector in 0..memory.metadata.to_vec().len() / 512 {
            for garbage in [0, 0xa5] {
                memory.metadata.write_at(&[garbage; 512], sector as u64 * 512).expect("it is memory");
                let (mut store, contents) = Store::open(refs(&memory)).expect("each part is there twice");
                assert!(look(&mut store, &contents).expect("all is readable") == state, "sector {sector}");
                put_back(&memory, &before);
            }
        }
    }
}

#[test]
fn damage_to_both_copies_is_refused_or_does_no_harm() {
    let (memory, state) = filled(true);
    let (before, layout) = (memory.clone(), Layout::new(&format(), VERSION));
    let mut refused = 0;
    for at in layout.tables() {
        layout.copies.iter().for_each(|copy| flip(&memory.metadata, (at + copy) as usize, 255));
        match Store::open(refs(&memory)) {
            Ok((mut store, contents)) => {
                assert!(look(&mut store, &contents).expect("all is readable") == state, "byte {at}");
            }
            Err(StoreError::Damaged(findings)) => {
                assert!(!findings.is_empty());
                refused += 1;
            }
            Err(other) => panic!("byte {at}: {other}"),
        }
        put_back(&memory, &before);
    }
    assert!(refused > 500, "{refused} flips were found");
}

#[test]
fn a_flipped_byte_of_what_was_not_synced_loses_nothing() {
    let memory = erased();
    let (mut store, _) = Store::open(refs(&memory)).expect("the container is whole");
    let (mut state, mut stream) = (State::erased(), Seed(5).stream("unsynced"));
    for tag in 1..60 {
        let operation = state.draw(tag, &mut stream);
        let oob = oob(&state, operation, tag);
        state.apply(operation, oob);
        call(&mut store, operation, oob).expect("memory does not fail");
        store.write_out().expect("memory does not fail");
    }
    drop(store);
    let before = memory.clone();
    let opens_as = |what: String| {
        let (mut store, contents) = Store::open(refs(&memory)).expect("the tables are whole");
        assert!(look(&mut store, &contents).expect("all is readable") == state, "{what}");
        put_back(&memory, &before);
    };
    for at in of_interest(memory.metadata.to_vec().len()) {
        flip(&memory.metadata, at, 0x81);
        opens_as(format!("metadata, byte {at}"));
    }
    for at in 0..memory.data.to_vec().len() {
        flip(&memory.data, at, 0x81);
        opens_as(format!("data, byte {at}"));
    }
}

#[test]
fn larger_damage_to_what_was_not_synced_goes_back_to_a_moment_and_tells_what_is_lost() {
    let memory = erased();
    let (mut store, _) = Store::open(refs(&memory)).expect("the container is whole");
    let mut moments = vec![State::erased()];
    for tag in 1..8 {
        let (mut state, page) = (moments[moments.len() - 1].clone(), Ppn::new(tag - 1));
        let operation = Operation::Program { page, tag: tag.into(), half: false };
        let oob = plain(tag.into());
        state.apply(operation, oob);
        call(&mut store, operation, oob).expect("memory does not fail");
        store.write_out().expect("memory does not fail");
        moments.push(state);
    }
    let places: Vec<_> = store.tables.data[..7].iter().map(|data| data.place as usize * PAGE_BYTES).collect();
    drop(store);
    let before = memory.clone();
    for (kept, place) in places.into_iter().enumerate() {
        [3, 700].into_iter().for_each(|at| flip(&memory.data, place + at, 0x81));
        let told = check(&memory).expect("it is a container");
        let (mut store, contents) = Store::open(refs(&memory)).expect("the tables are whole");
        assert!(
            look(&mut store, &contents).expect("all is readable") == moments[kept],
            "{kept} pages are kept"
        );
        let lost = format!("Lost are the changes of {} pages", 7 - kept);
        assert!(told.len() == 1 && told[0].problem.contains(&lost), "{told:?}");
        assert_eq!(store.take_found(), told);
        put_back(&memory, &before);
    }
}

#[test]
fn a_container_without_copies_is_served_and_its_damage_refused() {
    let disks = Disks::<MemoryDisk>::default();
    let (format, version) = (format(), VERSION_WITHOUT_COPIES);
    let layout = Layout::new(&format, version);
    disks.metadata.write_at(&[0], layout.end() - 1).expect("it is memory");
    Superblock { format, epoch: 1, version }.write(&disks.metadata).expect("it is memory");
    let (mut store, _) = Store::open(refs(&disks)).expect("it is whole");
    let (mut state, operation) =
        (State::erased(), Operation::Program { page: Ppn::new(0), tag: 1, half: false });
    state.apply(operation, plain(1));
    call(&mut store, operation, plain(1)).expect("memory does not fail");
    store.close().expect("memory does not fail");
    let (mut store, contents) = Store::open(refs(&disks)).expect("it is whole");
    assert!(look(&mut store, &contents).expect("all is readable") == state);
    drop(store);
    flip(&disks.metadata, layout.pages.at(0) as usize, 1);
    assert!(matches!(Store::open(refs(&disks)), Err(StoreError::Damaged(_))));
}

/// Whether all findings are pages and slots with the same data.
fn same_data(store: &Store<&MemoryDisk>, findings: &[crate::Finding]) -> bool {
    let data = findings.iter().map(|found| match found.part {
        "page" => store.tables.data[found.number as usize],
        _ => store.tables.slots[found.number as usize].data.expect("it has data"),
    });
    data.collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1])
}

/// A disk that notes where it is read.
struct Reads<'a>(&'a MemoryDisk, std::cell::RefCell<Vec<u64>>);

impl Disk for Reads<'_> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.1.borrow_mut().push(offset);
        self.0.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn size_bytes(&self) -> std::io::Result<u64> {
        self.0.size_bytes()
    }
}

#[test]
fn a_scrub_reads_the_file_in_its_order_and_shared_data_once() {
    let (memory, state) = filled(true);
    let notes = [&memory.data, &memory.metadata].map(|disk| Reads(disk, Default::default()));
    let (store, _) = Store::open(Disks { data: &notes[0], metadata: &notes[1] }).expect("it is whole");
    notes[0].1.take();
    assert_eq!(store.scrub(), []);
    let reads = notes[0].1.take();
    let places = Vec::from_iter(store.tables.places(&store.layout));
    assert!(
        places.len() > state.pages.len() && !places.is_sorted(),
        "there is something to sort: {places:?}"
    );
    let distinct = std::collections::BTreeSet::from_iter(places.iter().map(|&place| u64::from(place)));
    assert!(distinct.len() < places.len(), "some data is shared");
    assert_eq!(reads, Vec::from_iter(distinct.iter().map(|place| place * PAGE_BYTES as u64)));
}

#[test]
fn a_flipped_byte_of_the_data_is_mended_and_told() {
    let (memory, state) = filled(true);
    for at in 0..memory.data.to_vec().len() {
        flip(&memory.data, at, (at % 255) as u8 + 1);
        let told = check(&memory).expect("it is a container");
        let problem = format!("byte {} of its data is damaged; its code mends it", at % PAGE_BYTES);
        assert!(told.iter().all(|finding| finding.problem == problem), "{told:?}");
        let (mut store, contents) = Store::open(refs(&memory)).expect("tables are whole");
        assert!(look(&mut store, &contents).expect("all is readable") == state, "byte {at}");
        flip(&memory.data, at, (at % 255) as u8 + 1);
    }
}

#[test]
fn two_flipped_bytes_of_the_data_make_all_copies_of_one_page_unreadable() {
    let (memory, state) = filled(true);
    for at in (0..memory.data.to_vec().len()).step_by(97) {
        [at, at ^ 1].into_iter().for_each(|at| flip(&memory.data, at, 0x55));
        let (mut store, contents) = Store::open(refs(&memory)).expect("tables are whole");
        let damaged = store.scrub();
        assert!(same_data(&store, &damaged));
        assert_eq!(check(&memory).expect("it is a container"), damaged);
        for page in contents.pages.iter().map(|found| found.page()) {
            let read = store.read(page, Place::Host, Cause::Host, ());
            let is_damaged =
                damaged.iter().any(|found| found.part == "page" && found.number == u64::from(page.get()));
            assert_eq!(read.err(), is_damaged.then_some(StoreError::Unreadable(page, Damage::Changed)));
            assert!(is_damaged || *store.host_reads() == *state.pages[&page.get()].1);
        }
        for number in 0..super::model::SLOTS {
            store.access(slot(number), Access::Read { to: Place::Host }, ());
            let is_damaged =
                damaged.iter().any(|found| found.part == "slot" && found.number == u64::from(number));
            assert_eq!(store.take_slot_damage(), is_damaged.then_some(Damage::Changed));
        }
        [at, at ^ 1].into_iter().for_each(|at| flip(&memory.data, at, 0x55));
    }
}

#[test]
fn cells_that_nobody_wrote_are_refused_or_sound() {
    let layout = Layout::new(&format(), VERSION);
    let (mut refused, mut opened) = (0, 0);
    for seed in 0..4000 {
        let mut stream = Seed(seed).stream("cells");
        let (memory, _) = filled(true);
        for _ in 0..stream.random_range(1..4) {
            let table =
                [&layout.blocks, &layout.words, &layout.slots, &layout.pages][stream.random_range(0..4)];
            let at = table.at(stream.random_range(0..table.cells));
            // Mostly small numbers: they are nearly right.
            let mut cell = (0..table.cell_bytes).map(|_| stream.random_range(0..4)).collect::<Vec<u8>>();
            let fields = cell.len() - 4;
            for byte in &mut cell[..fields] {
                *byte *= stream.random_range(0..2);
                *byte = if stream.random_range(0..40) == 0 { stream.random() } else { *byte };
            }
            let checksum = cell::checksum(&cell[..fields], at, layout.seed);
            cell[fields..].copy_from_slice(&checksum.to_le_bytes());
            for copy in &layout.copies {
                memory.metadata.write_at(&cell, at + copy).expect("it is memory");
            }
        }
        match Store::open(refs(&memory)) {
            Ok((mut store, contents)) => {
                opened += 1;
                let _ = look(&mut store, &contents);
                let _ = store.scrub();
                for block in 0..super::model::BLOCKS {
                    let page = store.layout.geometry.page(BlockId::new(block), 0);
                    store.erase(BlockId::new(block), Cause::Gc, ()).expect("memory does not fail");
                    store.program(page, plain(99), Place::Host, Cause::Host, ()).expect("it is erased");
                }
                store.close().expect("memory does not fail");
                // An older erase count may bring erased data back.
                let _ = Store::open(refs(&memory));
            }
            Err(StoreError::Damaged(_)) => refused += 1,
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    assert!(refused > 500 && opened > 500, "{refused} refused, {opened} opened");
}

fn plain(sequence: u64) -> Oob {
    Oob { lpn: None, sequence, mode: Mode::Normal }
}

/// Damage a page, and send it through GC, a slot and an eviction; tells whether any of these makes it readable.
fn is_laundered() -> bool {
    let memory = erased();
    let (mut store, _) = Store::open(refs(&memory)).expect("the container is whole");
    let [first, copy, from_slot] = [0, 1, 2].map(Ppn::new);
    store.host_writes(0, &page_of(1));
    store.program(first, plain(1), Place::Host, Cause::Host, ()).expect("it is erased");
    store.access(slot(0), Access::WriteNew { from: Place::Host }, ());
    store.sync_point().expect("memory does not fail");
    for page in 0..memory.data.to_vec().len() / PAGE_BYTES {
        [5, 6].into_iter().for_each(|at| flip(&memory.data, page * PAGE_BYTES + at, 1));
    }
    store.copy(first, copy, plain(2), Cause::Gc, ()).expect("a damaged page is copied as it is");
    // A write of a part does not repair the rest.
    store.host_writes(0, &[1]);
    store.access(slot(0), Access::Write { from: Place::Host }, ());
    store.program(from_slot, plain(3), Place::Slot(slot(0)), Cause::Evict, ()).expect("it is erased");
    let is_readable = |store: &mut Store<_>, page| {
        store.read(page, Place::Host, Cause::Host, ()) != Err(StoreError::Unreadable(page, Damage::Changed))
    };
    let reads = [first, copy, from_slot].map(|page| is_readable(&mut store, page));
    // The end of the process does not take the copies for unfinished writes.
    store.write_out().expect("memory does not fail");
    drop(store);
    let (mut store, contents) = Store::open(refs(&memory)).expect("the container is whole");
    assert_eq!(contents.pages.len(), 3);
    reads.contains(&true) || [first, copy, from_slot].into_iter().any(|page| is_readable(&mut store, page))
}

#[test]
fn damaged_data_stays_damaged() {
    assert!(!is_laundered());
    assert!(sabotage::with(Some(Sabotage::RecomputedChecksum), is_laundered));
}

/// A disk that may be full.
struct FullDisk<'a>(&'a MemoryDisk, &'a AtomicBool);

impl FullDisk<'_> {
    fn room(&self) -> io::Result<()> {
        if self.1.load(Ordering::Relaxed) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for FullDisk<'_> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.room()?;
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.room()
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.0.size_bytes()
    }
}

#[test]
fn a_sequence_number_that_none_can_follow_is_refused() {
    let (layout, page) = (Layout::new(&format(), VERSION), Ppn::new(0));
    let opened = |sequence| {
        let memory = erased();
        let oob = Some(Oob { lpn: None, sequence, mode: Mode::Normal });
        let programmed = PageCell { oob, is_there: true, ..PageCell::default() };
        let at = layout.pages.at(0);
        let bytes = cell::encode(&programmed, at, layout.seed);
        for copy in &layout.copies {
            memory.metadata.write_at(&bytes[..PageCell::BYTES], at + copy).expect("it is memory");
        }
        Store::open(refs(&memory)).map(|(_, contents)| contents.pages)
    };
    let last = FoundPage::SEQUENCES - 1;
    let found = opened(last).expect("it is sound");
    assert_eq!(found, [FoundPage::new(page, Some(Oob { lpn: None, sequence: last, mode: Mode::Normal }))]);
    let refused = opened(last + 1).expect_err("it is too large").to_string();
    assert!(
        refused.ends_with("it has the sequence number 4611686018427387904, which is too large"),
        "{refused}"
    );
}

#[test]
fn after_a_failed_write_the_store_is_read_only() {
    let (memory, is_full) = (erased(), AtomicBool::new(false));
    let disks =
        || Disks { data: FullDisk(&memory.data, &is_full), metadata: FullDisk(&memory.metadata, &is_full) };
    let (mut store, _) = Store::open(disks()).expect("the container is whole");
    store.host_writes(0, &page_of(1));
    store.program(Ppn::new(0), plain(1), Place::Host, Cause::Host, ()).expect("there is room");
    store.access(slot(1), Access::WriteNew { from: Place::Host }, ());
    store.sync_point().expect("there is room");
    is_full.store(true, Ordering::Relaxed);
    store.program(Ppn::new(1), plain(2), Place::Host, Cause::Host, ()).expect("it waits to be written");
    let failure = store.write_out().expect_err("it is full");
    assert_eq!(failure.to_string(), "writing data failed: no storage space");
    // It stays so when there is room again, and the existing data can be read.
    is_full.store(false, Ordering::Relaxed);
    assert_eq!(store.sync_point().as_ref(), Err(&failure));
    assert_eq!(store.failure(), Some(&failure));
    let before = memory.clone();
    let reads = |store: &mut Store<FullDisk<'_>>| {
        store.host_writes(0, &page_of(2));
        store.read(Ppn::new(0), Place::Host, Cause::Host, ()).expect("reads go on");
        assert_eq!(store.host_reads(), page_of(1));
        store.host_writes(0, &page_of(2));
        store.access(slot(1), Access::Read { to: Place::Host }, ());
        assert_eq!(store.host_reads(), page_of(1));
    };
    reads(&mut store);
    // The firmware goes on as well, in memory alone: it may evict, collect and commit in order to read.
    for round in 0..200 {
        store.erase(BlockId::new(1), Cause::Gc, ()).expect("it is in memory");
        let page = store.layout.geometry.page(BlockId::new(1), 0);
        store.copy(Ppn::new(0), page, plain(3 + round), Cause::Gc, ()).expect("it is in memory");
    }
    reads(&mut store);
    drop(store);
    assert!(
        memory.data.to_vec() == before.data.to_vec() && memory.metadata.to_vec() == before.metadata.to_vec()
    );
    // A full disk is opened for reading, and there is nothing to sync.
    is_full.store(true, Ordering::Relaxed);
    let (mut store, _) = Store::open(disks()).expect("it can be read");
    assert_eq!(
        store.failure().map(ToString::to_string),
        Some("syncing metadata failed: no storage space".to_owned())
    );
    assert_eq!(store.sync_point(), Ok(()));
    reads(&mut store);
    drop(store);
    is_full.store(false, Ordering::Relaxed);
    let (mut store, _) = Store::open(disks()).expect("there is room");
    assert_eq!(store.failure(), None);
    reads(&mut store);
}

/// A disk with a place that cannot be read.
struct BadDisk<'a>(&'a MemoryDisk, std::ops::Range<u64>);

impl Disk for BadDisk<'_> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if offset < self.1.end && offset + bytes.len() as u64 > self.1.start {
            return Err(io::Error::other("a bad sector"));
        }
        self.0.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.0.size_bytes()
    }
}

#[test]
fn data_that_the_host_cannot_read_is_told_apart_from_damage() {
    let (memory, _) = filled(true);
    let disks = Disks { data: BadDisk(&memory.data, 0..u64::MAX), metadata: BadDisk(&memory.metadata, 0..0) };
    let (mut store, contents) = Store::open(disks).expect("the tables can be read");
    let page = contents.pages[0].page();
    let failed = store.read(page, Place::Host, Cause::Host, ()).expect_err("it cannot be read");
    let problem =
        format!("physical page {} cannot be read: the host cannot read its data: a bad sector", page.get());
    assert_eq!(failed.to_string(), problem);
}

#[test]
fn what_is_no_container_is_refused() {
    let refused = |disks: &Disks<MemoryDisk>| Store::open(refs(disks)).expect_err("it is none").to_string();
    let nothing = Disks::<MemoryDisk>::default();
    assert_eq!(refused(&nothing), "this is no container of coflash, or its creation was interrupted");
    let (short, _) = filled(true);
    let metadata = short.metadata.to_vec();
    let short = Disks { metadata: MemoryDisk::new(metadata[..metadata.len() - 1].to_vec()), ..short };
    let (there, all) = (metadata.len() - 1, metadata.len());
    assert_eq!(
        refused(&short),
        format!("the container is damaged: metadata file 0: it has {there} B of {all}")
    );
    let (later, _) = filled(true);
    [0, 32 << 10].into_iter().for_each(|at| later.metadata.write_at(&[6], at + 8).expect("it is memory"));
    let foreign = refused(&later);
    assert!(
        foreign.starts_with("a container of version 6 was given; versions 4 and 5 are allowed"),
        "{foreign}"
    );
    let created = |format: &Format| {
        Store::create(Disks::<MemoryDisk>::default(), format).expect_err("it is not allowed").to_string()
    };
    assert_eq!(
        created(&Format { logical_bytes: 1000, ..format() }),
        "a capacity of 1000 B was given; a multiple of 1024 B up to 15360 B is allowed"
    );
    assert_eq!(
        created(&Format { slots: 16, ..format() }),
        "16 slots were given; at most one for each of 15 pages is allowed"
    );
    let large = created(&Format { scenario: "#".repeat(40_000), ..format() });
    assert!(large.ends_with("B was given; 32740 B is allowed"), "{large}");
}

#[test]
fn files_are_the_owners_alone_and_locked() {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::env::temp_dir().join(format!("coflash-store-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("it is new");
    let files = Disks::<FileDisk>::create(&folder).expect("the folder is empty");
    drop(Store::create(files, &format()).expect("there is room"));
    let (mut store, _) =
        Store::open(Disks::<FileDisk>::open(&folder).expect("they are there")).expect("it is whole");
    let mode = std::fs::metadata(folder.join("data")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = Disks::<FileDisk>::open(&folder).expect_err("it is open").to_string();
    assert!(again.ends_with("data: another process has it open"), "{again}");
    Disks::<FileDisk>::create(&folder).expect_err("it is there");
    store.host_writes(0, &page_of(1));
    call(&mut store, Operation::Program { page: Ppn::new(0), tag: 1, half: false }, plain(1))
        .expect("there is room");
    store.write_out().expect("there is room");
    drop(store);
    let (mut store, contents) =
        Store::open(Disks::<FileDisk>::open(&folder).expect("they are there")).expect("it is whole");
    assert_eq!(look(&mut store, &contents).expect("all is readable").pages[&0].1[..], page_of(1));
    drop(store);
    std::fs::rename(folder.join("data"), folder.join("elsewhere")).expect("it is there");
    std::os::unix::fs::symlink(folder.join("elsewhere"), folder.join("data")).expect("the name is free");
    Disks::<FileDisk>::open(&folder).expect_err("a link is not followed");
    std::fs::remove_dir_all(&folder).expect("it is there");
}
