//! The host's write buffer: a volatile page cache over a device that may have a buffer of its own (ShadowGC, DATE 2018).
//!
//! ```text
//! write ──▶ dirty ──(age, dirty share, flush)──▶ written, clean        full: the victim leaves, written if dirty
//!             └── a notice to the device: this page will be replaced
//! ```
//!
//! **What the device is told.** A page becomes dirty: a notice. It is written: the write itself says that it is dirty no
//! more. It is trimmed: the trim says so. Nothing stale may arrive after a write, since the device lets go of its copy of a
//! page that it believes to be dirty here: so a notice of a page that is written is withdrawn, or waited for.
//!
//! **A flush is a promise.** Every dirty page is written to the device, all of them, then the device is flushed: what the
//! device has let go of is then replaced by what is newer. It is the whole device's: a block trace knows no files, so what was
//! an fsync of one of them is a flush of all.

mod config;

#[cfg(test)]
mod tests;

pub use config::WriteBufferConfig;

use crate::config::HostConfig;
use crate::link::{Lane, LaneTally, Standing, Ticket, Toll};
use coflash_base::{Duration, IdVec, Lpn, Share, Time};
use coflash_cache::{Cache, List, SlotId};
use coflash_controller::Extent;

/// The device below, at the other end of the link.
pub trait Store {
    /// When something is done.
    type When: Copy;

    /// A known time.
    fn at(&self, time: Time) -> Self::When;

    /// A moment so long after another.
    fn later(&self, after: Self::When, by: Duration) -> Self::When;

    /// A command reads a page.
    fn read(&mut self, lpn: Lpn, after: Self::When) -> Self::When;

    /// A command writes a page, whole. What the host held of it is dirty no more.
    fn write(&mut self, lpn: Lpn, after: Self::When) -> Self::When;

    /// A command trims a page.
    fn trim(&mut self, lpn: Lpn);

    /// Makes everything written durable; the parts that this waits for are appended.
    fn flush(&mut self, after: Self::When, parts: &mut Vec<Self::When>);

    /// A notice has arrived: the page is dirty in the host.
    fn host_dirties(&mut self, lpn: Lpn);
}

/// What the buffer has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteBufferTally {
    /// Pages read and found.
    pub read_hits: u64,
    /// Pages read and not found.
    pub read_misses: u64,
    /// Pages written and found.
    pub write_hits: u64,
    /// Pages written and not found.
    pub write_misses: u64,
    /// Pages that were read from the device because a part of them was written.
    pub merged_pages: u64,
    /// Dirty pages written because they had to leave.
    pub evicted_pages: u64,
    /// Dirty pages written in the background because of their age.
    pub aged_pages: u64,
    /// Dirty pages written in the background because there were too many.
    pub crowded_pages: u64,
    /// Dirty pages written because of a flush.
    pub flushed_pages: u64,
    /// Dirty pages that were trimmed before they were written.
    pub dropped_pages: u64,
    /// Pages written over a dirty copy, which is not written any more.
    pub absorbed_pages: u64,
}

impl WriteBufferTally {
    /// Pages written to the device.
    #[must_use]
    pub fn written_pages(&self) -> u64 {
        self.evicted_pages + self.aged_pages + self.crowded_pages + self.flushed_pages
    }
}

/// Why a dirty page is written.
#[derive(Clone, Copy, Debug)]
enum Why {
    Evicted,
    Aged,
    Crowded,
    Flushed,
}

/// What is kept of a dirty page.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    since: Time,
    notice: Option<Ticket>,
}

/// See the top of the file.
#[derive(Clone)]
pub struct WriteBuffer {
    cache: Cache,
    config: WriteBufferConfig,
    dirty: IdVec<SlotId, Dirty>,
    /// Dirty pages, the one that became so first at the back.
    order: List<SlotId>,
    dirty_max: u32,
    lane: Lane<Lpn>,
    now: Time,
    tally: WriteBufferTally,
}

