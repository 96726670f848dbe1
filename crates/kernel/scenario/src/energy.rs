//! The energy of flash operations.

use coflash_base::Energy;

coflash_base::config! {
    /// Energy of flash operations, from a data sheet or from measurements such as those of Grupp et al. (MICRO 2009). Without any,
    /// a result has no energy. What the device takes when idle, and its controller, are not part of it.
    #[derive(Eq)]
    pub struct EnergyConfig {
        /// Energy of the array for a page read, also of one that is copied.
        pub page_read: Energy,
        /// Energy of the array for a page program, also of a copy.
        pub page_program: Energy,
        /// Energy of a block erase.
        pub block_erase: Energy,
        /// Energy of a page's transfer over the bus of its channel.
        pub page_transfer: Energy,
    }
}
