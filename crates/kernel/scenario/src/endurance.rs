//! The rated life of the flash.

use coflash_media::Cell;
use std::num::NonZeroU32;

coflash_base::config! {
    /// Rated life of the flash, from which the measures of endurance follow.
    #[derive(Eq)]
    pub struct EnduranceConfig {
        /// Erases that a block is rated for. Default: by `flash.cell`. SLC 100000, as in the reference device, and MLC 10000 (Agrawal
        /// et al., USENIX ATC 2008); TLC 3000, the most of a white paper by HP ("Technology differences between SLC, MLC and TLC
        /// NAND": 1000 to 3000); QLC 1000, Micron's claim for its first (2018).
        pub rated_cycles: Option<NonZeroU32>,
        /// Years over which drive writes per day are spread. Default: the usual warranty of drives for data centres.
        pub warranty_years: NonZeroU32 = NonZeroU32::new(5).expect("five years"),
    }
}

impl EnduranceConfig {
    /// The erases that a block of such cells is rated for.
    #[must_use]
    pub fn cycles(&self, cell: Cell) -> u32 {
        let usual = match cell {
            Cell::Slc => 100_000,
            Cell::Mlc => 10_000,
            Cell::Tlc => 3_000,
            Cell::Qlc => 1_000,
        };
        self.rated_cycles.map_or(usual, NonZeroU32::get)
    }
}
