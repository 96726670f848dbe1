//! A trace of one or several files.
//!
//! The files of a sequence are one recording: each begins at the end of the previous one, and a device keeps its
//! addresses in all of them. The format of each file is detected from its content, so a sequence may mix formats and
//! compressions. If the options or the format demand it, the files are merged by time instead.

use crate::Result;
use crate::block_reader::{BLOCK_BYTES, BlockReader};
use crate::compression::{Compression, decompress};
use crate::dates;
use crate::devices::Devices;
use crate::formats::{self, Format};
use crate::input::{Input, Retold, SeekableFile};
use crate::input_file::{InputFile, input_files, is_archive};
use crate::merge::{Merge, MergeInput};
use crate::notation::Columns;
use crate::pauses::Pauses;
use crate::reader::{Opening, RequestReader, TimeBase, add_new};
use crate::text::SAMPLE_BYTES;
use coflash_base::Bytes;
use coflash_workload::recorded::{Arrangement, STANDARD_INPUT, Tap, TraceOptions};
use coflash_workload::{Request, Source, WorkloadError, refuse};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Open the files `paths` as one trace, in the given order or as the options demand. `-` is the standard input.
///
/// # Errors
/// A file that is missing, unreadable, empty or of an unknown format; invalid options. Errors further inside a file are
/// reported by the read.
pub fn open(paths: &[String], options: &TraceOptions) -> Result<TraceSource> {
    open_tapped(paths, options, None)
}

/// Like [`open`]; pipes are read through the tap.
///
/// # Errors
/// See [`open`].
pub fn open_tapped(paths: &[String], options: &TraceOptions, tap: Option<Tap>) -> Result<TraceSource> {
    let source = listed(paths, &[], options)?;
    TraceSource { tap, ..source }.begun()
}

/// The files `paths` as one trace of which none is opened yet; the requests of `paths[i]` are shifted up by `offsets[i]`.
pub(crate) fn listed(paths: &[String], offsets: &[Bytes], options: &TraceOptions) -> Result<TraceSource> {
    check(options)?;
    if paths.is_empty() {
        return refuse("files", "no file given, at least one expected");
    }
    if paths.iter().filter(|path| *path == STANDARD_INPUT).count() > 1 {
        return refuse("files", "the standard input (-) was given twice, it can be read once");
    }
    // A missing last file must be reported now, not after an hour.
    let mut waiting = VecDeque::new();
    for (index, path) in paths.iter().enumerate() {
        let shift_bytes = offsets.get(index).map_or(0, |offset| offset.count);
        waiting.extend(input_files(path)?.into_iter().map(|file| (file, shift_bytes)));
    }
    Ok(TraceSource { waiting, ..TraceSource::empty(options) })
}

/// Open the requests in `input`; `name` is its name in messages.
///
/// # Errors
/// See [`open`].
pub fn from_reader(name: &str, input: Box<dyn Read + Send>, options: &TraceOptions) -> Result<TraceSource> {
    check(options)?;
    let mut source = TraceSource::empty(options);
    let found = source.recognise(name, input, None)?;
    source.current = Some(found.read(options, TimeBase::Sequence { base_ns: 0 })?);
    Ok(source)
}

/// A trace in parts, each of which can be read by itself: its files, large ones of lines that stand alone cut further. One part
/// where files are merged by time.
pub struct Parts {
    pub(crate) parts: Vec<TracePart>,
    options: TraceOptions,
    /// The device of all requests that name none.
    first_device: Option<Vec<u8>>,
}

/// A part of a trace.
pub(crate) struct TracePart {
    pub(crate) files: Vec<InputFile>,
    /// The format of a file that was cut.
    pub(crate) cut: Option<&'static Format>,
}

