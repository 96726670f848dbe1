//! The geometry of flash.
//!
//! ```text
//! channel    a bus to the controller; one transfer at a time
//!  └ chip    a package
//!     └ die  serves one operation at a time (its planes may overlap if the scenario says so)
//!        └ plane   a copy inside it needs no transfer (copy-back)
//!           └ block   the unit of erase, programmed from its first page to its last
//!              └ page    the unit of read and program
//!                 └ sector   the unit of addresses on the host's side
//! ```
//!
//! Ids count through the whole device in that order, so the blocks of a plane, and the planes of a die, are contiguous.
//! Dies are numbered with the channel changing fastest: consecutive dies sit on different channels.

use coflash_base::{Bytes, Misfit, Save, id_type};

id_type!(
    /// A physical page.
    Ppn
);
id_type!(
    /// A block.
    BlockId
);
id_type!(
    /// A die.
    DieId
);

coflash_base::config! {
    /// The bits that a cell holds.
    pub enum Cell, default Slc {
        /// One bit.
        Slc,
        /// Two bits.
        Mlc,
        /// Three bits.
        Tlc,
        /// Four bits.
        Qlc,
    }
}

impl Cell {
    /// The number of bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        self as u32 + 1
    }
}

coflash_base::config! {
    /// The geometry of the device.
    #[derive(Eq, Save)]
    pub struct Geometry {
        /// Number of channels.
        pub channels: u32 = 8,
        /// Number of chips on each channel.
        pub chips_per_channel: u32 = 1,
        /// Number of dies in each chip.
        pub dies_per_chip: u32 = 1,
        /// Number of planes in each die.
        pub planes_per_die: u32 = 1,
        /// Number of blocks in each plane.
        pub blocks_per_plane: u32 = 2560,
        /// Number of pages in each block.
        pub pages_per_block: u32 = 64,
        /// Bits per cell: the number of page types (`timing.page_reads`), and how many times fewer pages a pSLC block has.
        pub cell: Cell = Cell::Slc,
        /// Size of a page.
        pub page_size: Bytes = Bytes { count: 4096 },
        /// Size of a sector; a divisor of the page size.
        pub sector_size: Bytes = Bytes { count: 512 },
        /// Capacity that the host sees, rounded up to as many pages on each die. `blocks_per_plane` follows from it and from
        /// `ftl.spare`: the fewest blocks with that spare space. Default: the capacity follows from `blocks_per_plane`.
        pub exported: Option<Bytes>,
    }
}

impl Geometry {
    /// The most pages: the map has 31 bits for the number of a page.
    pub const PAGES_MAX: u64 = (1 << 31) - 1;
    /// The pages of a scaled device that takes some GiB of memory, and minutes.
    const PAGES_SCALED: u64 = 1 << 28;

