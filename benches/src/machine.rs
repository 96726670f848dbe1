//! The machine, measured before the table: figures from different days or machines can be compared in its units.
//!
//! A simulated request costs a few loads from tables of some megabytes to gigabytes. A *dependent* load waits for the one
//! before it, as an entry of a map names the next thing to load; *independent* loads overlap.

use coflash_base::seed::RngExt;
use coflash_base::{Permutation, Seed};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

const LOADS: u32 = 4_000_000;
const STEPS: u32 = 100_000_000;
/// The sizes of the maps of a drive of 5 GiB, 64 GiB and 512 GiB with pages of 4 KiB.
const TABLES_MIB: [u64; 3] = [5, 64, 512];

/// The time of a load from each table, in nanoseconds.
struct Loads {
    mib: u64,
    dependent_ns: f64,
    independent_ns: f64,
}

/// The processor time of this process in seconds; a busy machine hardly changes it.
pub(crate) fn cpu_seconds() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// The processor time of this thread in seconds.
pub(crate) fn thread_cpu_seconds() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The units of the table.
pub(crate) struct Machine {
    loads: Vec<Loads>,
    step_ns: f64,
}

impl Machine {
    /// Measure this machine; it takes about two seconds.
    pub(crate) fn measure() -> Self {
        let start = cpu_seconds();
        let mut x = 1_u64;
        for _ in 0..STEPS {
            // Each step waits for the one before (xorshift64).
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        black_box(x);
        Self { step_ns: per(start, STEPS), loads: TABLES_MIB.map(loads).into() }
    }

    /// The time of a dependent load from a table of 5 MiB: the unit of rates.
    pub(crate) fn load_ns(&self) -> f64 {
        self.loads[0].dependent_ns
    }

    /// One line for each table, and one for the integer loop.
    pub(crate) fn show(&self) {
        for Loads { mib, dependent_ns, independent_ns } in &self.loads {
            println!(
                "a load from {mib:>3} MiB: {dependent_ns:6.1} ns dependent, {independent_ns:5.1} ns independent"
            );
        }
        println!("a step of xorshift64: {:.2} ns (7 operations, one after the other)\n", self.step_ns);
    }
}

/// The nanoseconds for each of the steps since `start`.
fn per(start: f64, steps: u32) -> f64 {
    (cpu_seconds() - start) * 1e9 / f64::from(steps)
}

fn loads(mib: u64) -> Loads {
    let len = mib << 18;
    let draws = &mut Seed(1).stream("machine");
    // One cycle through all entries in random order, so that no prefetcher follows it.
    let order = Permutation::new(len, draws);
    let mut table = vec![0_u32; len as usize];
    for number in 0..len {
        table[order.at(number) as usize] = order.at((number + 1) % len) as u32;
    }
    let start = cpu_seconds();
    let mut at = 0;
    for _ in 0..LOADS {
        at = table[at as usize];
    }
    black_box(at);
    let dependent_ns = per(start, LOADS);
    let places: Vec<u32> = (0..LOADS).map(|_| draws.random_range(0..len as u32)).collect();
    let start = cpu_seconds();
    black_box(places.iter().map(|&place| u64::from(table[place as usize])).sum::<u64>());
    Loads { mib, dependent_ns, independent_ns: per(start, LOADS) }
}