impl WriteBuffer {
    /// An empty buffer for a device of `logical_pages`. A message across the link costs `toll`.
    ///
    /// # Errors
    /// What does not fit together, as (key in the scenario, problem).
    pub fn new(
        config: &WriteBufferConfig,
        page_bytes: u64,
        logical_pages: u32,
        toll: &Toll,
    ) -> Result<Self, (&'static str, String)> {
        let most = u64::from(logical_pages);
        let slots = config.size.pages(page_bytes, most);
        if slots > most {
            let problem = format!("{} is {slots} pages, more than the {most} of the device", config.size);
            return Err(("host_buffer.size", problem));
        }
        if slots == 0 {
            let problem = format!("{} holds no page of {page_bytes} bytes", config.size);
            return Err(("host_buffer.size", problem));
        }
        if config.dirty_share_max > Share::ONE {
            let problem = format!("{} was given; from 0% to 100% is allowed", config.dirty_share_max);
            return Err(("host_buffer.dirty_share_max", problem));
        }
        let host = HostConfig { notices: config.notices, ..HostConfig::default() };
        Ok(Self {
            cache: Cache::new(&config.policy, slots as u32, logical_pages as usize),
            dirty: IdVec::filled(Dirty { since: Time::ZERO, notice: None }, slots as usize),
            order: List::new(slots as u32),
            dirty_max: config.dirty_share_max.of(slots) as u32,
            lane: Lane::new(host.sending(), toll.clone(), host.notice_size.count),
            now: Time::ZERO,
            tally: WriteBufferTally::default(),
            config: config.clone(),
        })
    }

    /// The pages in it, to look at.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// What it has done so far.
    #[must_use]
    pub fn tally(&self) -> &WriteBufferTally {
        &self.tally
    }

    /// The notices so far.
    #[must_use]
    pub fn notices(&self) -> &LaneTally {
        self.lane.tally()
    }

