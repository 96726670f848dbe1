//! The media of a served device: its bytes in a container, and the simulated time of operations on them.

use coflash_base::{Duration, Time};
use coflash_media::{
    Access, BlockId, Cause, Clock, DieId, Flash, HostPage, Nvm, Oob, Place, Ppn, SimulatedMedia, Slot,
    Timeline, When,
};
use coflash_store::{DeviceBytes, StoreError};

/// A store, or nothing, and the timeline. The store executes an operation first: a failed one takes no time.
pub(crate) struct TimedBytes<S> {
    pub(crate) store: S,
    pub(crate) timeline: Timeline,
}

impl<S: DeviceBytes> Clock for TimedBytes<S> {
    type When = When;

    fn later(&self, after: When, by: Duration) -> When {
        self.timeline.later(after, by)
    }

    fn both(&mut self, one: When, other: When) -> When {
        self.timeline.both(one, other)
    }

    fn known(&self, when: When) -> Option<Time> {
        when.known()
    }
}

impl<S: DeviceBytes> Flash for TimedBytes<S> {
    type Error = StoreError;

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, after: When) -> Result<When, StoreError> {
        self.store.read(page, to, cause, ())?;
        self.timeline.read(page, to, cause, after).map_err(|never| match never {})
    }

    fn program(
        &mut self,
        page: Ppn,
        oob: Oob,
        from: Place,
        cause: Cause,
        after: When,
    ) -> Result<When, StoreError> {
        self.store.program(page, oob, from, cause, ())?;
        self.timeline.program(page, oob, from, cause, after).map_err(|never| match never {})
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob, cause: Cause, after: When) -> Result<When, StoreError> {
        self.store.copy(from, to, oob, cause, ())?;
        self.timeline.copy(from, to, oob, cause, after).map_err(|never| match never {})
    }

    fn erase(&mut self, block: BlockId, cause: Cause, after: When) -> Result<When, StoreError> {
        self.store.erase(block, cause, ())?;
        self.timeline.erase(block, cause, after).map_err(|never| match never {})
    }

    fn await_programs(&mut self, parts: &mut Vec<When>) {
        self.timeline.await_programs(parts);
    }

    fn backlog(&self, die: DieId, now: When) -> u64 {
        self.timeline.backlog(die, now)
    }
}

impl<S: DeviceBytes> Nvm for TimedBytes<S> {
    fn access(&mut self, slot: Slot, access: Access, after: When) -> When {
        self.store.access(slot, access, ());
        self.timeline.access(slot, access, after)
    }

    fn store(&mut self, word: u32, value: u64) {
        self.store.store(word, value);
    }

    fn buffer(&mut self, after: When) -> When {
        self.timeline.buffer(after)
    }

    fn unbuffer(&mut self, done: When) {
        self.timeline.unbuffer(done);
    }

    fn fence(&mut self) {
        self.store.fence();
    }
}

impl<S: DeviceBytes> HostPage for TimedBytes<S> {
    fn host_writes(&mut self, start: usize, data: &[u8]) {
        self.store.host_writes(start, data);
    }

    fn host_reads(&self) -> &[u8] {
        self.store.host_reads()
    }
}

impl<S: DeviceBytes> SimulatedMedia for TimedBytes<S> {
    fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }
}
