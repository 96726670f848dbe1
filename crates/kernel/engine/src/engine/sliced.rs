//! An engine that serves a slice of a device. A request with pages in several slices is answered when all have served theirs.

use super::{Answer, Engine};
use crate::slice::Slice;
use coflash_base::Time;
use coflash_level::Level;
use coflash_media::SimulatedMedia;
use coflash_scenario::Scenario;
use coflash_workload::{Op, Request};

/// The share that a slice has of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The number of the request in the workload.
    pub(crate) request: u64,
    /// Its pages in the slice, and in others.
    pub(crate) pages: [u32; 2],
}

/// The shares of requests.
#[derive(Default)]
pub(super) struct Sliced {
    /// The number of the request being issued.
    request: u64,
    /// Of pending requests, by their place.
    pending: Vec<Option<Share>>,
    served: Vec<(Share, Answer)>,
}

impl<L: Level<M>, M: SimulatedMedia> Engine<L, M, true> {
    /// Create an engine that serves a slice of a device, with the scenario of the slice.
    #[must_use]
    pub(crate) fn of_slice(scenario: &Scenario, level: L, media: M, slice: Slice) -> Self {
        let whole = Self::of(scenario, level, media);
        Self { address: whole.address.of_slice(slice), sliced: Some(Box::default()), ..whole }
    }

    /// Whether a request has work for this slice.
    #[inline(always)]
    pub(crate) fn has_work(&mut self, request: &Request) -> bool {
        self.address.has_work(request, &mut self.lpns)
    }

    /// The next request has this number.
    #[inline(always)]
    pub(crate) fn number(&mut self, request: u64) {
        self.sliced.as_mut().expect("the engine serves a slice").request = request;
    }

    /// The end of the current window of the series, and the length of windows.
    pub(crate) fn window(&self) -> (Time, u64) {
        self.meters.series.window()
    }

    /// Take the shares served since the last call.
    pub(crate) fn take_shares(&mut self, take: &mut Vec<(Share, Answer)>) {
        take.append(&mut self.sliced.as_mut().expect("the engine serves a slice").served);
    }
}

impl<L: Level<M>, M: SimulatedMedia, const SLICED: bool> Engine<L, M, SLICED> {
    /// The share of the request being issued; `None` if it is served here alone.
    #[inline(always)]
    pub(super) fn share(&self) -> Option<Share> {
        let pages = self.lpns.shares::<SLICED>()?;
        Some(Share { request: self.sliced.as_ref()?.request, pages })
    }

    /// The share of a pending request.
    #[inline(always)]
    pub(super) fn share_of(&self, tag: u32) -> Option<Share> {
        self.sliced.as_ref().filter(|_| SLICED)?.pending[tag as usize]
    }

    /// Note the share of the request that has just become pending.
    #[inline(always)]
    pub(super) fn await_share(&mut self, tag: u32) {
        let share = self.share();
        if let (true, Some(sliced)) = (SLICED, &mut self.sliced) {
            sliced.pending.resize(self.pending.len(), None);
            sliced.pending[tag as usize] = share;
        }
    }

    /// Answer a share of a request.
    #[inline(never)]
    pub(super) fn answer_share(&mut self, share: Share, op: Op, arrival: Time, at: Time) {
        if let Some(sliced) = self.sliced.as_mut().filter(|_| share.pages[0] > 0) {
            sliced.served.push((share, Answer { at, arrival, op, owner: 0 }));
        }
    }
}