impl Parts {
    /// Divide the files `paths`; files beyond `cut_bytes` are cut in parts of that size, if at all.
    ///
    /// # Errors
    /// See [`open`].
    pub fn divide(paths: &[String], options: &TraceOptions, cut_bytes: Option<u64>) -> Result<Self> {
        let mut whole = listed(paths, &[], options)?;
        let by_time = whole.by_time();
        let files: Vec<_> = whole.waiting.drain(..).map(|(file, _)| file).collect();
        let part = |files| TracePart { files, cut: None };
        let parts = if by_time {
            vec![part(files)]
        } else {
            let cut = |file| match cut_bytes.and_then(|bytes| cut(&file, options, bytes)) {
                Some(parts) => parts,
                None => vec![part(vec![file])],
            };
            files.into_iter().flat_map(cut).collect()
        };
        let mut all = Self { parts, options: options.clone(), first_device: None };
        all.first_device = (0..all.len()).find_map(|number| {
            let mut source = all.open(number).ok()?;
            // What cannot be read is told by who reads all of it.
            source.next_batch(&mut Vec::new()).ok()?;
            source.device_names().into_iter().next()
        });
        Ok(all)
    }

    /// The number of parts, in the order of the trace.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether a file was cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.parts.iter().any(|part| part.cut.is_some())
    }

    /// Open a part. Device 0 is that of the whole trace.
    ///
    /// # Errors
    /// See [`open`].
    pub fn open(&self, number: usize) -> Result<TraceSource> {
        let TracePart { files, cut, .. } = &self.parts[number];
        let format = cut.map(|format| format.info.name.to_owned());
        let options = TraceOptions { format: format.or(self.options.format.clone()), ..self.options.clone() };
        let waiting = files.iter().map(|file| (file.clone(), 0)).collect();
        let mut source = TraceSource { waiting, ..TraceSource::empty(&options) };
        source.devices.kept_apart = true;
        if let Some(name) = &self.first_device {
            source.devices.number(name);
        }
        source.begun()
    }
}

/// Cut a file into parts of some size, if each of its lines tells a record by itself, times included.
fn cut(file: &InputFile, options: &TraceOptions, bytes: u64) -> Option<Vec<TracePart>> {
    let long = file.bytes.filter(|all| options.clock_jump.is_none() && *all > bytes)?;
    let (compression, _) = decompress(file.open(&Arc::default(), None).ok()?).ok()?;
    let format = TraceSource::empty(options).find(file).ok()?.format;
    if compression != Compression::Plain || !format.has_lines_alone() {
        return None;
    }
    let mut ends: Vec<u64> = (1..long.div_ceil(bytes)).filter_map(|n| file.line_after(n * bytes)).collect();
    ends.push(long);
    ends.dedup();
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let parts = begins.zip(&ends).map(|(begin, &end)| file.cut(begin..end));
    parts.map(|file| Some(TracePart { files: vec![file?], cut: Some(format) })).collect()
}

/// Check the options before a file is opened.
fn check(options: &TraceOptions) -> Result<()> {
    if let Some(name) = &options.format {
        formats::by_name(name)?;
    }
    let by_columns = options.format.as_deref() == Some(formats::COLUMNS);
    if by_columns && options.columns.is_none() {
        let problem = "not given, expected with this format, as in \"time:us,op,offset:sectors,size:bytes\", or \"auto\"";
        return refuse("columns", problem);
    }
    if options.columns.is_some() && options.format.is_some() && !by_columns {
        return refuse("columns", "given together with a format that has its own; expected one of the two");
    }
    if let Some(Err(error)) = options.columns.as_deref().map(str::parse::<Columns>) {
        return refuse("columns", error);
    }
    let values = [
        ("device_stride", Some(options.device_stride.count)),
        ("object_stride", Some(options.object_stride.count)),
        ("units.time", options.units.time.map(|time| time.ns)),
        ("units.address", options.units.address.map(|address| address.count)),
        ("units.size", options.units.size.map(|size| size.count)),
    ];
    if let Some((key, _)) = values.into_iter().find(|&(_, value)| value == Some(0)) {
        return refuse(key, "0 given, at least 1 expected");
    }
    Ok(())
}

/// A recorded trace as a source of requests; by default one without files.
#[derive(Default)]
pub struct TraceSource {
    /// The files not yet begun, and the shifts of their addresses.
    waiting: VecDeque<(InputFile, u64)>,
    options: TraceOptions,
    current: Option<Box<dyn RequestReader>>,
    pauses: Pauses,
    devices: Devices,
    formats: Vec<&'static str>,
    /// The dates of the completed files.
    dates: Vec<(u64, u64)>,
    /// The remarks on the completed files.
    earlier_remarks: Vec<String>,
    /// Bytes read of all files, in their compressed form.
    consumed_bytes: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    tap: Option<Tap>,
    /// The error behind the last batch.
    failed: Option<WorkloadError>,
    /// Whether the end or an error was reached.
    ended: bool,
}

