//! Power on: the levels of a scenario over an erased device, or over the contents of a container.

use coflash_base::{Bytes, Time};
use coflash_ftl::{CopyAll, Io};
use coflash_level::{Device, Placement, RecoveryError};
use coflash_media::{Contents, Media, Timeline, When};
use coflash_scenario::{
    PlainStack, PreconditionConfig, ReplayConfig, RestartConfig, Scenario, ScenarioError, WorkloadConfig,
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
/// It has parts that cannot be served: a cache or a buffer in the host, disks, a write buffer that a power
/// cut loses.
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
        return refuse("hybrid", "a flash cache before disks cannot be served; a device without disks can");
    }
    if device.cache.placement != Placement::InStorage {
        return refuse("cache.placement", "\"host\" cannot be served: \"in-storage\" is allowed");
    }
    if device.host_buffer.exists() {
        return refuse("host_buffer.size", "a buffer in the host cannot be served: \"0B\" is allowed");
    }
    if device.ftl.placement.needs_future() {
        return refuse(
            "ftl.placement",
            "what a client will write is not known ahead: a policy that is no oracle is allowed",
        );
    }
    // The container programs a page when its write is issued: a cut would not lose the pages that a volatile
    // cache must lose.
    if device.controller.volatile {
        let problem = "a write buffer that a power cut loses cannot be served: false is allowed, as with power-loss protection";
        return refuse("controller.volatile", problem);
    }
    Ok(device)
}

/// The timeline of a scenario, with the state of the flash that was `found`.
pub(crate) fn timeline(scenario: &Scenario, found: Option<&Contents>) -> Timeline {
    let mut timeline = scenario.timeline();
    found.into_iter().for_each(|contents| timeline.find(contents));
    timeline
}

/// The levels of a servable scenario, erased or recovered.
pub(crate) fn power_on<M: Media<When = When>>(
    scenario: &Scenario,
    found: Option<&Contents>,
    media: &mut M,
) -> Result<PlainStack, StartError<M::Error>> {
    let config = scenario.device();
    let device = match found {
        None => Device::new(&config).map_err(ScenarioError::from)?,
        Some(contents) => {
            let io = &mut Io { media, hook: CopyAll, start: When::at(Time::ZERO) };
            Device::recover(&config, contents, io).map_err(StartError::Recovery)?
        }
    };
    Ok(scenario.link_over(device))
}
