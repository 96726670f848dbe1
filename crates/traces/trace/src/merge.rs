//! The merge of files recorded at the same time.
//!
//! Files with dates keep their distances in time: the earliest request of all files is at time 0. Times relative to
//! the start of a recording are unchanged. Simultaneous requests are in the order of their files. A batch of each file
//! is in memory.

use crate::Result;
use crate::devices::Devices;
use crate::reader::{ADDRESS_END, RequestReader, add_new};
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
        Ok(self.batch.get(self.next).map(|request| request.arrival.ns))
    }

    /// Shift the times and the addresses of a new batch.
    fn shift(&mut self) -> Result<()> {
        for request in &mut self.batch {
            request.arrival.ns -= self.origin_ns;
            if self.shift_bytes == 0 || request.op == Op::Flush {
                continue;
            }
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
}

impl Merge {
    pub(crate) fn new(inputs: Vec<MergeInput>) -> Self {
        Self { inputs, order: BinaryHeap::new(), started: false }
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
            input.batch.iter_mut().for_each(|request| request.arrival.ns -= input.origin_ns);
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
        while batch.len() < BATCH_REQUESTS
            && let Some(Reverse((_, index))) = self.order.pop()
        {
            let input = &mut self.inputs[index];
            // Take requests up to the next request of another file.
            let limit = self.order.peek().map_or((u64::MAX, usize::MAX), |Reverse(other)| *other);
            let before = batch.len();
            let ahead = input.batch[input.next..].iter().take(BATCH_REQUESTS - before);
            batch.extend(ahead.take_while(|request| (request.arrival.ns, index) <= limit));
            input.next += batch.len() - before;
            if let Some(head_ns) = input.head_ns(devices)? {
                self.order.push(Reverse((head_ns, index)));
            }
        }
        Ok(())
    }

    fn dates(&self) -> Option<(u64, u64)> {
        None // they are kept
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![format!("files merged by time: {}", self.inputs.len())];
        let dated = self.inputs.iter().filter(|input| input.has_dates).count();
        if dated > 0 && dated < self.inputs.len() {
            remarks.push(
                "files with dates and files with times relative to a start were merged: the earliest date is at time 0"
                    .to_owned(),
            );
        }
        add_new(&mut remarks, self.inputs.iter().flat_map(|input| input.reader.remarks()));
        remarks
    }
}
