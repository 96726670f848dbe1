//! What a served device did since somebody looked: its operations and decisions, as `coflash run --operations --decisions` writes
//! them. What recovery does at power on is not among it.

use crate::lock::lock;
use crate::session::Session;
use coflash_record::{LiveRecorder, Piece};
use coflash_scenario::Scenario;
use coflash_store::{Disk, Store};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Parts that are kept for who does not look, beside the current one.
const PARTS_MAX: usize = 8;

/// A part of a session, by its folder.
pub type Part = (PathBuf, Piece);

/// The recorder of a session, and the parts before.
pub(crate) struct Live {
    session: PathBuf,
    recorder: Arc<Mutex<LiveRecorder>>,
    before: Vec<Part>,
}

impl Live {
    /// Begin to record a session, after the `last` one.
    pub(crate) fn begin<D: Disk>(
        last: Option<Self>,
        folder: PathBuf,
        scenario: &Scenario,
        session: &mut Session<Store<D>>,
    ) -> Self {
        let recorder = Arc::new(Mutex::new(LiveRecorder::live(scenario)));
        session.record_in(recorder.clone());
        let mut before = last.map(|mut last| last.take()).unwrap_or_default();
        before.drain(..before.len().saturating_sub(PARTS_MAX));
        Self { session: folder, recorder, before }
    }

    /// Take the parts since the last call.
    pub(crate) fn take(&mut self) -> Vec<Part> {
        let piece = lock(&self.recorder).take();
        let mut parts = std::mem::take(&mut self.before);
        parts.push((self.session.clone(), piece));
        parts
    }
}