/// A file of a known format.
struct Recognised {
    name: String,
    format: &'static Format,
    /// What it holds, decompressed.
    input: BlockReader,
    /// The file itself, if it is a plain one.
    file: Option<SeekableFile>,
}

impl Recognised {
    fn read(self, options: &TraceOptions, times: TimeBase) -> Result<Box<dyn RequestReader>> {
        let Self { name, format, input, file } = self;
        let conventions = format.conventions;
        format.open(input, file, &Opening { name: &name, conventions, options, times })
    }
}

impl TraceSource {
    fn empty(options: &TraceOptions) -> Self {
        let (devices, pauses) = (Devices::new(options.device_stride), Pauses::new(options.clock_jump));
        Self { options: options.clone(), devices, pauses, ..Self::default() }
    }

    /// The formats of the files opened so far, without repetition, in order.
    #[must_use]
    pub fn formats(&self) -> &[&'static str] {
        &self.formats
    }

    /// The names of the devices so far, in the order of their numbers; none where the records name no devices.
    #[must_use]
    pub fn device_names(&self) -> Vec<Vec<u8>> {
        self.devices.in_order().map(<[u8]>::to_vec).collect()
    }

    /// The dates of the first and of the latest request of each file so far, where they follow one another and have dates.
    #[must_use]
    pub fn dates(&self) -> Vec<(u64, u64)> {
        self.dates.iter().copied().chain(self.current.iter().filter_map(|current| current.dates())).collect()
    }

    /// Open the first file, or all files for a merge.
    pub(crate) fn begun(mut self) -> Result<Self> {
        self.total_bytes = self.waiting.iter().map(|(file, _)| file.bytes).sum();
        if self.by_time() {
            self.all_files()?
        } else {
            self.next_file()?
        }
        Ok(self)
    }

    /// Whether the files are merged by time.
    fn by_time(&mut self) -> bool {
        match self.options.merge {
            Some(arrangement) => arrangement == Arrangement::Time,
            None => self.waiting.len() > 1 && self.is_per_processor(),
        }
    }

    /// Whether the recorder of the files writes one per processor. Errors in them are reported later.
    fn is_per_processor(&mut self) -> bool {
        let file = self.waiting.iter().map(|(file, _)| file).find(|file| file.bytes > Some(0)).cloned();
        let found = file.and_then(|file| {
            let input = file.open(&Arc::default(), None).ok()?;
            self.recognise(&file.name, input, Some(&file)).ok()
        });
        found.is_some_and(|found| found.format.per_processor)
    }

    /// Open all files for a merge.
    fn all_files(&mut self) -> Result<()> {
        let mut inputs = Vec::with_capacity(self.waiting.len());
        for (file, shift_bytes) in std::mem::take(&mut self.waiting) {
            if file.bytes == Some(0) {
                // The file of a processor without events is empty.
                self.earlier_remarks.push(format!("{}: it is empty", file.name));
                continue;
            }
            let found = self.find(&file)?;
            let has_dates = found.format.has_dates();
            let reader = found.read(&self.options, TimeBase::Parallel)?;
            inputs.push(MergeInput::new(file.name, reader, has_dates, shift_bytes));
        }
        self.current = Some(Box::new(Merge::new(inputs)));
        Ok(())
    }

    /// Open the next file of a sequence.
    fn next_file(&mut self) -> Result<()> {
        if let Some((file, _)) = self.waiting.pop_front() {
            let found = self.find(&file)?;
            let times = match file.cut_at {
                None => TimeBase::Sequence { base_ns: self.pauses.next_file() },
                Some(0) => TimeBase::Parallel,
                Some(_) => TimeBase::Within,
            };
            self.current = Some(found.read(&self.options, times)?);
        }
        Ok(())
    }

    /// Open the file and detect its format.
    fn find(&mut self, file: &InputFile) -> Result<Recognised> {
        let input = file.open(&self.consumed_bytes, self.tap.as_ref())?;
        if let (Some(1..), Some(format)) = (file.cut_at, &self.options.format) {
            // Nothing where it goes on tells what the file is, however it looks.
            let (name, format) = (file.name.clone(), formats::by_name(format)?);
            return Ok(Recognised { name, format, input: BlockReader::new(input, BLOCK_BYTES), file: None });
        }
        self.recognise(&file.name, input, Some(file))
    }

