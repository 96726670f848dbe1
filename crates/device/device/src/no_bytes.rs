//! The bytes of a session's twin: none, behind the power switch of the session.

use crate::restarts::Restarts;
use coflash_media::{
    Access, BlockId, Cause, Contents, DieId, Flash, HostPage, Immediate, Nvm, Oob, Place, Ppn, Side, Slot,
};
use coflash_store::{Damage, DeviceBytes, StoreError};

/// No bytes. The power of the device fails in the same steps as in the session.
pub(crate) struct NoBytes {
    steps_left: u64,
    restarts: Restarts,
    restarted: usize,
}

impl NoBytes {
    pub(crate) fn new(restarts: Restarts) -> Self {
        Self { steps_left: u64::MAX, restarts, restarted: 0 }
    }

    fn step(&mut self) -> Result<(), StoreError> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(StoreError::PowerCut)?;
        Ok(())
    }

    /// A program or an erase: the two steps of the [store](DeviceBytes::cut_side_after).
    fn change(&mut self) -> Result<(), StoreError> {
        self.step()?;
        self.step()
    }
}

impl DeviceBytes for NoBytes {
    fn cut_side_after(&mut self, _: Side, steps: u64) {
        self.steps_left = steps;
    }

    fn is_off(&self) -> bool {
        self.steps_left == 0
    }

    fn outlives_device(&self) -> bool {
        self.is_off()
    }

    fn restart_device(&mut self) -> Result<Contents, StoreError> {
        self.steps_left = u64::MAX;
        self.restarted += 1;
        let found = self.restarts.read_contents(self.restarted);
        found.map_err(|problem| StoreError::host("reading what a restart found", &problem))
    }

    fn take_slot_damage(&mut self) -> Option<Damage> {
        None
    }
}

impl Immediate for NoBytes {}

impl Flash for NoBytes {
    type Error = StoreError;

    fn read(&mut self, _: Ppn, _: Place, _: Cause, (): ()) -> Result<(), StoreError> {
        if self.is_off() { Err(StoreError::PowerCut) } else { Ok(()) }
    }

    fn program(&mut self, _: Ppn, _: Oob, _: Place, _: Cause, (): ()) -> Result<(), StoreError> {
        self.change()
    }

    fn copy(&mut self, _: Ppn, _: Ppn, _: Oob, _: Cause, (): ()) -> Result<(), StoreError> {
        self.change()
    }

    fn erase(&mut self, _: BlockId, _: Cause, (): ()) -> Result<(), StoreError> {
        self.change()
    }

    fn await_programs(&mut self, _: &mut Vec<()>) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}

impl Nvm for NoBytes {
    fn access(&mut self, _: Slot, _: Access, (): ()) {}

    fn store(&mut self, _: u32, _: u64) {}

    fn buffer(&mut self, (): ()) {}

    fn unbuffer(&mut self, (): ()) {}

    fn fence(&mut self) {}
}

impl HostPage for NoBytes {
    fn host_writes(&mut self, _: usize, _: &[u8]) {}

    fn host_reads(&self) -> &[u8] {
        &[]
    }
}
