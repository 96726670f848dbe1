//! Requests of several pages: each is whole after a power cut, once it is answered. Zeros are such requests.

use super::{AnsweredAt, Due, Session};
use coflash_base::Time;
use coflash_store::DeviceBytes;
use coflash_workload::Op;

/// The size of one write of zeros, in bytes.
const ZEROS_BYTES: u64 = 1 << 20;

impl<S: DeviceBytes> Session<S> {
    /// Have a request of several pages, or in several parts, survive a power cut whole once it is answered. A cache that has no
    /// room for it commits inside of it: then it is committed at its end, too.
    pub(super) fn whole(
        &mut self,
        offset: u64,
        length: u64,
        now: Time,
        serve: impl FnOnce(&mut Self) -> AnsweredAt,
    ) -> AnsweredAt {
        let early = |session: &Self| session.stack.at_risk().1.early_commits;
        let before = early(self);
        let served = serve(self)?;
        if early(self) == before || offset / self.page_bytes == (offset + length.max(1) - 1) / self.page_bytes
        {
            return Ok(served);
        }
        Ok(served.and(self.issue_uncounted(Op::Flush, 0, 0, (), now)?))
    }

    /// Make a range read as zeros: whole pages by a trim, which every scheme keeps through a power cut, and
    /// the rest by writes. With `keep_space` the whole range is written.
    ///
    /// # Errors
    /// See [`write`](Self::write).
    pub fn write_zeroes(&mut self, offset: u64, length: u64, keep_space: bool, now: Time) -> AnsweredAt {
        self.whole(offset, length, now, |session| session.zero(offset, length, keep_space, now))
    }

    fn zero(&mut self, offset: u64, length: u64, keep_space: bool, now: Time) -> AnsweredAt {
        let end = offset + length;
        let first = offset.next_multiple_of(self.page_bytes);
        let last = end / self.page_bytes * self.page_bytes;
        if keep_space || first >= last {
            return self.write_zero_bytes(offset, end, now);
        }
        let head = self.write_zero_bytes(offset, first, now)?;
        let whole = self.issue(Op::Trim, first, last - first, (), now)?;
        let tail = self.write_zero_bytes(last, end, now)?;
        Ok(head.and(whole).and(tail))
    }

    fn write_zero_bytes(&mut self, mut from: u64, end: u64, now: Time) -> AnsweredAt {
        let mut zeros = std::mem::take(&mut self.zeros);
        zeros.resize((end - from).min(ZEROS_BYTES).max(zeros.len() as u64) as usize, 0);
        let mut due = Ok(Due::at(now));
        while from < end
            && let Ok(before) = due
        {
            let length = (end - from).min(ZEROS_BYTES);
            let written = self.issue(Op::Write, from, length, &zeros[..length as usize], now);
            due = written.map(|after| before.and(after));
            from += length;
        }
        self.zeros = zeros;
        due
    }
}
