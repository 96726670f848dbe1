//! The outside world of the tier: flash with labelled pages, and disks.

use coflash_base::Lpn;
use coflash_cache::SlotId;
use coflash_media::{Backed, Place, Timeline};

/// The label in the spare area of a flash page. The mapping page at the end of the block repeats it, and a copy by GC
/// keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLabel {
    /// The cached page of the disk.
    pub page: Lpn,
    /// Whether it is dirty: the disk lacks this version.
    pub dirty: bool,
    /// The version number of the write: among two versions of a page the higher one is newer.
    pub version: u64,
}

/// Flash with spare areas, and disks behind it. The methods provide the data of operations.
pub trait TierMedia: Backed {
    /// Set the label of the next page programmed for a slot.
    fn label(&mut self, slot: SlotId, label: SlotLabel);

    /// Set the content of the next page programmed from [`Place::Merged`].
    fn words(&mut self, words: &[u64]);

    /// Set the content of the next page programmed from [`Place::Host`]: the data read by the transfers of `tag`.
    fn fetched(&mut self, tag: u32, page: Lpn);

    /// Add a page to a later transfer of `tag` to the disk: the host's data ([`Place::Host`]), or the data just read
    /// into the buffer ([`Place::Merged`]).
    fn to_disk(&mut self, tag: u32, page: Lpn, from: Place);
}

/// Simulated flash and disks hold no data.
impl TierMedia for Timeline {
    fn label(&mut self, _: SlotId, _: SlotLabel) {}

    fn words(&mut self, _: &[u64]) {}

    fn fetched(&mut self, _: u32, _: Lpn) {}

    fn to_disk(&mut self, _: u32, _: Lpn, _: Place) {}
}
