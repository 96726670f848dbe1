//! The nearest of several centres.

/// The index of the centre nearest to a value; the first one of several.
pub(super) fn nearest(centres: &[f64], value: f64) -> usize {
    let mut best = (f64::INFINITY, 0);
    for (index, centre) in centres.iter().enumerate() {
        let distance = (centre - value).abs();
        if distance < best.0 {
            best = (distance, index);
        }
    }
    best.1
}
