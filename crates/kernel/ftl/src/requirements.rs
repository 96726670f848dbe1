//! Requirements of a cooperation scheme on the FTL: the FTL is built to meet them.

use crate::stream::WriteStream;
use crate::weight::Weight;
use serde::{Deserialize, Serialize};

/// The additional features that a scheme needs. Without any, GC copies valid pages, and a marked page counts
/// fully or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// Whether a marked page may count a fraction of a page in a victim's cost.
    pub fractional_costs: bool,
    /// The largest weight of a marked page.
    pub weight_max: Weight,
    /// Whether [`WriteStream::Shadow`] has an active block of its own.
    pub shadow_stream: bool,
    /// Whether copies also go to [`WriteStream::Evict`]: then GC may find one more active block full when it begins.
    pub evict_stream: bool,
    /// Whether marks have age classes: two more bits per page.
    pub age_classes: bool,
    /// Whether some copies are programmed fast; of no influence on how the FTL is built.
    #[serde(skip)]
    pub fast_programs: bool,
}

impl Requirements {
    /// No additional features.
    pub const NONE: Self = Self {
        fractional_costs: false,
        weight_max: Weight::FULL,
        shadow_stream: false,
        evict_stream: false,
        age_classes: false,
        fast_programs: false,
    };

    /// What meets both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            fractional_costs: self.fractional_costs || other.fractional_costs,
            weight_max: self.weight_max.max(other.weight_max),
            shadow_stream: self.shadow_stream || other.shadow_stream,
            evict_stream: self.evict_stream || other.evict_stream,
            age_classes: self.age_classes || other.age_classes,
            fast_programs: self.fast_programs || other.fast_programs,
        }
    }

    /// The target streams of GC's copies.
    pub(crate) fn copy_streams(&self) -> impl Iterator<Item = WriteStream> {
        let more = [(self.shadow_stream, WriteStream::Shadow), (self.evict_stream, WriteStream::Evict)];
        std::iter::once(WriteStream::Gc)
            .chain(more.into_iter().filter_map(|(required, stream)| required.then_some(stream)))
    }
}
