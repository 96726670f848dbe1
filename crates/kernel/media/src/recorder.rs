//! Recorders of each issued flash operation.

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
    /// The source page of a copy.
    pub from: Option<Ppn>,
    /// The logical page of the programmed data; `None` for a block summary.
    pub lpn: Option<Lpn>,
    /// The cause.
    pub cause: Cause,
    /// The earliest start; the time of issue, if the start depends on a pending operation.
    pub time: Time,
    /// Its end; `None` if that is reported later.
    pub end: Option<Time>,
}

impl FlashOperation {
    /// Create an operation on a page, without times.
    #[inline(always)]
    pub(crate) fn new(kind: OperationKind, page: Ppn, cause: Cause) -> Self {
        Self { kind, page, from: None, lpn: None, cause, time: Time::ZERO, end: None }
    }
}

/// A recorder of flash operations.
pub trait RecordsOperations: Debug + Send {
    /// Record an operation. Called in the order of issue.
    fn operation(&mut self, operation: &FlashOperation);

    /// Record the end of an operation, if it was unknown. `number` counts operations from 0, modulo 2³².
    fn ended(&mut self, number: u32, at: Time);
}

/// A recorder that a media shares with others.
pub type OperationRecorder = Arc<Mutex<dyn RecordsOperations>>;
