//! The dates of the files of a sequence, in which each begins where the one before ends, whatever its dates say.

use coflash_base::Duration;

/// What is lost of the dates of files, given those of the first and of the latest request of each; `None` if nothing is.
pub(crate) fn remark(files: &[(u64, u64)]) -> Option<String> {
    let pairs = || files.windows(2).map(|pair| (pair[0].1, pair[1].0));
    let early_ns = pairs().filter_map(|(end, begin)| end.checked_sub(begin)).filter(|by| *by > 0);
    let (count, most_ns) = early_ns.fold((0, 0), |(count, most), by| (count + 1, by.max(most)));
    let pauses_ns: u64 = pairs().map(|(end, begin)| begin.saturating_sub(end)).sum();
    let span_ns: u64 = files.iter().map(|(begin, end)| end - begin).sum();
    if count > 0 {
        let by = Duration { ns: most_ns };
        return Some(format!(
            "{count} of {} files began before the file before them ended, by up to {by}: they were read one after the \
             other (merge = \"time\" reads them by their times)",
            files.len()
        ));
    }
    let all = Duration { ns: pauses_ns };
    let is_told = pauses_ns > span_ns / 100;
    is_told.then(|| {
        format!("pauses between the files, {all} in all, were left out (merge = \"time\" keeps them)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_overlap_and_pauses_between_files_are_told() {
        assert_eq!(remark(&[(5, 1000)]), None);
        assert_eq!(remark(&[(0, 1000), (1009, 2000)]), None, "the pause of two requests");
        let overlap = remark(&[(1000, 9000), (0, 8000), (8500, 9500)]).unwrap();
        assert!(
            overlap.starts_with("1 of 3 files began before the file before them ended, by up to 9us"),
            "{overlap}"
        );
        let pause = remark(&[(0, 1000), (6000, 7000)]).unwrap();
        assert!(pause.starts_with("pauses between the files, 5us in all, were left out"), "{pause}");
    }
}
