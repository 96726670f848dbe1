//! Files that were recorded at the same time, as one: their requests in the order of their times.
//!
//! Times that are dates are kept as far apart as they are: the earliest request of all files is at zero. Times that count
//! from a start are kept as they are. Requests of the same time come in the order of their files. What is held in memory
//! is a batch of each file.

use crate::formats::{Devices, FileReader};
use crate::place::unusable;
use crate::request::{BATCH_REQUESTS, Op, Request, WorkloadError};
use coflash_base::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No request reaches beyond this byte.
const ADDRESS_END: u64 = 1 << 63;

/// One of the files.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) reader: Box<dyn FileReader>,
    /// Whether its times are dates.
    pub(crate) dated: bool,
    /// Added to its addresses.
    pub(crate) shift_bytes: u64,
    batch: Vec<Request>,
    next: usize,
    /// Subtracted from its times.
    origin_ns: u64,
}

impl Part {
    pub(crate) fn new(name: String, reader: Box<dyn FileReader>, dated: bool, shift_bytes: u64) -> Self {
        Self { name, reader, dated, shift_bytes, batch: Vec::new(), next: 0, origin_ns: 0 }
    }

    /// When its next request arrives; nothing at its end.
    fn head_ns(&mut self, devices: &mut Devices) -> Result<Option<u64>, WorkloadError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            self.reader.read(&mut self.batch, devices)?;
            self.shift()?;
        }
        Ok(self.batch.get(self.next).map(|request| request.arrival.ns - self.origin_ns))
    }

    /// Moves what was just read to its place.
    fn shift(&mut self) -> Result<(), WorkloadError> {
        if self.shift_bytes == 0 {
            return Ok(());
        }
        for request in self.batch.iter_mut().filter(|request| request.op != Op::Flush) {
            let end = (request.offset + request.length).checked_add(self.shift_bytes);
            if end.is_none_or(|end| end > ADDRESS_END) {
                let problem = format!(
                    "a request at byte {} moved by {} bytes ends beyond the address space of 2^63 bytes",
                    request.offset, self.shift_bytes
                );
                return Err(unusable(&self.name, problem));
            }
            request.offset += self.shift_bytes;
        }
        Ok(())
    }
}

/// Several files read at the same time.
pub(crate) struct Merge {
    parts: Vec<Part>,
    /// The parts that have a next request, by its time.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    started: bool,
    /// How large a step forward is a clock that was set. It was so for all parts, and is left out of all.
    jump_ns: u64,
    /// The sum of such steps, and how many there were.
    jumped_ns: u64,
    jumps: u64,
    /// When the latest request arrived, with what was left out.
    end_ns: u64,
}

impl Merge {
    pub(crate) fn new(parts: Vec<Part>, clock_jump: Option<Duration>) -> Self {
        let jump_ns = clock_jump.map_or(u64::MAX, |jump| jump.ns);
        let order = BinaryHeap::new();
        Self { parts, order, started: false, jump_ns, jumped_ns: 0, jumps: 0, end_ns: 0 }
    }

    /// Leaves out the steps of a clock that was set.
    fn leave_out_jumps(&mut self, requests: &mut [Request]) {
        for request in requests {
            let pause_ns = request.arrival.ns - self.jumped_ns - self.end_ns;
            if pause_ns > self.jump_ns {
                self.jumped_ns += pause_ns;
                self.jumps += 1;
            }
            request.arrival.ns -= self.jumped_ns;
            self.end_ns = request.arrival.ns;
        }
    }

    /// Reads the first batch of each part, which tells where the dates begin.
    fn start(&mut self, devices: &mut Devices) -> Result<(), WorkloadError> {
        let mut heads = Vec::with_capacity(self.parts.len());
        for part in &mut self.parts {
            heads.push(part.head_ns(devices)?);
        }
        let dates = || self.parts.iter().zip(&heads).filter(|(part, _)| part.dated);
        let origin_ns = dates().filter_map(|(_, head)| *head).min().unwrap_or(0);
        for (index, (part, head)) in self.parts.iter_mut().zip(&heads).enumerate() {
            part.origin_ns = if part.dated { origin_ns } else { 0 };
            if let Some(head_ns) = head {
                self.order.push(Reverse((head_ns - part.origin_ns, index)));
            }
        }
        if self.order.is_empty() {
            let name = self.parts.first().map_or("", |part| part.name.as_str());
            let problem = format!("neither it nor the {} merged with it have requests", self.parts.len() - 1);
            return Err(unusable(name, problem));
        }
        Ok(())
    }
}

impl FileReader for Merge {
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<(), WorkloadError> {
        if !self.started {
            self.started = true;
            self.start(devices)?;
        }
        let before = batch.len();
        while batch.len() < BATCH_REQUESTS
            && let Some(Reverse((_, index))) = self.order.pop()
        {
            let part = &mut self.parts[index];
            // Up to where another part comes first.
            let limit = self.order.peek().map_or((u64::MAX, usize::MAX), |Reverse(other)| *other);
            let room = BATCH_REQUESTS - batch.len();
            let ahead = &part.batch[part.next..];
            let comes_first = |request: &&Request| (request.arrival.ns - part.origin_ns, index) <= limit;
            let run = ahead.iter().take(room).take_while(comes_first);
            let taken = batch.len();
            batch.extend(run.map(|request| Request {
                arrival: Time { ns: request.arrival.ns - part.origin_ns },
                ..*request
            }));
            part.next += batch.len() - taken;
            if let Some(head_ns) = part.head_ns(devices)? {
                self.order.push(Reverse((head_ns, index)));
            }
        }
        self.leave_out_jumps(&mut batch[before..]);
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![format!("{} files were merged by time", self.parts.len())];
        let dated = self.parts.iter().filter(|part| part.dated).count();
        if dated > 0 && dated < self.parts.len() {
            remarks.push(
                "files with dates and files whose times count from a start were merged: the earliest date is at zero"
                    .to_owned(),
            );
        }
        if self.jumps > 0 {
            let (jumps, left_out) = (self.jumps, Duration { ns: self.jumped_ns });
            remarks.push(format!("{jumps} pauses, {left_out} in all, were left out (clock_jump)"));
        }
        for remark in self.parts.iter().flat_map(|part| part.reader.remarks()) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    fn end_ns(&self) -> u64 {
        self.end_ns
    }
}