    /// The bytes of state on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.cache.heap_bytes() + self.dirty.heap_bytes() + self.order.heap_bytes() + self.lane.heap_bytes()
    }

    /// When a page is next due to be written because of its age.
    #[inline]
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.order.back().map(|slot| self.dirty[slot].since + self.config.dirty_age_max)
    }

    /// Passes time: what has arrived by then is heard, and what is due by then is written. To be called at each
    /// [`next_due`](Self::next_due) and before each request.
    pub fn pass_time<S: Store>(&mut self, now: Time, store: &mut S) {
        self.now = self.now.max(now);
        self.lane.pass_time(self.now);
        self.deliver(store);
        while let Some(slot) = self.order.back()
            && self.dirty[slot].since + self.config.dirty_age_max <= now
        {
            self.write_back(slot, Why::Aged, store);
        }
        while self.cache.dirty_len() > self.dirty_max {
            let slot = self.order.back().expect("there are dirty pages");
            self.write_back(slot, Why::Crowded, store);
        }
    }

    /// Reads a page.
    #[inline]
    pub fn read<S: Store>(&mut self, lpn: Lpn, store: &mut S) -> S::When {
        let now = store.at(self.now);
        if let Some(slot) = self.cache.lookup(lpn) {
            self.tally.read_hits += 1;
            self.cache.touch(slot);
            return store.later(now, self.config.page_read);
        }
        self.tally.read_misses += 1;
        let after = self.command(now, store);
        let done = store.read(lpn, after);
        if self.config.read_allocate {
            // The host has its data, whoever has to leave.
            self.make_room(store);
            self.cache.insert(lpn, false);
        }
        done
    }

    /// Writes a page, or a part of it.
    #[inline]
    pub fn write<S: Store>(&mut self, lpn: Lpn, extent: Extent, store: &mut S) -> S::When {
        let mut ready = store.at(self.now);
        let slot = if let Some(slot) = self.cache.lookup(lpn) {
            self.tally.write_hits += 1;
            self.cache.touch(slot);
            slot
        } else {
            self.tally.write_misses += 1;
            if let Some(written) = self.make_room(store) {
                ready = written;
            }
            if extent == Extent::Part {
                self.tally.merged_pages += 1;
                // While the page that leaves is written: a read that waited for that would hold up its die.
                let after = self.command(store.at(self.now), store);
                ready = store.read(lpn, after);
            }
            self.cache.insert(lpn, false)
        };
        if self.cache.is_dirty(slot) {
            self.tally.absorbed_pages += 1;
        } else {
            self.cache.set_dirty(slot, true);
            self.dirty[slot] = Dirty { since: self.now, notice: Some(self.lane.post(lpn, self.now)) };
            self.order.push_front(slot);
        }
        store.later(ready, self.config.page_write)
    }

    /// Forgets a page.
    pub fn trim<S: Store>(&mut self, lpn: Lpn, store: &mut S) {
        if let Some(slot) = self.cache.lookup(lpn) {
            if self.cache.is_dirty(slot) {
                self.tally.dropped_pages += 1;
                self.clean(slot, store);
            }
            self.cache.remove(slot);
        }
        self.command(store.at(self.now), store);
        store.trim(lpn);
    }

    /// Makes everything written so far durable; the parts that the answer waits for are appended.
    pub fn flush<S: Store>(&mut self, store: &mut S, parts: &mut Vec<S::When>) {
        while let Some(slot) = self.order.back() {
            let written = self.write_back(slot, Why::Flushed, store);
            parts.push(written);
        }
        let after = self.command(store.at(self.now), store);
        store.flush(after, parts);
    }

    /// Writes a dirty page to the device; it stays as a clean copy.
    fn write_back<S: Store>(&mut self, slot: SlotId, why: Why, store: &mut S) -> S::When {
        let tally = &mut self.tally;
        *match why {
            Why::Evicted => &mut tally.evicted_pages,
            Why::Aged => &mut tally.aged_pages,
            Why::Crowded => &mut tally.crowded_pages,
            Why::Flushed => &mut tally.flushed_pages,
        } += 1;
        let heard = self.clean(slot, store);
        let after = self.command(store.at(heard), store);
        store.write(self.cache.page_of(slot), after)
    }

    /// A page is dirty no more, and about to be spoken of in a command: that may not cross before what was said of it is
    /// withdrawn or has arrived. When it may.
    fn clean<S: Store>(&mut self, slot: SlotId, store: &mut S) -> Time {
        self.cache.set_dirty(slot, false);
        self.order.remove(slot);
        let Some(notice) = self.dirty[slot].notice.take() else { return self.now };
        if self.lane.withdraw(notice) {
            return self.now;
        }
        if let Standing::UnderWay(arrival) = self.lane.standing(notice) {
            while let Some(lpn) = self.lane.arrived(arrival) {
                store.host_dirties(lpn);
            }
            return arrival.max(self.now);
        }
        self.now
    }

    /// A command crosses, and takes notices along.
    #[inline]
    fn command<S: Store>(&mut self, after: S::When, store: &mut S) -> S::When {
        let longer = self.lane.ride(self.now);
        self.deliver(store);
        if longer == Duration::ZERO { after } else { store.later(after, longer) }
    }

    #[inline]
    fn deliver<S: Store>(&mut self, store: &mut S) {
        while let Some(lpn) = self.lane.arrived(self.now) {
            store.host_dirties(lpn);
        }
    }

    /// Empties a slot if none is free; tells when, if that took a write.
    fn make_room<S: Store>(&mut self, store: &mut S) -> Option<S::When> {
        if !self.cache.is_full() {
            return None;
        }
        let slot = self.cache.victim().expect("a full buffer has a victim");
        let written = self.cache.is_dirty(slot).then(|| self.write_back(slot, Why::Evicted, store));
        self.cache.remove(slot);
        written
    }

    /// Panics unless the buffer agrees with itself. For tests.
    pub fn assert_invariants(&self) {
        self.cache.assert_invariants();
        let mut dirty = 0;
        let mut newest = Time::LAST;
        self.order.iter().for_each(|slot| {
            dirty += 1;
            assert!(self.cache.is_dirty(slot), "{slot:?} is listed as dirty");
            assert!(self.dirty[slot].since <= newest, "{slot:?}: the oldest is at the back");
            newest = self.dirty[slot].since;
        });
        assert_eq!(dirty, self.cache.dirty_len(), "every dirty page is listed");
    }
}
