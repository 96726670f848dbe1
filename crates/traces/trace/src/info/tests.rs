//! Statistics, compared with manual counts and with a naive cache model.

use super::*;
use crate::Result;
use crate::TraceOptions;
use crate::open;
use coflash_base::{Seed, Time};
use coflash_workload::Part;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A source of one batch.
struct Once(Vec<Request>);

impl Source for Once {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<()> {
        *batch = std::mem::take(&mut self.0);
        Ok(())
    }
    fn progress(&self) -> Option<f64> {
        None
    }
}

fn summary(requests: &[(u64, u64, u64, Op)]) -> WorkloadInfo {
    let request =
        |&(ns, offset, length, op)| Request { arrival: Time { ns }, offset, length, op, placement: None };
    summarise(&mut Once(requests.iter().map(request).collect()), InfoOptions::default()).unwrap()
}

#[test]
fn every_number_equals_a_manual_count() {
    let info = summary(&[
        (100, 4096, 4096, Op::Read),
        (100, 0, 512, Op::Write),
        (400, 8192, 8192, Op::Read),
        (400, 0, 0, Op::Flush),
        (500, 512, 7680, Op::Write),
        (600, 1 << 40, 1 << 40, Op::Trim),
    ]);
    assert_eq!((info.requests, info.span_ns), (6, 500));
    assert_eq!((info.read.requests, info.read.bytes), (2, 12_288));
    assert_eq!(info.read.sequential_share, Some(0.5));
    assert_eq!(info.write.sequential_share, Some(0.5));
    let sizes = info.write.size_bytes.unwrap();
    assert_eq!((sizes.min, sizes.max, sizes.mean), (512, 7680, 4096.0));
    assert_eq!((info.flush.requests, info.flush.size_bytes, info.flush.sequential_share), (1, None, None));
    let gaps = info.interarrival_ns.unwrap();
    assert_eq!((gaps.mean, gaps.min, gaps.p50, gaps.p99, gaps.max), (100.0, 0, 100, 300, 300));
    assert_eq!((info.address_min, info.address_end), (Some(0), Some(1 << 41)));
    assert_eq!(info.footprint_pages, Some(4), "a trim touches no page");
    assert_eq!(info.aligned_share, Some(0.6));
    assert_eq!(info.working_set, Some(WorkingSets { read_pages: 3, written_pages: 2, both_pages: 1 }));
    // Reads of 1, 2, 3 and writes of 0, 0, 1: page 0 after three others, page 1 after all.
    let reuse = info.reuse.unwrap();
    assert_eq!((reuse.accesses_pages, reuse.first_share), (6, 4.0 / 6.0));
    assert_eq!((reuse.curve.cache_pages, reuse.curve.reuses), (vec![3, 4], vec![1, 1]));
    assert_eq!(reuse.curve.miss_ratio, [5.0 / 6.0, 4.0 / 6.0]);
    assert_eq!(reuse.curve.read_miss_ratio, Some(vec![1.0, 1.0]));
    assert_eq!(reuse.curve.write_miss_ratio, Some(vec![2.0 / 3.0, 1.0 / 3.0]));
    let growth = info.write_growth.unwrap();
    assert_eq!((growth.requests, growth.time_ns), (vec![0, 2, 5, 6], vec![0, 0, 400, 500]));
    assert_eq!(growth.written_bytes, [0, 512, 8192, 8192]);
    assert_eq!((growth.written_pages, growth.distinct_pages), (vec![0, 1, 3, 3], vec![0, 1, 2, 2]));
    let reads: Vec<_> = info.course.read_bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0).collect();
    assert_eq!((info.course.window_ns, reads), (2, vec![(0, &4096), (150, &8192)]));
}

#[test]
fn an_empty_workload_has_no_shares() {
    let info = summary(&[]);
    assert_eq!((info.requests, info.span_ns, info.footprint_pages), (0, 0, Some(0)));
    assert_eq!((info.address_end, info.aligned_share, info.interarrival_ns), (None, None, None));
}

#[test]
fn the_largest_numbers_fit() {
    let info = summary(&[(0, 0, 1 << 63, Op::Trim), (u64::MAX, 0, 1 << 63, Op::Trim)]);
    assert_eq!(info.trim.bytes, u64::MAX, "2^64 bytes read as one less");
    assert_eq!(info.trim.size_bytes.unwrap().p50, 1 << 63);
    assert_eq!(info.interarrival_ns.unwrap().max, u64::MAX);
}

#[test]
fn an_invalid_page_size_is_refused() {
    for count in [0, 1, 256, 4095] {
        let options = InfoOptions { page: Bytes { count }, ..InfoOptions::default() };
        let error = summarise(&mut Once(Vec::new()), options).unwrap_err().to_string();
        assert!(error.contains("power of two"), "{error}");
    }
}

#[test]
fn an_invalid_sample_is_refused() {
    for text in ["63", "1_073_741_825", "some", "-1", ""] {
        let error = Sample::try_from(text.to_owned()).unwrap_err();
        assert!(error.starts_with(&format!("\"{text}\" was given; auto, exact, or a number")), "{error}");
    }
    let parsed = ["auto", "exact", "8_192"].map(|text| Sample::try_from(text.to_owned()).unwrap().0);
    assert_eq!(parsed, [1 << 14, 1 << 30, 8192]);
}

