//! What write buffers did, and what GC made of the pages in them.

use super::ratio;
use coflash_controller::{CacheTally, ShadowTally};
use coflash_host::write_buffer::WriteBuffer;
use serde::Serialize;

/// What GC and refresh made of shadows: pages that are dirty in a write buffer too. Only under ShadowGC's schemes, each of
/// which counts the shadows that it knows of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shadows {
    /// Pages moved that no buffer held.
    pub moved_valid_pages: u64,
    /// Pages moved that were dirty in the host's buffer.
    pub moved_host_pages: u64,
    /// Pages moved that were dirty in the device's buffer.
    pub moved_device_pages: u64,
    /// Pages moved that were dirty in both.
    pub moved_twin_pages: u64,
    /// Of the pages moved, those taken from the device's buffer instead of flash.
    pub from_buffer_pages: u64,
    /// Of the pages moved, those programmed fast.
    pub fast_pages: u64,
    /// Pages that the device's buffer let go of without a program, since the host held newer data.
    pub discarded_twins_pages: u64,
}

/// A volatile write buffer in the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceBuffer {
    /// Pages written to flash because of a flush.
    pub flushed_pages: u64,
    /// Pages read from flash because a part of them was written.
    pub merged_pages: u64,
    /// Pages written over a dirty copy.
    pub absorbed_pages: u64,
    /// Dirty pages that were trimmed.
    pub dropped_pages: u64,
    /// Pages still dirty when the run ended, which nothing was programmed for.
    pub dirty_pages: u32,
}

/// The host's write buffer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub struct HostBuffer {
    pub read_hits: u64,
    pub read_misses: u64,
    pub write_hits: u64,
    pub write_misses: u64,
    pub capacity_pages: u32,
    /// Pages read from the device because a part of them was written.
    pub merged_pages: u64,
    /// Pages written to the device, for any of the reasons below.
    pub device_writes_pages: u64,
    pub evicted_pages: u64,
    pub aged_pages: u64,
    pub crowded_pages: u64,
    pub flushed_pages: u64,
    /// Dirty pages that were trimmed before they were written.
    pub dropped_pages: u64,
    /// Pages written over a dirty copy.
    pub absorbed_pages: u64,
    /// Pages still dirty when the run ended, which the device was not given.
    pub dirty_pages: u32,
    /// All programs / pages written to the device: the write amplification of the ShadowGC paper.
    pub waf_device: Option<f64>,
    /// Notices to the device that a page became dirty.
    pub notices_posted: u64,
    /// Of those, notices withdrawn because the page was written first.
    pub notices_withdrawn: u64,
    /// Messages that carried notices; others went with commands.
    pub notice_messages: u64,
    pub notice_bytes: u64,
    /// From a page's becoming dirty to the device's knowing.
    pub notice_delay_mean_ns: f64,
    pub notice_delay_max_ns: u64,
}

impl Shadows {
    pub(crate) fn of(tally: &ShadowTally) -> Self {
        let [moved_valid_pages, moved_host_pages, moved_device_pages, moved_twin_pages] = tally.moved_pages;
        Self {
            moved_valid_pages,
            moved_host_pages,
            moved_device_pages,
            moved_twin_pages,
            from_buffer_pages: tally.from_buffer_pages,
            fast_pages: tally.fast_pages,
            discarded_twins_pages: tally.discarded_twins_pages,
        }
    }
}

impl DeviceBuffer {
    pub(crate) fn of(tally: &CacheTally, dirty_pages: u32) -> Self {
        Self {
            flushed_pages: tally.flushed_pages,
            merged_pages: tally.merged_pages,
            absorbed_pages: tally.absorbed_pages,
            dropped_pages: tally.dropped_pages,
            dirty_pages,
        }
    }
}

impl HostBuffer {
    pub(crate) fn of(buffer: &WriteBuffer, programs_pages: u64) -> Self {
        let (tally, notices) = (buffer.tally(), buffer.notices());
        Self {
            read_hits: tally.read_hits,
            read_misses: tally.read_misses,
            write_hits: tally.write_hits,
            write_misses: tally.write_misses,
            capacity_pages: buffer.cache().capacity(),
            merged_pages: tally.merged_pages,
            device_writes_pages: tally.written_pages(),
            evicted_pages: tally.evicted_pages,
            aged_pages: tally.aged_pages,
            crowded_pages: tally.crowded_pages,
            flushed_pages: tally.flushed_pages,
            dropped_pages: tally.dropped_pages,
            absorbed_pages: tally.absorbed_pages,
            dirty_pages: buffer.cache().dirty_len(),
            waf_device: ratio(programs_pages, tally.written_pages()),
            notices_posted: notices.posted,
            notices_withdrawn: notices.withdrawn,
            notice_messages: notices.messages,
            notice_bytes: notices.bytes,
            notice_delay_mean_ns: notices.delay_mean_ns(),
            notice_delay_max_ns: notices.delay_max.ns,
        }
    }
}
