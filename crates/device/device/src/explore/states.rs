//! A state that a cut may leave, and how its content is told from that of others.

use super::painted::{Painted, Piece};
use super::record::{Digests, SECTOR, digest};
use crate::order::{Id, Log, Window};
use std::collections::BTreeMap;
use std::ops::Range;

/// What a cut leaves of the open changes of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The requests before this number have come, and those before a durable one.
    pub come: Id,
    /// The order in which changes land, if it is not that of arrival: the open ones that had come, and the loose ones.
    pub order: Option<Vec<Id>>,
    /// The ranges that are kept of each; nothing of the others.
    pub kept: BTreeMap<Id, Vec<Range<u64>>>,
}

impl State {
    /// Keep some changes, whole.
    pub fn keeping(log: &Log, come: Id, ids: impl IntoIterator<Item = Id>) -> Self {
        let whole = |id: Id| (id, vec![log.entries[id].range()]);
        Self { come, order: None, kept: ids.into_iter().map(whole).collect() }
    }

    /// Have its changes land in an order. Loose changes, which are durable, land in it as well.
    #[must_use]
    pub fn landing(mut self, log: &Log, order: Vec<Id>, loose: &[Id]) -> Self {
        if !order.is_sorted() {
            self.kept.extend(Self::keeping(log, 0, loose.iter().copied()).kept);
            self.order = Some(order);
        }
        self
    }

    /// Whether a change is there as a whole.
    pub fn has_whole(&self, log: &Log, id: Id) -> bool {
        self.kept.get(&id).is_some_and(|kept| *kept == [log.entries[id].range()])
    }
}

/// The parts of a change that a cut keeps or loses whole: at most this many, since a trim may be as long as the device.
const PARTS_MAX: usize = 4096;

/// The atomic parts of a change.
pub(crate) fn parts(log: &Log, id: Id, unit_bytes: u64) -> Vec<Range<u64>> {
    let entry = &log.entries[id];
    let unit_bytes = unit_bytes * (entry.length / unit_bytes).div_ceil(PARTS_MAX as u64).max(1);
    units(&entry.range(), unit_bytes).map(|(_, part)| part).collect()
}

/// The units of a size that a range touches, by number, and the part of it in each.
fn units(range: &Range<u64>, unit_bytes: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let Range { start, end } = *range;
    let part = move |unit: u64| start.max(unit * unit_bytes)..end.min((unit + 1) * unit_bytes);
    (start / unit_bytes..end.div_ceil(unit_bytes)).map(move |unit| (unit, part(unit)))
}

/// The durable content at the begin of a window.
#[derive(Default)]
pub(crate) struct Base {
    pub(crate) painted: Painted,
    sectors: BTreeMap<u64, u64>,
    /// The sum over the digests of all sectors: equal for equal contents.
    sum: u64,
}

/// Ranges longer than this are told from others by their change, not by their content.
const COMPARED_BYTES: u64 = 16 << 20;

impl Base {
    /// Add what a window makes durable; returns what is seen of it.
    pub(crate) fn advance(&mut self, log: &Log, digests: &Digests, window: &Window) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for &id in &window.covered {
            let seen = self.painted.paint(log.entries[id].range(), id, |other| other > id);
            pieces.extend(seen.into_iter().map(|range| Piece { id, range }));
        }
        let (sum, changed) = self.content(log, digests, &pieces);
        self.sum = sum;
        self.sectors.extend(changed);
        pieces
    }

    /// A number for the content with these pieces over it.
    pub(crate) fn content(
        &self,
        log: &Log,
        digests: &Digests,
        pieces: &[Piece],
    ) -> (u64, BTreeMap<u64, u64>) {
        let mut changed = BTreeMap::new();
        for Piece { id, range } in pieces {
            if range.end - range.start > COMPARED_BYTES {
                changed.insert(u64::MAX - range.start, digest((id, range)));
                continue;
            }
            for (sector, Range { start, end }) in units(range, SECTOR) {
                let is = if end - start == SECTOR {
                    digests.sector(log, *id, sector)
                } else {
                    let below = changed.get(&sector).or_else(|| self.sectors.get(&sector));
                    digest((below, id, start, end))
                };
                changed.insert(sector, is);
            }
        }
        let mut sum = self.sum;
        for (sector, is) in &changed {
            let was = self.sectors.get(sector).map_or(0, |was| digest((sector, was)));
            sum = sum.wrapping_sub(was).wrapping_add(digest((sector, is)));
        }
        (sum, changed)
    }
}

/// What is seen of a state over what is durable.
pub(crate) fn pieces(durable: &Painted, log: &Log, state: &State) -> Vec<Piece> {
    let mut own = Painted::default();
    let is_above = |other: Id, id: Id| {
        let (above, below) = (&log.entries[other], &log.entries[id]);
        above.is_after(below) || other > id && (state.order.is_none() || below.settled.is_some())
    };
    for id in state.order.clone().unwrap_or_else(|| state.kept.keys().copied().collect()) {
        for range in state.kept.get(&id).into_iter().flatten() {
            for seen in durable.visible(range.clone(), |other| is_above(other, id)) {
                own.paint(seen, id, |_| false);
            }
        }
    }
    own.pieces().collect()
}
