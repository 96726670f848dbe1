//! A workload gone through several times: the same requests at the same addresses, their times going on.
//!
//! Each round begins when the last request of the one before has arrived, as the next file of a trace does. The source is
//! opened anew for each, so that nothing is held in memory and a round is what the first one was.
//!
//! Cost: one addition a request from the second round on.

use crate::{Request, Source, WorkloadError};

/// A [`Source`] that begins again so many times.
pub struct Repeat<S, Open> {
    open: Open,
    current: S,
    rounds: u32,
    /// The rounds that have ended.
    ended: u32,
    /// When the round under way began.
    begin_ns: u64,
    /// When its latest request arrived.
    latest_ns: u64,
    /// What the first round remarked by its end; the others remark the same.
    remarks: Option<Vec<String>>,
}

impl<S: Source, Open: FnMut() -> Result<S, WorkloadError> + Send> Repeat<S, Open> {
    /// Goes through `first`, and then through what `open` opens until there have been so many rounds.
    pub fn new(first: S, rounds: u32, open: Open) -> Self {
        Self { open, current: first, rounds, ended: 0, begin_ns: 0, latest_ns: 0, remarks: None }
    }
}

impl<S: Source, Open: FnMut() -> Result<S, WorkloadError> + Send> Source for Repeat<S, Open> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
        batch.clear();
        while self.ended < self.rounds {
            self.current.next_batch(batch)?;
            if !batch.is_empty() {
                if self.begin_ns > 0 {
                    for request in batch.iter_mut() {
                        request.arrival.ns = request.arrival.ns.saturating_add(self.begin_ns);
                    }
                }
                self.latest_ns = batch[batch.len() - 1].arrival.ns;
                break;
            }
            self.remarks.get_or_insert_with(|| self.current.remarks());
            self.ended += 1;
            self.begin_ns = self.latest_ns;
            if self.ended < self.rounds {
                self.current = (self.open)()?;
            }
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        if self.ended == self.rounds {
            return Some(1.0);
        }
        Some((f64::from(self.ended) + self.current.progress()?) / f64::from(self.rounds))
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone().unwrap_or_else(|| self.current.remarks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::synthetic::{ArrivalConfig, GeneratorConfig, Synthetic, SyntheticConfig};
    use crate::trace::{self, TraceOptions};
    use coflash_base::{Seed, Share, Time};

    fn all(mut source: impl Source) -> Vec<Request> {
        let (mut batch, mut found, mut progress) = (Vec::new(), Vec::new(), 0.0);
        loop {
            source.next_batch(&mut batch).unwrap();
            let now = source.progress().unwrap();
            assert!((progress..=1.0).contains(&now), "{progress} then {now}");
            progress = now;
            if batch.is_empty() {
                return found;
            }
            found.extend_from_slice(&batch);
        }
    }

    /// So many rounds, made by hand.
    fn by_hand(once: &[Request], rounds: usize) -> Vec<Request> {
        let lasts = once.last().map_or(0, |last| last.arrival.ns);
        let later = |round: usize| {
            once.iter().map(move |&request| Request {
                arrival: Time { ns: request.arrival.ns + round as u64 * lasts },
                ..request
            })
        };
        (0..rounds).flat_map(later).collect()
    }

    #[test]
    fn every_round_of_a_generator_asks_for_the_same() {
        let config = SyntheticConfig {
            generator: GeneratorConfig::by_name("zipf").unwrap(),
            requests: 20_000,
            read_share: Share::percent(30),
            trim_share: Share::percent(10),
            arrival: ArrivalConfig::by_name("poisson").unwrap(),
            ..SyntheticConfig::default()
        };
        let open = || Synthetic::new(&config, 1 << 30, Seed(7));
        let once = all(open().unwrap());
        for rounds in [1, 2, 3] {
            let found = all(Repeat::new(open().unwrap(), rounds, open));
            assert_eq!(found, by_hand(&once, rounds as usize), "{rounds} rounds");
            assert!(found.is_sorted_by_key(|request| request.arrival));
        }
    }

    #[test]
    fn a_trace_repeated_is_the_trace_named_so_many_times() {
        let file = std::env::temp_dir().join(format!("coflash-repeat-{}.csv", std::process::id()));
        let rows = "128166372003061629,hm,0,Read,383496192,32768,113736\n\
                    128166372016382155,hm,0,Write,2822144,4096,2909\n\
                    128166372026382245,hm,0,Write,not a number,4096,5\n\
                    128166372036382245,hm,0,Write,2826240,4096,5\n";
        std::fs::write(&file, rows).unwrap();
        let path = file.to_str().unwrap().to_owned();
        let options = TraceOptions { on_error: crate::OnError::Skip, ..TraceOptions::default() };
        let open = || trace::open(std::slice::from_ref(&path), &options);
        let mut repeated = Repeat::new(open().unwrap(), 3, open);
        let named = all(trace::open(&vec![path.clone(); 3], &options).unwrap());
        assert_eq!(named.len(), 9);
        let mut batch = Vec::new();
        let mut found = Vec::new();
        while repeated.next_batch(&mut batch).is_ok() && !batch.is_empty() {
            found.extend_from_slice(&batch);
        }
        assert_eq!(found, named);
        let remarks = repeated.remarks();
        assert_eq!(
            remarks.iter().filter(|remark| remark.contains("1 records were skipped")).count(),
            1,
            "{remarks:?}"
        );
        std::fs::remove_file(&file).unwrap();
    }

    /// A source of nothing, or of one request and an error.
    struct Brief(Option<Request>);

    impl Source for Brief {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), WorkloadError> {
            batch.clear();
            batch.extend(self.0.take());
            Ok(())
        }
        fn progress(&self) -> Option<f64> {
            Some(0.5)
        }
    }

    #[test]
    fn an_empty_workload_stays_empty_and_an_error_of_a_later_round_is_told() {
        assert_eq!(all(Repeat::new(Brief(None), 1000, || Ok(Brief(None)))), []);

        let request = Request { arrival: Time { ns: 5 }, offset: 0, length: 512, op: Op::Read };
        let gone = || Err(WorkloadError::Trace { file: "x".to_owned(), problem: "gone".to_owned() });
        let mut source = Repeat::new(Brief(Some(request)), 2, gone);
        let mut batch = Vec::new();
        source.next_batch(&mut batch).unwrap();
        assert_eq!(batch, [request]);
        assert_eq!(source.next_batch(&mut batch).unwrap_err().to_string(), "x: gone");
    }

    #[test]
    fn time_does_not_run_over() {
        let late =
            || Brief(Some(Request { arrival: Time { ns: 1 << 63 }, offset: 0, length: 1, op: Op::Read }));
        let found = all(Repeat::new(late(), 3, || Ok(late())));
        assert_eq!(found.iter().map(|request| request.arrival.ns).max(), Some(u64::MAX));
    }
}
