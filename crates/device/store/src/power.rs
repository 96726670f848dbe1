//! The power of the simulated device and of its host, and the stores to non-volatile memory that a cut may lose.

use crate::cell::SlotCell;
use coflash_media::Side;
use std::ops::Range;

/// The bytes of an atomic store.
pub(crate) const STORE_BYTES: usize = 8;

/// The power of both sides. A store of eight bytes or a fence takes one step; a program or an erase takes two, and is
/// torn between them if the device loses power.
#[derive(Debug)]
pub(crate) struct Power {
    /// The side that loses power when no steps are left.
    pub(crate) side: Side,
    pub(crate) steps_left: u64,
    /// The stores since the last fence, in order.
    pub(crate) undecided: Vec<Undecided>,
}

impl Power {
    pub(crate) fn new() -> Self {
        Self { side: Side::Both, steps_left: u64::MAX, undecided: Vec::new() }
    }

    /// Use the power of a side for up to `count` steps. Returns the number of steps with power. A cut of the
    /// device alone comes at one of its own steps. A host without power sends no commands.
    pub(crate) fn take(&mut self, of: Side, count: u64) -> u64 {
        if of == Side::Host && self.side == Side::Device {
            return count;
        }
        let taken = count.min(self.steps_left);
        self.steps_left -= taken;
        taken
    }

    pub(crate) fn is_off(&self) -> bool {
        self.steps_left == 0
    }

    /// Whether an operation of flash that has begun is torn.
    pub(crate) fn tears(&self) -> bool {
        self.is_off() && self.side.has_device()
    }
}

/// Stores that may or may not survive a power cut.
#[derive(Clone, Debug)]
pub(crate) enum Undecided {
    /// A word, and its value before.
    Word { word: u32, was: u64, is: u64 },
    /// A part of a slot, and the slot before. The first `stores` stores of the part were made.
    Slot { slot: u32, was: SlotCell, is: SlotCell, part: Range<usize>, stores: u64 },
}

/// The stores that a part of a slot takes: ranges of up to [`STORE_BYTES`] bytes.
pub(crate) fn stores(part: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let Range { start, end } = *part;
    (start / STORE_BYTES..end.div_ceil(STORE_BYTES))
        .map(move |store| start.max(store * STORE_BYTES)..end.min((store + 1) * STORE_BYTES))
}
