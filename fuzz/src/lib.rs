//! What every fuzz target of a trace checks: no bytes may panic, and what is read keeps the promises of a request.
//!
//!     cargo +nightly fuzz run format_fio fuzz/corpus/format_fio fuzz/seeds/format_fio

use coflash_workload::trace::from_reader;
use coflash_workload::{OnError, Op, Request, Source, TraceOptions};
use std::io::{self, Cursor, Read};

/// Gives seven bytes at a time, so that lines are cut at every place.
struct Dribble(Cursor<Vec<u8>>);

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

/// Reads `data` in `format`, or in whatever it is recognised as.
pub fn check(format: Option<&str>, data: &[u8]) {
    check_with(&TraceOptions { format: format.map(str::to_owned), ..TraceOptions::default() }, data);
}

/// Reads `data` by the columns that its first line describes.
pub fn check_columns(data: &[u8]) {
    let mut lines = data.splitn(2, |&b| b == b'\n');
    let (columns, data) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let columns = std::str::from_utf8(columns).ok().and_then(|columns| columns.parse().ok());
    if columns.is_some() {
        check_with(&TraceOptions { columns, ..TraceOptions::default() }, data);
    }
}

fn check_with(options: &TraceOptions, data: &[u8]) {
    let whole = |on_error| read(options, Box::new(Cursor::new(data.to_vec())), on_error);
    let strict = whole(OnError::Stop);
    let lenient = whole(OnError::Skip);
    if let Ok(requests) = &strict {
        assert_eq!(lenient.as_ref(), Ok(requests), "where nothing is wrong, nothing is skipped");
    }
    let cut = read(options, Box::new(Dribble(Cursor::new(data.to_vec()))), OnError::Skip);
    // A decoder's words about damaged data may depend on how it was fed.
    match (&lenient, &cut) {
        (Err(_), Err(_)) => {}
        _ => assert_eq!(lenient, cut, "what is read does not depend on how it arrives"),
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
