//! The devices of a trace, each as a trace of its own, in one pass over the trace and in bounded memory.
//!
//! A trace is read in parts, which several threads may take. Requests wait in a buffer for each device. Full buffers go to one file
//! for each part, so that thousands of devices need one open file. Those files hold each request once, and are read by device at
//! the end.

use super::write::{Written, write};
use crate::Result;
use crate::dates;
use crate::reader::add_new;
use crate::record::text_of;
use crate::source::{Parts, TracePart};
use coflash_base::{PlacementId, Time};
use coflash_workload::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::{slice, vec};

/// The requests in all buffers of a part: some 40 MB.
const HELD_REQUESTS: usize = 1 << 20;
/// The bytes of a request in the file: time, offset, length, then operation and hint.
const RECORD_BYTES: usize = 26;
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// A device of a trace, as a trace of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// The name of the device in the trace.
    pub name: String,
    /// The time of its first request, which is at zero in its own trace.
    pub begins_ns: u64,
    /// Its trace.
    #[serde(flatten)]
    pub written: Written,
}

/// The requests of a part of a trace by device, in a file.
pub struct Spilled {
    place: PathBuf,
    /// Where the file has requests of each device, by its number in the part: first byte, requests.
    runs: Vec<Vec<Run>>,
    /// The times of the first and the last request.
    span_ns: Option<(u64, u64)>,
    /// The names of the devices, in the order of their numbers in the part.
    pub names: Vec<Vec<u8>>,
    /// The remarks of the reader.
    pub remarks: Vec<String>,
    /// The dates of its file, if that is whole and has dates.
    pub dates: Vec<(u64, u64)>,
}

type Run = (u64, usize);

fn failed(folder: &Path, error: &io::Error) -> WorkloadError {
    WorkloadError::trace(&folder.display().to_string(), format!("cannot be written: {error}"))
}

fn refused(problem: &str) -> WorkloadError {
    WorkloadError::trace("trace", problem.to_owned())
}

impl Spilled {
    /// Read a part of a trace whose device n begins at n × `stride_bytes`, into the file `place`.
    ///
    /// # Errors
    /// An error of the source or of the file.
    pub fn read(source: &mut dyn Source, stride_bytes: u64, place: &Path) -> Result<Self> {
        let failed = |error| failed(place, &error);
        let mut file = BufWriter::new(File::create(place).map_err(failed)?);
        let (mut runs, mut span_ns) = (Vec::<Vec<Run>>::new(), None);
        let (mut buffers, mut held, mut at) = (Vec::<Vec<Request>>::new(), 0, 0);
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch)?;
            for request in &batch {
                // A flush has no address: it is one of the first device, as elsewhere.
                let device = (request.offset / stride_bytes) as usize;
                if buffers.len() <= device {
                    buffers.resize_with(device + 1, Vec::new);
                    runs.resize_with(device + 1, Vec::new);
                }
                buffers[device].push(Request { offset: request.offset % stride_bytes, ..*request });
                let (first_ns, _) = span_ns.unwrap_or((request.arrival.ns, 0));
                span_ns = Some((first_ns, request.arrival.ns));
            }
            held += batch.len();
            if batch.is_empty() || held > HELD_REQUESTS {
                for (buffer, runs) in
                    buffers.iter_mut().zip(&mut runs).filter(|(buffer, _)| !buffer.is_empty())
                {
                    runs.push((at, buffer.len()));
                    at += (buffer.len() * RECORD_BYTES) as u64;
                    buffer.drain(..).try_for_each(|request| keep(request, &mut file)).map_err(failed)?;
                }
                held = 0;
            }
            if batch.is_empty() {
                file.flush().map_err(failed)?;
                let (place, names, remarks, dates) = (place.to_owned(), vec![], vec![], vec![]);
                return Ok(Self { place, runs, span_ns, names, remarks, dates });
            }
        }
    }
}

