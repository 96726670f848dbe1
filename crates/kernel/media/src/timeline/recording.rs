//! The timeline's calls to a recorder.

use super::Timeline;
use crate::moment::OpId;
use crate::{FlashOperation, OperationRecorder, When};
use coflash_base::{Duration, Index};

/// A recorder, and the operations that it is to hear of again.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    recorder: OperationRecorder,
    /// The number of operations so far, modulo 2³².
    operations: u32,
    /// By operation under way: its number, and its end after that of its die.
    under_way: Vec<Option<(u32, Duration)>>,
}

impl Timeline {
    /// Tell a recorder of each flash operation from now on.
    pub fn record_in(&mut self, recorder: OperationRecorder) {
        self.servers.channels.note_ends();
        self.recording = Some(Box::new(Recording { recorder, operations: 0, under_way: Vec::new() }));
    }

    /// Tell the recorder, if there is one, of an operation.
    #[inline(always)]
    pub(super) fn record(&mut self, after: When, done: When, operation: impl FnOnce() -> FlashOperation) {
        if self.recording.is_some() {
            self.record_operation(operation(), after, done);
        }
    }

    #[cold]
    fn record_operation(&mut self, operation: FlashOperation, after: When, done: When) {
        let Some(recording) = &mut self.recording else { return };
        let time = after.known().unwrap_or(self.servers.channels.now);
        let operation = FlashOperation { time, end: done.known(), ..operation };
        recording.recorder.lock().expect("no holder has panicked").operation(&operation);
        if let Some(op) = done.op {
            let under_way = &mut recording.under_way;
            under_way.resize(under_way.len().max(op.index() + 1), None);
            under_way[op.index()] = Some((recording.operations, Duration { ns: done.ns }));
        }
        recording.operations = recording.operations.wrapping_add(1);
    }

    /// Tell the recorder, if there is one, of the operations that have ended.
    #[inline(always)]
    pub(super) fn record_ends(&mut self) {
        if self.recording.is_some() {
            self.record_each_end();
        }
    }

    #[cold]
    fn record_each_end(&mut self) {
        let Some(Recording { recorder, under_way, .. }) = self.recording.as_deref_mut() else { return };
        let mut recorder = recorder.lock().expect("no holder has panicked");
        self.servers.channels.ends(|op: OpId, at| {
            if let Some((number, later)) = under_way.get_mut(op.index()).and_then(Option::take) {
                recorder.ended(number, at + later);
            }
        });
    }
}
