//! Restarts of the device in a session, while the host had power.

use crate::contents_file;
use crate::recorder::restart_file;
use coflash_media::Contents;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A power cut that the device alone is to suffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Armed {
    /// The number of requests before.
    pub requests: u64,
    /// The steps of flash from there to the cut.
    pub steps: u64,
}

/// A restart of the device in a session, while the host had power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// The number of requests before, with an interrupted one.
    pub requests: u64,
    /// Its time, in nanoseconds since power on.
    pub at_ns: u64,
    /// The cut, unless it came between two requests at that time.
    pub armed: Option<Armed>,
}

/// The restarts of the device in a session, while the host had power, and the folder of what they found.
#[derive(Clone, Debug, Default)]
pub struct Restarts {
    /// The restarts, in order.
    pub list: Vec<Restart>,
    /// The folder.
    pub folder: PathBuf,
}

impl Restarts {
    /// Read what a restart found, counted from 1.
    pub(crate) fn read_contents(&self, restart: usize) -> io::Result<Contents> {
        contents_file::read(File::open(restart_file(&self.folder, restart))?)
    }
}
