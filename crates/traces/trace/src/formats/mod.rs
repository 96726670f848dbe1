//! The trace formats, a section of `formats.txt` each.
//!
//! A format parses a line into a `Record` with the times and addresses of the trace. The rules common to all
//! formats (order of times, address range, devices, malformed records) are in `reader`. A text format is
//! detected by its parser: it runs over the beginning of the file, so no second description of the format
//! exists. Binary formats and files of tables are detected first, by their first bytes.
//!
//! To add a format of columns: a section in `formats.txt`. To add another format: a section, and a file beside this one with a
//! type that implements `TextFormat` or `BinaryFormat`, and a comment about its ambiguities. Then its line in `Kind::of`. To
//! both belong a sample and malformed records in `tests/trace`, and a seed for fuzzing.

mod blkparse;
mod blktrace;
mod columns;
mod fio;
mod ftrace;
mod judge;
mod linux_block;
mod logwrites;
mod names;
mod oracle_general;
pub(crate) mod table_file;
mod tables;
mod unread;
mod values;
mod vscsi;

use crate::Result;
use crate::binary::{BinaryFormat, BinaryRecords};
use crate::block_reader::BlockReader;
use crate::input::SeekableFile;
use crate::reader::{Opening, Reader, RequestReader, TimeBase};
use crate::record::{Clock, show};
use crate::table_files::{is_arrow, is_parquet};
use crate::text::{self, LineParser, SAMPLE_BYTES, Score, TextFormat, lines_of, score};
use coflash_base::suggest::hint;
use coflash_workload::recorded::TraceOptions;
use coflash_workload::{WorkloadError, refuse};
use columns::UserColumns;
use judge::{Headed, judge};
use tables::FORMATS;

pub use crate::record::FormatInfo;
pub(crate) use tables::Format;

/// The name of the format given by the option `columns`.
pub(crate) const COLUMNS: &str = "columns";

/// The table of the formats.
#[must_use]
pub fn table() -> Vec<FormatInfo> {
    FORMATS.iter().map(|format| format.info).collect()
}

/// The names of all formats.
#[must_use]
pub fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.info.name).collect()
}

type Opened = Result<Box<dyn RequestReader>>;
type Open = fn(input: BlockReader, opening: &Opening<'_>) -> Opened;
/// Detection by the accepted lines of a sample.
type Lines = fn(sample: &[u8], options: &TraceOptions) -> Option<Score>;
/// Detection by the first bytes of a file.
type Bytes = fn(ahead: &[u8]) -> bool;

/// How a format is detected, and how its reader is made.
enum Kind {
    Text(Lines, Open),
    Table,
    Headed(Headed),
    Binary(Bytes, Open),
    /// It needs random access to its file.
    File(Bytes),
}

impl Kind {
    /// The kind of the format of a name: by a type, by the header of a recorder, or by its columns.
    fn of(name: &str, headed: Option<Headed>) -> Self {
        match name {
            "fio" => Self::text::<fio::Iolog>(),
            "blkparse" => Self::text::<blkparse::Blkparse>(),
            "ftrace" => Self::text::<ftrace::Ftrace>(),
            COLUMNS => Self::text::<UserColumns>(),
            "blktrace" => Self::binary::<blktrace::Blktrace>(),
            "vscsi" => Self::binary::<vscsi::Vscsi>(),
            "oracle-general" => Self::binary::<oracle_general::OracleGeneral>(),
            "log-writes" => Self::binary::<logwrites::LogWrites>(),
            "parquet" => Self::File(is_parquet),
            "arrow" => Self::File(is_arrow),
            _ => headed.map_or(Self::Table, Self::Headed),
        }
    }

    fn text<F: TextFormat>() -> Self {
        let lines: Lines = |sample, options| score(F::new(options), sample, options);
        Self::Text(lines, |input, opening| text::open(input, F::new(opening.options), opening))
    }

    fn binary<B: BinaryFormat>() -> Self {
        Self::Binary(B::recognises, |input, opening| {
            Ok(Box::new(Reader::new(BinaryRecords::<B>::open(input, opening)?, opening)))
        })
    }
}

impl Format {
    /// Whether its times are dates.
    pub(crate) fn has_dates(&self) -> bool {
        self.conventions.clock == Clock::Date
    }

    /// Whether each line tells its record by itself.
    pub(crate) fn has_lines_alone(&self) -> bool {
        matches!(self.kind, Kind::Table)
    }

    /// Read a file in this format, decompressed or as the plain file that it is.
    pub(crate) fn open(
        &'static self,
        input: BlockReader,
        file: Option<SeekableFile>,
        opening: &Opening<'_>,
    ) -> Opened {
        match &self.kind {
            Kind::Text(_, open) | Kind::Binary(_, open) => open(input, opening),
            Kind::Table => {
                let at_top = !matches!(opening.times, TimeBase::Within);
                text::open(input, self.parser(opening.options, at_top), opening)
            }
            Kind::Headed(headed) => text::open(input, UserColumns::headed(headed), opening),
            Kind::File(_) => match file {
                Some(file) => table_file::open(file, opening),
                None => Err(opening.refused(format_args!(
                    "{} is read from the end: give it as a plain file, not compressed, not in an archive, not through a \
                     pipe",
                    self.info.name
                ))),
            },
        }
    }

    /// The lines of `sample` that it accepts; `None` if they are too few, or for a binary format.
    fn score(&'static self, sample: &[u8], options: &TraceOptions) -> Option<Score> {
        match &self.kind {
            Kind::Text(score, _) => score(sample, options),
            Kind::Table => {
                let score = score(self.parser(options, true), sample, options)?;
                self.agrees(sample).map(|_| score)
            }
            Kind::Headed(headed) => {
                let mut parser = UserColumns::headed(headed);
                parser.look_ahead(sample);
                score(parser, sample, options)
            }
            Kind::Binary(..) | Kind::File(_) => None,
        }
    }

    /// Check that the options that were given have an effect on a file of this format; `file` is its name in messages.
    pub(crate) fn check_effect(&self, file: &str, options: &TraceOptions) -> Result<()> {
        let FormatInfo { name, options: own, .. } = self.info;
        let names_devices = self.columns.iter().any(|(_, column)| column.role() == "device");
        let own: Vec<_> = own.iter().copied().chain(names_devices.then_some("device_stride")).collect();
        let Some(key) = given(options).find(|key| !own.contains(key)) else { return Ok(()) };
        let takes = if own.is_empty() { "none of these".to_owned() } else { own.join(", ") };
        refuse(key, format!("has no effect on {file}: its format {name} takes {takes}"))
    }
}

/// The options that were given of those that only some formats take.
fn given(options: &TraceOptions) -> impl Iterator<Item = &'static str> {
    let usual = TraceOptions::default();
    let units = options.units;
    let given = [
        ("device_stride", options.device_stride != usual.device_stride),
        ("event", options.event.is_some()),
        ("units.time", units.time.is_some()),
        ("units.address", units.address.is_some()),
        ("units.size", units.size.is_some()),
        ("columns", options.columns.is_some()),
        ("header_lines", options.header_lines != usual.header_lines),
        ("object_stride", options.object_stride != usual.object_stride),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key)
}

