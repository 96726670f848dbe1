//! The measures of a timeline.

coflash_base::measures! {
    /// Time that dies and channels were busy, without waiting.
    pub struct DieTime in "", "Dies and channels" {
        /// Time that dies spent on GC, summed over the dies.
        gc_time_ns: u64, "time of dies on GC", ns, cost, of(&["gc_time_ns", "service_time_ns"]);
        /// Time that dies spent on everything else, summed over the dies.
        service_time_ns: u64, "time of dies on everything else", ns, untabled;
        /// Time of transfers over the buses of channels, summed over the channels.
        channel_time_ns: u64, "time of channels", ns, untabled;
        /// The share of the time that a die was busy, averaged over the dies. Planes that work in parallel count as dies.
        /// The time ends with the last operation.
        die_utilisation: Option<f64>, "die utilisation", share;
        /// The share of the time that a channel was busy, averaged over the channels. With private channels each die has one.
        channel_utilisation: Option<f64>, "channel utilisation", share;
    }
}

coflash_base::measures! {
    /// Operations of the flash, whatever caused them.
    pub struct FlashOperations in "operations", "Operations of flash" {
        /// Pages read from the array, those of copies included.
        reads_pages: u64, "pages read from the array", pages, untabled;
        /// Pages programmed, those of copies included.
        programs_pages: u64, "pages programmed into the array", pages, untabled;
        /// Blocks erased.
        erases_blocks: u64, "blocks erased in the array", blocks, untabled;
        /// Pages transferred over the buses of channels; a copy through the controller counts twice.
        transfers_pages: u64, "pages over channels", pages, untabled;
    }
}

coflash_base::measures! {
    /// Suspended programs and erases, with `timing.read_priority = "suspend"`.
    pub struct Suspensions in "operations", "Suspended operations" {
        /// Suspensions of a program or an erase by a read.
        suspensions: u64, "suspended programs and erases", untabled;
    }
}

coflash_base::measures! {
    /// The write buffer of the controller.
    pub struct BufferedPages in "write_buffer", "Write buffer" {
        /// Pages that found the write buffer full, and waited until it had room.
        waits_pages: u64, "pages that waited for room", pages, cost, untabled;
    }
}

coflash_base::measures! {
    /// Time that disks were busy.
    pub struct DiskTime in "hybrid", "Disks" {
        /// Time that disks were busy, summed over the disks.
        disk_time_ns: u64, "disk time", ns, cost, untabled;
        /// The share of the simulated time that a disk was busy, averaged over the disks.
        disk_utilisation: Option<f64>, "disk utilisation", share, cost;
        /// The mean time that a transfer keeps its disk busy, without waiting.
        disk_service_mean_ns: Option<f64>, "disk service, mean", ns, cost;
    }
}
