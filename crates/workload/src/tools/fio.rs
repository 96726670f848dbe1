//! fio's I/O log, version 3: microseconds and bytes, one file called `coflash`.

use super::convert::{Output, Target};
use crate::request::{Op, Request};
use std::io::{self, BufWriter, Write};

/// An iolog being written.
pub(super) struct ToFio<'a> {
    output: BufWriter<Output<'a>>,
    latest_us: u64,
    /// How many times lay between two microseconds.
    shortened: u64,
}

const BUFFER_BYTES: usize = 1 << 18;

impl<'a> ToFio<'a> {
    pub(super) fn new(output: Output<'a>) -> io::Result<Self> {
        let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
        // fio wants a file to be added and opened before it is used.
        output.write_all(b"fio version 3 iolog\n0 coflash add\n0 coflash open\n")?;
        Ok(Self { output, latest_us: 0, shortened: 0 })
    }
}

impl Target for ToFio<'_> {
    fn write(&mut self, batch: &[Request]) -> io::Result<()> {
        for &Request { arrival, offset, length, op } in batch {
            let name = match op {
                Op::Read => "read",
                Op::Write => "write",
                Op::Trim => "trim",
                Op::Flush => "sync",
            };
            let time_us = arrival.ns / 1000;
            self.shortened += u64::from(arrival.ns % 1000 != 0);
            self.latest_us = time_us;
            writeln!(self.output, "{time_us} coflash {name} {offset} {length}")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &[String]) -> io::Result<Vec<String>> {
        writeln!(self.output, "{} coflash close", self.latest_us)?;
        self.output.flush()?;
        let shortened = self.shortened;
        let remark =
            format!("{shortened} times were cut to whole microseconds, as the format has no finer ones");
        Ok(if shortened > 0 { vec![remark] } else { Vec::new() })
    }
}
