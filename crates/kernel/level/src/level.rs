//! The contract of a level of the storage stack.
//!
//! Caches, write buffers and links are levels; the FTL is the lowest one. Each level serves pages and uses
//! the level below. A level makes decisions. It has no clock and holds no data: operations go to a [`Media`],
//! and the time is an argument.
//!
//! **The life of a request.** [`pass_time`](Level::pass_time) up to its arrival; [`begin`](Level::begin); its
//! pages, one call each, in the order of their addresses, or one [`flush`](Level::flush);
//! [`end`](Level::end). The request is answered at the latest moment that these calls returned, plus the
//! duration that `end` returned. A level issues its own commands to the level below in the same way. A cache
//! begins a command on the level below when a request begins, since it does not know yet which pages it will
//! need. A link below a cache begins one on the device for each page that crosses.
//!
//! **Moments.** `after` is the earliest moment at which a page may be served. The returned moment is the end
//! of its service. `io.start` is the beginning of the request, for work done on the way (garbage collection).
//! A moment may be passed on, to any number of operations, before time advances; `io.start` at any time.
//!
//! **Failures** are passed up. A page that cannot be read fails only its read. After a failed write the stack
//! is read-only, and every page keeps its data.

use coflash_base::measure::Report;
use coflash_base::{Ahead, Duration, Lpn, Op, Time};
use coflash_ftl::{Ftl, GcHook, Io, PageRead, PageWrite};
use coflash_media::{DieId, Media, Memory};

/// The header of a request; its pages follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The operation.
    pub op: Op,
    /// The bytes that it transfers or trims.
    pub bytes: u64,
    /// The first page, if there is any. The pages need not be adjacent, since a workload may scatter addresses.
    pub first: Option<Lpn>,
    /// The number of its pages.
    pub pages: u32,
    /// How its data crosses a link.
    pub crossing: Crossing,
}

/// How the data of a command crosses a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// As a whole: before the first page of a write, after the last page of a read.
    Whole,
    /// Page by page, and only the pages that the cache above cannot serve. This is the first.
    First,
    /// A further page of the same command.
    Next,
}

impl Command {
    /// The command as a cache passes it down: only some of its pages may follow.
    #[must_use]
    pub fn page_by_page(self) -> Self {
        Self { crossing: Crossing::First, ..self }
    }
}

/// A level of the stack. The module describes the order of calls.
pub trait Level<M: Media> {
    /// The number of its logical pages.
    fn logical_pages(&self) -> u32;

    /// Prefetch the memory for the service of a page, here and below. It changes nothing, and is optional.
    fn look_ahead(&self, lpn: Lpn, ahead: Ahead);

    /// Whether [`pass_time`](Self::pass_time) may have work, here or below. Otherwise neither it nor
    /// [`next_due`](Self::next_due) need be called. Only a restart changes it.
    fn is_timed(&self) -> bool;

    /// Advance time to `now` and do the work due by then: commits, refreshes, writes of aged pages, delivery of
    /// notices. Called before each request, and at each [`next_due`](Self::next_due).
    ///
    /// # Errors
    /// A flash operation failed.
    fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;

    /// The next time at which work is due without a request.
    fn next_due(&self) -> Option<Time>;

    /// Begin a request. Returns the earliest moment at which its pages may be served.
    fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When;

    /// Read a page. Returns `None` for a page never written, or trimmed; such a read is answered at once.
    ///
    /// # Errors
    /// The page cannot be read.
    fn read<H: GcHook>(
        &mut self,
        page: PageRead,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<Option<M::When>, M::Error>;

    /// Write a page or a part of it.
    ///
    /// # Errors
    /// The page is not written.
    fn write<H: GcHook>(
        &mut self,
        page: PageWrite,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error>;

    /// Trim a page. It reads as never written from the answer on, also after a restart or a power cut of the
    /// device (`cdm-consistent`: from the commit on). Returns the earliest moment for the trim of the
    /// request's next page.
    ///
    /// # Errors
    /// A flash operation failed.
    fn trim<H: GcHook>(
        &mut self,
        lpn: Lpn,
        after: M::When,
        io: &mut Io<'_, M, H>,
    ) -> Result<M::When, M::Error>;

    /// Make all answered writes durable. Appends the moments that the answer must wait for.
    ///
    /// # Errors
    /// A flash operation failed.
    fn flush<H: GcHook>(
        &mut self,
        after: M::When,
        io: &mut Io<'_, M, H>,
        parts: &mut Vec<M::When>,
    ) -> Result<(), M::Error>;

    /// End a request. Returns the time from its last page to its answer.
    ///
    /// # Errors
    /// A flash operation failed.
    fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error>;

    /// Handle a moment reported by the media at the level's request, with the level's `tag`.
    ///
    /// # Errors
    /// A flash operation failed.
    fn notify<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;

    /// Whether adjacent pages of a read are one transfer below, as of disks: such a read crosses a link whole.
    fn joins_pages(&self) -> bool;

    /// Do one step of background work on a die that is idle at `io.start`. Returns false if there is none.
    ///
    /// # Errors
    /// A flash operation failed.
    fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error>;

    /// Lose volatile state, and go on with the rest, as after recovery: write buffers are empty, non-volatile caches
    /// keep the pages that flash lacks, messages on their way are lost, and flash has no marks but those of these
    /// pages. Its fast blocks are refreshed. Called between requests, after [`pass_time`](Self::pass_time). Returns
    /// the number of versions lost, here and below. Levels in front of disks refuse it by a panic: requests wait for transfers that a
    /// restart would end, and no scenario has both.
    ///
    /// # Errors
    /// A flash operation failed.
    fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error>;

    /// Add the counters of this level and of the levels below to a report.
    fn report(&self, report: &mut Report);

    /// The flash translation layer at the bottom, to be looked at.
    fn ftl(&self) -> &Ftl;

    /// What another tier holds of a page of [`ftl`](Self::ftl), by its number there: the uppermost cache or write buffer
    /// that has it, or the disks below.
    fn elsewhere(&self, page: Lpn) -> Option<Elsewhere>;

    /// Panic unless the level is consistent in itself and with the levels below. For tests: it recounts everything.
    fn assert_invariants(&self);
}

/// What another tier holds of a page in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// The same data.
    Same,
    /// Newer data.
    Newer,
}

/// Versions of pages that a restart has lost, since no flush or commit had made them durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPages {
    /// Those in memories of the host.
    pub host: u64,
    /// Those in the device.
    pub device: u64,
}