/// The format `name`.
pub(crate) fn by_name(name: &str) -> Result<&'static Format> {
    match FORMATS.iter().find(|format| format.info.name == name) {
        Some(format) => Ok(format),
        None => refuse("format", format!("\"{name}\" is not a trace format{}", hint(name, &names()))),
    }
}

/// The binary format of a file that begins with `ahead`.
pub(crate) fn binary(ahead: &[u8]) -> Option<&'static Format> {
    let knows = |format: &&Format| match format.kind {
        Kind::Binary(recognises, _) | Kind::File(recognises) => recognises(ahead),
        _ => false,
    };
    FORMATS.iter().find(knows)
}

/// Detect the format of a text that begins with `input`: the one that accepts most lines, then the one of its extension.
pub(crate) fn detect(file: &str, input: &mut BlockReader, options: &TraceOptions) -> Result<&'static Format> {
    let unreadable = |error: std::io::Error| WorkloadError::trace(file, error.to_string());
    let sample = input.peek_lines(SAMPLE_BYTES).map_err(unreadable)?;
    let Some(first) = lines_of(sample).next().map(<[u8]>::trim_ascii) else {
        let empty =
            if sample.is_empty() { "the file is empty: it has no requests" } else { "it has no requests" };
        return Err(WorkloadError::trace(file, empty));
    };
    // `max_by_key` returns the last maximum, but the first format of the list must win.
    let candidates = FORMATS.iter().rev().filter_map(|format| Some((format, format.score(sample, options)?)));
    let best =
        candidates.max_by_key(|(format, score)| (score.lines, has_extension(file, format.info.extensions)));
    if let Some((format, Score { first: true, .. })) = best {
        return Ok(format);
    }
    let found = judge(sample, None);
    let is_headed = found.as_ref().is_ok_and(|found| found.layout.header_lines > 0);
    match (best, &found) {
        (_, Ok(found)) if found.is_certain => by_name(COLUMNS),
        (Some((format, _)), _) if !is_headed => Ok(format),
        (_, found) => {
            let problem = format!(
                "not a trace of any known format (coflash policies lists them): its first line is \"{}\"; {}",
                show(first),
                UserColumns::proposal(found, sample),
            );
            Err(WorkloadError::trace(file, problem))
        }
    }
}

