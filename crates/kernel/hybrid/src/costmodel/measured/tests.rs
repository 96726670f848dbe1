use super::*;
use crate::costmodel::HitCurve;
use crate::costmodel::tests::CONFIG_1;

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value}, but {expected} is expected");
}

/// Four pages of ten are read; in every class a larger cache has more hits.
fn demand() -> Demand {
    let rates = |most: f64| (1..=16_i32).map(move |n| most * (1.0 - 0.8_f64.powi(n)));
    Demand {
        reads: 0.4,
        writes: 0.6,
        read_hits: HitCurve::new(rates(0.9), 1.0 / 16.0),
        write_hits: HitCurve::new(rates(0.8), 1.0 / 16.0),
        reads_of_write_hits: 0.25,
    }
}

fn measured(pages_per_s: f64) -> Measured {
    Measured {
        pages_per_s,
        fetched_page_ns: 4e6,
        destaged_page_ns: 2e6,
        past_the_cache: 0.0,
        writes_wait: true,
        write_policy: WritePolicy::WriteBack,
        cleaning: Cleaning::default(),
        spared: 0.0,
        disks: 1.0,
        dies: 1.0,
    }
}

fn best(measured: &Measured) -> Partition {
    measured.best(&CONFIG_1.flash, &demand(), 1.0 / 16.0, 1.0)
}

#[test]
fn the_effective_utilisation_is_the_one_at_which_equation_3_copies_so_much() {
    for u in [0.05, 0.3, 0.5, 0.8, 0.95] {
        let victim = victim_utilisation(u);
        assert_near(effective_utilisation(victim / (1.0 - victim)), u);
    }
    assert_eq!(effective_utilisation(0.0), 0.0);
}

#[test]
fn where_nothing_was_measured_cleaning_costs_what_equation_3_says() {
    let (flash, measured) = (CONFIG_1.flash, measured(0.0));
    for u in [0.1, 0.5, 0.9] {
        let gc_ns = flash.gc_a_page_ns(victim_utilisation(measured.cleaning.at(u)));
        assert_near(gc_ns + flash.page_program.ns as f64, flash.write_ns(u, 0.0));
    }
}

/// c = u′ / (1 − u′) at a u: measured copies that give this u.
fn copies(u: f64) -> f64 {
    victim_utilisation(u) / (1.0 - victim_utilisation(u))
}

#[test]
fn cleaning_goes_through_what_was_measured_and_is_bounded_elsewhere() {
    let mut cleaning = Cleaning::default();
    cleaning.measure(0.5, copies(0.25), 0.05);
    assert_near(cleaning.at(0.5), 0.25);
    // The same share of u elsewhere.
    assert_near(cleaning.at(0.3), 0.15);
    assert_near(cleaning.at(0.9), 0.45);
    cleaning.measure(0.7, copies(0.6), 0.05);
    assert_near(cleaning.at(0.5), 0.25);
    assert_near(cleaning.at(0.6), 0.425);
    assert_near(cleaning.at(0.7), 0.6);
    // If cleaning costs more than equation 3 at one size, it is not assumed to cost more at other sizes: the
    // limit there is the higher of this measurement and equation 3.
    cleaning.measure(0.8, copies(0.9), 0.05);
    assert_near(cleaning.at(0.85), 0.9);
    assert_near(cleaning.at(0.95), 0.95);
    for percent in 1..100 {
        assert!(cleaning.at(f64::from(percent) / 100.0) >= cleaning.at(f64::from(percent - 1) / 100.0));
    }
    let mut none = Cleaning::default();
    none.measure(0.4, 0.0, 0.05);
    assert_eq!((none.at(0.2), none.at(0.4), none.at(0.9)), (0.0, 0.0, 0.0));
}

#[test]
fn a_measure_replaces_what_is_near_what_it_contradicts_and_what_is_old() {
    let mut cleaning = Cleaning::default();
    let at = |cleaning: &Cleaning| cleaning.measured.iter().map(|point| point.u).collect::<Vec<_>>();
    cleaning.measure(0.5, copies(0.3), 0.05);
    cleaning.measure(0.52, copies(0.35), 0.05);
    assert_eq!(at(&cleaning), [0.52], "near");
    cleaning.measure(0.7, copies(0.6), 0.05);
    cleaning.measure(0.3, copies(0.4), 0.05);
    assert_eq!(at(&cleaning), [0.3, 0.7], "no less is copied at 0.52 than at 0.3");
    for _ in 0..Cleaning::KEPT {
        assert!(at(&cleaning).contains(&0.7) || at(&cleaning) == [0.3]);
        cleaning.measure(0.3, copies(0.4), 0.05);
    }
    assert_eq!(at(&cleaning), [0.3], "0.7 was long ago");
}

