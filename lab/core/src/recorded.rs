//! Recorded requests that a page brings, in place of a trace.

use coflash_base::Time;
use coflash_engine::{Opened, Traces};
use coflash_workload::recorded::{Tap, TraceOptions};
use coflash_workload::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use std::sync::Mutex;

/// The bytes of a record: three numbers of 32 bits, the lowest byte first. They are the microseconds since the record before, the
/// first sector, and the sectors with the operation in the two highest bits (0 read, 1 write, 2 trim, 3 flush).
const RECORD_BYTES: usize = 12;
const SECTOR_BYTES: u64 = 512;

/// The records of the page; every trace of a scenario reads them.
static RECORDS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// What a scenario with a trace reads.
pub(crate) const RECORDED: Traces = Traces {
    open,
    fit: |_, _| {
        Err(WorkloadError::trace("workload.like", "a page does not fit a workload to a trace: use coflash"))
    },
    open_jobs: Traces::NONE.open_jobs,
};

/// Take the records of the page.
///
/// # Errors
/// A record that is cut short.
pub(crate) fn bring(records: &[u8]) -> Result<(), String> {
    if !records.len().is_multiple_of(RECORD_BYTES) {
        return Err(format!("{} bytes were given; records have {RECORD_BYTES} bytes each", records.len()));
    }
    *RECORDS.lock().expect("nobody panicked") = records.to_vec();
    Ok(())
}

fn open(files: &[String], _: &TraceOptions, _: Option<Tap>) -> Opened {
    let records = RECORDS.lock().expect("nobody panicked").clone();
    if records.is_empty() {
        return Err(WorkloadError::trace(&files.join(", "), "this page brings no recorded requests"));
    }
    Ok((Box::new(Recorded { records, next: 0, now: Time::ZERO }), vec!["recorded"]))
}

struct Recorded {
    records: Vec<u8>,
    /// The first byte of the next record.
    next: usize,
    now: Time,
}

impl Source for Recorded {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        for record in self.records[self.next..].chunks_exact(RECORD_BYTES).take(BATCH_REQUESTS) {
            let word =
                |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
            let (gap_us, sector, what) = (word(0), word(4), word(8));
            self.now.ns += u64::from(gap_us) * 1000;
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][(what >> 30) as usize];
            batch.push(Request {
                arrival: self.now,
                offset: u64::from(sector) * SECTOR_BYTES,
                length: u64::from(what & 0x3FFF_FFFF) * SECTOR_BYTES,
                op,
                placement: None,
            });
        }
        self.next += batch.len() * RECORD_BYTES;
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.next as f64 / self.records.len() as f64)
    }
}
