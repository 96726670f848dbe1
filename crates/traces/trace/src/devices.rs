//! Several devices in one address space.
//!
//! A simulated device has one address space; a trace may contain several devices. They are numbered in the order of
//! their first records, over all files of a sequence, and device n begins at n × stride. The default stride exceeds
//! any device, so their sizes need not be known. With a smaller stride, a request that reaches into the next device is
//! refused, unless there is no other device; in a trace that is split, always.

use crate::record::{FieldError, Parsed, show};
use coflash_base::Bytes;
use std::collections::BTreeMap;

/// The devices of a trace.
#[derive(Default)]
pub(crate) struct Devices {
    stride_bytes: u64,
    names: BTreeMap<Vec<u8>, u32>,
    /// The device of the last record, usually that of the next one.
    latest: Option<(Vec<u8>, u32)>,
    latest_code: Option<(u32, u32)>,
    /// The highest device number so far.
    highest: u32,
    /// The end of the largest device, as far as known.
    end_max: u64,
    /// Whether a named device is kept from the next one's place even where it is alone: others may be in another part of the trace.
    pub(crate) kept_apart: bool,
}

impl Devices {
    pub(crate) fn new(stride: Bytes) -> Self {
        Self { stride_bytes: stride.count, ..Self::default() }
    }

    /// The number of the device `name`.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        match &self.latest {
            Some((latest, number)) if latest == name => *number,
            _ => self.look_up(name),
        }
    }

    #[cold]
    fn look_up(&mut self, name: &[u8]) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.names.entry(name.to_vec()).or_insert(next);
        self.latest = Some((name.to_vec(), number));
        number
    }

    /// The number of the device that is `code` in its format; `name` writes its name.
    #[inline]
    pub(crate) fn coded(&mut self, code: u32, name: impl FnOnce() -> String) -> u32 {
        if let Some((latest, number)) = self.latest_code
            && latest == code
        {
            return number;
        }
        let number = self.number(name().as_bytes());
        self.latest_code = Some((code, number));
        number
    }

    /// The address of byte `offset` of `device`, for a request that ends at byte `end` of the device.
    #[inline]
    pub(crate) fn address(&mut self, device: u32, offset: u64, end: u64, field: &'static str) -> Parsed<u64> {
        let highest = self.highest.max(device);
        let end_max = self.end_max.max(end);
        let has_others = highest > 0 || self.kept_apart && !self.names.is_empty();
        if has_others && end_max > self.stride_bytes {
            return Err(self.collision(device, end_max, field));
        }
        let start =
            u64::from(device).checked_mul(self.stride_bytes).and_then(|start| start.checked_add(offset));
        let Some(start) = start else {
            let stride = Bytes { count: self.stride_bytes };
            let problem = format!(
                "device {device} begins beyond the address space of 2^63 bytes (a device_stride below {stride} makes room)"
            );
            return Err(FieldError { field, problem });
        };
        self.highest = highest;
        self.end_max = end_max;
        Ok(start)
    }

    /// The byte of its device at an address.
    pub(crate) fn offset(&self, address: u64) -> u64 {
        if self.highest > 0 { address % self.stride_bytes } else { address }
    }

    #[cold]
    fn collision(&self, device: u32, end_max: u64, field: &'static str) -> FieldError {
        let stride = Bytes { count: self.stride_bytes };
        let needed = Bytes { count: end_max.checked_next_power_of_two().unwrap_or(end_max) };
        let problem = format!(
            "device {device} would overlap another: devices are laid out {stride} apart and one reaches byte {end_max} \
             (expected device_stride of {needed} or more)"
        );
        FieldError { field, problem }
    }

    /// The names of the devices, in the order of their numbers.
    pub(crate) fn in_order(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut names: Vec<_> = self.names.iter().map(|(name, number)| (number, name.as_slice())).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name)
    }

    /// The layout of several devices.
    pub(crate) fn remark(&self) -> Option<String> {
        let stride = Bytes { count: self.stride_bytes };
        let names = self.in_order();
        let more = match names.len().saturating_sub(8) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = names.enumerate().take(8).map(|(number, name)| format!("{number} is {}", show(name)));
        (self.highest > 0).then(|| format!(
            "{} devices share one address space: device n begins at n × {stride} (device_stride); {}{more}",
            u64::from(self.highest) + 1,
            shown.collect::<Vec<_>>().join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> Devices {
        Devices::new(Bytes { count: 4096 })
    }

    #[test]
    fn devices_are_a_stride_apart_in_the_order_in_which_they_appear() {
        let mut devices = devices();
        let numbers: Vec<_> =
            ["sda", "sdb", "sda", "", "sdb"].iter().map(|name| devices.number(name.as_bytes())).collect();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(devices.address(0, 10, 20, "d").unwrap(), 10);
        assert_eq!(devices.remark(), None);
        assert_eq!(devices.address(2, 4095, 4096, "d").unwrap(), 12_287);
        let remark = devices.remark().unwrap();
        assert!(
            remark.starts_with("3 devices share one address space: device n begins at n × 4KiB"),
            "{remark}"
        );
        assert!(remark.ends_with("; 0 is sda, 1 is sdb, 2 is "), "{remark}");
        let problem = devices.address(0, 4096, 4097, "d").unwrap_err().problem;
        assert!(problem.contains("device_stride of 8KiB or more"), "{problem}");
        let mut far = Devices::new(Bytes { count: 1 << 47 });
        assert!(far.address(1 << 17, 0, 1, "d").unwrap_err().problem.contains("2^63"));
    }

    #[test]
    fn a_device_alone_may_be_of_any_size() {
        let mut devices = devices();
        assert_eq!(devices.address(0, 5000, 6000, "d").unwrap(), 5000);
        assert_eq!(devices.remark(), None);
        assert!(devices.address(1, 0, 10, "d").unwrap_err().problem.contains("reaches byte 6000"));
    }
}