fn keep(request: Request, file: &mut impl Write) -> io::Result<()> {
    let Request { arrival, op, offset, length, placement } = request;
    for number in [arrival.ns, offset, length] {
        file.write_all(&number.to_le_bytes())?;
    }
    file.write_all(&[op as u8, placement.map_or(u8::MAX, |hint| hint.get() as u8)])
}

/// All parts of a trace, read.
pub struct Gathered {
    parts: Vec<Spilled>,
    /// What is added to the times of each part.
    shifts_ns: Vec<u64>,
    /// The dates of each file that has some.
    dates: Vec<(u64, u64)>,
    /// The devices that have requests: their names, the names of their files, and their numbers in each part.
    devices: Vec<(String, String, Vec<Option<usize>>)>,
}

impl Gathered {
    /// Put the parts of a trace together; `None` if a file that was cut must be read as a whole: what its parts say is not what it
    /// says.
    ///
    /// # Errors
    /// A trace whose records name no devices, or that is too long.
    pub fn gather(trace: &Parts, parts: Vec<Spilled>) -> Result<Option<Self>> {
        // Where the file begins in the trace, what its own times begin with, and where its latest request is.
        let (mut base_ns, mut origin_ns, mut end_ns) = (0, 0, 0_u64);
        let (mut shifts_ns, mut dates) = (Vec::new(), Vec::new());
        for (TracePart { files, cut }, part) in trace.parts.iter().zip(&parts) {
            let (first_ns, last_ns) = part.span_ns.unwrap_or_default();
            // Whether it goes on in the file of the part before, with its clock.
            let joins = files[0].cut_at > Some(0);
            let has_dates = cut.is_some_and(|format| format.has_dates());
            // Such a remark counts records of a part alone.
            let is_of_part =
                |remark: &String| cut.is_some() && remark.starts_with(&format!("{}: ", files[0].name));
            if !joins {
                (base_ns, origin_ns) = (end_ns, if has_dates { first_ns } else { 0 });
            }
            let is_early = joins && first_ns < end_ns - base_ns + origin_ns;
            let is_empty = part.span_ns.is_none() && (joins || has_dates);
            if is_early || is_empty || part.remarks.iter().any(is_of_part) {
                return Ok(None);
            }
            shifts_ns.push(u64::wrapping_sub(base_ns, origin_ns));
            dates.extend(&part.dates);
            if has_dates && !joins {
                dates.push((first_ns, last_ns));
            }
            if let Some(latest) = dates.last_mut().filter(|_| has_dates) {
                latest.1 = last_ns;
            }
            if part.span_ns.is_some() {
                end_ns = base_ns
                    .checked_add(last_ns - origin_ns)
                    .ok_or_else(|| refused("it is longer than 2^64 ns (584 years)"))?;
            }
        }
        let mut devices = Vec::<(&[u8], Vec<Option<usize>>)>::new();
        let mut known = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            for (local, name) in part.names.iter().enumerate() {
                let device = *known.entry(name).or_insert(devices.len());
                if device == devices.len() {
                    devices.push((name, vec![None; parts.len()]));
                }
                devices[device].1[number] =
                    part.runs.get(local).filter(|runs| !runs.is_empty()).map(|_| local);
            }
        }
        if devices.is_empty() {
            let read = parts.iter().flat_map(|part| &part.remarks).find(|remark| remark.contains("columns="));
            return Err(refused(&format!(
                "its records name no devices, so that there is nothing to split{}; where a column does, --read \
                 columns=… calls it device; `coflash fleet --by file` takes each file as a volume",
                read.map_or(String::new(), |read| format!(" ({read})"))
            )));
        }
        let mut taken = BTreeSet::new();
        let devices = devices.into_iter().filter(|(_, numbers)| numbers.iter().any(Option::is_some));
        let devices = devices.map(|(name, numbers)| {
            let name = text_of(name);
            (name.clone(), file_name(&name, &mut taken), numbers)
        });
        Ok(Some(Self { devices: devices.collect(), parts, shifts_ns, dates }))
    }

    /// The number of devices.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Write the trace of a device into a folder. Devices are in the order of their first requests.
    ///
    /// # Errors
    /// An error of the folder.
    pub fn write(&self, device: usize, folder: &Path) -> Result<Volume> {
        let (name, file, numbers) = &self.devices[device];
        let parts = self.parts.iter().zip(&self.shifts_ns).zip(numbers);
        let parts = parts.filter_map(|((part, shift_ns), local)| {
            Some((part.place.as_path(), *shift_ns, part.runs[(*local)?].iter()))
        });
        let parts: Vec<_> = parts.collect();
        let mut source = Device { parts: parts.into_iter(), current: None, base_ns: None };
        let written = write(&mut source, &folder.join(file).to_string_lossy(), Some("parquet"))?;
        Ok(Volume { name: name.clone(), begins_ns: source.base_ns.unwrap_or_default(), written })
    }

    /// The remarks on the trace.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::from_iter(dates::remark(&self.dates));
        add_new(&mut remarks, self.parts.iter().flat_map(|part| part.remarks.clone()));
        remarks
    }
}

