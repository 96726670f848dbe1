//! Helpers of the trace tests.

#![allow(dead_code, reason = "each program uses its part")]

pub(crate) mod table_files;

use coflash_base::Duration;
use coflash_trace::{TraceOptions, from_reader};
use coflash_workload::{Op, Request, Source, WorkloadError};

/// All requests of `source`.
pub(crate) fn drain(source: &mut dyn Source) -> Result<Vec<Request>, WorkloadError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend_from_slice(&batch);
    }
}

/// All requests of `text`, as tuples of arrival in ns, offset, length and operation.
pub(crate) fn parse(text: &str, options: &TraceOptions) -> Result<Vec<(u64, u64, u64, Op)>, String> {
    let read = || {
        let input = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        drain(&mut from_reader("t", input, options)?)
    };
    let requests = read().map_err(|error: WorkloadError| error.to_string())?;
    Ok(requests.iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect())
}

/// The remarks on `text`, read to its end.
pub(crate) fn remarks(text: &str, options: &TraceOptions) -> String {
    let mut source =
        from_reader("t", Box::new(std::io::Cursor::new(text.as_bytes().to_vec())), options).unwrap();
    drain(&mut source).unwrap();
    source.remarks().join("\n")
}

/// The address of the second device of a trace.
pub(crate) const STRIDE: u64 = 1 << 47;

/// The required options for a trace of `format`, without tolerance for late records.
pub(crate) fn plain(format: &str) -> TraceOptions {
    let columns = "time:us,op,offset:sectors,size:bytes".parse().expect("columns");
    let columns = (format == "columns").then_some(columns);
    TraceOptions { columns, time_slack: Duration::ZERO, ..TraceOptions::default() }
}

/// Options that name a format.
pub(crate) fn named(format: &str) -> TraceOptions {
    TraceOptions { format: Some(format.to_owned()), ..plain(format) }
}

/// Check that `line` after a valid beginning is refused as `field`, with a message that contains all `parts`.
pub(crate) fn refuses(format: &str, beginning: &str, line: &str, field: &str, parts: &[&str]) {
    refuses_with(&named(format), beginning, line, field, parts);
}

/// Like [`refuses`], with the given options.
pub(crate) fn refuses_with(options: &TraceOptions, beginning: &str, line: &str, field: &str, parts: &[&str]) {
    let number = beginning.lines().count() + 1;
    let error = parse(&format!("{beginning}{line}\n"), options).expect_err(line);
    let start = format!("t:{number}: {field}: ");
    assert!(error.starts_with(&start), "{line}: {error}");
    assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
}

/// The binary formats; their samples are in `binary.rs`.
pub(crate) const BINARY: [&str; 6] =
    ["blktrace", "vscsi", "oracle-general", "log-writes", "parquet", "arrow"];

/// Create a file in the directory of the test.
pub(crate) fn file(test: &str, name: &str, content: impl AsRef<[u8]>) -> String {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}