#[test]
fn a_request_as_large_as_a_device_is_tracked_in_part_with_a_remark() {
    let request = |length, op| Request { arrival: Time { ns: 0 }, offset: 0, length, op, placement: None };
    let info = info(&[request(1 << 50, Op::Write), request(4096, Op::Read)], "exact");
    assert_eq!(info.footprint_pages, None);
    assert_eq!(info.write_growth, None);
    assert_eq!(info.sampling, Sampling { method: Method::Exact, share: 1.0, pages: 65_536 });
    assert_eq!(info.reuse.unwrap().accesses_pages, 65_537);
    assert!(info.remarks[0].starts_with("1 request of more than 65536 pages"), "{:?}", info.remarks);
}

/// The misses of an LRU cache of `size` pages: of reads, and of writes.
fn lru_misses(requests: &[Request], size: usize) -> [u64; 2] {
    let mut moments: BTreeMap<u64, u64> = BTreeMap::new();
    let mut pages: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut now, mut misses) = (0, [0, 0]);
    for request in requests.iter().filter(|request| matches!(request.op, Op::Read | Op::Write)) {
        for page in request.offset / 4096..=(request.offset + request.length - 1) / 4096 {
            now += 1;
            pages.insert(now, page);
            if let Some(before) = moments.insert(page, now) {
                pages.remove(&before);
                continue;
            }
            misses[usize::from(request.op == Op::Write)] += 1;
            if pages.len() > size {
                let (_, oldest) = pages.pop_first().unwrap();
                moments.remove(&oldest);
            }
        }
    }
    misses
}

fn info(requests: &[Request], sample: &str) -> WorkloadInfo {
    let options =
        InfoOptions { sample: Sample::try_from(sample.to_owned()).unwrap(), ..InfoOptions::default() };
    summarise(&mut Once(requests.to_vec()), options).unwrap()
}

/// Check the curves of all accesses, reads and writes at each size against a simulated cache of that size.
#[track_caller]
fn assert_simulated(requests: &[Request], info: &WorkloadInfo, sizes: &[usize]) {
    assert_eq!(info.sampling.method, Method::Exact);
    let curve = &info.reuse.as_ref().unwrap().curve;
    let count = |op: Op| lru_misses(&requests.iter().filter(|r| r.op == op).copied().collect::<Vec<_>>(), 0);
    let [reads, writes] = [count(Op::Read)[0], count(Op::Write)[1]];
    for &size in sizes {
        let row = curve.cache_pages.partition_point(|&pages| pages <= size as u64);
        let at = |ratios: &Vec<f64>| if row == 0 { 1.0 } else { ratios[row - 1] };
        let [read, write] = lru_misses(requests, size);
        assert_eq!(curve.at(size as u64), (read + write) as f64 / (reads + writes) as f64, "{size} pages");
        let ratio = |missed: u64, of: u64| (of > 0).then(|| missed as f64 / of as f64);
        assert_eq!(curve.read_miss_ratio.as_ref().map(at), ratio(read, reads), "reads, {size} pages");
        assert_eq!(curve.write_miss_ratio.as_ref().map(at), ratio(write, writes), "writes, {size} pages");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_exact_curve_is_what_caches_of_any_size_miss(
        requests in proptest::collection::vec((0..1_600_000_u64, 1..20_000_u64, 0..9_u8), 1..2500),
        near in 1..400_u64,
    ) {
        let requests: Vec<Request> = requests
            .into_iter()
            .map(|(offset, length, op)| {
                // Half of them lie close together.
                let offset = if op % 2 == 0 { offset % (near * 4096) } else { offset };
                let op = [Op::Read, Op::Write, Op::Trim][usize::from(op / 4)];
                Request { arrival: Time { ns: 0 }, offset, length, op, placement: None }
            })
            .collect();
        let info = info(&requests, "auto");
        if info.reuse.is_some() {
            assert_simulated(&requests, &info, &[1, 2, 3, 5, 8, 13, 21, 31, 32, 34, 48, 64, 100, 128, 192, 256, 320, 512]);
        }
    }
}

fn drained(source: &mut dyn Source) -> Vec<Request> {
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            return requests;
        }
        requests.append(&mut batch);
    }
}

#[test]
fn the_exact_curve_of_the_recorded_trace_equals_simulated_caches() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/traces/pgbench-oltp-400k.iolog.zst")
        .to_owned();
    let requests = drained(&mut open(&[path], &TraceOptions::default()).unwrap());
    assert_simulated(&requests, &info(&requests, "exact"), &[256, 4096, 65_536]);
}

/// The mean distance between two curves, over every size up to the footprint, and the greatest one from the size on for
/// which 64 pages of the sample stand.
fn errors(exact: &WorkloadInfo, sampled: &WorkloadInfo) -> (f64, f64) {
    let [a, b] = [exact, sampled].map(|info| &info.reuse.as_ref().unwrap().curve);
    let footprint = exact.footprint_pages.unwrap();
    let distances = || (1..=footprint).map(|size| (size, (a.at(size) - b.at(size)).abs()));
    let sum: f64 = distances().map(|(_, distance)| distance).sum();
    let told = distances().filter(|(size, _)| *size as f64 * sampled.sampling.share >= 64.0);
    (sum / footprint as f64, told.map(|(_, distance)| distance).fold(0.0, f64::max))
}

