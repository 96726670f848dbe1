//! The groups of write streams: each fills an active block of its own.

use crate::ids::GroupId;
use crate::requirements::Requirements;
use crate::stream::{StreamGroups, WriteStream};
use coflash_base::{Index, Misfit, Save};
use std::collections::BTreeSet;
use std::ops::Range;

/// The group of each stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) struct Groups {
    by_stream: [GroupId; WriteStream::COUNT],
    pub(crate) count: u32,
    /// The number of groups to which GC copies a victim.
    pub(crate) copied_to: u32,
}

impl Groups {
    /// Create the groups for classes of a placement policy: each stream gets the first valid class for its
    /// pages. GC copies a victim to at most `targets` of them. With `shadow_apart`, [`WriteStream::Shadow`] has a group of its own
    /// after them.
    pub(crate) fn by_class(count: u32, gc: &Range<u32>, targets: u32, shadow_apart: bool) -> Self {
        let shadow = if shadow_apart { count } else { gc.start };
        let apart = u32::from(shadow_apart);
        let by_stream = [0, 0, gc.start, shadow].map(GroupId::new);
        Self { by_stream, count: count + apart, copied_to: targets + apart }
    }

    /// Create the groups of streams. A stream without a named group has one of its own;
    /// [`WriteStream::Shadow`] only if required.
    pub(crate) fn new(shared: &StreamGroups, requirements: Requirements) -> Result<Self, Misfit> {
        let mut by_stream = [None; WriteStream::COUNT];
        let mut count = 0;
        for group in shared {
            for &stream in group {
                if by_stream[stream as usize].replace(GroupId::new(count)).is_some() {
                    let problem = format!("stream {stream:?} is named twice");
                    return Err(Misfit::new("ftl.shared_streams", problem));
                }
            }
            count += u32::from(!group.is_empty());
        }
        let own = |group: Option<GroupId>, count: &mut u32| {
            group.unwrap_or_else(|| {
                *count += 1;
                GroupId::new(*count - 1)
            })
        };
        let [host, evict, gc, shadow] = by_stream;
        let [host, evict, gc] = [host, evict, gc].map(|group| own(group, &mut count));
        let apart = requirements.shadow_stream;
        let shadow = if apart { own(shadow, &mut count) } else { shadow.unwrap_or(gc) };
        let by_stream = [host, evict, gc, shadow];
        let copied_to: BTreeSet<_> = requirements.copy_streams().map(|to| by_stream[to as usize]).collect();
        Ok(Self { by_stream, count, copied_to: copied_to.len() as u32 })
    }

    #[inline(always)]
    pub(crate) fn group(&self, stream: WriteStream) -> GroupId {
        self.by_stream[stream as usize]
    }

    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = GroupId> + use<> {
        (0..self.count as usize).map(GroupId::from_index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_are_not_named_have_their_own_block() {
        use WriteStream::{Evict, Gc, Host, Shadow};
        let groups = |shared: &[&[WriteStream]], apart| {
            let requirements = Requirements { shadow_stream: apart, ..Requirements::NONE };
            let groups =
                Groups::new(&shared.iter().map(|group| group.to_vec()).collect(), requirements).ok()?;
            Some((groups.by_stream.map(GroupId::get), groups.count))
        };
        assert_eq!(groups(&[&[Host, Evict]], false), Some(([0, 0, 1, 1], 2)));
        assert_eq!(groups(&[&[Host, Evict]], true), Some(([0, 0, 1, 2], 3)));
        assert_eq!(groups(&[&[Host, Gc, Evict]], false), Some(([0, 0, 0, 0], 1)));
        assert_eq!(groups(&[&[Host, Shadow]], true), Some(([0, 1, 2, 0], 3)));
        assert_eq!(groups(&[], false), Some(([0, 1, 2, 2], 3)));
        assert_eq!(groups(&[&[Gc], &[Gc]], false), None);
    }
}
