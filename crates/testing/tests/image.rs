//! Flash as bytes: refusals, merged writes, and the map that its out-of-band data gives.

use coflash_base::{Bytes, Lpn};
use coflash_media::{
    Access, BlockId, Cause, Flash, Geometry, HostPage, Memory, Mode, Nvm, Oob, Place, Ppn, Slot,
};
use coflash_testing::{Done, Image, ImageError};

/// Two blocks of three pages of four bytes, two cache slots.
fn image() -> Image {
    let geometry = Geometry {
        channels: 1,
        blocks_per_plane: 2,
        pages_per_block: 3,
        page_size: Bytes { count: 4 },
        sector_size: Bytes { count: 1 },
        ..Geometry::default()
    };
    Image::new(&geometry, 2)
}

fn cache(number: u32) -> Slot {
    Slot { memory: Memory::Device, number }
}

fn slot(number: u32) -> Place {
    Place::Slot(cache(number))
}

fn oob(lpn: u32, sequence: u64) -> Oob {
    Oob { lpn: Some(Lpn::new(lpn)), sequence, mode: Mode::Normal }
}

fn program(image: &mut Image, page: u32, oob: Oob, data: &[u8]) {
    image.host_writes(0, data);
    image.program(Ppn::new(page), oob, Place::Host, Cause::Host, ()).unwrap();
}

fn read(image: &mut Image, page: u32) -> Vec<u8> {
    image.read(Ppn::new(page), Place::Host, Cause::Host, ()).unwrap();
    image.host_reads().to_vec()
}

#[test]
#[should_panic(expected = "programmed twice")]
fn a_page_is_not_programmed_twice() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    program(&mut image, 0, oob(0, 1), &[2]);
}

#[test]
#[should_panic(expected = "out of order")]
fn a_block_is_programmed_from_its_first_page() {
    program(&mut image(), 4, oob(0, 0), &[1]);
}

#[test]
#[should_panic(expected = "is read but erased or torn")]
fn an_erased_page_is_not_read() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    image.erase(BlockId::new(0), Cause::Gc, ()).unwrap();
    read(&mut image, 0);
}

#[test]
#[should_panic(expected = "keeps its logical page")]
fn a_copy_does_not_change_hands() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    image.copy(Ppn::new(0), Ppn::new(3), oob(1, 1), Cause::Gc, ()).unwrap();
}

#[test]
fn parts_are_merged_with_what_lies_below() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1, 2, 3, 4]);
    image.read(Ppn::new(0), Place::Merged, Cause::Host, ()).unwrap();
    image.host_writes(1, &[9, 9]);
    image.program(Ppn::new(1), oob(0, 1), Place::Merged, Cause::Host, ()).unwrap();
    assert_eq!(read(&mut image, 1), [1, 9, 9, 4]);
    // With nothing below, the rest reads as zero.
    image.host_writes(3, &[5]);
    image.program(Ppn::new(2), oob(1, 2), Place::Host, Cause::Host, ()).unwrap();
    assert_eq!(read(&mut image, 2), [0, 0, 0, 5]);
}

#[test]
fn slots_take_pages_from_flash_and_host_and_give_them_to_both() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1, 2, 3, 4]);
    image.read(Ppn::new(0), slot(1), Cause::Host, ()).unwrap();
    image.host_writes(0, &[8]);
    image.access(cache(1), Access::Write { from: Place::Host }, ());
    image.access(cache(1), Access::Read { to: Place::Host }, ());
    assert_eq!(image.host_reads(), [8, 2, 3, 4], "a part is laid over the slot");
    image.host_writes(2, &[7]);
    image.access(cache(0), Access::WriteNew { from: Place::Host }, ());
    image.program(Ppn::new(1), oob(1, 1), slot(0), Cause::Evict, ()).unwrap();
    assert_eq!(read(&mut image, 1), [0, 0, 7, 0], "a new slot holds nothing else");
    image.program(Ppn::new(2), oob(0, 2), slot(1), Cause::Evict, ()).unwrap();
    assert_eq!(read(&mut image, 2), [8, 2, 3, 4]);
}

