//! A look into the levels.

use coflash_cache::Cache;
use coflash_ftl::Ftl;
use coflash_level::{May, Tower, WriteBack};
use coflash_media::Memory;

/// A look into levels, from the top down.
pub(crate) trait Look {
    fn flash(&self) -> &Ftl;
    fn flash_mut(&mut self) -> &mut Ftl;
    fn caches(&self) -> Vec<(Memory, &Cache)>;
}

impl Look for Ftl {
    fn flash(&self) -> &Ftl {
        self
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        Vec::new()
    }
}

/// A cache over flash, without the port before it.
pub(crate) type Device = WriteBack<Ftl>;

/// The device of a tower, which has a cache.
pub(crate) fn device_of(tower: &Stack) -> Device {
    let May::Have(device) = tower.below().below().device() else { panic!("the cache is not in the device") };
    device.clone()
}

impl Look for Device {
    fn flash(&self) -> &Ftl {
        self.below()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.below_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        vec![(Memory::Device, self.cache())]
    }
}

/// The levels of a scenario.
pub(crate) type Stack = Tower<Ftl>;

impl Look for Stack {
    fn flash(&self) -> &Ftl {
        self.lowest()
    }

    fn flash_mut(&mut self) -> &mut Ftl {
        self.lowest_mut()
    }

    fn caches(&self) -> Vec<(Memory, &Cache)> {
        let mut caches = Vec::new();
        if let May::Have(buffer) = self {
            caches.push((Memory::HostBuffer, buffer.cache()));
        }
        if let May::Have(cache) = self.below() {
            caches.push((Memory::Host, cache.cache()));
        }
        if let May::Have(cache) = self.below().below().device() {
            caches.push((Memory::Device, cache.cache()));
        }
        caches
    }
}
