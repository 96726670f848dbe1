//! Drives: the parameters of a mechanical disk, measured ones or those that follow from a data sheet.

use super::layout::{Layout, Parameters, Zone};
use super::seek::SeekCurve;
use super::{SECTOR_BYTES, atlas10k};
use coflash_base::{Bytes, Duration, Misfit};

coflash_base::config! {
    /// A drive by its data sheet. By default the Maxtor Atlas 10K IV: 10,000 turns a minute, and what the OP-FCL paper says of
    /// it, which is one data rate for all tracks.
    #[derive(Eq)]
    pub struct DataSheet {
        /// Turns a minute.
        pub rpm: u32 = 10_000,
        /// Mean time of a seek from one place of the disk to another, before a read.
        pub read_seek: Duration = Duration { ns: 4_400_000 },
        /// Mean time of a seek before a write, which also settles.
        pub write_seek: Duration = Duration { ns: 4_900_000 },
        /// Data rates in bytes per second of zones of as many tracks each, from the outermost on. The bus has the first.
        pub rates_per_s: Vec<Bytes> = vec![Bytes { count: 72_000_000 }],
        /// Capacity.
        pub capacity: Bytes = Bytes { count: 36_000_000_000 },
    }
}

coflash_base::choice! {
    /// The drive.
    #[derive(Eq)]
    pub enum Drive, default Atlas10k {
        /// Quantum Atlas 10K of 9.1 GB, as measured by the DiskSim project, with the slow bus of its measurements.
        Atlas10k,
        /// Maxtor Atlas 10K IV, by the numbers of the OP-FCL paper.
        #[serde(rename = "atlas10k-iv")]
        Atlas10kIv,
        /// A drive by its data sheet.
        DataSheet(DataSheet),
    }
}

impl Drive {
    pub(super) fn parameters(&self) -> Parameters {
        match self {
            Self::Atlas10k => atlas10k::parameters(),
            Self::Atlas10kIv => DataSheet::default().parameters(),
            Self::DataSheet(sheet) => sheet.parameters(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Misfit> {
        let Self::DataSheet(sheet) = self else { return Ok(()) };
        let turns = sheet.rates_per_s.iter().all(|&rate| sheet.track_sectors(rate) > 0);
        let seeks = sheet.read_seek.ns >= 1000 && sheet.write_seek >= sheet.read_seek;
        if turns && seeks && !sheet.rates_per_s.is_empty() && (60..=1_000_000).contains(&sheet.rpm) {
            return Ok(());
        }
        let allowed = "rpm from 60 to 1000000, read_seek from 1us, write_seek from read_seek, rates_per_s of a sector a turn";
        Err(Misfit::out_of_range("model.drive", format!("{sheet:?}"), allowed))
    }
}

impl DataSheet {
    /// A platter has two.
    const HEADS: u32 = 2;

    fn rotation_ns(&self) -> u64 {
        60_000_000_000 / u64::from(self.rpm.max(1))
    }

    fn track_sectors(&self, rate_per_s: Bytes) -> u32 {
        (rate_per_s.count as f64 * self.rotation_ns() as f64 / 1e9 / SECTOR_BYTES as f64) as u32
    }

    /// A seek to the next cylinder takes a tenth of the mean. A longer one grows with the square root of the distance, which is
    /// 8/15 of that of the whole stroke on average, as far as the mean asks for.
    fn parameters(&self) -> Parameters {
        let tracks: Vec<_> = self.rates_per_s.iter().map(|&rate| self.track_sectors(rate).max(1)).collect();
        let sectors = self.capacity.count / SECTOR_BYTES;
        let cylinder_sectors = tracks.iter().map(|&track| u64::from(track * Self::HEADS)).sum::<u64>().max(1);
        let zone_cylinders = sectors.div_ceil(cylinder_sectors).clamp(16, 1 << 24) as u32;
        let cylinders = zone_cylinders * tracks.len().max(1) as u32;
        let (mean_ns, next_ns, rotation_ns) = (self.read_seek.ns, self.read_seek.ns / 10, self.rotation_ns());
        let root = f64::from(cylinders - 1).sqrt();
        let full_ns = (mean_ns - next_ns) as f64 * (root - 1.0) / (8.0 / 15.0 * root - 1.0) + next_ns as f64;
        let zone = |(number, &track_sectors): (u32, &u32)| {
            let skew = next_ns.div_ceil((rotation_ns / u64::from(track_sectors)).max(1)) as u32;
            let first_cylinder = number * zone_cylinders;
            Zone { first_cylinder, track_sectors, track_skew: skew, cylinder_skew: skew }
        };
        let outer_sectors = tracks.first().map_or(1, |&track| u64::from(track));
        Parameters {
            layout: Layout::new((0..).zip(&tracks).map(zone).collect(), Self::HEADS, cylinders, sectors),
            seeks: SeekCurve { points: vec![(1, next_ns), (cylinders - 1, full_ns as u64)] },
            mean_seek_ns: mean_ns,
            rotation_ns,
            head_switch_ns: next_ns,
            write_settle_ns: self.write_seek.ns.saturating_sub(mean_ns),
            segment_sectors: outer_sectors,
            read_overhead_ns: 0,
            write_overhead_ns: 0,
            bus_sector_ns: rotation_ns / outer_sectors,
        }
    }
}
