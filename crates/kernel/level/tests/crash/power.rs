//! The common part of the crash tests of all devices: histories to cut short, and the return of power.

use crate::support::{Bytes, Checked, Device, Moments, Setup};
use coflash_ftl::{FreeMark, FtlConfig};
use coflash_level::RecoveryError;

/// Eight blocks of two pages, two of them the host's.
pub(crate) fn small(scheme: &str, slots: u32, is_volatile: bool) -> Setup {
    let mut setup = Setup::tiny(8, 4).with_scheme(scheme).with_slots(slots);
    setup.geometry.pages_per_block = 2;
    setup.ftl = FtlConfig::default();
    setup.gc.low_mark = FreeMark::Blocks(2);
    setup.cache.volatile = is_volatile;
    setup.fit(2, 0)
}

/// Cut every sequence of up to `length` operations in its last one, and return the number of states, or the problem.
///
/// A cut ends a sequence, so that those that begin alike share what is cut in their beginnings. `cut` is given the
/// subject before the last operation.
pub(crate) fn cut_sequences<S: Clone, T: Copy>(
    ready: &S,
    operations: &[T],
    length: usize,
    apply: impl Fn(&mut S, T),
    cut: impl Fn(&S, &[T]) -> Result<u64, String>,
) -> Result<u64, String> {
    let mut states = 0;
    let mut begun = vec![(ready.clone(), Vec::new())];
    while let Some((before, beginning)) = begun.pop() {
        for &operation in operations {
            let sequence = [&beginning[..], &[operation]].concat();
            states += cut(&before, &sequence)?;
            if sequence.len() < length {
                let mut after = before.clone();
                apply(&mut after, operation);
                begun.push((after, sequence));
            }
        }
    }
    Ok(states)
}

/// Recover a device after a restart of its media. Returns false if power fails again in the meantime;
/// otherwise power stays.
pub(crate) fn recover<M: Bytes + Moments>(
    device: &mut Checked<Device, M>,
    setup: &Setup,
) -> Result<bool, String> {
    let restarted = device.restart(setup);
    if device.media.image().is_dead() {
        return Ok(false);
    }
    restarted.map_err(|error| match error {
        RecoveryError::Misfit(misfit) => misfit.to_string(),
        RecoveryError::Flash(_) => format!("{error:?} with power"),
    })?;
    device.rig.media.image_mut().cut_after(u64::MAX);
    device.assert_invariants();
    Ok(true)
}
