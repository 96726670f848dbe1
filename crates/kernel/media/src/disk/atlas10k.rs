//! Quantum (later Maxtor) Atlas 10K, the model of 9.1 GB, as measured by the DiskSim project; its parameters
//! are published with its validation traces. Seek times are measured at some distances and interpolated in
//! between.

use super::layout::{Layout, Parameters, Zone};
use super::seek::SeekCurve;

const CYLINDERS: u32 = 10_042;

pub(super) fn parameters() -> Parameters {
    let seeks = SeekCurve {
        points: vec![
            (1, 1_245_000),
            (10, 1_530_000),
            (25, 1_650_000),
            (100, 2_050_000),
            (200, 2_650_000),
            (400, 3_120_000),
            (700, 3_280_000),
            (1000, 3_780_000),
            (2000, 4_840_000),
            (3000, 5_560_000),
            (4000, 6_220_000),
            (5000, 6_850_000),
            (6000, 7_530_000),
            (8000, 8_960_000),
            (10_021, 10_828_000),
        ],
    };
    let zones = vec![
        zone(0, 334, 63, 113),
        zone(1265, 324, 63, 101),
        zone(2521, 324, 62, 101),
        zone(2937, 324, 61, 98),
        zone(4609, 306, 58, 98),
        zone(5449, 302, 57, 92),
        zone(5865, 293, 56, 91),
        zone(6281, 288, 55, 91),
        zone(6705, 288, 55, 88),
        zone(7121, 280, 54, 88),
        zone(7537, 270, 51, 87),
        zone(7953, 262, 51, 83),
        zone(8377, 255, 48, 83),
        zone(8793, 246, 47, 75),
        zone(9209, 237, 45, 75),
        zone(9625, 229, 44, 75),
    ];
    Parameters {
        layout: Layout::new(zones, 6, CYLINDERS, u64::MAX),
        // A third of the stroke.
        mean_seek_ns: seeks.ns(CYLINDERS / 3),
        seeks,
        rotation_ns: 60_000_000_000 / 10_025,
        head_switch_ns: 176_000,
        write_settle_ns: 487_000,
        segment_sectors: 374,
        // The overheads of a command are fitted to the fastest measured ones, like the rate of the bus.
        read_overhead_ns: 186_000,
        write_overhead_ns: 255_000,
        bus_sector_ns: 102_000,
    }
}

fn zone(first_cylinder: u32, track_sectors: u32, track_skew: u32, cylinder_skew: u32) -> Zone {
    Zone { first_cylinder, track_sectors, track_skew, cylinder_skew }
}
