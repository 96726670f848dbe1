//! Marks: one bit of a valid page for each memory that may hold another copy.
//!
//! Together with the valid bit these are the three bits of ShadowGC's states ("ShadowGC: Cooperative Garbage Collection
//! with Multi-level Buffer", DATE 2018). Memory: 3 bits per page, and 4 bytes per block for the number of marked pages.

use coflash_base::Save;
use coflash_media::Memory;

/// The other memories that hold a copy of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub struct Marks {
    /// The host's cache or write buffer.
    pub host: bool,
    /// The cache or write buffer of the device.
    pub device: bool,
}

impl Marks {
    /// No other memory holds a copy.
    pub const NONE: Self = Self { host: false, device: false };

    /// Only the device's memory holds a copy.
    pub const DEVICE: Self = Self { host: false, device: true };

    /// Both memories hold a copy.
    pub const BOTH: Self = Self { host: true, device: true };

    /// Whether any memory holds a copy.
    #[inline(always)]
    #[must_use]
    pub fn any(self) -> bool {
        self.host | self.device
    }

    /// ShadowGC's state of a valid page, without its valid bit: from 0 to 3.
    #[inline(always)]
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.host) | usize::from(self.device) << 1
    }

    /// The same marks with the mark of one memory set or cleared.
    #[inline(always)]
    #[must_use]
    pub fn with(self, memory: Memory, marked: bool) -> Self {
        match memory {
            Memory::HostBuffer | Memory::Host => Self { host: marked, ..self },
            Memory::Device => Self { device: marked, ..self },
        }
    }
}