/// A name of a file that no device has yet: the letters and digits of its own.
fn file_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let stem: String = name.chars().map(plain).take(80).collect();
    let stem = if stem.is_empty() { "_".to_owned() } else { stem };
    let number = (2..).map(|number| format!("{stem}.{number}"));
    // Some file systems do not tell capitals from small letters.
    let free = std::iter::once(stem.clone()).chain(number).find(|name| taken.insert(name.to_lowercase()));
    format!("{}.parquet", free.expect("there are enough numbers"))
}

/// The requests of a device as a source.
struct Device<'a> {
    /// The files that have some: what is added to their times, and where they are.
    parts: vec::IntoIter<(&'a Path, u64, slice::Iter<'a, Run>)>,
    /// The open one, and what is left of the run of requests where it stands.
    current: Option<(File, u64, slice::Iter<'a, Run>, usize)>,
    /// The time of the first request.
    base_ns: Option<u64>,
}

impl Device<'_> {
    fn read(&mut self, batch: &mut Vec<Request>) -> io::Result<()> {
        loop {
            let Some((file, shift_ns, runs, left)) = &mut self.current else {
                let Some((place, shift_ns, runs)) = self.parts.next() else { return Ok(()) };
                self.current = Some((File::open(place)?, shift_ns, runs, 0));
                continue;
            };
            if *left == 0 {
                let Some(&(at, count)) = runs.next() else {
                    self.current = None;
                    continue;
                };
                file.seek(SeekFrom::Start(at))?;
                *left = count;
            }
            let mut bytes = vec![0; BATCH_REQUESTS.min(*left) * RECORD_BYTES];
            file.read_exact(&mut bytes)?;
            *left -= bytes.len() / RECORD_BYTES;
            batch.extend(bytes.chunks_exact(RECORD_BYTES).map(|record| kept(record, *shift_ns)));
            return Ok(());
        }
    }
}

fn kept(record: &[u8], shift_ns: u64) -> Request {
    let number = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    Request {
        arrival: Time { ns: number(0).wrapping_add(shift_ns) },
        op: OPS[usize::from(record[24])],
        offset: number(8),
        length: number(16),
        placement: PlacementId::new(record[25].into()),
    }
}

impl Source for Device<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<()> {
        batch.clear();
        self.read(batch).map_err(|error| refused(&format!("its copy cannot be read: {error}")))?;
        for request in batch {
            let base_ns = *self.base_ns.get_or_insert(request.arrival.ns);
            request.arrival.ns -= base_ns;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use std::collections::BTreeSet;

    #[test]
    fn names_of_files_are_plain_and_differ_where_names_of_devices_do() {
        let mut taken = BTreeSet::new();
        let mut names = |name| file_name(name, &mut taken);
        assert_eq!(names("../../etc/passwd"), "______etc_passwd.parquet");
        assert_eq!(
            (names("vol 1"), names("vol/1"), names("VOL_1")),
            ("vol_1.parquet".into(), "vol_1.2.parquet".into(), "VOL_1.3.parquet".into())
        );
        assert_eq!(names(""), "_.parquet");
    }
}
