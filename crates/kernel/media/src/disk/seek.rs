//! Seek times.

/// A seek curve: seek times by distance. Between measured points it is linear in the square root of the distance, as
/// for an arm that accelerates and then decelerates.
#[derive(Clone, Debug)]
pub(super) struct SeekCurve {
    /// Points (cylinders, nanoseconds), both increasing. The first is one cylinder.
    pub(super) points: Vec<(u32, u64)>,
}

impl SeekCurve {
    /// The time of a seek over `cylinders` cylinders.
    pub(super) fn ns(&self, cylinders: u32) -> u64 {
        if cylinders == 0 {
            return 0;
        }
        let after =
            self.points.partition_point(|&(distance, _)| distance < cylinders).min(self.points.len() - 1);
        let (to, to_ns) = self.points[after];
        let Some(&(from, from_ns)) = after.checked_sub(1).map(|before| &self.points[before]) else {
            return to_ns;
        };
        let root = |distance: u32| f64::from(distance).sqrt();
        let fraction = (root(cylinders) - root(from)) / (root(to) - root(from));
        (from_ns as f64 + (to_ns as f64 - from_ns as f64) * fraction).round() as u64
    }
}