    fn counts(&self) -> [(&'static str, u32); 6] {
        [
            ("channels", self.channels),
            ("chips_per_channel", self.chips_per_channel),
            ("dies_per_chip", self.dies_per_chip),
            ("planes_per_die", self.planes_per_die),
            ("blocks_per_plane", self.blocks_per_plane),
            ("pages_per_block", self.pages_per_block),
        ]
    }

    /// Check that the device is not too large for the tables; a larger one can be described, and scaled.
    ///
    /// # Errors
    /// Too many pages, with the scale that would do.
    pub fn check_size(&self) -> Result<(), Misfit> {
        let pages =
            self.counts().iter().fold(1_u64, |pages, (_, count)| pages.saturating_mul((*count).into()));
        if pages <= Self::PAGES_MAX {
            return Ok(());
        }
        let of = pages.div_ceil(Self::PAGES_SCALED).next_power_of_two();
        let problem = format!(
            "{pages} pages in all are too many: at most {}; coflash run with --scale 1/{of} simulates the same drive with a fraction \
             of its blocks",
            Self::PAGES_MAX
        );
        Err(Misfit::new("blocks_per_plane", problem))
    }

    /// Check the geometry.
    ///
    /// # Errors
    /// The first value that is zero, not a divisor, or too large for the tables, with its key in `flash`.
    pub fn check(&self) -> Result<(), Misfit> {
        self.check_shape()?;
        self.check_size()
    }

    /// Check the geometry, but for the number of its pages.
    ///
    /// # Errors
    /// The first value that is zero, not a divisor, or too large, with its key in `flash`.
    pub fn check_shape(&self) -> Result<(), Misfit> {
        let counts = self.counts();
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Misfit::new(key, "0 is too few: at least 1"));
        }
        if self.pages_per_block > 1 << 16 {
            let problem = format!("{} is too many: at most 65536", self.pages_per_block);
            return Err(Misfit::new("pages_per_block", problem));
        }
        let (page, sector) = (self.page_size.count, self.sector_size.count);
        if sector == 0 || page == 0 || page % sector != 0 {
            return Err(Misfit::new(
                "sector_size",
                format!("{sector} B does not divide the page of {page} B"),
            ));
        }
        if page > 1 << 24 {
            return Err(Misfit::new("page_size", format!("{page} B is too large: at most 16MiB")));
        }
        Ok(())
    }

    /// The number of pages that each die exports to the host, if `exported` fixes it.
    #[must_use]
    pub fn exported_pages_per_die(&self) -> Option<u64> {
        // `check` refuses a geometry without pages or dies.
        let [page, dies] = [self.page_size.count, u64::from(self.dies())].map(|divisor| divisor.max(1));
        self.exported.map(|bytes| bytes.count.div_ceil(page).div_ceil(dies))
    }

    /// The number of dies of the device; `check` refuses a device of too many.
    #[must_use]
    pub fn dies(&self) -> u32 {
        self.channels.saturating_mul(self.chips_per_channel).saturating_mul(self.dies_per_chip)
    }

    /// The number of blocks of a die.
    #[must_use]
    pub fn blocks_per_die(&self) -> u32 {
        self.planes_per_die.saturating_mul(self.blocks_per_plane)
    }

    /// The number of blocks of the device.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.dies().saturating_mul(self.blocks_per_die())
    }

    /// The number of pages of the device.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.blocks().saturating_mul(self.pages_per_block)
    }

    /// The number of planes of the device.
    #[must_use]
    pub fn planes(&self) -> u32 {
        self.dies().saturating_mul(self.planes_per_die)
    }

    /// The same flash as one die of units of `blocks` superblocks that are filled and erased together. A
    /// superblock has a block of every plane. Its pages are striped over the dies, then over the planes of
    /// each die. `blocks` divides `blocks_per_plane`.
    #[must_use]
    pub fn superblocks(&self, blocks: u32) -> Self {
        Self {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: self.blocks_per_plane / blocks,
            pages_per_block: self.pages_per_block.saturating_mul(self.planes()).saturating_mul(blocks),
            ..self.clone()
        }
    }

    /// The size of a superblock: a block of every plane, in bytes.
    #[must_use]
    pub fn superblock_bytes(&self) -> u64 {
        u64::from(self.planes()) * u64::from(self.pages_per_block) * self.page_size.count
    }

    /// The capacity of the device in bytes.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes { count: u64::from(self.pages()) * self.page_size.count }
    }

    /// Page `index` of `block`.
    #[inline(always)]
    #[must_use]
    pub fn page(&self, block: BlockId, index: u32) -> Ppn {
        Ppn::new(block.get() * self.pages_per_block + index)
    }

    /// The block of a page.
    #[inline(always)]
    #[must_use]
    pub fn block_of(&self, page: Ppn) -> BlockId {
        BlockId::new(page.get() / self.pages_per_block)
    }

    /// The die of a block.
    #[inline(always)]
    #[must_use]
    pub fn die_of(&self, block: BlockId) -> DieId {
        DieId::new(block.get() / self.blocks_per_die())
    }

    /// The plane of a block, counted through the device.
    #[inline(always)]
    #[must_use]
    pub fn plane_of(&self, block: BlockId) -> u32 {
        block.get() / self.blocks_per_plane
    }

    /// The channel of a die.
    #[must_use]
    pub fn channel_of(&self, die: DieId) -> u32 {
        die.get() % self.channels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_nest() {
        let geometry = Geometry {
            channels: 2,
            chips_per_channel: 2,
            dies_per_chip: 1,
            planes_per_die: 2,
            blocks_per_plane: 3,
            pages_per_block: 5,
            ..Geometry::default()
        };
        assert_eq!(geometry.check(), Ok(()));
        assert_eq!((geometry.dies(), geometry.blocks(), geometry.pages()), (4, 24, 120));
        let page = Ppn::new(119);
        assert_eq!(geometry.block_of(page), BlockId::new(23));
        assert_eq!(geometry.die_of(BlockId::new(23)), DieId::new(3));
        assert_eq!(geometry.plane_of(BlockId::new(23)), 7);
        assert_eq!(geometry.page(BlockId::new(23), 4), page);
        assert_eq!((0..4).map(|d| geometry.channel_of(DieId::new(d))).collect::<Vec<_>>(), [0, 1, 0, 1]);
    }

    #[test]
    fn superblocks_have_the_pages_of_all_planes() {
        let geometry =
            Geometry { channels: 3, planes_per_die: 2, blocks_per_plane: 7, ..Geometry::default() };
        let superblocks = geometry.superblocks(1);
        assert_eq!((superblocks.dies(), superblocks.blocks()), (1, 7));
        let one = geometry.superblocks(7);
        assert_eq!((one.blocks(), one.pages()), (1, geometry.pages()));
        assert_eq!((superblocks.pages_per_block, superblocks.pages()), (6 * 64, geometry.pages()));
    }

    #[test]
    fn what_ids_cannot_number_is_refused() {
        let too_many = Geometry { blocks_per_plane: 1 << 29, ..Geometry::default() };
        assert_eq!(too_many.check().unwrap_err().key, "blocks_per_plane");
        let none = Geometry { dies_per_chip: 0, ..Geometry::default() };
        assert_eq!(none.check().unwrap_err().key, "dies_per_chip");
        let odd = Geometry { sector_size: Bytes { count: 520 }, ..Geometry::default() };
        assert_eq!(odd.check().unwrap_err().key, "sector_size");
    }
}
