//! The devices of a trace, each as a trace of its own, in one pass over the trace and in bounded memory.
//!
//! Requests wait in a buffer for each device. A full buffer goes to one file beside the traces, so that thousands of devices need
//! one open file. That file holds each request once; it is read by device at the end, and removed.

use super::write::{Written, write};
use coflash_base::{PlacementId, Time};
use coflash_workload::{BATCH_REQUESTS, Op, Request, Source, WorkloadError};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The requests in all buffers: some 40 MB.
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

/// The requests of a trace by device, on their way to files.
pub struct Spilled {
    place: PathBuf,
    file: BufWriter<File>,
    /// The bytes of the file.
    bytes: u64,
    devices: Vec<Requests>,
    held: usize,
}

/// The requests of a device: parts of the file (first byte, requests), then the buffer.
#[derive(Default)]
struct Requests {
    parts: Vec<(u64, usize)>,
    buffer: Vec<Request>,
}

fn failed(folder: &Path, error: &io::Error) -> WorkloadError {
    WorkloadError::trace(&folder.display().to_string(), format!("cannot be written: {error}"))
}

impl Spilled {
    /// Read a trace whose device n begins at n × `stride_bytes`; `folder` is that of the traces.
    ///
    /// # Errors
    /// An error of the source or of the folder.
    pub fn read(source: &mut dyn Source, stride_bytes: u64, folder: &Path) -> Result<Self, WorkloadError> {
        let place = folder.join(".requests");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&place);
        let file = BufWriter::new(file.map_err(|error| failed(folder, &error))?);
        let mut spilled = Self { place, file, bytes: 0, devices: Vec::new(), held: 0 };
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(spilled);
            }
            for request in &batch {
                spilled.take(request, stride_bytes);
            }
            if spilled.held > HELD_REQUESTS {
                spilled.empty().map_err(|error| failed(folder, &error))?;
            }
        }
    }

    fn take(&mut self, request: &Request, stride_bytes: u64) {
        // A flush has no address: it is one of the first device, as elsewhere.
        let device = (request.offset / stride_bytes) as usize;
        if self.devices.len() <= device {
            self.devices.resize_with(device + 1, Requests::default);
        }
        self.devices[device].buffer.push(Request { offset: request.offset % stride_bytes, ..*request });
        self.held += 1;
    }

    /// Move all buffers to the file.
    fn empty(&mut self) -> io::Result<()> {
        for device in self.devices.iter_mut().filter(|device| !device.buffer.is_empty()) {
            device.parts.push((self.bytes, device.buffer.len()));
            for &Request { arrival, op, offset, length, placement } in &device.buffer {
                for number in [arrival.ns, offset, length] {
                    self.file.write_all(&number.to_le_bytes())?;
                }
                let op = OPS.iter().position(|&known| known == op).unwrap_or(0) as u8;
                let hint = placement.map_or(u8::MAX, |hint| hint.get() as u8);
                self.file.write_all(&[op, hint])?;
            }
            self.bytes += (device.buffer.len() * RECORD_BYTES) as u64;
            device.buffer.clear();
        }
        self.held = 0;
        self.file.flush()
    }

    /// Write a trace for each device, in the order of the devices. `names` are those in the trace; without any there was one device.
    ///
    /// # Errors
    /// An error of the folder, or a trace whose records name no devices; or `goes_on`, which is asked before each device with the
    /// share of them that is done, says no.
    pub fn write(
        mut self,
        names: &[String],
        folder: &Path,
        goes_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<Volume>, WorkloadError> {
        if names.is_empty() {
            let problem = "its records name no devices, so that there is nothing to split; where a column does, --columns \
                           calls it device; `coflash fleet --by file` takes each file as a volume";
            return Err(WorkloadError::trace("trace", problem.to_owned()));
        }
        let mut taken = BTreeSet::new();
        let mut volumes = Vec::new();
        for (number, (device, name)) in self.devices.iter_mut().zip(names).enumerate() {
            if !goes_on(number as f64 / names.len() as f64) {
                return Err(WorkloadError::trace("trace", "the split was ended".to_owned()));
            }
            let mut source =
                Device { file: self.file.get_mut(), requests: device, part: 0, next: 0, base: None };
            if source.requests.parts.is_empty() && source.requests.buffer.is_empty() {
                continue;
            }
            let place = folder.join(file_name(name, &mut taken));
            let written = write(&mut source, &place.to_string_lossy(), Some("parquet"))?;
            volumes.push(Volume {
                name: name.clone(),
                begins_ns: source.base.unwrap_or_default().ns,
                written,
            });
        }
        fs::remove_file(&self.place).map_err(|error| failed(folder, &error))?;
        Ok(volumes)
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
    file: &'a mut File,
    requests: &'a mut Requests,
    part: usize,
    /// The next request of the part.
    next: usize,
    /// The time of the first request.
    base: Option<Time>,
}

impl Device<'_> {
    fn read(&mut self, batch: &mut Vec<Request>) -> io::Result<()> {
        let Some(&(begin, count)) = self.requests.parts.get(self.part) else {
            let rest = &mut self.requests.buffer;
            batch.extend(rest.drain(..rest.len().min(BATCH_REQUESTS)));
            return Ok(());
        };
        let some = (count - self.next).min(BATCH_REQUESTS);
        let mut bytes = vec![0; some * RECORD_BYTES];
        self.file.seek(SeekFrom::Start(begin + (self.next * RECORD_BYTES) as u64))?;
        self.file.read_exact(&mut bytes)?;
        for record in bytes.chunks_exact(RECORD_BYTES) {
            let number = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
            batch.push(Request {
                arrival: Time { ns: number(0) },
                op: OPS[usize::from(record[24])],
                offset: number(8),
                length: number(16),
                placement: PlacementId::new(record[25].into()),
            });
        }
        self.next += some;
        if self.next == count {
            (self.part, self.next) = (self.part + 1, 0);
        }
        Ok(())
    }
}

impl Source for Device<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        self.read(batch)
            .map_err(|error| WorkloadError::trace("trace", format!("its copy cannot be read: {error}")))?;
        for request in batch {
            let base = *self.base.get_or_insert(request.arrival);
            request.arrival.ns -= base.ns;
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Spilled, file_name};
    use crate::{TraceOptions, from_reader};
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn a_split_ends_between_two_devices_where_it_is_told_to() {
        let folder = std::env::temp_dir().join(format!("coflash-split-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let lines: String = ["a", "b", "c"].map(|name| format!("{name},W,0,4096,1000\n")).concat();
        let options = TraceOptions { format: Some("alibaba".to_owned()), ..TraceOptions::default() };
        let mut source = from_reader("cloud", Box::new(std::io::Cursor::new(lines)), &options).unwrap();
        let spilled = Spilled::read(&mut source, options.device_stride.count, &folder).unwrap();
        let mut shares = Vec::new();
        let ended = spilled.write(&source.device_names(), &folder, &mut |share| {
            shares.push(share);
            share < 0.5
        });
        assert!(ended.is_err());
        assert_eq!(shares, [0.0, 1.0 / 3.0, 2.0 / 3.0]);
        fs::remove_dir_all(&folder).unwrap();
    }

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