/// Whether one of the extensions of `file`, compression's included, is among `extensions`.
fn has_extension(file: &str, extensions: &[&str]) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split('.').skip(1).any(|part| extensions.iter().any(|e| e.eq_ignore_ascii_case(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Devices;
    use coflash_workload::Request;
    use coflash_workload::recorded::OnError;
    use proptest::prelude::*;
    use std::io::{self, Cursor, Read};

    /// Gives a few bytes at a time, as a decoder or a pipe may.
    struct Dribble(Cursor<Vec<u8>>, usize);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    /// Everything that can be seen of a file read in `format`, an error at the end included.
    fn read(
        format: &'static Format,
        text: &str,
        block_bytes: usize,
        on_error: OnError,
    ) -> (Vec<Request>, Vec<String>) {
        let options = TraceOptions { on_error, ..TraceOptions::default() };
        let input = Dribble(Cursor::new(text.as_bytes().to_vec()), block_bytes);
        let mut devices = Devices::new(options.device_stride);
        let (conventions, times) = (format.conventions, TimeBase::Sequence { base_ns: 5 });
        let opening = Opening { name: "t", conventions, options: &options, times };
        let input = BlockReader::new(Box::new(input), block_bytes);
        let mut reader = match format.open(input, None, &opening) {
            Ok(reader) => reader,
            Err(error) => return (Vec::new(), vec![error.to_string()]),
        };
        let (mut all, mut said) = (Vec::new(), Vec::new());
        loop {
            let mut batch = Vec::new();
            let result = reader.read(&mut batch, &mut devices);
            let ended = batch.is_empty();
            all.extend(batch);
            if let Err(error) = result {
                said.push(error.to_string());
                break;
            }
            if ended {
                break;
            }
        }
        said.extend(reader.remarks());
        said.extend(devices.remark());
        (all, said)
    }

    /// Lines of every format, right and wrong, that a test puts together as chance will have it.
    const LINES: [&str; 34] = [
        "fio version 3 iolog",
        "fio version 2 iolog",
        "10 d read 0 1",
        "12 e write 4096 8192",
        "12 e sync 0 0",
        "d trim 1 1",
        "d wait 100",
        "d add",
        "128166385295514663,hm,0,Write,4096,2048,2833",
        "128166385295514664,hm,1,Read,0,1,1",
        "0,303567,3584,w,0.5",
        "1,7,512,R,0.25",
        "0.5 0 8 16 1",
        "0.75 1 24 8 0",
        "750 1 512 1024 0",
        "Timestamp,Response,IOType,LUN,Offset,Size",
        "1456095145.133,0.0008,R,0,4096,512",
        "1456095145.126,,W,1,0,512",
        "467 25 kjournald 6446 8 W 6 0 98b9cb7e1dd888f9dac2bf08af1c3cb2",
        "  8,16   3        7     0.001795683  3557  D   R 4938888 + 256 [java]",
        "  8,17   3        7     0.000795683  3557  D  FN [java]",
        "CPU0 (8,16):",
        " fio-789 [000] .....  4455.092003: block_rq_issue: 259,0 WS 65536 () 64 + 128 [fio]",
        "1,5633898,2a,512,42932745",
        "0\t0.047339\t0.00019073\t0\tRead\t1320146\t8\t",
        "8 8 4096 4 1.741165940 1.741177190 1.741193648 1.741418961",
        "8 8 4096 5 9999999.0 9999999.5 9999999.6 9999999.7",
        "1538323200,12910952,128,0,1063",
        "419,W,8792731648,16384,1577808144360767",
        "IO Type,Init Time (s),Min Offset,Size (B)",
        "Read,0.5,0x1000,\"4,096\"",
        "909 D read 0 4096 0.000000000 0 False",
        "",
        "nonsense",
    ];

    proptest! {
        #[test]
        fn what_is_read_does_not_depend_on_blocks(
            picks in proptest::collection::vec(0..LINES.len(), 1..30),
            crlf: bool,
            skip: bool,
            block_bytes in 1..50_usize,
        ) {
            let end = if crlf { "\r\n" } else { "\n" };
            let on_error = if skip { OnError::Skip } else { OnError::Stop };
            for format in FORMATS.iter() {
                // Half of the time a header, so that fio has something to read.
                let head = if picks.len() % 2 == 0 { LINES[picks[0] % 2] } else { "" };
                let lines = picks.iter().map(|&pick| LINES[pick]);
                let text = [head].into_iter().chain(lines).collect::<Vec<_>>().join(end);
                let whole = read(format, &text, 1 << 16, on_error);
                prop_assert_eq!(read(format, &text, block_bytes, on_error), whole);
            }
        }
    }

    #[test]
    fn an_extension_counts_below_that_of_the_compression() {
        assert!(has_extension("a/b.dir/web1.SPC.zst", &["spc"]));
        assert!(!has_extension("a/b.spc/web1.zst", &["spc"]));
        assert!(!has_extension("spc", &["spc"]));
    }
}
