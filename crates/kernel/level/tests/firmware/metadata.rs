//! The order in which each event writes data, metadata and flash. A label is stored after its data and before
//! flash gives up its version; it is erased after flash has the data and before the slot is used again. Data
//! written to a slot without a label is "data nothing".

use crate::noted::Noted;
use crate::support::{Checked, Device, Operation, PastCache, Setup, Tapped, X, Y, Z};
use coflash_ftl::Trigger;
use coflash_testing::Image;

const READ: Operation = Operation::Read(X);
const WRITE: Operation = Operation::Write(X);
const PART: Operation = Operation::Part(X);
const TRIM: Operation = Operation::Trim(X);
/// The cache has two slots, so that X leaves.
const EVICT: [Operation; 2] = [Operation::Read(Y), Operation::Read(Z)];

type Subject = Checked<Device, Tapped<Image, Noted>>;

/// A device with X in flash, in the oldest block.
fn device(scheme: &str, slots: u32, is_volatile: bool) -> Subject {
    let mut setup = Setup::oldest_first().with_slots(slots).with_scheme(scheme);
    setup.gc.trigger = Trigger::Operation;
    setup.cache.volatile = is_volatile;
    let media = Tapped { inner: setup.image(), tap: Noted::new(setup.layout()) };
    let mut device = Checked::new(setup.device(), media, setup.geometry.dies());
    device.set_the_scene();
    device
}

/// The writes of the operations, after others.
fn order(device: &mut Subject, before: &[Operation], operations: &[Operation]) -> String {
    before.iter().for_each(|&operation| device.apply(operation).expect("flash is sound"));
    device.media.tap.log.clear();
    let stored = |device: &Subject| [device.count("metadata.stores"), device.count("metadata.fences")];
    let counted = stored(device);
    operations.iter().for_each(|&operation| device.apply(operation).expect("flash is sound"));
    device.assert_invariants();
    let log = device.media.tap.log.join(", ");
    let noted = |words: &[&str]| {
        let is_one = |entry: &&String| words.iter().any(|word| entry.starts_with(word));
        device.media.tap.log.iter().filter(is_one).count() as u64
    };
    let seen = [noted(&["committed", "free", "absent", "present"]), noted(&["fence"])];
    assert_eq!(
        [0, 1].map(|n| stored(device)[n] - counted[n]),
        seen,
        "the stores and fences counted in {log}"
    );
    log
}

#[test]
fn a_durable_cache_labels_what_only_it_has() {
    for (before, operations, expected) in [
        (&[][..], &[READ][..], "read X, data nothing"),
        (&[], &[WRITE], "data nothing, fence, committed X, fence"),
        (&[], &[PART], "read X, data nothing, data nothing, fence, committed X, fence"),
        (&[READ], &[WRITE], "data nothing, fence, committed X, fence"),
        (&[WRITE], &[WRITE], "data X, fence"),
        (&[WRITE], &[PART], "data X, fence"),
        (&[], &[TRIM], "absent X, fence"),
        (&[TRIM], &[TRIM], ""),
        (&[WRITE], &[TRIM], "absent X, fence, free X, fence"),
        (&[TRIM, WRITE], &[TRIM], "free X, fence"),
        (&[READ], &[TRIM], "absent X, fence"),
        (&[READ], &EVICT, "read Y, data nothing, read Z, data nothing"),
        (&[WRITE], &EVICT, "read Y, data nothing, read Z, program X, free X, fence, data nothing"),
        (
            &[TRIM, WRITE],
            &EVICT,
            "read Y, data nothing, read Z, program X, present X, fence, free X, fence, data nothing",
        ),
    ] {
        for scheme in ["\"none\"", "\"cdm\""] {
            let mut device = device(scheme, 2, false);
            assert_eq!(
                order(&mut device, before, operations),
                expected,
                "{scheme}: {before:?}, {operations:?}"
            );
        }
    }
}

#[test]
fn a_page_is_dropped_when_its_copy_is_labelled() {
    let mut device = device("\"cdm\"", 2, false);
    device.apply(READ).expect("flash is sound");
    device.use_up_free_blocks(1);
    let happened = order(&mut device, &[], &EVICT[..1]);
    assert_eq!(happened, "fence, committed X, fence, erase, read Y, data nothing");
}

#[test]
fn a_page_that_is_invalid_when_it_is_read_is_labelled_then() {
    let happened = order(&mut device("\"cdm-invalidate-on-cache\"", 2, false), &[], &[READ]);
    assert_eq!(happened, "read X, data nothing, fence, committed X, fence");
}

/// Their data is not durable, or in flash at once: the bits of trimmed pages are all their metadata.
#[test]
fn other_devices_note_trims_alone() {
    for (slots, before, operations, expected) in [
        (0, &[][..], &[WRITE][..], "program X"),
        (0, &[], &[TRIM], "absent X, fence"),
        (0, &[TRIM], &[WRITE], "program X, present X, fence"),
        (2, &[], &[WRITE], "data nothing"),
        (2, &[WRITE], &[TRIM], "absent X, fence"),
        (2, &[TRIM], &[WRITE, Operation::Flush], "data nothing, program X, present X, fence"),
    ] {
        for scheme in ["\"none\"", "\"ggc\""] {
            let mut device = device(scheme, slots, true);
            assert_eq!(
                order(&mut device, before, operations),
                expected,
                "{scheme}: {before:?}, {operations:?}"
            );
        }
    }
    assert_eq!(order(&mut device("\"cdm\"", 0, false), &[TRIM], &[WRITE]), "program X, present X, fence");
}
