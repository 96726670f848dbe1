//! Objects of one size that are written once, read while they are used, and replaced: the store of key-value blocks of a
//! large language model, or any cache of objects on flash.
//!
//! The space is a store of objects. A write stores a new object, in the next free place while there is one, later in
//! the place of the object that was used longest ago. A read uses an object that is stored: the one used last is at
//! rank 1, and ranks follow Zipf's law. A trim goes to the object that is replaced next. Requests begin where their
//! object does; `size` gives how much of it they cover.
//!
//! Source: Kwon and others, "Efficient memory management for large language model serving with PagedAttention" (SOSP
//! 2023), for blocks of keys and values; Qin and others, "Mooncake" (FAST 2025), for their store on flash with LRU.
//! Cost: O(log n) per request; 12 bytes and a fraction per object.

use super::zipf::Ranks;
use super::{AddressPolicy, Space, refuse};
use crate::recency::Recency;
use crate::{Op, WorkloadError};
use coflash_base::{Bytes, Policy, RandomStream};

coflash_base::config! {
    /// The parameters of `"kv-cache"`.
    pub struct KvCacheConfig {
        /// Size of an object, a multiple of `align`. The space holds as many as fit.
        pub object: Bytes = Bytes { count: 4 << 20 },
        /// Skew of reads towards objects used lately, above 0: rank k has the weight 1 / k^exponent.
        pub exponent: f64 = 0.9,
    }
}

/// The generator `"kv-cache"`.
#[derive(Clone, Debug)]
pub struct KvCache {
    space_units: u64,
    object_units: u64,
    objects: u32,
    ranks: Ranks,
    recency: Recency,
    /// The slot of each stored object, and the object of each slot.
    slots: Vec<u32>,
    object_at: Vec<u32>,
}

impl Policy for KvCache {
    type Config = KvCacheConfig;
    const SUMMARY: &'static str =
        "A store of objects: writes replace the least recently used one, reads use those used lately.";
    const SOURCE: &'static str =
        "Qin et al., \"Mooncake: trading more storage for less computation\" (FAST 2025)";
}

impl AddressPolicy for KvCache {
    fn new(config: &KvCacheConfig, space: Space) -> Result<Self, WorkloadError> {
        let KvCacheConfig { object, exponent } = *config;
        let object_units = object.count / space.align.count;
        if object_units == 0 || !object.count.is_multiple_of(space.align.count) {
            let problem = format!("{object} was given; a multiple of align, {}, is allowed", space.align);
            return refuse("generator.object", problem);
        }
        let objects = space.units / object_units;
        if objects == 0 || objects >= 1 << 31 {
            let all = Bytes { count: space.units * space.align.count };
            let problem = format!(
                "{object} was given; a size of which 1 to 2^31 fit into the space, {all}, is allowed"
            );
            return refuse("generator.object", problem);
        }
        if !(exponent.is_finite() && exponent > 0.0) {
            let problem = format!("{exponent} was given; a number above 0 is allowed");
            return refuse("generator.exponent", problem);
        }
        Ok(Self {
            space_units: space.units,
            object_units,
            objects: objects as u32,
            ranks: Ranks::new(objects, exponent),
            recency: Recency::default(),
            slots: Vec::new(),
            object_at: Vec::new(),
        })
    }

    fn start(&mut self, op: Op, length_units: u64, stream: &mut RandomStream) -> u64 {
        let stored = self.recency.live();
        let object = match op {
            // If nothing is stored, the read object is assumed to be.
            Op::Read if stored > 0 => {
                let rank = self.ranks.draw(stream).min(u64::from(stored));
                self.used_after(rank as u32 - 1)
            }
            Op::Trim if stored > 0 => self.used_after(stored - 1),
            _ if stored < self.objects => stored,
            _ => self.used_after(stored - 1),
        };
        if op != Op::Trim {
            self.touch(object);
        }
        (u64::from(object) * self.object_units).min(self.space_units - length_units)
    }
}

impl KvCache {
    /// The object with this many used after it.
    fn used_after(&self, others: u32) -> u32 {
        self.object_at[self.recency.slots().with_after(others) as usize]
    }

    fn touch(&mut self, object: u32) {
        if self.recency.is_full() {
            self.renumber();
        }
        if let Some(&slot) = self.slots.get(object as usize) {
            self.recency.remove(slot);
        } else {
            self.slots.push(0);
        }
        self.slots[object as usize] = self.recency.push();
        self.object_at.push(object);
    }

    #[cold]
    fn renumber(&mut self) {
        let renumbered = self.recency.renumber();
        self.object_at.clear();
        self.object_at.resize(self.slots.len(), 0);
        for (object, slot) in (0..).zip(&mut self.slots) {
            *slot = renumbered.new_number(*slot);
            self.object_at[*slot as usize] = object;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coflash_base::Seed;
    use coflash_base::seed::RngExt;

    const SPACE: Space = Space { units: 4001, align: Bytes { count: 512 }, seed: Seed(1) };

    /// The order of use as a plain list, the last used first.
    #[test]
    fn writes_replace_the_object_used_longest_ago_and_reads_keep_theirs() {
        for seed in 0..20 {
            let config = KvCacheConfig { object: Bytes { count: 20 * 512 }, exponent: 0.5 };
            let mut generator = KvCache::new(&config, SPACE).unwrap();
            let mut stream = Seed(seed).stream("place");
            let mut choice = Seed(seed).stream("op");
            let mut list: Vec<u64> = Vec::new();
            let mut ranks = 0.0;
            let mut reads = 0.0;
            for _ in 0..20_000 {
                let op = [Op::Read, Op::Write, Op::Trim][choice.random_range(0..3)];
                let start = generator.start(op, 20, &mut stream);
                assert!(start.is_multiple_of(20) && start + 20 <= SPACE.units, "seed {seed}");
                let place = list.iter().position(|&listed| listed == start);
                let is_full = list.len() == 200;
                match op {
                    Op::Write if is_full => assert_eq!(place, Some(199), "seed {seed}"),
                    Op::Write => assert_eq!((place, start), (None, 20 * list.len() as u64), "seed {seed}"),
                    Op::Trim if !list.is_empty() => assert_eq!(place, Some(list.len() - 1), "seed {seed}"),
                    _ => assert!(place.is_some() || list.is_empty(), "seed {seed}"),
                }
                if op == Op::Trim {
                    continue;
                }
                if op == Op::Read && is_full {
                    ranks += place.unwrap() as f64;
                    reads += 1.0;
                }
                place.map(|at| list.remove(at));
                list.insert(0, start);
            }
            // The mean of Zipf's ranks with exponent 1/2 among 200 is 70.9, counted from 0.
            assert!((60.0..82.0).contains(&(ranks / reads)), "seed {seed}: {}", ranks / reads);
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        let new = |count, exponent| {
            let config = KvCacheConfig { object: Bytes { count }, exponent };
            KvCache::new(&config, SPACE).err().map(|error| error.to_string())
        };
        assert!(new(700, 0.9).unwrap().contains("a multiple of align, 512B"));
        assert!(new(4002 * 512, 0.9).unwrap().contains("fit into the space"));
        assert!(new(512, 0.0).unwrap().contains("a number above 0"));
        assert!(new(4001 * 512, 0.9).is_none());
    }
}
