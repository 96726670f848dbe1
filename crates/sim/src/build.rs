//! The parts of a device, as a scenario has them.

use crate::memory;
use crate::scenario::{Fill, Scenario, ScenarioError};
use coflash_base::Seed;
use coflash_controller::Controller;
use coflash_ftl::Ftl;
use coflash_host::{HostCache, Toll};

/// Builds the device of a scenario, erased, its cache in it.
#[cfg(test)]
pub(crate) fn build(scenario: &Scenario) -> Result<Controller, ScenarioError> {
    with_cache(scenario, build_ftl(scenario)?)
}

/// Builds the flash of a scenario, erased.
///
/// # Errors
/// What does not fit together.
pub(crate) fn build_ftl(scenario: &Scenario) -> Result<Ftl, ScenarioError> {
    if let Some(mark) = scenario.precondition.until_free {
        let pool_blocks = match scenario.ftl.pools {
            coflash_ftl::Pools::Plane => scenario.flash.blocks_per_plane,
            coflash_ftl::Pools::Die => scenario.flash.blocks_per_die(),
        };
        if mark.of(pool_blocks) < scenario.gc.low_mark.of(pool_blocks) {
            let problem = format!(
                "{mark} is less than gc.low_mark ({}): GC never lets it come to that",
                scenario.gc.low_mark
            );
            return Err(ScenarioError::new("precondition.until_free", problem));
        }
    }
    if scenario.precondition.fill == Fill::Mapped && scenario.flash.pages_per_block < 2 {
        return Err(ScenarioError::new("flash.pages_per_block", "1 is too few to map blocks".to_owned()));
    }
    memory::check(scenario)?;
    let demands = scenario.cooperation.demands();
    Ftl::new(&scenario.flash, &scenario.ftl, &scenario.gc, demands, Seed(scenario.seed)).map_err(refused)
}

/// The cache in the device, over its flash.
pub(crate) fn with_cache(scenario: &Scenario, ftl: Ftl) -> Result<Controller, ScenarioError> {
    Controller::over(ftl, &scenario.flash, &scenario.cache, &scenario.cooperation).map_err(refused)
}

/// The cache in the host, over the flash of the device.
pub(crate) fn with_host_cache(scenario: &Scenario, ftl: Ftl) -> Result<HostCache, ScenarioError> {
    let Scenario { flash, cache, cooperation, host, link, .. } = scenario;
    let toll = Toll::new(link.per_command, link.ns_per_byte());
    HostCache::over(ftl, flash, cache, cooperation, host, &toll, Seed(scenario.seed)).map_err(refused)
}

fn refused((key, problem): (&str, String)) -> ScenarioError {
    ScenarioError::new(key, problem)
}
