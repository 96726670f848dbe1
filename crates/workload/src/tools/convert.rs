//! Writes what a source yields, in a format that can hold it.
//!
//! To add a format: a file beside this with a type that implements `Target`, and its line in `TARGETS`.

use super::whole::Whole;
use super::{arrow, fio, parquet};
use crate::place::unusable;
use crate::request::{Request, Source, WorkloadError};
use serde::Serialize;
use std::io::{self, Write};

/// A format being written.
pub(super) trait Target {
    /// Adds requests.
    fn write(&mut self, batch: &[Request]) -> io::Result<()>;
    /// Writes what is left, and `remarks` where the format has room for them; returns what could not be kept, in
    /// sentences for the user.
    fn finish(self: Box<Self>, remarks: &[String]) -> io::Result<Vec<String>>;
}

/// Where a target writes to.
pub(super) type Output<'a> = Box<dyn Write + Send + 'a>;

/// A format that can be written.
struct TargetEntry {
    name: &'static str,
    /// What a file's name ends in, without its compression.
    extensions: &'static [&'static str],
    /// Whether it is a stream that may be compressed as a whole.
    is_plain: bool,
    create: for<'a> fn(Output<'a>) -> io::Result<Box<dyn Target + 'a>>,
}

const TARGETS: &[TargetEntry] = &[
    TargetEntry {
        name: "parquet",
        extensions: &["parquet"],
        is_plain: false,
        create: |output| Ok(Box::new(parquet::ToParquet::new(output)?)),
    },
    TargetEntry {
        name: "arrow",
        extensions: &["arrow", "feather", "ipc"],
        is_plain: false,
        create: |output| Ok(Box::new(arrow::ToArrow::new(output)?)),
    },
    TargetEntry {
        name: "fio",
        extensions: &["iolog", "fio"],
        is_plain: true,
        create: |output| Ok(Box::new(fio::ToFio::new(output)?)),
    },
];

/// The names of the formats that can be written.
#[must_use]
pub fn targets() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The file, as the user named it.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// Its requests.
    pub requests: u64,
    /// Its size; zero for a pipe.
    pub bytes: u64,
    /// What had to be assumed, was left out, or could not be kept.
    pub remarks: Vec<String>,
}

/// Fast enough to keep up with what reads the trace.
const ZSTD_LEVEL: i32 = 3;

/// Writes all that `source` yields to `path`, in the format called `format`, or else in that of the extension; with
/// `.zst` at its end, a format of lines is compressed. The file is there in the end, or what was there before.
///
/// # Errors
/// What is wrong with the source, the format or the file; a source without requests.
pub fn write(source: &mut dyn Source, path: &str, format: Option<&str>) -> Result<Written, WorkloadError> {
    let (plain_name, compressed) = path.strip_suffix(".zst").map_or((path, false), |name| (name, true));
    let target = find(plain_name, path, format)?;
    if compressed && !target.is_plain {
        return Err(unusable(path, format!("{} compresses itself: leave .zst out", target.name)));
    }
    let whole = Whole::create(path)?;
    let failed = |error: io::Error| whole.failed(&error);
    let mut encoder = compressed.then(|| zstd::stream::write::Encoder::new(&whole, ZSTD_LEVEL));
    let mut requests = 0;
    let mut remarks;
    {
        let output: Output<'_> = match &mut encoder {
            Some(Ok(encoder)) => Box::new(encoder),
            Some(Err(error)) => return Err(whole.failed(error)),
            None => Box::new(&whole),
        };
        let mut target = (target.create)(output).map_err(failed)?;
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            target.write(&batch).map_err(failed)?;
            requests += batch.len() as u64;
        }
        remarks = source.remarks();
        let lost = target.finish(&remarks).map_err(failed)?;
        remarks.extend(lost);
    }
    if let Some(Ok(encoder)) = encoder {
        encoder.finish().map_err(failed)?;
    }
    if requests == 0 {
        return Err(unusable(path, "not written: no requests are left"));
    }
    let bytes = whole.commit()?;
    Ok(Written { file: path.to_owned(), format: target.name, requests, bytes, remarks })
}

fn find(plain_name: &str, path: &str, format: Option<&str>) -> Result<&'static TargetEntry, WorkloadError> {
    if let Some(format) = format {
        return TARGETS.iter().find(|target| target.name == format).ok_or_else(|| {
            let hint = coflash_base::suggest::hint(format, &targets());
            unusable(path, format!("\"{format}\" is not a format that can be written{hint}"))
        });
    }
    let extension = plain_name.rsplit('/').next().unwrap_or(plain_name).rsplit_once('.').map(|(_, end)| end);
    let fits = |target: &&TargetEntry| {
        extension.is_some_and(|given| target.extensions.iter().any(|known| known.eq_ignore_ascii_case(given)))
    };
    TARGETS.iter().find(fits).ok_or_else(|| {
        let known: Vec<_> = TARGETS.iter().flat_map(|t| t.extensions).map(|e| format!(".{e}")).collect();
        let problem = format!(
            "its extension tells no format that can be written (known: {}): name the format",
            known.join(", ")
        );
        unusable(path, problem)
    })
}
