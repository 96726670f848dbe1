//! LRU as code from outside, by search and shift.

use coflash_base::{ExternalConfig, Lpn};
use coflash_cache::evict::{ExternalEviction, MakeEviction};
use coflash_cache::{Cache, EvictionConfig};
use std::sync::Arc;

/// The pages, the one to leave next first.
#[derive(Clone)]
struct Lru(Vec<Lpn>);

impl ExternalEviction for Lru {
    fn insert(&mut self, page: Lpn, _: bool) {
        self.0.push(page);
    }

    fn hit(&mut self, page: Lpn) {
        self.remove(page);
        self.0.push(page);
    }

    fn flag(&mut self, page: Lpn, _: bool) {
        assert!(self.0.contains(&page), "a page that is not there changes");
    }

    fn remove(&mut self, page: Lpn) {
        let place = self.0.iter().position(|&other| other == page);
        self.0.remove(place.expect("it was inserted"));
    }

    fn evict(&mut self) -> Option<Lpn> {
        Some(self.0[0])
    }
}

fn from_outside(make: impl Fn() -> Vec<Lpn> + Send + Sync + 'static) -> EvictionConfig {
    let mut config = ExternalConfig::<MakeEviction>::default();
    config.bind(Arc::new(move |_| Box::new(Lru(make()))));
    EvictionConfig::External(config)
}

pub(crate) fn lru() -> EvictionConfig {
    from_outside(Vec::new)
}

#[test]
#[should_panic(expected = "5 was returned; a page in the cache is allowed")]
fn a_page_that_is_not_there_is_refused() {
    let mut cache = Cache::new(&from_outside(|| vec![Lpn::new(5)]), 2, 9);
    cache.insert(Lpn::new(7), false);
    cache.victim();
}

#[test]
fn code_that_is_missing_is_named() {
    let mut missing = ExternalConfig::<MakeEviction>::default();
    let problem = |config: &ExternalConfig<MakeEviction>| {
        EvictionConfig::External(config.clone()).check().unwrap_err().to_string()
    };
    assert!(problem(&missing).starts_with("code: it must be given"));
    missing.code = "module:Lru".to_owned();
    assert!(problem(&missing).starts_with("code: \"module:Lru\" was given"));
    lru().check().unwrap();
}
