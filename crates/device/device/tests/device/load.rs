//! The load of a server.

use coflash_device::LoadMeter;
use std::time::{Duration, Instant};

#[test]
#[allow(clippy::disallowed_methods, reason = "a moment to count from: no other is read")]
fn queue_depth_is_a_mean_over_time_and_an_interval_begins_anew() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let meter = LoadMeter::new(start);
    meter.arrived(3, at(10));
    meter.answered(2, at(10), at(20));
    let load = meter.take(at(40));
    // Nothing for 10 ms, three for 10 ms, one for 20 ms.
    assert!((load.queue_depth - 50.0 / 40.0).abs() < 1e-9, "{load:?}");
    assert_eq!((load.requests, load.response_mean_ns), (2, Some(10e6)));
    meter.answered(1, at(10), at(50));
    let load = meter.take(at(60));
    assert!((load.queue_depth - 0.5).abs() < 1e-9, "{load:?}");
    assert_eq!((load.requests, load.response_mean_ns), (1, Some(40e6)));
    let idle = meter.take(at(70));
    assert_eq!(
        (idle.requests, idle.queue_depth, idle.response_mean_ns, idle.response_p99_ns),
        (0, 0.0, None, None)
    );
}
