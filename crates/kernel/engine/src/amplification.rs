//! Write amplification: programs for each page or byte written.

use crate::host::HostCounters;
use coflash_base::measure::{Report, ratio};
use coflash_ftl::Programs;
use coflash_level::{CacheCounters, HOST_BUFFER};

coflash_base::measures! {
    /// Flash programs for each page that was written.
    pub struct Amplification in "", "Write amplification" {
        /// Pages arriving at the FTL: host writes past the cache, and evictions.
        ftl_writes_pages: u64, "pages written to the FTL", pages, untabled;
        /// All programs for each page that the host wrote.
        waf_host: Option<f64>, "WAF, by host writes", ratio, cost;
        /// All programs for each page arriving at the FTL.
        waf_ftl: Option<f64>, "WAF, by FTL writes", ratio, cost;
        /// Bytes programmed for each byte that the host wrote, as drives count: a part of a page costs a page.
        waf_media: Option<f64>, "WAF, by bytes", ratio, cost, unlike("waf_host");
        /// Simulated time from the start to the last answer.
        simulated_ns: u64, "simulated time", ns, untabled;
    }
}

coflash_base::measures! {
    /// Flash programs for each page that reached the device.
    pub struct DeviceAmplification in "host_buffer", "Write amplification of the device" {
        /// All flash programs for each page written to the device, as the ShadowGC paper counts.
        waf_device: Option<f64>, "WAF, by device writes", ratio, cost;
    }
}

/// Add the metrics derived from the counters of several levels.
pub(crate) fn add_amplification(report: &mut Report, page_bytes: u64) {
    let by_cause = report.get::<Programs>();
    let (programs, ftl_writes_pages) = (by_cause.all(), by_cause.of_the_host());
    let HostCounters { host_writes_pages, host_writes_bytes, .. } = report.get();
    report.add(&Amplification {
        ftl_writes_pages,
        waf_host: ratio(programs, host_writes_pages),
        waf_ftl: ratio(programs, ftl_writes_pages),
        waf_media: ratio(programs * page_bytes, host_writes_bytes),
        simulated_ns: report.end().ns,
    });
    if let Some(buffer) = report.find::<CacheCounters>(&HOST_BUFFER) {
        report.add(&DeviceAmplification { waf_device: ratio(programs, buffer.written_pages()) });
    }
}