#[test]
fn a_sample_of_8192_pages_tells_the_curve_and_how_far_it_is_off() {
    let (mut means, mut off) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (exponent, seed) in
        [0.8, 1.0].into_iter().flat_map(|exponent| (1..=6).map(move |seed| (exponent, seed)))
    {
        let text = format!(
            "synthetic = {{ generator = {{ name = \"zipf\", exponent = {exponent}, footprint = \"512MiB\" }}, requests = 300_000, read_share = \"60%\" }}"
        );
        let part: Part = coflash_base::read::read(&text.parse::<toml::Table>().unwrap()).unwrap();
        let mut requests = drained(&mut part.open(4 << 30, Seed(seed)).unwrap());
        // Other addresses have other hashes, and thus give another sample.
        requests.iter_mut().for_each(|request| request.offset += seed << 33);
        let (exact, sampled) = (info(&requests, "exact"), info(&requests, "8192"));
        assert_eq!((exact.sampling.method, exact.sampling.share), (Method::Exact, 1.0));
        assert_eq!(sampled.sampling.method, Method::Sampled);
        let followed = sampled.sampling.pages;
        assert!((7168..=8192).contains(&followed), "{followed} pages are followed");
        let footprint = exact.footprint_pages.unwrap() as f64;
        let estimate = followed as f64 / sampled.sampling.share;
        assert!((estimate / footprint - 1.0).abs() < 0.05, "{estimate} pages instead of {footprint}");
        let (mean, greatest) = errors(&exact, &sampled);
        assert!(mean < 0.02 && greatest < 0.05, "exponent {exponent}, seed {seed}: {mean}, {greatest}");
        means.push(mean);
        // The differences of estimates and exact values, in standard errors.
        let [(_, exact_ratios), (told, estimated)] = [&exact, &sampled].map(by_size);
        off[0].extend((0..told.len()).map(|size| (estimated[size] - exact_ratios[size]) / told[size]));
        let [(_, exact_shares), (told, estimated)] = [&exact, &sampled].map(hottest);
        off[1].extend(
            (0..told.len()).map(|percent| (estimated[percent] - exact_shares[percent]) / told[percent]),
        );
    }
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    assert!(mean < 0.006, "{means:?}");
    for (off, what) in off.iter().zip(["miss ratios", "hottest pages"]) {
        // 95 % by Student's t for 16 groups.
        let within = off.iter().filter(|errors| errors.abs() <= 2.131).count() as f64 / off.len() as f64;
        let typical = (off.iter().map(|errors| errors * errors).sum::<f64>() / off.len() as f64).sqrt();
        assert!(within >= 0.93 && (0.5..1.5).contains(&typical), "{what}: {within}, {typical}, {off:.2?}");
    }
}

/// The standard errors of miss ratios, and the ratios, at cache sizes from 256 pages on.
fn by_size(info: &WorkloadInfo) -> (Vec<f64>, Vec<f64>) {
    let curve = &info.reuse.as_ref().unwrap().curve;
    let error = |size: u64| {
        let row = curve.cache_pages.partition_point(|&pages| pages <= size).saturating_sub(1);
        curve.miss_ratio_error.as_ref().map_or(0.0, |errors| errors[row])
    };
    (8..16).map(|power| (error(1 << power), curve.at(1 << power))).unzip()
}

/// The standard errors of the shares of the hottest pages, and the shares.
fn hottest(info: &WorkloadInfo) -> (Vec<f64>, Vec<f64>) {
    let all = info.popularity.all.as_ref().unwrap();
    let shares = |of: Hottest| [of.of_1_percent, of.of_5_percent, of.of_10_percent, of.of_20_percent];
    let errors = all.hottest_share_error.map_or([0.0; 4], shares);
    (errors.to_vec(), shares(all.hottest_share).to_vec())
}

#[test]
fn counts_before_the_sampling_have_the_same_weight() {
    // 60 pages in cycles, then ten thousand once: at the end one in 170 is tracked.
    let page = |page: u64| Request {
        arrival: Time { ns: 0 },
        offset: page * 4096,
        length: 4096,
        op: Op::Read,
        placement: None,
    };
    let around = (0..60_000).map(|turn| page(turn % 60));
    let requests: Vec<Request> = around.chain((0..10_000).map(|n| page(1000 + n))).collect();
    let sampled = info(&requests, "64");
    assert_eq!(sampled.sampling.method, Method::Sampled);
    let reuse = sampled.reuse.unwrap();
    assert_eq!((reuse.curve.cache_pages.last(), reuse.curve.reuses.last()), (Some(&60), Some(&59_940)));
    assert!((reuse.curve.miss_ratio.last().unwrap() - 10_060.0 / 70_000.0).abs() < 0.02, "{reuse:?}");
}