    fn recognise(&mut self, name: &str, input: Input, file: Option<&InputFile>) -> Result<Recognised> {
        let refused = |problem: String| WorkloadError::trace(name, problem);
        let (compression, plain) =
            decompress(input).map_err(|error| refused(Compression::Plain.explain(&error)))?;
        // Of the file, not of the decoder.
        let explained = move |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, compression.explain(&error)),
        };
        let mut input = BlockReader::new(Box::new(Retold(plain, explained)), BLOCK_BYTES);
        let ahead = input.sample(SAMPLE_BYTES).map_err(|error| refused(error.to_string()))?;
        if is_archive(ahead) {
            return Err(refused("an archive: give it as a file, not through a pipe".to_owned()));
        }
        let binary = formats::binary(ahead);
        match encoding(ahead).filter(|_| binary.is_none()) {
            None => {}
            Some(UTF_8) => input.consume(BOM.len()),
            Some(other) => {
                return Err(refused(format!(
                    "{other} text, as PowerShell and spreadsheets write it; UTF-8 is read: \
                     iconv -f {other} -t UTF-8 FILE > NEW writes it"
                )));
            }
        }
        let format = match (&self.options.format, binary) {
            (Some(given), _) => formats::by_name(given)?,
            (None, Some(binary)) => binary,
            (None, None) if self.options.columns.is_some() => formats::by_name(formats::COLUMNS)?,
            (None, None) => formats::detect(name, &mut input, &self.options)?,
        };
        format.check_effect(name, &self.options)?;
        let file = file.filter(|_| compression == Compression::Plain);
        let file = file.and_then(|file| file.seekable(&self.consumed_bytes));
        if !self.formats.contains(&format.info.name) {
            self.formats.push(format.info.name);
        }
        Ok(Recognised { name: name.to_owned(), format, input, file })
    }

    fn read(&mut self, batch: &mut Vec<Request>) -> Result<()> {
        while let Some(current) = &mut self.current {
            let result = current.read(batch, &mut self.devices);
            if !batch.is_empty() || result.is_err() {
                self.pauses.leave_out(batch);
                return result;
            }
            add_new(&mut self.earlier_remarks, current.remarks());
            self.dates.extend(current.dates());
            self.current = None;
            self.next_file()?;
        }
        Ok(())
    }
}

impl Source for TraceSource {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<()> {
        batch.clear();
        if self.ended {
            return Ok(());
        }
        let result = self.failed.take().map_or_else(|| self.read(batch), Err);
        self.ended = batch.is_empty();
        // What precedes an error is read before it is told.
        self.failed = if batch.is_empty() { return result } else { result.err() };
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        let total = self.total_bytes?;
        if self.ended || total == 0 {
            return Some(1.0);
        }
        // A file may grow while it is read.
        Some((self.consumed_bytes.load(Ordering::Relaxed) as f64 / total as f64).min(1.0))
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.earlier_remarks.clone();
        add_new(&mut remarks, self.current.iter().flat_map(|current| current.remarks()));
        let of_files = [self.devices.remark(), self.pauses.remark(), dates::remark(&self.dates())];
        of_files.into_iter().flatten().chain(remarks).collect()
    }
}

const UTF_8: &str = "UTF-8";
/// The mark before a text in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The encoding that a file names by its mark, or shows by zeros between its letters; `None` for plain text.
fn encoding(ahead: &[u8]) -> Option<&'static str> {
    let is_letter = |at: usize| ahead.get(at).is_some_and(|byte| byte.is_ascii_graphic());
    let is_zero = |at: usize| ahead.get(at) == Some(&0);
    match ahead {
        _ if ahead.starts_with(BOM) => Some(UTF_8),
        [0xff, 0xfe, 0, 0, ..] => Some("UTF-32"),
        [0xff, 0xfe, _, 0, ..] | [0xfe, 0xff, 0, ..] => Some("UTF-16"),
        _ if is_letter(0) && is_zero(1) && is_letter(2) && is_zero(3) => Some("UTF-16LE"),
        _ if is_zero(0) && is_letter(1) && is_zero(2) && is_letter(3) => Some("UTF-16BE"),
        _ => None,
    }
}
