//! fio's `random_distribution=zipf`, which is no Zipf's law: draws of 32 bits, hashed to places, reach a small part of a
//! large space (15.5 million of 537 million blocks were counted), and the rest is never written.
//!
//! Source: fio 3.33. Cost: one draw and one power; up to 10 million powers to build.

use super::{AddressPolicy, Space, refuse};
use crate::skewed::Skewed;
use crate::{Op, WorkloadError};
use coflash_base::seed::Rng;
use coflash_base::{Policy, RandomStream};

coflash_base::config! {
    /// The parameters of `"fio-zipf"`.
    pub struct FioZipfConfig {
        /// Skew of the accesses (fio's theta), above 0 and up to 100, but not 1.
        pub exponent: f64 = 1.1,
    }
}

/// The generator `"fio-zipf"`.
#[derive(Clone, Debug)]
pub struct FioZipf {
    space_units: u64,
    places: Skewed,
}

impl Policy for FioZipf {
    type Config = FioZipfConfig;
    const SUMMARY: &'static str =
        "fio's approximation of Zipf's law, which reaches a small part of a large space.";
    const SOURCE: &'static str = "fio 3.33; Gray et al. 1994";
}

impl AddressPolicy for FioZipf {
    fn new(config: &FioZipfConfig, space: Space) -> Result<Self, WorkloadError> {
        let exponent = config.exponent;
        if !(exponent > 0.0 && exponent <= 100.0) || exponent == 1.0 {
            let problem =
                format!("{exponent} was given; a number above 0 and up to 100, but not 1, is allowed");
            return refuse("generator.exponent", problem);
        }
        let seed = space.seed.stream("layout").next_u64() as u32;
        Ok(Self { space_units: space.units, places: Skewed::zipf(exponent, space.units, None, seed) })
    }

    #[inline]
    fn start(&mut self, _: Op, length_units: u64, _: &mut RandomStream) -> u64 {
        self.places.draw().min(self.space_units - length_units)
    }
}
