//! The layout of sectors: zones of cylinders with the same number of sectors on each track, skewed so that
//! after a switch the first sector of the next track arrives under the head at once; and the parameters of a drive.

use super::seek::SeekCurve;

/// The parameters of a drive.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    pub(super) layout: Layout,
    pub(super) seeks: SeekCurve,
    /// The mean time of a seek before a read, for a cost model.
    pub(super) mean_seek_ns: u64,
    pub(super) rotation_ns: u64,
    pub(super) head_switch_ns: u64,
    pub(super) write_settle_ns: u64,
    /// The sectors of a buffer segment.
    pub(super) segment_sectors: u64,
    pub(super) read_overhead_ns: u64,
    pub(super) write_overhead_ns: u64,
    /// The bus time of a sector.
    pub(super) bus_sector_ns: u64,
}

/// A zone: cylinders with equal tracks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    /// Its first cylinder; it ends where the next begins.
    pub(super) first_cylinder: u32,
    /// The number of sectors of a track.
    pub(super) track_sectors: u32,
    /// The number of sectors that pass during a switch to the next head.
    pub(super) track_skew: u32,
    /// The number of sectors that pass during a switch to the next cylinder.
    pub(super) cylinder_skew: u32,
}

/// The physical address of a sector: cylinder, head, sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorAddress {
    pub(super) cylinder: u32,
    pub(super) head: u32,
    /// Its number on the track.
    pub(super) index: u32,
    /// The number of sectors of the track.
    pub(super) track_sectors: u32,
    /// The number of sectors from the index mark to it.
    pub(super) angle: u32,
}

/// The zones of a disk and their first sectors.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) zones: Vec<Zone>,
    first_sectors: Vec<u64>,
    heads: u32,
    pub(super) sectors: u64,
}

impl Layout {
    pub(super) fn new(zones: Vec<Zone>, heads: u32, cylinders: u32, sectors_max: u64) -> Self {
        let mut sectors = 0;
        let ends = zones.iter().skip(1).map(|zone| zone.first_cylinder).chain([cylinders]);
        let first_sectors = std::iter::zip(&zones, ends)
            .map(|(zone, end)| {
                let first = sectors;
                sectors +=
                    u64::from(end - zone.first_cylinder) * u64::from(heads) * u64::from(zone.track_sectors);
                first
            })
            .collect();
        Self { zones, first_sectors, heads, sectors: sectors.min(sectors_max) }
    }

    pub(super) fn address(&self, sector: u64) -> SectorAddress {
        let number = self.first_sectors.partition_point(|&first| first <= sector) - 1;
        let zone = &self.zones[number];
        let in_zone = sector - self.first_sectors[number];
        let track = (in_zone / u64::from(zone.track_sectors)) as u32;
        let index = (in_zone % u64::from(zone.track_sectors)) as u32;
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let skew = u64::from(cylinder) * u64::from(zone.cylinder_skew)
            + u64::from(track - cylinder) * u64::from(zone.track_skew);
        let angle = ((u64::from(index) + skew) % u64::from(zone.track_sectors)) as u32;
        SectorAddress {
            cylinder: zone.first_cylinder + cylinder,
            head,
            index,
            track_sectors: zone.track_sectors,
            angle,
        }
    }
}
