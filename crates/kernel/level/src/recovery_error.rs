//! The error of recovery.

use coflash_base::Misfit;

/// The reason why a device cannot be recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveryError<E> {
    /// The contents do not fit the configuration.
    Misfit(Misfit),
    /// A flash operation failed.
    Flash(E),
}

impl<E> From<Misfit> for RecoveryError<E> {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}
