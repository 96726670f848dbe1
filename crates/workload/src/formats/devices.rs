//! Several devices in one address space.
//!
//! A simulated device has one address space, a trace may have been recorded from several devices. Device `n` begins at
//! `n × stride` (64 GiB unless the options say otherwise), so the layout depends on nothing but the number; formats that
//! name their devices number the names in the order in which they appear, over all files of a sequence. A request that
//! would reach into the next device is refused, unless there is no other device.

use super::Fault;
use crate::trace::TraceOptions;
use coflash_base::Bytes;
use std::collections::BTreeMap;

/// The devices of a trace.
pub(crate) struct Devices {
    stride_bytes: u64,
    names: BTreeMap<Vec<u8>, u64>,
    /// The device of the record before: nearly always the same as the next.
    latest_name: (Vec<u8>, u64),
    /// The only device placed so far.
    only: Option<u64>,
    several: bool,
    /// The highest device placed so far.
    highest: u64,
    /// Where the largest device ends, as far as is known.
    end_max: u64,
}

impl Devices {
    /// No devices yet.
    pub(crate) fn new(options: &TraceOptions) -> Self {
        Self {
            stride_bytes: options.device_stride.count,
            names: BTreeMap::new(),
            latest_name: (Vec::new(), u64::MAX),
            only: None,
            several: false,
            highest: 0,
            end_max: 0,
        }
    }

    /// The number of the device called `name`.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> u64 {
        if self.latest_name.0 != name || self.latest_name.1 == u64::MAX {
            self.look_up(name);
        }
        self.latest_name.1
    }

    #[cold]
    fn look_up(&mut self, name: &[u8]) {
        let next = self.names.len() as u64;
        let number = match self.names.get(name) {
            Some(&number) => number,
            None => *self.names.entry(name.to_vec()).or_insert(next),
        };
        self.latest_name = (name.to_vec(), number);
    }

    /// Where byte `offset` of `device` lies in the one address space, given that the request ends at byte `end`.
    #[inline]
    pub(crate) fn place(
        &mut self,
        device: u64,
        offset: u64,
        end: u64,
        field: &'static str,
    ) -> Result<u64, Fault> {
        let several = self.several || self.only.is_some_and(|only| only != device);
        let end_max = self.end_max.max(end);
        if several && end_max > self.stride_bytes {
            return Err(self.collision(device, end_max, field));
        }
        let start = device.checked_mul(self.stride_bytes).and_then(|start| start.checked_add(offset));
        let Some(start) = start else {
            let stride = Bytes { count: self.stride_bytes };
            let problem = format!(
                "device {device} begins beyond the address space of 2^63 bytes (device_stride is {stride})"
            );
            return Err(Fault { field, problem });
        };
        self.only = Some(device);
        self.several = several;
        self.highest = self.highest.max(device);
        self.end_max = end_max;
        Ok(start)
    }

    #[cold]
    fn collision(&self, device: u64, end_max: u64, field: &'static str) -> Fault {
        let stride = Bytes { count: self.stride_bytes };
        let needed = Bytes { count: end_max.checked_next_power_of_two().unwrap_or(end_max) };
        let problem = format!(
            "device {device} would overlap another: devices are laid out {stride} apart and one reaches byte {end_max} \
             (expected device_stride of {needed} or more)"
        );
        Fault { field, problem }
    }

    /// How the devices were laid out, where that is not plain.
    pub(crate) fn remark(&self) -> Option<String> {
        if !self.several && self.highest == 0 {
            return None;
        }
        let stride = Bytes { count: self.stride_bytes };
        let mut remark = format!(
            "several devices share one address space: device n begins at n × {stride} (device_stride)"
        );
        if !self.names.is_empty() {
            let mut names: Vec<_> = self.names.iter().map(|(name, number)| (number, name)).collect();
            names.sort_unstable();
            let shown =
                names.iter().take(8).map(|(number, name)| format!("{number} is {}", super::show(name)));
            remark += &format!("; {}", shown.collect::<Vec<_>>().join(", "));
            if names.len() > 8 {
                remark += &format!(" and {} more", names.len() - 8);
            }
        }
        Some(remark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> Devices {
        Devices::new(&TraceOptions { device_stride: Bytes { count: 4096 }, ..TraceOptions::default() })
    }

    #[test]
    fn devices_are_a_stride_apart() {
        let mut devices = devices();
        assert_eq!(devices.place(0, 10, 20, "d").unwrap(), 10);
        assert_eq!(devices.remark(), None);
        assert_eq!(devices.place(3, 4095, 4096, "d").unwrap(), 16_383);
        assert!(devices.remark().unwrap().contains("device n begins at n × 4KiB"));
        let problem = devices.place(0, 4096, 4097, "d").unwrap_err().problem;
        assert!(problem.contains("device_stride of 8KiB or more"), "{problem}");
        assert!(devices.place(u64::MAX, 0, 1, "d").unwrap_err().problem.contains("2^63"));
    }

    #[test]
    fn a_device_alone_may_be_of_any_size() {
        let mut devices = devices();
        assert_eq!(devices.place(2, 5000, 6000, "d").unwrap(), 13_192);
        assert!(devices.remark().is_some(), "it does not lie where the trace has it");
        assert!(devices.place(1, 0, 10, "d").unwrap_err().problem.contains("reaches byte 6000"));
    }

    #[test]
    fn names_are_numbered_as_they_appear() {
        let mut devices = devices();
        let numbers: Vec<_> =
            ["sda", "sdb", "sda", "", "sdb"].iter().map(|n| devices.number(n.as_bytes())).collect();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
    }
}
