//! Shapes that are known and not read: what each is, and the way round. Nothing is proposed for them.

use crate::fields::{BLANK, SEPARATORS, split};
use crate::text::lines_of;

/// The lines that are looked at.
const LINES: usize = 8;

/// What a text that begins with `sample` is, if its shape is known and not read, and the way round.
pub(super) fn unread(sample: &[u8]) -> Option<String> {
    let lines: Vec<_> = lines_of(sample).take(LINES).map(<[u8]>::trim_ascii).collect();
    let first = lines.first().map_or_else(String::new, |line| String::from_utf8_lossy(line).to_lowercase());
    let hex = |count| sample.iter().take(count).map(|byte| format!("{byte:02x}"));
    // A name of its column may stand above.
    let all = |fits: fn(&[u8]) -> bool| {
        let count = lines.iter().filter(|line| fits(line)).count();
        count > 0 && count + usize::from(lines.len() > 2) >= lines.len()
    };
    include_str!("unread.txt").lines().find_map(|row| {
        let (mark, what) = row.split_once(" | ")?;
        let is = match mark.split_once(' ').unwrap_or((mark, "")) {
            ("bytes", bytes) => bytes.split(' ').eq(hex(bytes.len().div_ceil(3))),
            ("words", words) => words.split('+').all(|word| first.contains(word)),
            ("json", _) => first.starts_with('{') || first.starts_with("[{") || first == "[",
            ("call", _) => all(is_call),
            ("fio-log", _) => all(is_fio_log),
            ("keys", _) => all(is_of_keys),
            ("histogram", _) => all(|line| memchr::memmem::find(line, b"|@").is_some()),
            _ => false,
        };
        is.then(|| format!("it is {what}"))
    })
}

/// Whether it is a call with its result, as in `pread64(3, "…", 4096, 0) = 4096`.
fn is_call(line: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let opens = memchr::memchr(b'(', line).filter(|&at| at > 0 && is_name(&line[at - 1]));
    opens.is_some_and(|at| memchr::memmem::find(&line[at..], b" = ").is_some())
}

/// Whether it is a line of a log of fio: numbers between `, `, the third one a direction.
fn is_fio_log(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let cells: Vec<_> = text.split(", ").collect();
    let are_numbers = cells.iter().all(|cell| cell.starts_with("0x") || cell.parse::<u64>().is_ok());
    (4..=6).contains(&cells.len()) && are_numbers && matches!(cells[2], "0" | "1" | "2")
}

/// Whether one of its cells is a command of a cache or a key-value store.
fn is_of_keys(line: &[u8]) -> bool {
    const COMMANDS: &str = "get gets set put incr decr cas get_lease usertable";
    let is_command =
        |cell: &&[u8]| COMMANDS.split(' ').any(|known| cell.eq_ignore_ascii_case(known.as_bytes()));
    SEPARATORS.into_iter().chain([BLANK]).any(|separator| split(line, separator, None).iter().any(is_command))
}
