//! Test doubles of the outside world. The tests of other crates use them; no product does.
//!
//! | concept | place |
//! |---|---|
//! | bytes, the rules of NAND, power cuts ([`Image`]) | `image.rs` |

mod image;

pub use image::{Done, Image, ImageError, Spare};
