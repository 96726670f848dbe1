//! Power cuts of the simulated device: the store has the same contents as the image of the tests.

use super::memory::MemoryDisk;
use super::model::{PAGE_BYTES, SLOTS, State, WORDS, call, erased, format, look, oob, slot};
use crate::disk::Disks;
use crate::{DeviceBytes, Store, StoreError};
use coflash_base::Seed;
use coflash_base::seed::{RandomStream, RngExt};
use coflash_media::{Access, HostPage, Nvm, Place};
use coflash_testing::{Image, ImageError};

/// The contents of an image.
fn state_of(image: &mut Image) -> State {
    let mut state = State { words: image.words().to_vec(), ..State::default() };
    for (page, oob) in image.programmed().collect::<Vec<_>>() {
        match oob {
            Some(oob) => drop(state.pages.insert(page.get(), (oob, image.data(page).into()))),
            None => state.torn.push(page.get()),
        }
    }
    for number in 0..SLOTS {
        image.access(slot(number), Access::Read { to: Place::Host }, ());
        state.slots.push(image.host_reads().into());
    }
    state
}

fn draw_cut(stream: &mut RandomStream) -> u64 {
    stream.random_range(0..4 * PAGE_BYTES as u64 / 8)
}

#[test]
fn a_cut_leaves_what_it_leaves_of_an_image() {
    for seed in 0..300 {
        let mut stream = Seed(seed).stream("cuts");
        let memory = erased();
        let disks = Disks { data: &memory.data, metadata: &memory.metadata };
        let (mut store, _) = Store::open(disks).expect("the container is whole");
        let mut image = Image::new(&format().geometry, SLOTS).with_power_switch(WORDS);
        let (mut state, mut tag) = (State::erased(), 0);
        for cut in 0..20 {
            let steps = draw_cut(&mut stream);
            store.cut_after(steps);
            image.cut_after(steps);
            let before = image.steps();
            while !image.is_dead() {
                tag += 1;
                let operation = state.draw(tag, &mut stream);
                let oob = oob(&state, operation, tag);
                state.apply(operation, oob);
                let (ours, theirs) = (call(&mut store, operation, oob), call(&mut image, operation, oob));
                let is_cut = |cut| if cut { Err(()) } else { Ok(()) };
                assert_eq!(
                    ours.map_err(|error| assert_eq!(error, StoreError::PowerCut)),
                    is_cut(theirs.is_err())
                );
                assert!(matches!(theirs, Ok(()) | Err(ImageError::PowerCut)));
                assert_eq!(
                    (steps - store.power.steps_left, store.is_off()),
                    (image.steps() - before, image.is_dead()),
                    "{operation:?}"
                );
                if stream.random_range(0..10) == 0 {
                    store.sync_point().expect("memory does not fail");
                }
            }
            assert_eq!(store.undecided(), image.undecided());
            let survivors = (0..image.undecided()).map(|_| stream.random()).collect::<Vec<bool>>();
            store.restart(|store| survivors[store]).expect("memory does not fail");
            image.restart(|store| survivors[store]);
            let contents = store.contents().expect("memory does not fail");
            let ours = look(&mut store, &contents).expect("all is readable");
            let theirs = State { erases: ours.erases.clone(), ..state_of(&mut image) };
            assert_eq!(ours, theirs, "seed {seed}, cut {cut}");
            state = ours;
        }
    }
}

#[test]
fn the_slots_of_a_volatile_cache_are_gone() {
    let memory = Disks::<MemoryDisk>::default();
    let disks = || Disks { data: &memory.data, metadata: &memory.metadata };
    let mut store = Store::create(disks(), &crate::Format { volatile: true, ..format() }).expect("it fits");
    let read = |store: &mut Store<_>| {
        store.access(slot(1), Access::Read { to: Place::Host }, ());
        store.host_reads()[0]
    };
    let write = |store: &mut Store<_>| {
        store.host_writes(0, &[1; PAGE_BYTES]);
        store.access(slot(1), Access::WriteNew { from: Place::Host }, ());
    };
    write(&mut store);
    assert_eq!((read(&mut store), store.undecided()), (1, 0));
    store.cut_after(0);
    store.restart(|_| true).expect("memory does not fail");
    assert_eq!(read(&mut store), 0);
    write(&mut store);
    store.sync_point().expect("memory does not fail");
    let (mut store, _) = Store::open(disks()).expect("the container is whole");
    assert_eq!(read(&mut store), 0);
}

#[test]
fn memory_that_is_never_fenced_is_written_back() {
    for writes in 1..200 {
        let memory = erased();
        let (mut store, _) = Store::open(Disks { data: &memory.data, metadata: &memory.metadata })
            .expect("the container is whole");
        let write = |store: &mut Store<_>, number: u32| {
            store.host_writes(0, &[number as u8; PAGE_BYTES]);
            store.access(slot(number % SLOTS), Access::Write { from: Place::Host }, ());
        };
        (0..writes).for_each(|number| write(&mut store, number));
        store.cut_after(0);
        store.restart(|_| true).expect("memory does not fail");
        assert_eq!(store.failure(), None);
        store.access(slot((writes - 1) % SLOTS), Access::Read { to: Place::Host }, ());
        assert_eq!(store.host_reads(), [(writes - 1) as u8; PAGE_BYTES]);
    }
}