#[test]
fn out_of_band_data_gives_the_newest_copy_wherever_it_lies() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    program(&mut image, 1, oob(1, 5), &[2]);
    program(&mut image, 2, Oob { lpn: None, sequence: 6, mode: Mode::Normal }, &[]);
    image.copy(Ppn::new(0), Ppn::new(3), oob(0, 7), Cause::Gc, ()).unwrap();
    program(&mut image, 4, oob(1, 3), &[3]);
    assert_eq!(image.rebuild_map(3), [Some(Ppn::new(3)), Some(Ppn::new(1)), None]);
    assert_eq!((image.owner(Ppn::new(3)), image.owner(Ppn::new(2))), (Some(Lpn::new(0)), None));
    image.erase(BlockId::new(0), Cause::Gc, ()).unwrap();
    assert_eq!(image.rebuild_map(3), [Some(Ppn::new(3)), Some(Ppn::new(4)), None]);
    assert_eq!(image.programmed().map(|(page, _)| page.get()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(image.log.last(), Some(&Done::Erase(BlockId::new(0), Cause::Gc)));
    assert_eq!(image.log.len(), 6);
}

/// One word and one slot of two stores, with a power switch.
fn switched() -> Image {
    let geometry = Geometry {
        channels: 1,
        blocks_per_plane: 2,
        pages_per_block: 2,
        page_size: Bytes { count: 16 },
        sector_size: Bytes { count: 8 },
        ..Geometry::default()
    };
    Image::new(&geometry, 1).with_power_switch(1)
}

fn slot_bytes(image: &mut Image) -> Vec<u8> {
    image.access(cache(0), Access::Read { to: Place::Host }, ());
    image.host_reads().to_vec()
}

#[test]
fn what_is_fenced_survives_and_the_rest_by_halves() {
    let mut image = switched();
    image.host_writes(0, &[1; 16]);
    image.access(cache(0), Access::Write { from: Place::Host }, ());
    image.store(0, 7);
    assert_eq!((image.undecided(), image.steps()), (3, 3));
    image.fence();
    image.host_writes(0, &[2; 16]);
    image.access(cache(0), Access::Write { from: Place::Host }, ());
    image.store(0, 8);
    assert_eq!(slot_bytes(&mut image), [2; 16], "the firmware reads its last store");
    image.restart(|store| store == 1);
    assert_eq!(slot_bytes(&mut image), [[1; 8], [2; 8]].concat(), "a store is whole or not there");
    assert_eq!(image.words(), [7]);
}

#[test]
fn a_cut_tears_what_is_under_way_and_nothing_works_until_a_restart() {
    for (steps, torn) in [(2, 0), (3, 1), (4, 0)] {
        let mut image = switched();
        image.cut_after(steps);
        for page in 0..3 {
            let result = image.program(Ppn::new(page), oob(page, 0), Place::Host, Cause::Host, ());
            assert_eq!(result.is_ok(), u64::from(page) < steps / 2, "page {page}, cut after {steps}");
        }
        image.store(0, 9);
        assert!(image.is_dead());
        assert_eq!(image.read(Ppn::new(0), Place::Host, Cause::Host, ()), Err(ImageError::PowerCut));
        image.restart(|_| true);
        assert_eq!(image.words(), [0], "nothing is stored without power");
        assert_eq!(image.programmed().filter(|(_, oob)| oob.is_none()).count(), torn, "cut after {steps}");
        image.read(Ppn::new(0), Place::Host, Cause::Host, ()).unwrap();
    }
    let mut image = switched();
    image.program(Ppn::new(0), oob(0, 0), Place::Host, Cause::Host, ()).unwrap();
    image.cut_after(1);
    assert_eq!(image.erase(BlockId::new(0), Cause::Gc, ()), Err(ImageError::PowerCut));
    image.restart(|_| true);
    assert_eq!(image.programmed().collect::<Vec<_>>(), [(Ppn::new(0), None), (Ppn::new(1), None)]);
}

#[test]
fn a_spoilt_page_stays_unreadable_wherever_it_is_copied() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    image.spoil(Ppn::new(0));
    image.copy(Ppn::new(0), Ppn::new(3), oob(0, 1), Cause::Gc, ()).unwrap();
    for page in [0, 3].map(Ppn::new) {
        let read = image.read(page, Place::Host, Cause::Host, ());
        assert_eq!(read, Err(ImageError::Unreadable(page)));
    }
}
