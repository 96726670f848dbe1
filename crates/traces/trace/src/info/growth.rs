//! Written pages against distinct written pages, over time.
//!
//! The distance of the two curves shows the overwrites that a write buffer can absorb. Source: the first
//! figure of "ShadowGC: Cooperative garbage collection with multi-level buffer for performance improvement in
//! NAND flash-based SSDs" (DATE 2018).
//!
//! A point is kept at a fixed interval of writes. At the maximum, every other point is removed, and the interval
//! doubles.

use serde::Serialize;

/// The maximum number of points, without the last one.
const POINTS_MAX: usize = 256;

/// The cumulative writes at each point: columns of equal length, from the first to the last request. Requests or times
/// can be the axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// Requests of any kind so far.
    pub requests: Vec<u64>,
    /// Time since the first arrival.
    pub time_ns: Vec<u64>,
    /// Bytes written so far.
    pub written_bytes: Vec<u64>,
    /// Page writes so far, partial ones included.
    pub written_pages: Vec<u64>,
    /// Distinct pages among them.
    pub distinct_pages: Vec<u64>,
}

/// The cumulative writes at a point: the columns of [`Growth`], in their order.
pub(super) type Point = [u64; 5];

/// The counters of a growth curve.
pub(super) struct Points {
    points: Vec<Point>,
    /// Writes from one point to the next.
    every: u64,
    until_next: u64,
}

impl Default for Points {
    fn default() -> Self {
        Self { points: vec![Point::default()], every: 1, until_next: 1 }
    }
}

impl Points {
    /// Count a write. Returns whether its point is to be added.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.until_next -= 1;
        self.until_next == 0
    }

    /// Add the point of a write, with the counts after it.
    #[cold]
    pub(super) fn add(&mut self, point: Point) {
        self.points.push(point);
        if self.points.len() > POINTS_MAX {
            let mut place = 0..;
            self.points.retain(|_| place.next().is_some_and(|place: usize| place.is_multiple_of(2)));
            self.every *= 2;
        }
        self.until_next = self.every;
    }

    /// The growth up to the `last` point.
    pub(super) fn finish(mut self, last: Point) -> Growth {
        if self.points.last().is_none_or(|point| point[0] < last[0]) {
            self.points.push(last);
        }
        let [requests, time_ns, written_bytes, written_pages, distinct_pages] =
            std::array::from_fn(|column| self.points.iter().map(|point| point[column]).collect());
        Growth { requests, time_ns, written_bytes, written_pages, distinct_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_few_and_evenly_spread() {
        for writes in [0_u64, 1, 255, 256, 257, 100_000] {
            let mut points = Points::default();
            let at = |n: u64| [n, 7 * n, 512 * n, 2 * n, n / 2];
            for write in 1..=writes {
                if points.is_due() {
                    points.add(at(write));
                }
            }
            let growth = points.finish(at(writes));
            let requests = &growth.requests;
            assert!(requests.len() <= POINTS_MAX + 1 && requests.len() as u64 > writes.min(128));
            assert_eq!((requests[0], *requests.last().unwrap()), (0, writes));
            if writes > 0 {
                let steps: Vec<u64> = requests.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let (last, others) = steps.split_last().unwrap();
                assert!(others.iter().all(|step| *step == steps[0] && last <= step), "{steps:?}");
            }
            for (place, &requests) in requests.iter().enumerate() {
                let Growth { time_ns, written_bytes, written_pages, distinct_pages, .. } = &growth;
                let found =
                    [time_ns, written_bytes, written_pages, distinct_pages].map(|column| column[place]);
                assert_eq!(found, at(requests)[1..]);
            }
        }
    }
}
