//! A media that somebody listens to, and may sabotage.

use coflash_base::{Duration, Time};
use coflash_media::{Access, BlockId, Cause, Clock, DieId, Flash, Media, Nvm, Oob, Place, Ppn, Slot};
use coflash_testing::Image;

/// One call of a media, with its arguments but for the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Read(Ppn, Place, Cause),
    Program(Ppn, Oob, Place, Cause),
    Copy(Ppn, Ppn, Oob, Cause),
    Erase(BlockId, Cause),
    Access(Slot, Access),
    Store(u32, u64),
    Fence,
}

/// The result of a call.
pub(crate) enum Then<E> {
    /// It is carried out.
    Goes,
    /// It has no effect.
    IsLost,
    /// It fails.
    Fails(E),
}

/// Listens to the calls of a media, each before it is carried out.
pub(crate) trait Tap<M: Media> {
    fn hear(&mut self, call: Call, media: &mut M) -> Then<M::Error>;
}

/// Notes every call.
impl<M: Media> Tap<M> for Vec<Call> {
    fn hear(&mut self, call: Call, _: &mut M) -> Then<M::Error> {
        self.push(call);
        Then::Goes
    }
}

/// A media and its listener.
#[derive(Clone, Debug)]
pub(crate) struct Tapped<M, T> {
    pub(crate) inner: M,
    pub(crate) tap: T,
}

/// A media that keeps bytes.
pub(crate) trait Bytes: Media<When = ()> {
    fn image(&self) -> &Image;
    fn image_mut(&mut self) -> &mut Image;
}

impl Bytes for Image {
    fn image(&self) -> &Image {
        self
    }

    fn image_mut(&mut self) -> &mut Image {
        self
    }
}

impl<M: Bytes, T: Tap<M>> Bytes for Tapped<M, T> {
    fn image(&self) -> &Image {
        self.inner.image()
    }

    fn image_mut(&mut self) -> &mut Image {
        self.inner.image_mut()
    }
}

impl<M: Clock, T> Clock for Tapped<M, T> {
    type When = M::When;

    fn later(&self, after: M::When, by: Duration) -> M::When {
        self.inner.later(after, by)
    }

    fn both(&mut self, one: M::When, other: M::When) -> M::When {
        self.inner.both(one, other)
    }

    fn known(&self, when: M::When) -> Option<Time> {
        self.inner.known(when)
    }
}

impl<M: Media, T: Tap<M>> Tapped<M, T> {
    /// Carries a flash operation out, or not.
    fn flash(
        &mut self,
        call: Call,
        after: M::When,
        operate: impl FnOnce(&mut M) -> Result<M::When, M::Error>,
    ) -> Result<M::When, M::Error> {
        match self.tap.hear(call, &mut self.inner) {
            Then::Goes => operate(&mut self.inner),
            Then::IsLost => Ok(after),
            Then::Fails(error) => Err(error),
        }
    }

    fn goes(&mut self, call: Call) -> bool {
        matches!(self.tap.hear(call, &mut self.inner), Then::Goes)
    }
}

impl<M: Media, T: Tap<M>> Flash for Tapped<M, T> {
    type Error = M::Error;

    fn read(&mut self, page: Ppn, to: Place, cause: Cause, after: M::When) -> Result<M::When, M::Error> {
        self.flash(Call::Read(page, to, cause), after, |media| media.read(page, to, cause, after))
    }

    fn program(
        &mut self,
        page: Ppn,
        oob: Oob,
        from: Place,
        cause: Cause,
        after: M::When,
    ) -> Result<M::When, M::Error> {
        let call = Call::Program(page, oob, from, cause);
        self.flash(call, after, |media| media.program(page, oob, from, cause, after))
    }

    fn copy(
        &mut self,
        from: Ppn,
        to: Ppn,
        oob: Oob,
        cause: Cause,
        after: M::When,
    ) -> Result<M::When, M::Error> {
        let call = Call::Copy(from, to, oob, cause);
        self.flash(call, after, |media| media.copy(from, to, oob, cause, after))
    }

    fn erase(&mut self, block: BlockId, cause: Cause, after: M::When) -> Result<M::When, M::Error> {
        self.flash(Call::Erase(block, cause), after, |media| media.erase(block, cause, after))
    }

    fn await_programs(&mut self, parts: &mut Vec<M::When>) {
        self.inner.await_programs(parts);
    }

    fn backlog(&self, die: DieId, now: M::When) -> u64 {
        self.inner.backlog(die, now)
    }
}

impl<M: Media, T: Tap<M>> Nvm for Tapped<M, T> {
    fn access(&mut self, slot: Slot, access: Access, after: M::When) -> M::When {
        if self.goes(Call::Access(slot, access)) { self.inner.access(slot, access, after) } else { after }
    }

    fn store(&mut self, word: u32, value: u64) {
        if self.goes(Call::Store(word, value)) {
            self.inner.store(word, value);
        }
    }

    fn buffer(&mut self, after: M::When) -> M::When {
        self.inner.buffer(after)
    }

    fn unbuffer(&mut self, done: M::When) {
        self.inner.unbuffer(done);
    }

    fn fence(&mut self) {
        if self.goes(Call::Fence) {
            self.inner.fence();
        }
    }
}
