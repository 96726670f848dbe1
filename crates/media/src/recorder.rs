//! Recorders, which hear of each flash operation that is issued.

use crate::{Cause, Ppn};
use coflash_base::{Lpn, Time};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// The kind of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// A read of a page.
    Read,
    /// A program of a page.
    Program,
    /// A read of a page, and a program of another one with its data.
    Copy,
    /// An erase of a block.
    Erase,
}

impl OperationKind {
    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Copy => "copy",
            Self::Erase => "erase",
        }
    }
}

/// A flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOperation {
    /// The kind.
    pub kind: OperationKind,
    /// The page that is read or programmed; for an erase the first one of the block.
    pub page: Ppn,
    /// The page that is copied.
    pub from: Option<Ppn>,
    /// The logical page whose data is programmed; `None` for a block summary.
    pub lpn: Option<Lpn>,
    /// The cause.
    pub cause: Cause,
    /// The time from which it may begin; the time at which it is issued, if that depends on an operation under way.
    pub time: Time,
    /// Its end. `None` if that is told when it comes.
    pub end: Option<Time>,
}

impl FlashOperation {
    /// Create an operation on a page, without times.
    #[inline(always)]
    pub(crate) fn new(kind: OperationKind, page: Ppn, cause: Cause) -> Self {
        Self { kind, page, from: None, lpn: None, cause, time: Time::ZERO, end: None }
    }
}

/// Hears of flash operations.
pub trait RecordsOperations: Debug + Send {
    /// Record an operation. Called in the order in which operations are issued.
    fn operation(&mut self, operation: &FlashOperation);

    /// An operation has ended whose end was not known. `number` counts operations from 0, modulo 2³².
    fn ended(&mut self, number: u32, at: Time);
}

/// A recorder that a media shares with others.
pub type OperationRecorder = Arc<Mutex<dyn RecordsOperations>>;
