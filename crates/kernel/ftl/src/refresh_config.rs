//! Refresh in a scenario.

use coflash_base::{Duration, Misfit};

coflash_base::config! {
    /// Refresh: rewriting data before it fades.
    #[derive(Eq)]
    pub struct RefreshConfig {
        /// Retention time of data that was programmed fast (T). Without it, data does not fade.
        pub fast_retention: Option<Duration>,
        /// Retention time of any other data. Without it, data does not fade.
        pub retention: Option<Duration>,
        /// Allowance for time without power (D): data is refreshed this much earlier. Must be less than either retention
        /// time.
        pub power_off: Duration,
    }
}

impl RefreshConfig {
    /// Check that the values fit together.
    pub(crate) fn check(&self) -> Result<(), Misfit> {
        let too_short = |retention: &Duration| *retention <= self.power_off;
        match [self.fast_retention, self.retention].into_iter().flatten().find(too_short) {
            Some(retention) => {
                let allowed = format!("less than the retention of {retention}");
                Err(Misfit::out_of_range("ftl.refresh.power_off", self.power_off, &allowed))
            }
            None => Ok(()),
        }
    }
}
