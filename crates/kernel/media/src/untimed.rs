//! A media that does nothing and takes no time, for warming up a device.

use crate::{Access, BlockId, Cause, DieId, Flash, Immediate, Nvm, Oob, Place, Ppn, Slot};
use std::convert::Infallible;

/// A media that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Immediate for Untimed {}

impl Flash for Untimed {
    type Error = Infallible;

    #[inline(always)]
    fn read(&mut self, _: Ppn, _: Place, _: Cause, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline(always)]
    fn program(&mut self, _: Ppn, _: Oob, _: Place, _: Cause, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline(always)]
    fn copy(&mut self, _: Ppn, _: Ppn, _: Oob, _: Cause, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline(always)]
    fn erase(&mut self, _: BlockId, _: Cause, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    fn await_programs(&mut self, _: &mut Vec<()>) {}

    fn backlog(&self, _: DieId, (): ()) -> u64 {
        0
    }
}

impl Nvm for Untimed {
    #[inline(always)]
    fn access(&mut self, _: Slot, _: Access, (): ()) {}

    fn store(&mut self, _: u32, _: u64) {}

    fn buffer(&mut self, (): ()) {}

    fn unbuffer(&mut self, (): ()) {}

    fn fence(&mut self) {}
}
