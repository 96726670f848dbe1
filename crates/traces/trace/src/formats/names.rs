//! The names of columns in a header: the role of each, and the unit that it tells.

/// Names of columns without blanks and signs, after their role and the unit that they tell.
const NAMES: &str = "\
time - time timestamp ts inittime starttime arrival arrivaltime issuetime submittime submissiontime datetime date when \
clock elapsed start begin requesttime eventtime timeofday
time ns nsecs timens nanoseconds
offset sectors sector lba lbn slba startsector startlba firstsector sectornumber logicalblockaddress
offset pages lpn lpa page pagenumber
offset - offset address addr minoffset byteoffset startoffset diskoffset position pos startaddress
size bytes bytes numbytes nbytes bytecount
size sectors sectors nrsector nrsectors nsectors nsector numsectors sectorcount
size pages pages npages numpages
size 1KiB kb kib kbytes
size 1MiB mb mib mbytes
size - size length len iosize requestsize reqsize blocksize bs transfersize
count - count blocks nblocks nrblocks numblocks blockcount
end - endtime endts complete completed completetime completiontime finish finished finishtime donetime
latency - latency lat response responsetime resptime servicetime duration
op - op optype operation type rw rwbs iotype opcode opname request requesttype cmd command action t dir direction \
rwflag rwtype reqtype iodirection accesstype readwrite
device - disk device dev volume volumeid lun asu disknumber deviceid disks diskname devname drive namespace nsid
placement - placement placementid placementhandle fdphandle stream streamid writehint
text - comm process processname task taskcomm";

/// Columns that say of each request whether it is one thing.
const FLAGS: [(&[&str], &str); 2] = [
    (&["iswrite", "write"], "op:1|true|t|yes|y=write/0|false|f|no|n=read"),
    (&["isread", "read"], "op:1|true|t|yes|y=read/0|false|f|no|n=write"),
];
/// A name of a column.
pub(super) struct Name {
    /// Without blanks, signs and unit.
    pub(super) name: String,
    /// The unit that it tells, or nothing.
    pub(super) unit: String,
    /// What it tells where a unit stands, if that is none.
    pub(super) unknown: Option<String>,
}

/// Units in names.
const UNITS: [(&str, &[&str]); 12] = [
    ("ns", &["ns", "nsec", "nanoseconds"]),
    ("us", &["us", "usec", "\u{b5}s", "\u{3bc}s", "microseconds"]),
    ("ms", &["ms", "msec", "milliseconds"]),
    ("s", &["s", "sec", "secs", "seconds"]),
    ("min", &["min", "mins", "minute", "minutes"]),
    ("h", &["h", "hr", "hrs", "hour", "hours"]),
    (DAYS, &["d", "day", "days"]),
    ("bytes", &["b", "byte", "bytes"]),
    ("1KiB", &["kb", "kib", "kbyte", "kbytes"]),
    ("1MiB", &["mb", "mib", "mbyte", "mbytes"]),
    ("sectors", &["sectors", "sector"]),
    ("pages", &["pages"]),
];

/// Words behind names of places that are no units.
const NO_UNITS: [&str; 9] = ["start", "begin", "first", "number", "num", "no", "nr", "id", "index"];

/// Units of times.
pub(super) const TIMES: [&str; 7] = ["ns", "us", "ms", "s", "min", "h", DAYS];
pub(super) const DAYS: &str = "24h";
/// A unit in words: that of a time or of places, or a step such as `4k`.
fn unit_of(text: &str) -> Option<(bool, String)> {
    let text = text.trim();
    let known = UNITS.iter().find(|(_, words)| words.contains(&text));
    let known = known.map(|(unit, _)| (TIMES.contains(unit), (*unit).to_owned()));
    known.or_else(|| {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let prefix = match text[digits..].trim() {
            "" | "b" | "byte" | "bytes" => "B",
            "k" | "kb" | "kib" => "KiB",
            "m" | "mb" | "mib" => "MiB",
            _ => return None,
        };
        // `offset_2` is a second one.
        let is_step = |count: &u64| *count >= 512 || *count > 0 && digits < text.len();
        text[..digits].parse().ok().filter(is_step).map(|count| (false, format!("{count}{prefix}")))
    })
}

/// Take a name of a column apart.
pub(super) fn name_of(given: &[u8]) -> Name {
    let lower = String::from_utf8_lossy(given).to_lowercase();
    let bare = |text: &str| {
        let name = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        // `size_in_bytes`.
        match name.strip_suffix("in") {
            Some(short) if role_of(short).is_some() => short.to_owned(),
            _ => name,
        }
    };
    let plain = |name: String| Name { name, unit: String::new(), unknown: None };
    let whole = bare(&lower);
    if role_of(&whole).is_some() {
        return plain(whole);
    }
    let cut = lower.trim_end_matches([')', ']']);
    let in_brackets = cut.len() < lower.len();
    let tail =
        if in_brackets { cut.rsplit_once(['(', '[']) } else { cut.rsplit_once(['_', ' ', '-', '.', '/']) };
    // `sizeKB`.
    let glued = || {
        let words = UNITS.iter().flat_map(|(_, words)| words.iter().filter(|word| word.len() > 1));
        let mut cut = words.filter_map(|word| Some((whole.strip_suffix(word)?, *word)));
        cut.find(|(name, _)| role_of(name).is_some())
    };
    let Some((name, last)) = tail.or_else(glued) else {
        return plain(whole);
    };
    let (name, role) = (bare(name), role_of(&bare(name)).map(|(role, _)| role));
    let is_place = matches!(role, Some("offset" | "size" | "count"));
    let is_time = matches!(role, Some("time" | "end" | "latency"));
    match unit_of(last) {
        Some((of_time, unit)) if (is_time && of_time) || (is_place && !of_time) => {
            Name { name, unit, unknown: None }
        }
        _ if is_place && NO_UNITS.contains(&last.trim()) => plain(name),
        _ if is_place || is_time && in_brackets => Name { name, unit: String::new(), unknown: Some(lower) },
        // What it is must be told by the values.
        Some((_, unit)) => Name { name: whole, unit, unknown: None },
        None => plain(whole),
    }
}

/// The role of a name, and the unit that it tells.
pub(super) fn role_of(name: &str) -> Option<(&'static str, &'static str)> {
    let found = NAMES.lines().find_map(|row| {
        let (role, row) = row.split_once(' ')?;
        let (unit, names) = row.split_once(' ')?;
        names.split(' ').any(|known| known == name).then_some((role, unit.trim_start_matches('-')))
    });
    found.or_else(|| FLAGS.iter().find(|(known, _)| known.contains(&name)).map(|&(_, role)| (role, "")))
}