#[test]
fn without_a_load_the_response_is_the_sum_of_what_is_waited_for() {
    let flash = CONFIG_1.flash;
    let partition = Partition { caching: 0.5, read: 0.5 };
    let (read_hits, write_hits) = (0.9 * (1.0 - 0.8_f64.powi(4)), 0.8 * (1.0 - 0.8_f64.powi(4)));
    let hits_read = 0.4 * read_hits + 0.6 * write_hits * 0.25;
    let written = 0.6 * (1.0 - write_hits * 0.25);
    let expected = hits_read * 125e3
        + written * (300e3 + 50e3)
        + 0.4 * (1.0 - read_hits) * 4e6
        + 0.6 * (1.0 - write_hits) * 2e6;
    assert_near(measured(0.0).response_ns(&flash, &demand(), partition, 50e3), expected);
}

#[test]
fn under_load_disks_and_bursts_of_gc_are_waited_for() {
    let flash = CONFIG_1.flash;
    let partition = Partition { caching: 0.5, read: 0.5 };
    let of = |measured: &Measured, gc_ns| measured.response_ns(&flash, &demand(), partition, gc_ns);
    let (idle, busy) = (of(&measured(0.0), 0.0), of(&measured(200.0), 0.0));
    // ρ of the disk is 200/s × its time for a page request, and nothing else waits.
    let (read_hits, write_hits) = (0.9 * (1.0 - 0.8_f64.powi(4)), 0.8 * (1.0 - 0.8_f64.powi(4)));
    let disk_ns = 0.4 * (1.0 - read_hits) * 4e6 + 0.6 * (1.0 - write_hits) * 2e6;
    let rho = 200.0 * disk_ns / 1e9;
    assert_near(busy - idle, disk_ns / (1.0 - rho) - disk_ns);
    let three = Measured { disks: 3.0, ..measured(200.0) };
    assert_near(of(&three, 0.0) - idle, disk_ns / (1.0 - rho / 3.0) - disk_ns);
    // If no write waits for groups, they delay fetches.
    let background = |pages_per_s| of(&Measured { writes_wait: false, ..measured(pages_per_s) }, 0.0);
    let fetches_ns = 0.4 * (1.0 - read_hits) * 4e6;
    assert_near(background(200.0) - background(0.0), fetches_ns / (1.0 - rho) - fetches_ns);
    assert_near(idle - background(0.0), disk_ns - fetches_ns);
    // Waiting for GC grows with the square of its time, the rest in proportion.
    let gc = |gc_ns| of(&measured(200.0), gc_ns) - busy;
    assert!(gc(200e3) > 2.5 * gc(100e3) && gc(200e3) < 6.0 * gc(100e3));
    // Even overload can be compared.
    let drowned = |pages_per_s| of(&measured(pages_per_s), 1e6);
    assert!(drowned(1e9).is_finite() && drowned(1e9) > drowned(1e6));
}

#[test]
fn dear_disks_want_large_caches_and_dear_cleaning_small_ones() {
    let usual = best(&measured(100.0));
    let slow = Measured { fetched_page_ns: 12e6, destaged_page_ns: 6e6, ..measured(100.0) };
    assert!(best(&slow).caching > usual.caching);
    let mut easy = measured(100.0);
    easy.cleaning.measure(0.6, copies(0.2), 0.05);
    assert!(best(&easy).caching > usual.caching);
    let mut hard = measured(100.0);
    hard.cleaning.measure(0.8, copies(0.95), 0.05);
    assert!(best(&hard).caching < usual.caching);
    let reads = Measured { fetched_page_ns: 12e6, ..measured(100.0) };
    assert!(best(&reads).read > usual.read);
}

#[test]
fn every_write_through_waits_for_the_disk() {
    let flash = CONFIG_1.flash;
    let of = |measured: &Measured, read, reads_of_write_hits| {
        let demand = Demand { reads_of_write_hits, ..demand() };
        measured.response_ns(&flash, &demand, Partition { caching: 0.5, read }, 0.0)
    };
    let through = |pages_per_s| Measured {
        write_policy: WritePolicy::WriteThrough,
        writes_wait: false,
        ..measured(pages_per_s)
    };
    let reads_ns = |hits: f64| 0.4 * (hits * 125e3 + (1.0 - hits) * 4e6);
    let hits = demand().read_hits.at(0.5);
    assert_near(of(&through(0.0), 1.0, 0.25), reads_ns(hits) + 0.6 * (300e3 + 2e6));
    assert_near(of(&through(0.0), 0.0, 0.0), reads_ns(0.0) + 0.6 * (300e3 + 2e6));
    assert!(of(&through(0.0), 0.5, 0.25) < of(&through(0.0), 0.5, 0.0), "reads that hit save the disk");
    assert!(of(&through(200.0), 0.5, 0.25) > of(&measured(200.0), 0.5, 0.25), "and all wait for each other");
}
