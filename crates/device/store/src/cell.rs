//! Cells of the tables: fixed sizes, each with a checksum that includes its place.

use crate::code::Code;
use coflash_base::{Index, Lpn};
use coflash_media::{Mode, Oob};
use std::cmp::Ordering;

/// A cell of a table. A cell of zeros was never written.
pub(crate) trait Cell: Sized + Default {
    /// The size with the checksum, which is the last four bytes: a multiple of 8, as entries of the journal begin.
    const BYTES: usize;

    /// Encode the fields into zeroed bytes.
    fn encode(&self, bytes: &mut [u8]);

    /// Decode the fields; `None` if the bytes cannot be a cell.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// The size of the largest cell.
pub(crate) const CELL_BYTES_MAX: usize = PageCell::BYTES;

/// The checksum of the fields of a cell, masked as in LevelDB. Cells are parts of journal entries: the
/// checksum of an entry would not depend on the fields of a cell that ended in a plain checksum of the same
/// kind.
pub(crate) fn checksum(bytes: &[u8], at: u64, seed: u32) -> u32 {
    let plain = crc32c::crc32c_append(seed ^ (at as u32) ^ ((at >> 32) as u32), bytes);
    plain.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Encode a cell for a place.
pub(crate) fn encode<C: Cell>(cell: &C, at: u64, seed: u32) -> [u8; CELL_BYTES_MAX] {
    let mut bytes = [0; CELL_BYTES_MAX];
    let fields = C::BYTES - 4;
    cell.encode(&mut bytes[..fields]);
    let sum = checksum(&bytes[..fields], at, seed);
    bytes[fields..C::BYTES].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Decode the cell of a place. `None` if it is damaged.
pub(crate) fn decode<C: Cell>(bytes: &[u8], at: u64, seed: u32) -> Option<C> {
    let (fields, sum) = bytes.split_at(C::BYTES - 4);
    if bytes.iter().all(|&byte| byte == 0) {
        return Some(C::default());
    }
    if word32(sum, 0) == checksum(fields, at, seed) { C::decode(fields) } else { None }
}

/// Which copy of a cell is the better one: the sound one, and of a written one and one of zeros the written one, since a cell never
/// becomes zeros again.
pub(crate) fn compare(one: &[u8], other: &[u8], at: u64, seed: u32) -> Ordering {
    if one == other {
        return Ordering::Equal;
    }
    let (fields, sum) = (one.len() - 4, |bytes: &[u8]| word32(bytes, bytes.len() - 4));
    let rank = |bytes: &[u8]| match bytes.iter().all(|&byte| byte == 0) {
        true => 1,
        false if sum(bytes) == checksum(&bytes[..fields], at, seed) => 2,
        false => 0,
    };
    rank(one).cmp(&rank(other))
}

/// The little-endian number at a place.
pub(crate) fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes are four"))
}

/// The little-endian number at a place.
pub(crate) fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight"))
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// The code with its checksum and its three bytes of parity at these places.
fn code(bytes: &[u8], checksum: usize, parity: usize) -> Code {
    let parity = u32::from_le_bytes([bytes[parity], bytes[parity + 1], bytes[parity + 2], 0]);
    Code { checksum: word32(bytes, checksum), parity }
}

/// The data of a page or a slot: its place in the data file, and its code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    pub(crate) place: u32,
    pub(crate) code: Code,
}

/// The state of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCell {
    /// The number of its erases. Only pages of the same generation are programmed.
    pub(crate) generation: u32,
    /// Whether power was cut during an erase.
    pub(crate) torn: bool,
}

impl Cell for BlockCell {
    const BYTES: usize = 16;

    fn encode(&self, bytes: &mut [u8]) {
        put(bytes, 0, self.generation);
        bytes[4] = self.torn.into();
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self { generation: word32(bytes, 0), torn: bytes[4] != 0 })
    }
}

/// The state of a programmed page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageCell {
    /// The out-of-band data; `None` for a page that is torn or was never programmed.
    pub(crate) oob: Option<Oob>,
    /// The generation of its block when it was programmed.
    pub(crate) generation: u32,
    /// Its data; zeros for a page that is torn or was never programmed.
    pub(crate) data: Data,
    /// Whether its data was written since the last sync point, and matches the checksum.
    pub(crate) is_new: bool,
    /// Whether it is programmed, or torn.
    pub(crate) is_there: bool,
}

/// Bits of a page's first byte.
const IS_THERE: u8 = 1;
const HAS_OOB: u8 = 2;
const FAST: u8 = 4;
const NEW: u8 = 8;
const SLC: u8 = 16;

impl Cell for PageCell {
    const BYTES: usize = 32;

    fn encode(&self, bytes: &mut [u8]) {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let has_mode = |mode| self.oob.is_some_and(|oob| oob.mode == mode);
        bytes[0] = bit(self.is_there, IS_THERE)
            | bit(self.oob.is_some(), HAS_OOB)
            | bit(has_mode(Mode::Fast), FAST)
            | bit(has_mode(Mode::Slc), SLC)
            | bit(self.is_new, NEW);
        bytes[1..4].copy_from_slice(&self.data.code.parity.to_le_bytes()[..3]);
        put(bytes, 4, self.oob.and_then(|oob| oob.lpn).map_or(0, |lpn| lpn.get() + 1));
        bytes[8..16].copy_from_slice(&self.oob.map_or(0, |oob| oob.sequence).to_le_bytes());
        put(bytes, 16, self.generation);
        put(bytes, 20, self.data.code.checksum);
        put(bytes, 24, self.data.place);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let is = |bit| bytes[0] & bit != 0;
        let lpn = word32(bytes, 4).checked_sub(1).map(|lpn| Lpn::from_index(lpn as usize));
        let mode = match (is(FAST), is(SLC)) {
            (false, false) => Mode::Normal,
            (true, false) => Mode::Fast,
            (false, true) => Mode::Slc,
            (true, true) => return None,
        };
        Some(Self {
            oob: is(HAS_OOB).then(|| Oob { lpn, sequence: word64(bytes, 8), mode }),
            generation: word32(bytes, 16),
            data: Data { place: word32(bytes, 24), code: code(bytes, 20, 1) },
            is_new: is(NEW),
            is_there: is(IS_THERE),
        })
    }
}

/// The state of a cache slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotCell {
    /// Its data, once it was written.
    pub(crate) data: Option<Data>,
    /// See [`PageCell::is_new`].
    pub(crate) is_new: bool,
}

impl Cell for SlotCell {
    const BYTES: usize = 16;

    fn encode(&self, bytes: &mut [u8]) {
        put(bytes, 0, self.data.map_or(0, |data| data.place + 1));
        put(bytes, 4, self.data.map_or(0, |data| data.code.checksum));
        bytes[8] = self.is_new.into();
        bytes[9..12].copy_from_slice(&self.data.map_or(0, |data| data.code.parity).to_le_bytes()[..3]);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let data = |place| Data { place, code: code(bytes, 4, 9) };
        Some(Self { data: word32(bytes, 0).checked_sub(1).map(data), is_new: bytes[8] != 0 })
    }
}

/// A word of non-volatile memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordCell(pub(crate) u64);

impl Cell for WordCell {
    const BYTES: usize = 16;

    fn encode(&self, bytes: &mut [u8]) {
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self(word64(bytes, 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_over_cells_tells_them_apart() {
        let sums = [1, 2].map(|value| crc32c::crc32c(&encode(&WordCell(value), 4096, 7)[..WordCell::BYTES]));
        assert_ne!(sums[0], sums[1]);
    }
}
