//! What a recorder hears of the timeline.

use super::Timeline;
use crate::{BlockId, FlashOperation, OperationRecorder, Ppn, When};

impl Timeline {
    /// Tell a recorder of each flash operation.
    #[must_use]
    pub fn with_recorder(self, recorder: OperationRecorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Tell the recorder, if there is one, of an operation.
    #[inline(always)]
    pub(super) fn record(&self, operation: FlashOperation, after: When, done: When) {
        if let Some(recorder) = &self.recorder {
            self.record_in(recorder, operation, after, done);
        }
    }

    #[cold]
    fn record_in(&self, recorder: &OperationRecorder, operation: FlashOperation, after: When, done: When) {
        let time = after.known().unwrap_or_else(|| self.servers.channels.now());
        let operation = FlashOperation { time, end: done.known(), ..operation };
        recorder.lock().expect("no holder has panicked").operation(&operation);
    }

    /// The first page of a block or superblock.
    pub(super) fn first_page(&self, block: BlockId) -> Ppn {
        Ppn::new(block.get() * self.geometry.pages_per_block * self.stripe_planes * self.stripe_blocks)
    }
}
