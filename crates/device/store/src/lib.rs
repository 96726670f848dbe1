//! A flash device, with the memory of its cache, in two files.
//!
//! A [`Store`] is a media of bytes: the firmware runs over it as over the timeline. There are two independent
//! ways to lose power.
//!
//! **The host** loses power, or the process ends. Then only the files count:
//!
//! - All changes of tables go through one redo journal. Data of the last *sync point* is never overwritten:
//!   new data gets another place, and the place of old data is free after the next sync point. Pages and slots with
//!   the same data share its place.
//! - A sync point makes the data durable, then the entry of the journal that refers to it. After the host has
//!   lost power, the container is as at its last sync point, or as at a later moment up to which the journal
//!   is intact.
//! - [`Store::write_out`] hands the changes to the host's kernel, with one write for all requests that are
//!   answered together. After the end of the process the container is as it was then: each answered write is
//!   there. So a fence costs nothing, and no memory is shared with the kernel, which would make errors of the
//!   disk signals.
//!
//! **The simulated device** loses power, by [`DeviceBytes::cut_side_after`]: a program or an erase is torn, and of the
//! stores since the last fence a random part survives.
//!
//! **Damage.** Superblock, journal and tables are there twice, each record with its checksum: of each one copy must be sound.
//! Data has a code that mends one byte; with more damage it cannot be read. The code goes with the data when GC copies it, so
//! that damaged data stays damaged.
//!
//! **A host that cannot write** any more, as with a full disk: the store is read-only. It goes on in memory ([`Store::failure`]).
//!
//! | concept | place |
//! |---|---|
//! | create, open, sync points | `store.rs` |
//! | flash operations, slots, words, power cuts of the device | `media.rs`, `power.rs`, `power_cut.rs`, `page.rs` |
//! | pages on their way to the data file, and from it | `data_file.rs` |
//! | the superblock, the parts of the files | `format.rs` |
//! | tables and their cells | `tables.rs`, `cell.rs` |
//! | the journal | `journal.rs` |
//! | the code that tells damaged data, and mends a byte | `code.rs` |
//! | the places of data, shared, and which may be overwritten | `places.rs` |
//! | files, memory, a disk that is only read, one that cannot be written any more | `disk.rs`, `read_ahead.rs`, `overlay.rs` |
//! | looks for damage | `check.rs` |
//!
//! **Unix only** (Linux, macOS): it locks files, and opens them without following links.
//! On other systems this crate is empty.
#![cfg(unix)]

mod cell;
mod check;
mod code;
mod data_file;
mod disk;
mod error;
mod format;
mod journal;
mod media;
mod overlay;
mod page;
mod places;
mod power;
mod power_cut;
mod read_ahead;
mod sabotage;
mod store;
mod tables;

pub use check::check;
pub use disk::{Disk, Disks, FileDisk, SECTOR_BYTES};
pub use error::{Damage, Finding, StoreError, list};
pub use format::Format;
pub use overlay::Overlay;
pub use power_cut::DeviceBytes;
pub use store::{Info, Store};

#[cfg(test)]
mod tests;
