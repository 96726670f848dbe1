//! No bytes make the reader of a format panic, and the requests read are valid.
//!
//!     cargo +nightly fuzz run trace fuzz/corpus fuzz/seeds
//!
//! The first line of an input names the format; with any other name, such as `?`, the rest is recognised by its content. For
//! `columns` the second line is the option of that name.

#![no_main]

use coflash_trace::{OnError, TraceOptions, formats, from_reader};
use coflash_workload::{Op, Request, Source};
use std::io::{self, Cursor, Read};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (name, data) = split_line(data);
    let format = formats::names().into_iter().find(|format| format.as_bytes() == name);
    let (columns, data) = if format == Some("columns") { split_line(data) } else { (&b""[..], data) };
    let columns = std::str::from_utf8(columns).ok().and_then(|columns| columns.parse().ok());
    check(&TraceOptions { format: format.map(str::to_owned), columns, ..TraceOptions::default() }, data);
});

fn split_line(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
    (&data[..end], data.get(end + 1..).unwrap_or_default())
}

fn check(options: &TraceOptions, data: &[u8]) {
    let whole = |on_error| read(options, Box::new(Cursor::new(data.to_vec())), on_error);
    let strict = whole(OnError::Stop);
    let lenient = whole(OnError::Skip);
    if let Ok(requests) = &strict {
        assert_eq!(lenient.as_ref(), Ok(requests), "where nothing is wrong, nothing is skipped");
    }
    let cut = read(options, Box::new(Dribble(Cursor::new(data.to_vec()))), OnError::Skip);
    // A decoder's words about damaged data may depend on how it was fed.
    if lenient.is_ok() || cut.is_ok() {
        assert_eq!(lenient, cut, "what is read does not depend on how it arrives");
    }
    for requests in [strict, lenient].iter().flatten() {
        assert!(!requests.is_empty());
        assert!(requests.is_sorted_by_key(|request| request.arrival));
        for Request { offset, length, op, .. } in requests {
            assert!(offset.checked_add(*length).is_some_and(|end| end <= 1 << 63));
            assert_eq!(*length == 0, *op == Op::Flush);
        }
    }
}

/// Gives seven bytes at a time, so that lines are cut at every place.
struct Dribble(Cursor<Vec<u8>>);

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

fn read(
    options: &TraceOptions,
    input: Box<dyn Read + Send>,
    on_error: OnError,
) -> Result<Vec<Request>, String> {
    let options = TraceOptions { on_error, ..options.clone() };
    let mut source = from_reader("fuzz", input, &options).map_err(|error| error.to_string())?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            let _ = source.remarks();
            return Ok(all);
        }
        all.append(&mut batch);
    }
}
