//! External placement policies: in Python, or in a crate that uses this one.

use super::{Class, Classes, Cleaned, GcWrite, PlacementPolicy, Shape, UserWrite, own_classes};
use coflash_base::external::Asked;
use coflash_base::{ExternalConfig, Misfit, Policy, Save};
use std::ops::Range;

/// An external placement policy. One instance serves the device.
///
/// Clones must make the same choices as the original: a warm device is cloned with its policies.
pub trait ExternalPlacement: dyn_clone::DynClone + Send + Sync {
    /// Choose the class of a page to be written, from 0. `None` if the policy has failed: from then on, pages
    /// go to the first valid class.
    fn user_write(&mut self, page: UserWrite) -> Option<u32>;

    /// Choose the class of a page to be copied, one of the classes for GC. `None` as above.
    fn gc_write(&mut self, page: GcWrite) -> Option<u32>;

    /// Learn from a victim, before its pages are copied.
    fn cleaned(&mut self, block: Cleaned) {
        let _ = block;
    }

    /// Report an unusable answer of a hook; it counts as a failure.
    fn refused(&mut self, hook: &'static str, problem: &str) {
        panic!("{hook}: {problem}");
    }
}

dyn_clone::clone_trait_object!(ExternalPlacement);

/// Creates the policy of a device.
pub struct MakePlacement {
    /// The number of classes, from 1 to 16.
    pub classes: u32,
    /// The number of classes for GC, the last ones; all if `None`.
    pub gc_classes: Option<u32>,
    /// The constructor.
    pub make: Box<dyn Fn(Shape) -> Box<dyn ExternalPlacement> + Send + Sync>,
}

/// An external policy, and its classes.
#[derive(Clone, Save)]
#[save(in_place)]
pub struct ExternalPlacer {
    policy: Asked<dyn ExternalPlacement>,
    user: Range<u32>,
    gc: Range<u32>,
}

impl Policy for ExternalPlacer {
    type Config = ExternalConfig<MakePlacement>;
    const SUMMARY: &'static str = "The choice of code that is no part of coflash.";
    const SOURCE: &'static str = "the user's";
}

impl PlacementPolicy for ExternalPlacer {
    const BYTES_PER_PAGE: u32 = 0;

    fn classes(config: &ExternalConfig<MakePlacement>) -> Result<Classes, Misfit> {
        config.check()?;
        let &MakePlacement { classes, gc_classes, .. } = config.make();
        own_classes(classes, gc_classes)
    }

    fn new(config: &ExternalConfig<MakePlacement>, shape: Shape) -> Self {
        let &MakePlacement { classes, gc_classes, ref make } = config.make();
        let gc = classes - gc_classes.unwrap_or(classes)..classes;
        Self { policy: Asked::new(make(shape)), user: 0..classes, gc }
    }

    fn user_write(&mut self, page: UserWrite) -> Class {
        let allowed = self.user.clone();
        self.choose(|policy| policy.user_write(page), allowed, "user_write")
    }

    fn gc_write(&mut self, page: GcWrite) -> Class {
        let allowed = self.gc.clone();
        self.choose(|policy| policy.gc_write(page), allowed, "gc_write")
    }

    fn cleaned(&mut self, block: Cleaned) {
        self.policy.tell(|policy| policy.cleaned(block));
    }
}

impl ExternalPlacer {
    /// The class chosen by the policy, or the first valid one.
    fn choose(
        &mut self,
        ask: impl FnOnce(&mut dyn ExternalPlacement) -> Option<u32>,
        allowed: Range<u32>,
        hook: &'static str,
    ) -> Class {
        let Range { start, end } = allowed;
        let check = |class| {
            let refuse = || format!("{class} was returned; a class from {start} to {} is allowed", end - 1);
            if allowed.contains(&class) { Ok(class) } else { Err(refuse()) }
        };
        let chosen =
            self.policy.ask(|policy| ask(policy), check, |policy, problem| policy.refused(hook, problem));
        Class::new(chosen.unwrap_or(start))
    }
}
