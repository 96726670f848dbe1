//! The contents of a device at power on are read as they were written.

use coflash_base::{Index, Lpn};
use coflash_device::contents_file::{read, write};
use coflash_media::{Contents, FoundPage, Mode, Oob, Ppn};

/// The last sequence number that another may follow.
const LAST: u64 = FoundPage::SEQUENCES - 1;

#[test]
fn what_is_written_is_read() {
    let oob = |lpn: Option<u32>, sequence, mode| {
        Some(Oob { lpn: lpn.map(|lpn| Lpn::from_index(lpn as usize)), sequence, mode })
    };
    let contents = Contents {
        words: vec![0, u64::MAX],
        pages: vec![
            FoundPage::new(Ppn::new(7), oob(Some(0), 1, Mode::Normal)),
            FoundPage::new(Ppn::new(8), None),
            FoundPage::new(Ppn::new(9), oob(None, LAST, Mode::Normal)),
            FoundPage::new(Ppn::new(10), oob(Some(u32::MAX - 1), 2, Mode::Fast)),
            FoundPage::new(Ppn::new(11), oob(Some(3), 3, Mode::Slc)),
        ],
        erases: vec![3, 0, u32::MAX],
    };
    let mut file = Vec::new();
    write(&contents, &mut file).unwrap();
    assert_eq!(read(&file[..]).unwrap(), contents);
    assert!(read(&file[..file.len() - 1]).is_err(), "a file that ends early");
}
