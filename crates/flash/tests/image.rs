//! Flash as bytes: what it refuses, what it merges, and the map that its out-of-band data gives.

use coflash_base::{Bytes, Lpn};
use coflash_flash::image::{Done, Image};
use coflash_flash::{Access, BlockId, Cause, Geometry, Media, Mode, Oob, Place, Ppn};

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

fn oob(lpn: u32, sequence: u64) -> Oob {
    Oob { lpn: Some(Lpn::new(lpn)), sequence, mode: Mode::Normal }
}

fn program(image: &mut Image, page: u32, oob: Oob, data: &[u8]) {
    image.host_writes(0, data);
    image.program(Ppn::new(page), oob, Place::Host, Cause::Host, ());
}

fn read(image: &mut Image, page: u32) -> Vec<u8> {
    image.read(Ppn::new(page), Place::Host, Cause::Host, ());
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
#[should_panic(expected = "is read but erased")]
fn an_erased_page_is_not_read() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    image.erase(BlockId::new(0), Cause::Gc, ());
    read(&mut image, 0);
}

#[test]
#[should_panic(expected = "keeps its logical page")]
fn a_copy_does_not_change_hands() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    image.copy(Ppn::new(0), Ppn::new(3), oob(1, 1), Cause::Gc, ());
}

#[test]
fn parts_are_merged_with_what_lies_below() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1, 2, 3, 4]);
    image.read(Ppn::new(0), Place::Merged, Cause::Host, ());
    image.host_writes(1, &[9, 9]);
    image.program(Ppn::new(1), oob(0, 1), Place::Merged, Cause::Host, ());
    assert_eq!(read(&mut image, 1), [1, 9, 9, 4]);
    // With nothing below, the rest reads as zero.
    image.host_writes(3, &[5]);
    image.program(Ppn::new(2), oob(1, 2), Place::Host, Cause::Host, ());
    assert_eq!(read(&mut image, 2), [0, 0, 0, 5]);
}

#[test]
fn slots_take_pages_from_flash_and_host_and_give_them_to_both() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1, 2, 3, 4]);
    image.read(Ppn::new(0), Place::Cache { slot: 1 }, Cause::Host, ());
    image.host_writes(0, &[8]);
    image.access(1, Access::Write, ());
    image.access(1, Access::Read, ());
    assert_eq!(image.host_reads(), [8, 2, 3, 4], "a part is laid over the slot");
    image.host_writes(2, &[7]);
    image.access(0, Access::WriteNew, ());
    image.program(Ppn::new(1), oob(1, 1), Place::Cache { slot: 0 }, Cause::Evict, ());
    assert_eq!(read(&mut image, 1), [0, 0, 7, 0], "a new slot holds nothing else");
    image.program(Ppn::new(2), oob(0, 2), Place::Cache { slot: 1 }, Cause::Evict, ());
    assert_eq!(read(&mut image, 2), [8, 2, 3, 4]);
}

#[test]
fn out_of_band_data_gives_the_newest_copy_wherever_it_lies() {
    let mut image = image();
    program(&mut image, 0, oob(0, 0), &[1]);
    program(&mut image, 1, oob(1, 5), &[2]);
    program(&mut image, 2, Oob { lpn: None, sequence: 6, mode: Mode::Normal }, &[]);
    image.copy(Ppn::new(0), Ppn::new(3), oob(0, 7), Cause::Gc, ());
    program(&mut image, 4, oob(1, 3), &[3]);
    assert_eq!(image.rebuild_map(3), [Some(Ppn::new(3)), Some(Ppn::new(1)), None]);
    assert_eq!((image.owner(Ppn::new(3)), image.owner(Ppn::new(2))), (Some(Lpn::new(0)), None));
    image.erase(BlockId::new(0), Cause::Gc, ());
    assert_eq!(image.rebuild_map(3), [Some(Ppn::new(3)), Some(Ppn::new(4)), None]);
    assert_eq!(image.oob().map(|(page, _)| page.get()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(image.log.last(), Some(&Done::Erase(BlockId::new(0), Cause::Gc)));
    assert_eq!(image.log.len(), 6);
}
