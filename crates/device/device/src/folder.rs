//! The folder of a device.
//!
//! ```text
//! data, metadata           the container
//! sessions/0001/           from power on to power off
//!     scenario.toml        with the trace as its workload
//!     contents.zst         the contents found at power on; not in the first session, which begins erased
//!     trace.csv            the requests
//!     restart-0001.zst     the contents found by a restart of the device, while the host had power
//!     session.json         how it ended; written last
//! ```

use crate::contents_file;
use crate::power_on::servable;
use crate::recorder::{FORMAT, Recorder, private_file};
use crate::restarts::{Restart, Restarts};
use coflash_base::{Bytes, Seed, Time};
use coflash_level::Tower;
use coflash_media::Contents;
use coflash_scenario::{Requests, Scenario, ScenarioError};
use coflash_store::{Disks, FileDisk, Format, Store};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A device cannot be opened, or its folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A file or folder cannot be used.
    #[error("{path}: {problem}")]
    Io {
        /// Its path.
        path: PathBuf,
        /// The message of the system.
        problem: io::Error,
    },
    /// The scenario cannot be served.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// There is no device, or its container cannot be used, or it cannot be powered on.
    #[error("{path}: {problem}")]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
}

/// Keys of the scenario on which the contents of a device depend.
const FIXED: [&str; 6] =
    ["flash.", "ftl.", "cache.size", "cache.volatile", "cache.placement", "cooperation.name"];

/// The folder of a device.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at a path.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The file or folder of a name.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The session of a number.
    pub fn session(&self, number: u32) -> SessionFolder {
        SessionFolder(self.0.join("sessions").join(format!("{number:04}")))
    }

    /// Whether a device was made here.
    pub fn has_device(&self) -> bool {
        self.0.join("metadata").exists()
    }

    pub(crate) fn display(&self) -> std::path::Display<'_> {
        self.0.display()
    }

    pub(crate) fn no_device(&self) -> DeviceError {
        let device = self.display();
        self.unusable(format!("there is no device; `coflash serve demo --device {device}` makes one"))
    }

    /// Make a device, erased, of a servable scenario.
    pub(crate) fn create(&self, scenario: &Scenario) -> Result<Store<FileDisk>, DeviceError> {
        let format = format_of(scenario)?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        let disks = made.and_then(|()| Disks::create(&self.0)).map_err(|problem| self.io(problem))?;
        Store::create(disks, &format).map_err(|problem| {
            // Half a container would block the next attempt. The first error is returned.
            let _ = ["data", "metadata"].map(|name| fs::remove_file(self.0.join(name)));
            self.unusable(problem)
        })
    }

    /// Open the device.
    pub(crate) fn open(&self) -> Result<(Store<FileDisk>, Contents), DeviceError> {
        Store::open(self.disks()?).map_err(|problem| self.unusable(problem))
    }

    /// Remove a session, and the device that a failed start has made, perhaps with its folder. Failures are ignored: there is
    /// another one to tell.
    pub(crate) fn remove(&self, session: Option<&SessionFolder>, made: Option<bool>) {
        let _ = session.map(|session| fs::remove_dir_all(&session.0));
        let Some(has_made_folder) = made else { return };
        let _ = ["data", "metadata"].map(|name| fs::remove_file(self.0.join(name)));
        let _ = fs::remove_dir(self.0.join("sessions"));
        if has_made_folder {
            let _ = fs::remove_dir(&self.0);
        }
    }

    /// The scenario of the next session: `given`, if it fits that of the container, else that of the
    /// container.
    pub(crate) fn scenario(
        &self,
        format: &Format,
        given: Option<&Scenario>,
        size: Option<Bytes>,
    ) -> Result<Scenario, DeviceError> {
        let kept = Scenario::from_toml(&format.scenario)?;
        let Some(given) = given else { return Ok(kept) };
        let given = servable(given, size.or(kept.flash.exported))?;
        let (before, now) = (kept.leaves(), given.leaves());
        let is_fixed = |key: &&String| {
            FIXED.iter().any(|fixed| key.starts_with(fixed) || **key == fixed.trim_end_matches(".name"))
        };
        let keys: std::collections::BTreeSet<_> = before.keys().chain(now.keys()).filter(is_fixed).collect();
        let value = |scenario: &std::collections::BTreeMap<String, serde_json::Value>, key: &String| {
            scenario.get(key).map_or("not given".to_owned(), ToString::to_string)
        };
        let differing = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
        let mut differences: Vec<_> = differing
            .map(|key| format!("{key} is {} and was {}", value(&now, key), value(&before, key)))
            .collect();
        if differences.is_empty() && format_of(&given)?.words != format.words {
            differences.push("cooperation needs other metadata".to_owned());
        }
        if differences.is_empty() {
            return Ok(given);
        }
        let (differences, device) = (differences.join(", "), self.display());
        Err(self.unusable(format!(
            "the device was made for another scenario: {differences}; policies and times may change, the rest may not; \
             `coflash serve --device {device}` serves it as it is"
        )))
    }

    /// The number of the next session.
    pub(crate) fn next_session(&self) -> u32 {
        (1..).find(|&number| !self.session(number).0.exists()).expect("there is no last number")
    }

    /// The files of the container, locked.
    pub(crate) fn disks(&self) -> Result<Disks<FileDisk>, DeviceError> {
        if !self.has_device() {
            return Err(self.no_device());
        }
        Disks::open(&self.0).map_err(|problem| self.io(problem))
    }

    pub(crate) fn unusable(&self, problem: impl ToString) -> DeviceError {
        DeviceError::Unusable { path: self.0.clone(), problem: problem.to_string() }
    }

    pub(crate) fn io(&self, problem: io::Error) -> DeviceError {
        let problem = if self.0.is_file() {
            io::Error::new(problem.kind(), "is a file; the device takes a folder of its own")
        } else {
            problem
        };
        DeviceError::Io { path: self.0.clone(), problem }
    }
}

