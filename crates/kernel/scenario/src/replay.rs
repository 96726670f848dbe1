//! The replay of a workload.

coflash_base::config! {
    /// The issue times of requests.
    pub enum ReplayMode {
        /// Open loop: at the arrival times of the workload.
        Open,
        /// Closed loop: as soon as fewer than `queue_depth` requests are outstanding; arrival times are ignored.
        Closed,
    }

    /// The replay of the workload.
    pub struct ReplayConfig {
        /// Issue times: those of the workload (open), or set by the completions (closed). Default: closed for a workload whose
        /// requests all arrive at the same time, be it generated or a trace without times, else open.
        pub mode: Option<ReplayMode>,
        /// Outstanding requests in a closed loop.
        pub queue_depth: u32 = 32,
        /// Factor on the arrival times in an open loop; 0.5 doubles the speed.
        pub time_scale: f64 = 1.0,
    }
}
