//! What the tests of traces share.

#![allow(dead_code, reason = "each program uses its part")]

use coflash_workload::{Op, Request, Source, TraceOptions, WorkloadError, trace};

/// Everything `source` yields.
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

/// Everything in `text`, as tuples of arrival in ns, offset, length and operation.
pub(crate) fn parse(text: &str, options: &TraceOptions) -> Result<Vec<(u64, u64, u64, Op)>, String> {
    let read = || {
        let input = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        drain(&mut trace::from_reader("t", input, options)?)
    };
    let requests = read().map_err(|error: WorkloadError| error.to_string())?;
    Ok(requests.iter().map(|r| (r.arrival.ns, r.offset, r.length, r.op)).collect())
}

/// What options a trace of `format` cannot be read without.
pub(crate) fn plain(format: &str) -> TraceOptions {
    let columns = "time:us,op,offset:sectors,size:bytes".parse().expect("columns");
    let columns = (format == "columns").then_some(columns);
    TraceOptions { columns, ..TraceOptions::default() }
}

/// Options that name a format.
pub(crate) fn named(format: &str) -> TraceOptions {
    TraceOptions { format: Some(format.to_owned()), ..plain(format) }
}

/// `line` behind a good beginning is refused as `field`, with a message that has all of `parts`.
pub(crate) fn refuses(format: &str, beginning: &str, line: &str, field: &str, parts: &[&str]) {
    refuses_with(&named(format), beginning, line, field, parts);
}

/// As [`refuses`], with options of one's own.
pub(crate) fn refuses_with(options: &TraceOptions, beginning: &str, line: &str, field: &str, parts: &[&str]) {
    let number = beginning.lines().count() + 1;
    let error = parse(&format!("{beginning}{line}\n"), options).expect_err(line);
    let start = format!("t:{number}: {field}: ");
    assert!(error.starts_with(&start), "{line}: {error}");
    assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
}

/// The binary formats, whose samples are in `binary.rs`.
pub(crate) const BINARY: [&str; 6] = ["blktrace", "vscsi", "oracle-general", "srt", "arrow", "parquet"];

/// A new file of that name and content; a directory per test keeps them apart.
pub(crate) fn file(test: &str, name: &str, content: impl AsRef<[u8]>) -> String {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}
