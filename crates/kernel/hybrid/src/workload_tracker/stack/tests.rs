use super::*;
use coflash_base::Seed;
use coflash_base::seed::RngExt;

/// A plain LRU list of pages.
#[derive(Default)]
pub(in super::super) struct Plain(Vec<Lpn>);

impl Plain {
    pub(in super::super) fn touch(&mut self, lpn: Lpn, most: usize) -> Option<usize> {
        let found = self.0.iter().position(|&page| page == lpn);
        if let Some(at) = found {
            self.0.remove(at);
        }
        self.0.insert(0, lpn);
        self.0.truncate(most);
        found
    }
}

#[test]
fn a_hit_is_counted_in_the_segment_it_lies_in() {
    for (segments, segment_pages) in [(1, 4), (4, 1), (3, 5), (2, 7)] {
        let mut list = Stack::new(segments, segment_pages, 40);
        let mut plain = Plain::default();
        let mut stream = Seed(u64::from(segments)).stream("ghost");
        for step in 0..20_000 {
            let lpn = Lpn::new(stream.random_range(0..40));
            let depth = plain.touch(lpn, (segments * segment_pages) as usize);
            let expected = depth.map(|depth| (depth / segment_pages as usize) as u8);
            assert_eq!(list.touch(lpn), expected, "step {step} of {segments} × {segment_pages}");
        }
    }
}

#[test]
fn what_is_forgotten_leaves_the_others_in_order() {
    let mut list = Stack::new(3, 4, 40);
    let mut stream = Seed(3).stream("ghost");
    for _ in 0..20_000 {
        let lpn = Lpn::new(stream.random_range(0..40));
        if stream.random_range(0..4) == 0 {
            list.forget(lpn);
        } else {
            list.touch(lpn);
        }
        let numbers: Vec<_> = list.order.iter().map(|ghost| list.segment_of[ghost]).collect();
        assert!(numbers.is_sorted(), "segments follow one another: {numbers:?}");
        for (number, segment) in (0_u8..).zip(&list.segments) {
            let of = || list.order.iter().filter(|&ghost| list.segment_of[ghost] == number);
            assert_eq!(of().count(), segment.pages as usize);
            assert!(segment.pages <= 4);
            assert_eq!(of().last(), segment.last, "the last of segment {number}");
        }
    }
}
