//! Power on: the levels of a scenario over an erased device, or over the contents of a container.

use coflash_base::{Bytes, Time};
use coflash_ftl::{CopyAll, Ftl, Io};
use coflash_level::{Placement, Protecting, RecoveryError, Tower};
use coflash_media::{Contents, Media, Side, When};
use coflash_scenario::{
    PreconditionConfig, ReplayConfig, RestartConfig, Scenario, ScenarioError, WorkloadConfig,
};

/// A device cannot be powered on.
#[derive(Debug, thiserror::Error)]
pub enum StartError<E: std::fmt::Debug> {
    /// The scenario cannot be served.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Its contents cannot be recovered.
    #[error("the device cannot be recovered: {0:?}")]
    Recovery(RecoveryError<E>),
}

/// The scenario of a device that begins erased and exports `size`, by default the size in the scenario.
///
/// # Errors
/// It has parts that cannot be served: disks, the clients' write buffer, grants of pages that the host may lose, a write
/// buffer that a power cut loses.
pub fn servable(scenario: &Scenario, size: Option<Bytes>) -> Result<Scenario, ScenarioError> {
    let mut device = scenario.clone();
    if let Some(size) = size {
        device = device.set(&[("flash.exported", size.to_string())])?;
    }
    device.precondition = PreconditionConfig::nothing();
    device.workload = WorkloadConfig::default();
    device.replay = ReplayConfig::default();
    device.restart = RestartConfig::default();
    device.check()?;
    let refuse = |key: &str, problem: &str| Err(ScenarioError::new(key, problem.to_owned()));
    if device.hybrid.is_some() {
        return refuse("hybrid", "a flash cache before disks cannot be served: a container holds no disks");
    }
    if device.cache.placement == Placement::Host
        && matches!(device.host.protecting, Protecting::Grants { .. })
        && device.cooperation.name() != "cdm-consistent"
    {
        let problem = "\"grants\" cannot be served with this cooperation: the device drops a granted page without asking, and the \
                       host, which labels a sole copy when it is asked, would lose it with its power; \"request\" is allowed, \
                       or cooperation \"cdm-consistent\", which makes pages durable before it grants them";
        return refuse("host.protecting", problem);
    }
    if device.host_buffer.exists() {
        let problem = "a write buffer of the host cannot be served: the clients are the host, their own page cache lies above the \
                       device, and NBD has no message that announces its dirty pages; \"0B\" is allowed";
        return refuse("host_buffer.size", problem);
    }
    // The container programs a page when its write is issued: a cut would not lose the pages that a volatile
    // cache must lose.
    if device.controller.volatile {
        let problem = "a write buffer that a power cut loses cannot be served: false is allowed, as with power-loss protection";
        return refuse("controller.volatile", problem);
    }
    Ok(device)
}

/// Tell that a side has lost its power.
pub(crate) fn power_was_cut(side: Side) -> &'static str {
    match side {
        Side::Device => "the power of the device was cut",
        Side::Host => "the power of the host was cut",
        Side::Both => "the power of host and device was cut",
    }
}

/// Refuse to cut the power of a host without memory of its own.
pub(crate) fn check_side(scenario: &Scenario, side: Side) -> Result<(), ScenarioError> {
    if side != Side::Host || scenario.cache.placement == Placement::Host {
        return Ok(());
    }
    let problem = "\"host\" was given; with the cache in the device \"device\" or \"both\" is allowed";
    Err(ScenarioError::new("side", problem.to_owned()))
}

/// The levels of a servable scenario: erased, or over the contents that were `found` in a container.
pub(crate) fn power_on<M: Media<When = When>>(
    scenario: &Scenario,
    found: Option<&Contents>,
    media: &mut M,
) -> Result<Tower<Ftl>, StartError<M::Error>> {
    let config = scenario.stack_config();
    let Some(contents) = found else { return Ok(Tower::erased(config)?) };
    let io = &mut Io { media, hook: CopyAll, start: When::at(Time::ZERO) };
    Tower::recover(config, contents, io).map_err(StartError::Recovery)
}
