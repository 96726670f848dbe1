//! Measures of the host's requests.

use crate::latency::{Latency, PARTS};

coflash_base::measures! {
    /// Requests of the host.
    pub struct HostCounters in "", "Host" {
        /// Requests answered.
        requests: u64, "requests", requests;
        /// Pages that the host read, parts of pages included.
        host_reads_pages: u64, "pages read by the host", pages, untabled, series("host_reads_pages");
        /// Pages that the host wrote, parts of pages included.
        host_writes_pages: u64, "pages written by the host", pages, series("host_writes_pages");
        /// Whole pages that the host trimmed.
        host_trims_pages: u64, "host trims", pages, untabled;
        /// Bytes that the host read.
        host_reads_bytes: u64, "bytes read by the host", bytes, untabled;
        /// Bytes that the host wrote.
        host_writes_bytes: u64, "bytes written by the host", bytes, untabled;
        /// Flushes.
        flushes: u64, "flushes", requests, untabled;
    }
}

/// Response times of one kind of request.
macro_rules! responses {
    ($($name:ident in $path:literal, $kind:literal;)*) => {$(
        coflash_base::measures! {
            /// From the arrival of a request to its answer. Percentiles are ends of the bins of a histogram, each at most
            /// one part in 1,024 of its value wide; the other measures are exact.
            pub struct $name in $path, "Response times" {
                /// Requests.
                count: u64, concat!("requests", $kind), requests, untabled;
                /// The mean.
                mean: Option<f64>, concat!("response", $kind, ", mean"), ns, cost;
                /// The standard deviation.
                stddev: Option<f64>, concat!("response", $kind, ", std. deviation"), ns, cost;
                /// The time that half of the requests do not exceed.
                p50: Option<u64>, concat!("response", $kind, ", p50"), ns, cost, binned(PARTS), untabled;
                /// The time that 90 % of the requests do not exceed.
                p90: Option<u64>, concat!("response", $kind, ", p90"), ns, cost, binned(PARTS), untabled;
                /// The time that 99 % of the requests do not exceed.
                p99: Option<u64>, concat!("response", $kind, ", p99"), ns, cost, binned(PARTS);
                /// The time that 99.9 % of the requests do not exceed.
                p99_9: Option<u64>, concat!("response", $kind, ", p99.9"), ns, cost, binned(PARTS);
                /// The time that 99.99 % of the requests do not exceed.
                p99_99: Option<u64>, concat!("response", $kind, ", p99.99"), ns, cost, binned(PARTS), untabled;
                /// The maximum.
                max: Option<u64>, concat!("response", $kind, ", maximum"), ns, cost, untabled;
            }
        }

        impl From<&Latency> for $name {
            fn from(latency: &Latency) -> Self {
                let at = |quantile| latency.at(quantile);
                Self {
                    count: latency.count(),
                    mean: latency.mean(),
                    stddev: latency.stddev(),
                    p50: at(0.5),
                    p90: at(0.9),
                    p99: at(0.99),
                    p99_9: at(0.999),
                    p99_99: at(0.9999),
                    max: latency.max(),
                }
            }
        }
    )*};
}

responses! {
    AllResponses in "response_ns.all", "";
    ReadResponses in "response_ns.read", ", reads";
    WriteResponses in "response_ns.write", ", writes";
}
