//! fio's I/O log, version 3: microseconds and bytes, one file called `coflash`.

use super::target::{Output, Target};
use crate::record::counted;
use coflash_workload::{Op, Request};
use std::io::{self, BufWriter, Write};

/// An iolog being written.
pub(super) struct FioWriter<'a> {
    output: BufWriter<Output<'a>>,
    latest_us: u64,
    /// The number of times that were no whole microseconds.
    shortened: u64,
    /// The number of placement hints that were left out.
    hints: u64,
}

const BUFFER_BYTES: usize = 1 << 18;

impl<'a> FioWriter<'a> {
    pub(super) fn new(output: Output<'a>) -> io::Result<Self> {
        let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
        // fio requires a file to be added and opened before its use.
        output.write_all(b"fio version 3 iolog\n0 coflash add\n0 coflash open\n")?;
        Ok(Self { output, latest_us: 0, shortened: 0, hints: 0 })
    }
}

impl Target for FioWriter<'_> {
    fn write(&mut self, batch: &[Request]) -> io::Result<()> {
        for &Request { arrival, offset, length, op, placement } in batch {
            let name = match op {
                Op::Read => "read",
                Op::Write => "write",
                Op::Trim => "trim",
                Op::Flush => "sync",
            };
            let time_us = arrival.ns / 1000;
            self.shortened += u64::from(arrival.ns % 1000 != 0);
            self.hints += u64::from(placement.is_some());
            self.latest_us = time_us;
            writeln!(self.output, "{time_us} coflash {name} {offset} {length}")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &[String]) -> io::Result<Vec<String>> {
        writeln!(self.output, "{} coflash close", self.latest_us)?;
        self.output.flush()?;
        let losses = [
            counted(self.shortened, "time", "cut to whole microseconds, as the format has no finer ones"),
            counted(self.hints, "placement hint", "left out, as the format has none"),
        ];
        Ok(losses.into_iter().flatten().collect())
    }
}
