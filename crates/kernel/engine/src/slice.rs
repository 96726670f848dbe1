//! A slice of a device: some of its channels with all their dies, which is a smaller device. Where channels are private, each die is one.
//!
//! Page p lies on channel p mod n (`ftl.chips = "static"`). So the pages of a slice, numbered in order, lie on its own channels in
//! turn as those of the device do, and adjacent pages have adjacent numbers.

use coflash_base::{Bytes, Divisor, Lpn};
use coflash_media::{Channel, Geometry};
use coflash_scenario::Scenario;

/// A slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Its channels in the device.
    first: u32,
    count: u32,
    /// The channels of the device.
    channels: u32,
    by_channels: Divisor,
}

impl Slice {
    /// The channels of a device that know nothing of each other.
    pub(crate) fn channels(scenario: &Scenario) -> u32 {
        match scenario.timing.channel {
            Channel::Private => scenario.flash.dies(),
            Channel::Shared => scenario.flash.channels,
        }
    }

    /// Cut a device into this many slices, at most one a channel.
    pub(crate) fn cut(scenario: &Scenario, slices: u32) -> Vec<Self> {
        let channels = Self::channels(scenario);
        let slices = slices.clamp(1, channels);
        let start = |slice| (u64::from(channels) * u64::from(slice) / u64::from(slices)) as u32;
        let slice = |number| Self {
            first: start(number),
            count: start(number + 1) - start(number),
            channels,
            by_channels: Divisor::new(channels),
        };
        (0..slices).map(slice).collect()
    }

    /// Whether it is the first one, which serves what has no page.
    #[inline(always)]
    pub(crate) fn is_first(&self) -> bool {
        self.first == 0
    }

    /// Whether a page lies in it.
    #[inline(always)]
    pub(crate) fn has(&self, page: Lpn) -> bool {
        self.by_channels.rest(page.get()).wrapping_sub(self.first) < self.count
    }

    /// The number of its pages before a page of the device: the number that this page has in it, if it lies there.
    #[inline(always)]
    pub(crate) fn pages_before(&self, page: u32) -> u32 {
        let row = self.by_channels.divide(page);
        let before = (page - row * self.channels).saturating_sub(self.first).min(self.count);
        row * self.count + before
    }

    /// The number of a page in it, if it lies there.
    #[inline(always)]
    pub(crate) fn local(&self, page: Lpn) -> Option<Lpn> {
        self.has(page).then(|| Lpn::new(self.pages_before(page.get())))
    }

    /// Whether it has a page of these: the least page first, and their number.
    #[inline(always)]
    pub(crate) fn has_any(&self, first: u32, pages: u64) -> bool {
        match pages {
            1 => self.has(Lpn::new(first)),
            _ if pages >= u64::from(self.channels) => true,
            _ => self.pages_before(first + pages as u32) > self.pages_before(first),
        }
    }

    /// The pages of the device, of which this slice has `pages`.
    pub(crate) fn pages_of_device(&self, pages: u64) -> u64 {
        pages / u64::from(self.count) * u64::from(self.channels)
    }

    /// The number of one of its dies in the device.
    pub(crate) fn die(&self, local: u32) -> u32 {
        local / self.count * self.channels + self.first + local % self.count
    }

    /// The scenario of the slice as a device of its own.
    pub(crate) fn scenario(&self, whole: &Scenario) -> Scenario {
        let flash = &whole.flash;
        let rows = flash.dies() / self.channels;
        let exported = flash
            .exported_pages_per_die()
            .map(|pages| Bytes { count: pages * u64::from(rows * self.count) * flash.page_size.count });
        let flash = Geometry {
            channels: self.count,
            chips_per_channel: rows,
            dies_per_chip: 1,
            exported,
            ..flash.clone()
        };
        Scenario { flash, ..whole.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(channel: &str, count: u32) -> (Scenario, Vec<Slice>) {
        let settings =
            [("flash.channels", "7"), ("flash.chips_per_channel", "3"), ("timing.channel", channel)];
        let scenario = Scenario::default().set(&settings).unwrap();
        let slices = Slice::cut(&scenario, count);
        (scenario, slices)
    }

    #[test]
    fn slices_share_all_dies_and_pages() {
        for (channel, count) in
            [("private", 1), ("private", 4), ("private", 99), ("shared", 3), ("shared", 7)]
        {
            let (scenario, slices) = slices(channel, count);
            assert_eq!(slices.len() as u32, count.min(Slice::channels(&scenario)));
            let dies = |slice: &Slice| slice.scenario(&scenario).flash.dies();
            let mut numbers: Vec<_> =
                slices.iter().flat_map(|slice| (0..dies(slice)).map(|die| slice.die(die))).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..21), "{channel}");
            let mut next = vec![0; slices.len()];
            for page in (0..200).map(Lpn::new) {
                let of = slices.iter().position(|slice| slice.has(page)).expect("a page lies in a slice");
                assert_eq!(slices.iter().filter(|slice| slice.has(page)).count(), 1);
                let local = slices[of].local(page).expect("it lies there").get();
                assert_eq!(local, next[of], "the pages of a slice are numbered in order");
                assert_eq!(slices[of].die(local % dies(&slices[of])), page.get() % 21, "on its own die");
                next[of] += 1;
                for pages in [1, 2, 5, 30] {
                    let any = (page.get()..page.get() + pages).any(|page| slices[of].has(Lpn::new(page)));
                    assert_eq!(slices[of].has_any(page.get(), pages.into()), any);
                }
            }
        }
    }

    #[test]
    fn a_slice_exports_its_part() {
        for exported in ["1GiB", "1000MiB", "4097KiB"] {
            let (scenario, slices) = slices("private", 4);
            let scenario = scenario.set(&[("flash.exported", exported)]).unwrap();
            let pages = |scenario: &Scenario| u64::from(scenario.ftl.logical_pages(&scenario.flash));
            for slice in slices {
                let own = pages(&slice.scenario(&scenario));
                assert_eq!(slice.pages_of_device(own), pages(&scenario), "{exported}");
            }
        }
    }
}
