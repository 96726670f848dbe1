//! A flash cache in front of disks that divides its flash into a read cache, a write cache and over-provisioned space.
//!
//! Y. Oh, J. Choi, D. Lee & S. H. Noh, "Caching less for better performance: balancing cache size and update cost of flash
//! memory cache in hybrid storage systems", FAST 2012.

pub mod costmodel;
pub mod disk;
