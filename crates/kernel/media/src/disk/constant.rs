//! A disk with constant costs: every transfer has the same positioning time, then the same data rate. This is the disk
//! of the paper's cost model.

use super::{Direction, DiskCosts, DiskModel, DiskTransfer, SECTOR_BYTES};
use coflash_base::{Bytes, Duration, Policy, Save, Time};

coflash_base::config! {
    /// The Maxtor Atlas 10K IV of the paper.
    #[derive(Eq, Save)]
    pub struct ConstantConfig {
        /// Seek and rotation before a read.
        pub read_positioning: Duration = Duration { ns: 4_500_000 },
        /// Seek and rotation before a write.
        pub write_positioning: Duration = Duration { ns: 4_900_000 },
        /// Data rate in bytes per second.
        pub bandwidth_per_s: Bytes = Bytes { count: 72_000_000 },
        /// Capacity.
        pub capacity: Bytes = Bytes { count: 36_000_000_000 },
    }
}

/// The disk with constant costs.
#[derive(Clone, Save)]
pub struct Constant {
    config: ConstantConfig,
}

impl Policy for Constant {
    type Config = ConstantConfig;
    const SUMMARY: &'static str = "The same positioning time before every transfer, then the same rate.";
    const SOURCE: &'static str = "Y. Oh et al., FAST 2012";
}

impl DiskModel for Constant {
    fn new(config: &ConstantConfig) -> Self {
        Self { config: config.clone() }
    }

    fn serve(&mut self, transfer: &DiskTransfer, start: Time) -> Time {
        let positioning = match transfer.direction {
            Direction::Read => self.config.read_positioning,
            Direction::Write => self.config.write_positioning,
        };
        let bytes = u128::from(transfer.sectors) * u128::from(SECTOR_BYTES);
        let moving = bytes * 1_000_000_000 / u128::from(self.config.bandwidth_per_s.count.max(1));
        start + positioning + Duration { ns: u64::try_from(moving).unwrap_or(u64::MAX) }
    }

    fn sectors(&self) -> u64 {
        self.config.capacity.count / SECTOR_BYTES
    }

    fn costs(&self, page_bytes: u64) -> DiskCosts {
        DiskCosts {
            read_positioning: self.config.read_positioning,
            write_positioning: self.config.write_positioning,
            bandwidth_bytes_per_s: self.config.bandwidth_per_s.count.max(1),
            page_bytes,
        }
    }

    fn position(&self, sector: u64) -> u64 {
        sector
    }
}
