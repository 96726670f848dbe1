//! Changes of the clock, which are no pauses of a workload (option `clock_jump`).

use crate::record::counted;
use coflash_base::Duration;
use coflash_workload::Request;

/// Takes larger steps forward out of the arrivals of a trace.
#[derive(Default)]
pub(crate) struct Pauses {
    /// The least step that is a change of the clock, if there are any.
    jump: Option<Duration>,
    /// The sum of such steps in the present file; that of all, and their number.
    shift_ns: u64,
    removed_ns: u64,
    count: u64,
    /// The latest arrival, without the steps.
    latest_ns: u64,
}

impl Pauses {
    pub(crate) fn new(jump: Option<Duration>) -> Self {
        Self { jump, ..Self::default() }
    }

    /// Begin a file of a sequence; returns where: at the latest arrival before.
    pub(crate) fn next_file(&mut self) -> u64 {
        self.shift_ns = 0;
        self.latest_ns
    }

    /// Take the steps out of the next requests, which are in order.
    pub(crate) fn leave_out(&mut self, requests: &mut [Request]) {
        if let Some(jump) = self.jump {
            for request in &mut *requests {
                let pause_ns = request.arrival.ns - self.shift_ns - self.latest_ns;
                if pause_ns > jump.ns {
                    self.shift_ns += pause_ns;
                    self.removed_ns += pause_ns;
                    self.count += 1;
                }
                request.arrival.ns -= self.shift_ns;
                self.latest_ns = request.arrival.ns;
            }
        }
        self.latest_ns = requests.last().map_or(self.latest_ns, |request| request.arrival.ns);
    }

    pub(crate) fn remark(&self) -> Option<String> {
        let removed = Duration { ns: self.removed_ns };
        counted(self.count, "pause", format!("removed, {removed} in all (clock_jump)"))
    }
}
