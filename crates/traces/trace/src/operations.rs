//! What a word or letters say that a request does: one meaning in every format without words of its own.
//!
//! Numbers are those of coflash's own files and of the kernel's first two: 0 is a read, 1 a write, 2 a trim, 3 a flush.

use coflash_workload::Op;
use std::collections::BTreeMap;

/// What a request does, as recorders tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Read,
    Write,
    Discard,
    Flush,
    Append,
    Zeroes,
    Erase,
    /// A command to a zone without data.
    Zone,
    /// Neither data nor a range.
    Other,
}

/// The words of each kind, without blanks and signs.
const WORDS: [(Kind, &str); 9] = [
    (Kind::Read, "r 0 read reads readahead rd lesen 0x08 0x28 0x88 0xa8"),
    (Kind::Write, "w 1 write writes wr schreiben 0x0a 0x2a 0x8a 0xaa"),
    (Kind::Discard, "d t 2 trim discard unmap deallocate dsm 0x42"),
    (Kind::Flush, "f 3 flush sync fsync datasync fdatasync synchronizecache preflush 0x35 0x91"),
    (Kind::Append, "zoneappend append"),
    (Kind::Zeroes, "writezeroes writezeros"),
    (Kind::Erase, "secureerase"),
    (
        Kind::Zone,
        "zonereset zoneresetall zoneopen zoneclose zonefinish zonemgmtsend zonemgmtrecv reportzones",
    ),
    (Kind::Other, "drvin drvout"),
];

/// What recorders put before a word.
const PREFIXES: [&str; 3] = ["nvmecmd", "reqop", "scsi"];

/// The longest word, prefix included.
const WORD_BYTES_MAX: usize = 32;

impl Kind {
    /// The meaning of a word, or of the kernel's letters.
    #[inline]
    pub(crate) fn parse(word: &[u8]) -> Option<Self> {
        match word {
            b"R" | b"r" | b"0" => Some(Self::Read),
            b"W" | b"w" | b"1" => Some(Self::Write),
            _ => Self::of_any(word),
        }
    }

    fn of_any(word: &[u8]) -> Option<Self> {
        if word.len() > WORD_BYTES_MAX || !word.is_ascii() {
            return None;
        }
        let letters = word.iter().filter(|byte| byte.is_ascii_alphanumeric());
        let lower: String = letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
        let plain = PREFIXES.iter().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
        // SCSI commands end in their length.
        let bare = plain.trim_end_matches(|c: char| c.is_ascii_digit());
        let known = |word: &str| {
            WORDS.iter().find(|(_, words)| words.split(' ').any(|known| known == word)).map(|&(kind, _)| kind)
        };
        known(plain).or_else(|| known(bare)).or_else(|| letters_of(word).map(|(_, kind)| kind))
    }

    /// The operation of a request; `None` if it moves no data.
    #[inline]
    pub(crate) fn op(self) -> Option<Op> {
        match self {
            Self::Read => Some(Op::Read),
            Self::Write | Self::Append => Some(Op::Write),
            Self::Discard | Self::Zeroes | Self::Erase => Some(Op::Trim),
            Self::Flush => Some(Op::Flush),
            Self::Zone | Self::Other => None,
        }
    }
}

/// Whether the kernel's letters (RWBS) begin with a flush, and what else they say.
#[inline]
pub(crate) fn letters_of(letters: &[u8]) -> Option<(bool, Kind)> {
    let flush = letters.first() == Some(&b'F');
    let kind = match if flush { &letters[1..] } else { letters } {
        [b'R', ..] => Kind::Read,
        [b'W', b'Z', ..] => Kind::Zeroes,
        [b'W', ..] => Kind::Write,
        [b'D', b'E', ..] | [b'E', ..] => Kind::Erase,
        [b'D', ..] => Kind::Discard,
        [b'Z', b'A', ..] => Kind::Append,
        [b'Z', ..] => Kind::Zone,
        [b'N', ..] => Kind::Other,
        _ if flush => Kind::Flush,
        _ => return None,
    };
    letters.iter().all(u8::is_ascii_uppercase).then_some((flush, kind))
}

/// The numbers of requests that are not what they are read as, or not read, by what is said of them.
#[derive(Default)]
pub(crate) struct Kinds(BTreeMap<&'static str, u64>);

impl Kinds {
    /// Count a request.
    #[inline]
    pub(crate) fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Read | Kind::Write | Kind::Discard | Kind::Flush => {}
            Kind::Append => self.say(
                "zone appends are writes; before they complete, recorders may know only where their zone begins",
            ),
            Kind::Zeroes => self.say("write zeroes carry no data: they are trims, whose pages read as zeros"),
            Kind::Erase => self.say("secure erases are trims"),
            Kind::Zone => self.say("commands to zones (resets, opens, closes, finishes) are no requests"),
            Kind::Other => self.say("commands without data are no requests"),
        }
    }

    /// Count a request of which something is said.
    #[cold]
    pub(crate) fn say(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(what, count)| format!("{what} ({count})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_letters_have_one_meaning() {
        for (kind, words) in [
            (
                Kind::Read,
                &[
                    "R",
                    "read",
                    "Read",
                    "READ",
                    "RA",
                    "RM",
                    "0",
                    "RSM",
                    "READ_10",
                    "nvme_cmd_read",
                    "REQ_OP_READ",
                ][..],
            ),
            (
                Kind::Write,
                &["W", "write", "WS", "WFS", "FWFS", "WSM", "1", "Write", "WRITE(16)", "nvme_cmd_write"],
            ),
            (Kind::Discard, &["D", "trim", "DISCARD", "DS", "2", "unmap", "nvme_cmd_dsm", "T"]),
            (Kind::Flush, &["F", "FF", "flush", "3", "fsync", "nvme_cmd_flush", "SYNCHRONIZE_CACHE"]),
            (Kind::Append, &["ZA", "ZAS", "zone append", "nvme_cmd_zone_append"]),
            (Kind::Zeroes, &["WZ", "WZS", "write_zeroes", "WriteZeros", "nvme_cmd_write_zeroes"]),
            (Kind::Erase, &["DE", "secure_erase"]),
            (Kind::Zone, &["ZR", "ZRA", "ZO", "ZC", "ZF", "zone_reset"]),
            (Kind::Other, &["N", "NS", "FN"]),
        ] {
            for word in words {
                assert_eq!(Kind::parse(word.as_bytes()), Some(kind), "{word}");
            }
        }
        for wrong in ["", "A", "4", "raed", "Ws", "ws", "R ead of something", "\u{fc}"] {
            assert_eq!(Kind::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
