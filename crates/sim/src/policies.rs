//! The table of all policies, and of the formats of traces.

use coflash_base::PolicyInfo;
use coflash_scenario::Family;
use coflash_trace::formats::{self, FormatInfo};

/// The table of all policy families and trace formats.
#[must_use]
pub fn policies() -> Vec<Family> {
    let format = |FormatInfo { name, summary, source, .. }| PolicyInfo {
        name,
        summary,
        source,
        needs: String::new(),
        parameters: Vec::new(),
    };
    let formats = formats::table().into_iter().map(format).collect();
    let mut families = coflash_scenario::policies();
    families.push(("workload.trace_options.format", "format of a trace", formats));
    families
}