impl LostPages {
    /// Add pages of a memory.
    #[must_use]
    pub(crate) fn plus(self, memory: Memory, pages: u64) -> Self {
        match memory {
            Memory::Host | Memory::HostBuffer => Self { host: self.host + pages, ..self },
            Memory::Device => Self { device: self.device + pages, ..self },
        }
    }
}

/// Forward methods of [`Level`] to the variant of an enum, or to the level below. The argument is the macro that matches on the
/// enum or names the level. Of a level below, the groups to forward follow: `life` is what begins, ends and makes durable, `time` the
/// passing of time, idle work and restarts, `pages` all that is done with pages but their writing, `numbers` the other questions. What is left out does not compile. It imports the types that the methods name.
///
/// ```ignore
/// impl<M: Media> Level<M> for Stack {
///     coflash_level::forward_level!(stack_dispatch);
/// }
/// ```
#[macro_export]
macro_rules! forward_level {
    ($dispatch:ident) => {
        $crate::forward_level!($dispatch: life time pages write logical_pages numbers rest);
    };
    ($dispatch:ident: $($group:ident)*) => {
        $($crate::forward_level!(@$group $dispatch);)*
    };
    (=$dispatch:ident $($method:tt)*) => {
        coflash_base::forward_to_variant! { $dispatch as $crate::Level<M>; $($method)* }
    };
    (@life $dispatch:ident) => { $crate::forward_level! { =$dispatch
        fn begin<H: GcHook>(&mut self, command: &Command, io: &mut Io<'_, M, H>) -> M::When;
        fn flush<H: GcHook>(&mut self, after: M::When, io: &mut Io<'_, M, H>, parts: &mut Vec<M::When>) -> Result<(), M::Error>;
        fn end<H: GcHook>(&mut self, io: &mut Io<'_, M, H>) -> Result<Duration, M::Error>;
    } };
    (@time $dispatch:ident) => { $crate::forward_level! { =$dispatch
        fn is_timed(&self) -> bool;
        fn pass_time<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn work_idle<H: GcHook>(&mut self, die: DieId, io: &mut Io<'_, M, H>) -> Result<bool, M::Error>;
        fn notify<H: GcHook>(&mut self, tag: u32, at: Time, io: &mut Io<'_, M, H>) -> Result<(), M::Error>;
        fn restart<H: GcHook>(&mut self, now: Time, io: &mut Io<'_, M, H>) -> Result<LostPages, M::Error>;
    } };
    (@pages $dispatch:ident) => { $crate::forward_level! { =$dispatch
        fn read<H: GcHook>(&mut self, page: PageRead, after: M::When, io: &mut Io<'_, M, H>) -> Result<Option<M::When>, M::Error>;
        fn trim<H: GcHook>(&mut self, lpn: Lpn, after: M::When, io: &mut Io<'_, M, H>) -> Result<M::When, M::Error>;
        fn report(&self, report: &mut Report);
    } };
    (@write $dispatch:ident) => { $crate::forward_level! { =$dispatch
        fn write<H: GcHook>(&mut self, page: PageWrite, after: M::When, io: &mut Io<'_, M, H>) -> Result<M::When, M::Error>;
    } };
    (@logical_pages $dispatch:ident) => {
        $crate::forward_level! { =$dispatch fn logical_pages(&self) -> u32; }
    };
    (@numbers $dispatch:ident) => {
        $crate::forward_level! { =$dispatch fn joins_pages(&self) -> bool; fn ftl(&self) -> &coflash_ftl::Ftl; }
    };
    (@rest $dispatch:ident) => { $crate::forward_level! { =$dispatch
        fn look_ahead(&self, lpn: Lpn, ahead: Ahead);
        fn elsewhere(&self, page: Lpn) -> Option<$crate::Elsewhere>;
        fn next_due(&self) -> Option<Time>;
        fn assert_invariants(&self);
    } };
}
