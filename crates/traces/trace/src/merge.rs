//! The merge of files recorded at the same time.
//!
//! Files with dates keep their distances in time: the earliest request of all files is at time 0. Times relative to
//! the start of a recording are unchanged. Simultaneous requests are in the order of their files. A batch of each file
//! is in memory.

use crate::Result;
use crate::devices::Devices;
use crate::reader::{ADDRESS_END, RequestReader, add_new};
use coflash_base::{Duration, Time};
use coflash_workload::{BATCH_REQUESTS, Op, Request, WorkloadError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One input file.
pub(crate) struct MergeInput {
    pub(crate) name: String,
    pub(crate) reader: Box<dyn RequestReader>,
    /// Whether its times are dates.
    pub(crate) has_dates: bool,
    /// Added to its addresses.
    pub(crate) shift_bytes: u64,
    batch: Vec<Request>,
    next: usize,
    /// Subtracted from its times.
    origin_ns: u64,
}

impl MergeInput {
    pub(crate) fn new(
        name: String,
        reader: Box<dyn RequestReader>,
        has_dates: bool,
        shift_bytes: u64,
    ) -> Self {
        Self { name, reader, has_dates, shift_bytes, batch: Vec::new(), next: 0, origin_ns: 0 }
    }

    /// The arrival of its next request; `None` at its end.
    fn head_ns(&mut self, devices: &mut Devices) -> Result<Option<u64>> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            self.reader.read(&mut self.batch, devices)?;
            self.shift()?;
        }
        Ok(self.batch.get(self.next).map(|request| request.arrival.ns - self.origin_ns))
    }

    /// Shift the addresses of a new batch.
    fn shift(&mut self) -> Result<()> {
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
                return Err(WorkloadError::trace(&self.name, problem));
            }
            request.offset += self.shift_bytes;
        }
        Ok(())
    }
}

/// Several files, merged by time.
pub(crate) struct Merge {
    inputs: Vec<MergeInput>,
    /// The files with a next request, ordered by its time.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    started: bool,
    /// A larger step forward is a change of the clock, and removed from all files.
    jump_ns: u64,
    /// The sum of these steps, and their number.
    jumped_ns: u64,
    jumps: u64,
    /// The latest arrival, without the steps.
    end_ns: u64,
}

impl Merge {
    pub(crate) fn new(inputs: Vec<MergeInput>, clock_jump: Option<Duration>) -> Self {
        let jump_ns = clock_jump.map_or(u64::MAX, |jump| jump.ns);
        let order = BinaryHeap::new();
        Self { inputs, order, started: false, jump_ns, jumped_ns: 0, jumps: 0, end_ns: 0 }
    }

    /// Remove changes of the clock.
    fn remove_jumps(&mut self, requests: &mut [Request]) {
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

    /// Read the first batch of each input to determine the origin of dates.
    fn start(&mut self, devices: &mut Devices) -> Result<()> {
        let mut heads = Vec::with_capacity(self.inputs.len());
        for input in &mut self.inputs {
            heads.push(input.head_ns(devices)?);
        }
        let dates = || self.inputs.iter().zip(&heads).filter(|(input, _)| input.has_dates);
        let origin_ns = dates().filter_map(|(_, head)| *head).min().unwrap_or(0);
        for (index, (input, head)) in self.inputs.iter_mut().zip(&heads).enumerate() {
            input.origin_ns = if input.has_dates { origin_ns } else { 0 };
            if let Some(head_ns) = head {
                self.order.push(Reverse((head_ns - input.origin_ns, index)));
            }
        }
        if self.order.is_empty() {
            let name = self.inputs.first().map_or("", |input| input.name.as_str());
            let problem =
                format!("neither it nor the {} merged with it have requests", self.inputs.len() - 1);
            return Err(WorkloadError::trace(name, problem));
        }
        Ok(())
    }
}

impl RequestReader for Merge {
    fn read(&mut self, batch: &mut Vec<Request>, devices: &mut Devices) -> Result<()> {
        if !self.started {
            self.started = true;
            self.start(devices)?;
        }
        let before = batch.len();
        while batch.len() < BATCH_REQUESTS
            && let Some(Reverse((_, index))) = self.order.pop()
        {
            let input = &mut self.inputs[index];
            // Take requests up to the next request of another file.
            let limit = self.order.peek().map_or((u64::MAX, usize::MAX), |Reverse(other)| *other);
            let room = BATCH_REQUESTS - batch.len();
            let ahead = &input.batch[input.next..];
            let comes_first = |request: &&Request| (request.arrival.ns - input.origin_ns, index) <= limit;
            let run = ahead.iter().take(room).take_while(comes_first);
            let taken = batch.len();
            batch.extend(run.map(|request| Request {
                arrival: Time { ns: request.arrival.ns - input.origin_ns },
                ..*request
            }));
            input.next += batch.len() - taken;
            if let Some(head_ns) = input.head_ns(devices)? {
                self.order.push(Reverse((head_ns, index)));
            }
        }
        self.remove_jumps(&mut batch[before..]);
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![format!("{} files were merged by time", self.inputs.len())];
        let dated = self.inputs.iter().filter(|input| input.has_dates).count();
        if dated > 0 && dated < self.inputs.len() {
            remarks.push(
                "files with dates and files with times relative to a start were merged: the earliest date is at time 0"
                    .to_owned(),
            );
        }
        if self.jumps > 0 {
            let (jumps, left_out) = (self.jumps, Duration { ns: self.jumped_ns });
            remarks.push(format!("{jumps} pauses, {left_out} in all, were removed (clock_jump)"));
        }
        add_new(&mut remarks, self.inputs.iter().flat_map(|input| input.reader.remarks()));
        remarks
    }

    fn end_ns(&self) -> u64 {
        self.end_ns
    }
}
