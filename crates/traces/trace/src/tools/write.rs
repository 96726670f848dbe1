//! The writer of traces.
//!
//! To add a format: a file beside this one with a type that implements `Target`, and its entry in `TARGETS`.

use super::fio_writer::FioWriter;
use super::table_writer::TableTarget;
use super::target::{Output, Target};
use crate::Result;
use coflash_base::AtomicFile;
use coflash_workload::{Source, WorkloadError};
use serde::Serialize;
use std::io;
use std::path::Path;

/// A writable format.
struct TargetEntry {
    name: &'static str,
    /// The file extensions, without that of a compression.
    extensions: &'static [&'static str],
    /// `None` for a file of tables, which compresses itself.
    create: Option<Create>,
}

type Create = for<'a> fn(Output<'a>) -> io::Result<Box<dyn Target + 'a>>;

const TARGETS: &[TargetEntry] = &[
    TargetEntry { name: "parquet", extensions: &["parquet"], create: None },
    TargetEntry { name: "arrow", extensions: &["arrow", "feather", "ipc"], create: None },
    TargetEntry {
        name: "fio",
        extensions: &["iolog", "fio"],
        create: Some(|output| Ok(Box::new(FioWriter::new(output)?))),
    },
];

/// A written trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The name of the file given by the user.
    pub file: String,
    /// The format.
    pub format: &'static str,
    /// Number of requests.
    pub requests: u64,
    /// Size of the file; 0 for a pipe.
    pub bytes: u64,
    /// Assumptions, omissions and losses.
    pub remarks: Vec<String>,
}

/// The compression level: fast enough to keep up with the reader of the trace.
const ZSTD_LEVEL: i32 = 3;

/// Write all requests of `source` to `path`, atomically, in the given format or else that of the extension. The
/// extension `.zst` compresses text formats.
///
/// # Errors
/// An error of the source, the format or the file; a source without requests.
pub fn write(source: &mut dyn Source, path: &str, format: Option<&str>) -> Result<Written> {
    let compressed = path.ends_with(".zst");
    let target = find(path, format)?;
    if compressed && target.create.is_none() {
        return Err(WorkloadError::trace(path, format!("{} compresses itself: leave .zst out", target.name)));
    }
    let failed = |error: io::Error| WorkloadError::trace(path, format!("cannot be written: {error}"));
    let file = AtomicFile::create(Path::new(path)).map_err(failed)?;
    let encoder = compressed.then(|| zstd::stream::write::Encoder::new(&file, ZSTD_LEVEL));
    let mut encoder = encoder.transpose().map_err(failed)?;
    let mut requests = 0;
    let mut remarks;
    {
        let output: Output<'_> = match &mut encoder {
            Some(encoder) => Box::new(encoder),
            None => Box::new(&file),
        };
        let mut target: Box<dyn Target> = match target.create {
            Some(create) => create(output).map_err(failed)?,
            None => Box::new(
                file.hand_over().and_then(|place| TableTarget::create(place, target.name)).map_err(failed)?,
            ),
        };
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
    if let Some(encoder) = encoder {
        encoder.finish().map_err(failed)?;
    }
    if requests == 0 {
        return Err(WorkloadError::trace(path, "not written: no requests are left"));
    }
    let bytes = file.commit().map_err(failed)?;
    Ok(Written { file: path.to_owned(), format: target.name, requests, bytes, remarks })
}

fn find(path: &str, format: Option<&str>) -> Result<&'static TargetEntry> {
    if let Some(format) = format {
        return TARGETS.iter().find(|target| target.name == format).ok_or_else(|| {
            let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            let hint = coflash_base::suggest::hint(format, &known);
            WorkloadError::trace(path, format!("\"{format}\" is not a format that can be written{hint}"))
        });
    }
    let name = path.strip_suffix(".zst").unwrap_or(path);
    let extension = name.rsplit('/').next().unwrap_or(name).rsplit_once('.').map(|(_, end)| end);
    let fits = |target: &&TargetEntry| {
        extension.is_some_and(|given| target.extensions.iter().any(|known| known.eq_ignore_ascii_case(given)))
    };
    TARGETS.iter().find(fits).ok_or_else(|| {
        let known: Vec<_> = TARGETS.iter().flat_map(|t| t.extensions).map(|e| format!(".{e}")).collect();
        let problem = format!(
            "its extension tells no format that can be written (known: {}): name one, as in trace.parquet",
            known.join(", ")
        );
        WorkloadError::trace(path, problem)
    })
}
