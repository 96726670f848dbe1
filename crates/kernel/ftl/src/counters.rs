//! The FTL's counters.

use coflash_media::Cause;

const CAUSES: &[&str] = &["host", "evict", "gc", "refresh", "wear_levelling", "destage", "metadata"];

coflash_base::measures! {
    /// Pages programmed, by cause.
    pub struct Programs in "programs_pages", "Where programs come from" {
        /// Host writes past the cache.
        host: u64, "pages programmed, host writes", pages, series("programs_host_pages");
        /// Pages evicted from the cache; in a flash cache before disks, pages read into it.
        evict: u64, "pages programmed, cache evictions", pages, series("programs_evict_pages");
        /// Pages copied by GC.
        gc: u64, "pages programmed, GC copies", pages, cost, series("programs_gc_pages");
        /// Pages rewritten before their data fades.
        refresh: u64, "pages programmed, refresh", pages, cost, of(CAUSES), series("programs_refresh_pages");
        /// Cold pages moved from less-worn to worn blocks.
        wear_levelling: u64, "pages programmed, wear levelling", pages, cost, series("programs_wear_levelling_pages");
        /// Dirty pages of a flash cache on their way to the disk.
        destage: u64, "pages programmed, destaging", pages, series("programs_destage_pages");
        /// Summaries, checkpoints and journals.
        metadata: u64, "pages programmed, metadata", pages, cost, series("programs_metadata_pages");
    }
}

impl Programs {
    /// The total.
    #[must_use]
    pub fn all(&self) -> u64 {
        let Self { host, evict, gc, refresh, wear_levelling, destage, metadata } = self;
        host + evict + gc + refresh + wear_levelling + destage + metadata
    }

    /// Those of what arrives at the FTL: host writes past the cache, and evictions.
    #[must_use]
    pub fn of_the_host(&self) -> u64 {
        self.host + self.evict
    }

    /// The programs for one cause.
    #[inline(always)]
    #[must_use]
    pub fn by_cause(&self, cause: Cause) -> u64 {
        let mut programs = *self;
        *programs.by_cause_mut(cause)
    }

    #[inline(always)]
    pub(crate) fn by_cause_mut(&mut self, cause: Cause) -> &mut u64 {
        match cause {
            Cause::Host => &mut self.host,
            Cause::Evict => &mut self.evict,
            Cause::Gc => &mut self.gc,
            Cause::Refresh => &mut self.refresh,
            Cause::WearLevelling => &mut self.wear_levelling,
            Cause::Destage => &mut self.destage,
            Cause::Metadata => &mut self.metadata,
        }
    }
}

coflash_base::measures! {
    /// The space in use.
    pub struct UsedSpace in "", "Flash" {
        /// Logical pages with data in flash, at the end.
        mapped_pages: u64, "pages in use at the end", pages, untabled, state;
    }
}

coflash_base::measures! {
    /// Pages by class of the placement policy, in the order of classes. For FDP the first classes are the handles.
    pub struct PlacementClass in "placement", "Placement" {
        /// Pages that the host and caches wrote to blocks of the class.
        user_pages: u64, "pages written", pages, untabled;
        /// Pages that GC and refresh copied to blocks of the class.
        copied_pages: u64, "pages copied", pages, untabled;
        /// Bytes that the host and caches wrote to blocks of the class: for a handle, the host bytes of FDP's statistics.
        host_bytes: u64, "bytes written", bytes, untabled;
        /// Bytes that were programmed in blocks of the class: the media bytes.
        media_bytes: u64, "bytes programmed", bytes, untabled;
        /// Bytes of the class's blocks that were erased.
        erased_bytes: u64, "bytes erased", bytes, untabled;
        /// Units that were closed before they were full, by a refresh: FDP's event of a unit that is not fully written.
        closed_early_units: u64, "units closed early", untabled;
    }
}

coflash_base::measures! {
    /// Flash operations and garbage collection.
    pub struct FtlCounters in "", "Flash" {
        /// Flash reads for requests. Reads of GC are part of its copies.
        flash_reads_pages: u64, "flash reads", pages, untabled;
        /// Pages read because the host wrote only a part of them, past the cache.
        flash_merges_pages: u64, "pages read to complete a write past the cache", pages, cost, untabled;
        /// Valid pages copied by GC.
        gc_copies_pages: u64, "pages copied by GC", pages, cost;
        /// Valid pages dropped by GC without a copy, because another memory held their data.
        gc_drops_pages: u64, "pages dropped by GC", pages, rare, series("gc_drops_pages");
        /// Pages of GC's victims that were invalid only because the cache will write them again. Each is a copy
        /// that these victims do not need; if GC did not know of the cache, it would choose other victims.
        gc_spared_pages: u64, "pages of victims invalid early", pages, rare, series("gc_spared_pages");
        /// Page copies and erases that GC did one by one, in idle time or between operations. The others were part of
        /// whole victims that an operation waited for.
        gc_steps: u64, "steps of GC", untabled;
        /// Erased blocks.
        erases_blocks: u64, "blocks erased", blocks, cost, series("erases_blocks");
    }
}
