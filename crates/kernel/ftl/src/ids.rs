//! Ids of the FTL.

use coflash_base::id_type;

id_type!(
    /// An allocation pool: a plane, a die or the device.
    PoolId
);
id_type!(
    /// A group of write streams that fill the same active block of each pool.
    GroupId
);
id_type!(
    /// A block by its number in its pool.
    LocalBlock
);