/// The container of a device.
pub(crate) fn format_of(scenario: &Scenario) -> Result<Format, ScenarioError> {
    let stack = Tower::erased(scenario.stack_config())?;
    let layout = stack.layout().expect("over flash there is a cache, be it empty");
    let (page_bytes, pages) = (scenario.flash.page_size.count, u64::from(layout.logical_pages));
    let random = || u128::from(RandomState::new().hash_one(0));
    Ok(Format {
        geometry: scenario.ftl.erase_units(&scenario.flash),
        logical_bytes: pages * page_bytes,
        slots: scenario.cache.size.pages(page_bytes, pages) as u32,
        volatile: scenario.cache.volatile,
        in_host: stack.has_host_cache(),
        words: layout.words(),
        scenario: scenario.to_toml(),
        uuid: random() << 64 | random(),
    })
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// The time up to which its result goes, in nanoseconds since power on.
    pub end_ns: u64,
    /// Whether power was cut.
    pub was_cut: bool,
    /// The restarts of the device while the host had power.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarts: Vec<Restart>,
}

/// The folder of a session.
#[derive(Clone, Debug)]
pub struct SessionFolder(PathBuf);

impl SessionFolder {
    /// The folder at a path.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Begin to record a session of a scenario that began with the contents `found`. Returns the scenario
    /// with the trace as its workload, and the recorder. With `trace` the trace goes to that file.
    pub(crate) fn begin(
        &self,
        scenario: &Scenario,
        found: Option<&Contents>,
        trace: Option<&Path>,
    ) -> io::Result<(Scenario, Recorder)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        if let Some(found) = found {
            contents_file::write(found, private_file(&self.0.join("contents.zst"))?)?;
        }
        let own = self.0.join("trace.csv");
        let trace = std::path::absolute(trace.unwrap_or(&own))?;
        let recorder = Recorder::create(&trace, &self.0)?;
        let mut scenario = scenario.clone();
        scenario.workload.requests = Requests::Trace(vec![trace.to_string_lossy().into_owned()]);
        scenario.workload.trace_options.format = Some(FORMAT.to_owned());
        private_file(&self.0.join("scenario.toml"))?.write_all(scenario.to_toml().as_bytes())?;
        Ok((scenario, recorder))
    }

    /// Write the end of the session.
    pub(crate) fn end(&self, end: &SessionEnd) -> io::Result<()> {
        write_whole(&self.0.join("session.json"), end)
    }

    /// Read the input of the session's twin: the scenario, the contents found at power on, the restarts of the device,
    /// the end.
    ///
    /// # Errors
    /// A file cannot be read. A session has no end if its process was killed.
    pub fn read(&self) -> Result<(Scenario, Option<Contents>, Restarts, Time), DeviceError> {
        let io = |name: &str| {
            let path = self.0.join(name);
            move |problem| DeviceError::Io { path, problem }
        };
        let end = fs::read(self.0.join("session.json")).map_err(io("session.json"))?;
        let end: SessionEnd =
            serde_json::from_slice(&end).map_err(|error| io("session.json")(error.into()))?;
        let text = fs::read_to_string(self.0.join("scenario.toml")).map_err(io("scenario.toml"))?;
        let found = match File::open(self.0.join("contents.zst")) {
            Ok(file) => Some(contents_file::read(file).map_err(io("contents.zst"))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io("contents.zst")(error)),
        };
        let restarts = Restarts { list: end.restarts, folder: self.0.clone() };
        Ok((Scenario::of_run(&text)?, found, restarts, Time { ns: end.end_ns }))
    }
}

/// Write a document to a file, which only its owner may read: whole or not at all, since the process may be killed meanwhile.
pub(crate) fn write_whole(path: &Path, document: &impl Serialize) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().expect("a file has a folder"))?;
    file.write_all(&serde_json::to_vec(document)?)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Draw the stores that survive a power cut.
pub(crate) fn survivors(seed: u64) -> impl FnMut(usize) -> bool {
    use coflash_base::seed::RngExt;
    let mut stream = Seed(seed).stream("survivors");
    move |_| stream.random()
}
