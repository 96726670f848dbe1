//! Several rounds of one workload: the same requests at the same addresses, with increasing times.
//!
//! Each round begins at the last arrival of the previous one, like the next file of a trace. The source is opened
//! again for each round, so that nothing is held in memory and all rounds are equal.
//!
//! Cost: one addition per request from the second round on.

use crate::{Request, Source, WorkloadError};

/// A [`Source`] that runs through another one several times.
pub struct Repeat<S, Open> {
    open: Open,
    current: S,
    rounds: u32,
    /// Completed rounds.
    ended: u32,
    /// Begin of the current round.
    begin_ns: u64,
    /// Arrival of its latest request.
    latest_ns: u64,
    /// The remarks of the first round; those of the others are the same.
    remarks: Option<Vec<String>>,
}

impl<S: Source, Open: FnMut() -> Result<S, WorkloadError> + Send> Repeat<S, Open> {
    /// Run through `first`, then through sources from `open`, `rounds` rounds in all.
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

    /// The expected requests of all rounds.
    fn expected(once: &[Request], rounds: usize) -> Vec<Request> {
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
            assert_eq!(found, expected(&once, rounds as usize), "{rounds} rounds");
            assert!(found.is_sorted_by_key(|request| request.arrival));
        }
    }

    /// A source of at most one request.
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
    fn an_empty_workload_stays_empty_and_an_error_of_a_later_round_is_reported() {
        assert_eq!(all(Repeat::new(Brief(None), 1000, || Ok(Brief(None)))), []);

        let request =
            Request { arrival: Time { ns: 5 }, offset: 0, length: 512, op: Op::Read, placement: None };
        let gone = || Err(WorkloadError::Trace { file: "x".to_owned(), problem: "gone".to_owned() });
        let mut source = Repeat::new(Brief(Some(request)), 2, gone);
        let mut batch = Vec::new();
        source.next_batch(&mut batch).unwrap();
        assert_eq!(batch, [request]);
        assert_eq!(source.next_batch(&mut batch).unwrap_err().to_string(), "x: gone");
    }

    #[test]
    fn time_saturates() {
        let late = || {
            Brief(Some(Request {
                arrival: Time { ns: 1 << 63 },
                offset: 0,
                length: 1,
                op: Op::Read,
                placement: None,
            }))
        };
        let found = all(Repeat::new(late(), 3, || Ok(late())));
        assert_eq!(found.iter().map(|request| request.arrival.ns).max(), Some(u64::MAX));
    }
}
