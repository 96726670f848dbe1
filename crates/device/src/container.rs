//! The bytes of a device, which outlive its sessions.

use coflash_media::image::{Image, ImageError};
use coflash_media::{Contents, Flash, HostPage, Nvm};

/// Flash and cache memory as bytes, with a power switch.
pub trait Container: Flash<When = ()> + Nvm + HostPage {
    /// Hand all changes to the host, so that they survive the end of the process.
    ///
    /// # Errors
    /// The container cannot be written.
    fn write_out(&mut self) -> Result<(), Self::Error>;

    /// Make the present state the one that the container comes back with if its host loses power.
    ///
    /// # Errors
    /// The container cannot be written.
    fn sync_point(&mut self) -> Result<(), Self::Error>;

    /// Cut the power of the device after `steps` more steps: a store or a fence is one, a program or an erase two.
    fn cut_after(&mut self, steps: u64);

    /// Whether the power of the device is off.
    fn is_off(&self) -> bool;

    /// Restart after a power cut. Of the stores since the last fence those survive that `survives` picks. Returns what is
    /// left.
    ///
    /// # Errors
    /// The container cannot be read.
    fn restart(&mut self, survives: impl FnMut(usize) -> bool) -> Result<Contents, Self::Error>;
}

/// The image of the tests, which no process outlives.
impl Container for Image {
    fn write_out(&mut self) -> Result<(), ImageError> {
        Ok(())
    }

    fn sync_point(&mut self) -> Result<(), ImageError> {
        Ok(())
    }

    fn cut_after(&mut self, steps: u64) {
        self.cut_after(steps);
    }

    fn is_off(&self) -> bool {
        self.is_dead()
    }

    fn restart(&mut self, survives: impl FnMut(usize) -> bool) -> Result<Contents, ImageError> {
        self.restart(survives);
        Ok(Contents { words: self.words().to_vec(), pages: self.programmed().collect(), erases: Vec::new() })
    }
}
