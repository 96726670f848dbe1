//! Failing flash: an unreadable page fails its read and nothing else; after a failed program nothing is lost that was
//! there before.

use crate::storms::setups;
use crate::support::{Call, Checked, Look, Named, Operation, Setup, Stack, Tap, Tapped, Then, lpn};
use coflash_base::seed::{RandomStream, RngExt};
use coflash_base::{Duration, Lpn, Seed};
use coflash_ftl::RefreshConfig;
use coflash_testing::{Image, ImageError};

/// Setups in which only requests cause events, each of a single page, and a stream of operations for each.
fn quiet_setups() -> impl Iterator<Item = (u64, Setup, RandomStream)> {
    setups(1).map(|(seed, mut setup)| {
        setup.ftl.refresh = RefreshConfig::default();
        setup.buffer.dirty_age_max = Duration { ns: u64::MAX >> 8 };
        setup.pages_per_unit = 1;
        (seed, setup, Seed(seed).stream("operations"))
    })
}

/// A page that lies in flash and in no cache.
fn uncached(stack: &Checked<Stack>) -> Option<Lpn> {
    let is_cached = |page| stack.level.caches().iter().any(|(_, cache)| cache.lookup(page).is_some());
    let mut pages = (0..stack.pages()).map(lpn);
    // One that cdm-consistent has deleted is in flash until that is committed.
    let is_zero = |page: Lpn| stack.model[page.get() as usize] == [0; crate::support::PAGE_BYTES];
    pages.find(|&page| stack.level.flash().lookup(page).is_some() && !is_cached(page) && !is_zero(page))
}

#[test]
fn a_page_that_cannot_be_read_fails_its_read_and_nothing_else() {
    let mut spoilt = 0;
    for (seed, setup, mut stream) in quiet_setups() {
        let _named = Named((seed, &setup));
        let mut stack = Checked::stack(&setup);
        stack.fill().expect("flash is sound");
        for _ in 0..100 {
            stack.apply_drawn(&mut stream).expect("flash is sound");
        }
        let Some(page) = uncached(&stack) else { continue };
        spoilt += 1;
        stack.rig.media.spoil(stack.level.flash().lookup(page).expect("it lies there"));
        // A read or a write of a part, and then of all others, and of this one as long as it is not overwritten.
        for operation in [Operation::Part(page), Operation::Read(page), Operation::Part(page)] {
            let failed = stack.apply(operation).expect_err("it cannot be read");
            assert!(matches!(failed, ImageError::Unreadable(_)), "{operation:?}: {failed:?}");
            let caches = stack.level.caches();
            assert!(
                caches.iter().all(|(_, cache)| cache.lookup(page).is_none()),
                "no slot keeps half a page"
            );
            stack.assert_invariants();
        }
        for other in (0..stack.pages()).map(lpn).filter(|&other| other != page) {
            stack.apply(Operation::Read(other)).expect("it can be read");
        }
        for operation in [Operation::Read(page), Operation::Part(page)] {
            stack.apply(operation).expect_err("it cannot be read yet");
        }
        for operation in
            [Operation::Write(page), Operation::Read(page), Operation::Part(page), Operation::Flush]
        {
            stack.apply(operation).expect("it is written again");
        }
        stack.read_all().expect("every page can be read");
        stack.assert_invariants();
    }
    assert!(spoilt > 300, "{spoilt} pages");
}

/// Flash that fails after a number of changes.
#[derive(Clone, Copy, Debug)]
struct ReadOnlyAfter(u32);

impl Tap<Image> for ReadOnlyAfter {
    fn hear(&mut self, call: Call, _: &mut Image) -> Then<ImageError> {
        let page = match call {
            Call::Program(page, ..) | Call::Copy(_, page, ..) => page,
            Call::Erase(..) => coflash_media::Ppn::new(0),
            _ => return Then::Goes,
        };
        match self.0.checked_sub(1) {
            Some(left) => self.0 = left,
            None => return Then::Fails(ImageError::Unreadable(page)),
        }
        Then::Goes
    }
}

#[test]
fn nothing_is_lost_when_flash_refuses_to_be_changed() {
    let mut failures = 0;
    for (seed, setup, stream) in quiet_setups() {
        for more in (0..200).step_by(20) {
            let mut stream = stream.clone();
            let changes = setup.logical_pages() + more + stream.random_range(0..20);
            let _named = Named((seed, changes, &setup));
            failures += refused_after(changes, &setup, &mut stream);
        }
    }
    assert!(failures > 100_000, "{failures} operations failed");
}

/// The number of failing operations; reads never fail.
fn refused_after(changes: u32, setup: &Setup, stream: &mut RandomStream) -> u32 {
    let media = Tapped { inner: setup.image(), tap: ReadOnlyAfter(changes) };
    let mut stack = Checked::new(setup.stack(), media, setup.geometry.dies());
    let mut failures = 0;
    for _ in 0..400 {
        let operation = Operation::draw(stream, setup.logical_pages());
        let done = stack.apply(operation);
        let may_fail = stack.media.tap.0 == 0 && !matches!(operation, Operation::Read(_));
        assert!(done.is_ok() || may_fail, "{operation:?}: {done:?}");
        failures += u32::from(done.is_err());
    }
    for _ in 0..2 {
        stack.read_all().expect("every page can be read");
    }
    failures
}
