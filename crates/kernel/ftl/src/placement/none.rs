//! No policy: pages share blocks by write stream and `ftl.shared_streams`.

use super::{Class, Classes, GcWrite, PlacementPolicy, Shape, UserWrite};
use crate::groups::Groups;
use coflash_base::policy::NoParameters;
use coflash_base::{Misfit, Policy, Save};

/// No policy.
#[derive(Clone, Save)]
pub struct Streams {
    pub(crate) groups: Groups,
}

impl Policy for Streams {
    type Config = NoParameters;
    const SUMMARY: &'static str = "The block of the page's write stream, as ftl.shared_streams says.";
    const SOURCE: &'static str = "folklore";
}

impl PlacementPolicy for Streams {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(_: &NoParameters) -> Result<Classes, Misfit> {
        Ok(Classes::Streams)
    }

    fn new(_: &NoParameters, shape: Shape) -> Self {
        Self { groups: shape.groups }
    }

    #[inline(always)]
    fn user_write(&mut self, page: UserWrite) -> Class {
        Class::new(self.groups.group(page.stream).get())
    }

    #[inline(always)]
    fn gc_write(&mut self, page: GcWrite) -> Class {
        Class::new(self.groups.group(page.stream).get())
    }
}
