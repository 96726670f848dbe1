use super::*;

/// Configuration 1 of the paper: pages of 4 KiB, one disk (Maxtor Atlas 10K IV).
pub(super) const CONFIG_1: Costs = Costs {
    flash: FlashCosts {
        pages_per_block: 64,
        page_program: Duration { ns: 300_000 },
        page_read: Duration { ns: 125_000 },
        page_copy: Duration { ns: 225_000 },
        block_erase: Duration { ns: 1_500_000 },
    },
    disk: DiskCosts {
        read_positioning: Duration { ns: 4_500_000 },
        write_positioning: Duration { ns: 4_900_000 },
        bandwidth_bytes_per_s: 72_000_000,
        page_bytes: 4096,
    },
    write_policy: WritePolicy::WriteBack,
};

/// Equation 6: C_HY(u, r), the mean cost of a page request.
fn hybrid_ns(costs: &Costs, demand: &Demand, partition: Partition) -> f64 {
    costs.divided_ns(demand, partition, costs.flash.write_ns(partition.caching, 0.0))
}

/// Hit rates of caches with the most popular hundredths of flash, for a working set of `percent` hundredths.
fn zipf(exponent: f64, percent: u32) -> HitCurve {
    let weights = || (1..=percent).map(|rank| libm::pow(f64::from(rank), -exponent));
    let all: f64 = weights().sum();
    let mut hits = 0.0;
    let rates = weights().map(|weight| {
        hits += weight;
        (hits / all).min(1.0)
    });
    HitCurve::new(rates, 0.01)
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, but {expected} ± {tolerance} is expected");
}

#[test]
fn the_table_solves_its_equation() {
    for (u, expected) in [(0.50, 0.2032), (0.64, 0.3789), (0.80, 0.6286), (0.90, 0.8069), (0.95, 0.9017)] {
        assert_near(victim_utilisation(u), expected, 5e-5);
    }
    assert_eq!((victim_utilisation(0.0), victim_utilisation(1.0)), (0.0, 1.0));
    let mut before = 0.0;
    for step in 1..1000 {
        let u = f64::from(step) / 1000.0;
        let solved = victim_utilisation(u);
        assert!(solved >= before && solved < u, "U({u}) = {solved}");
        if solved > 1e-9 {
            assert_near((solved - 1.0) / libm::log(solved), u, 1e-9);
        }
        before = solved;
    }
}

#[test]
fn a_page_write_costs_what_the_specification_says() {
    let flash = CONFIG_1.flash;
    for (u, expected_us) in [(0.50, 386.8), (0.64, 475.0), (0.80, 744.0), (0.90, 1361.6)] {
        assert_near(flash.write_ns(u, 0.0) / 1e3, expected_us, 0.05);
    }
    assert_near(flash.write_ns(0.95, 0.0) / 1e3, 2602.0, 0.5);
    assert!(flash.write_ns(1.0, 0.0).is_infinite());
}

#[test]
fn requests_cost_what_their_parts_cost() {
    let costs = CONFIG_1;
    let transfer = 4096.0 / 72e6 * 1e9;
    assert_near(costs.disk.read_ns(), 4.5e6 + transfer, 1e-6);
    assert_near(costs.read_ns(1.0, 7.0), 125e3, 0.0);
    assert_near(costs.read_ns(0.0, 7.0), 4.5e6 + transfer + 7.0, 1e-6);
    assert_near(costs.write_ns(1.0, 0.2, 1000.0), 0.8 * 1000.0 + 0.2 * 125e3, 1e-9);
    assert_near(costs.write_ns(0.0, 0.2, 1000.0), 125e3 + 4.9e6 + transfer + 1000.0, 1e-6);
}

#[test]
fn curves_are_straight_between_their_points() {
    let curve = HitCurve::new([0.4, 0.6], 0.25);
    for (share, expected) in [(0.0, 0.0), (0.125, 0.2), (0.25, 0.4), (0.375, 0.5), (0.5, 0.6), (0.9, 0.6)] {
        assert_near(curve.at(share), expected, 1e-12);
    }
    assert_near(HitCurve::new([], 0.5).at(0.7), 0.0, 0.0);
}

/// The first example: reads only, Zipf 1.2 over 120 % of flash. The paper has the best u near 0.92.
#[test]
fn the_example_of_reads_is_best_near_its_u() {
    let demand = Demand {
        reads: 1.0,
        writes: 0.0,
        read_hits: zipf(1.2, 120),
        write_hits: HitCurve::new([], 1.0),
        reads_of_write_hits: 0.0,
    };
    let best = CONFIG_1.best(&demand, 0.0, 0.01, 1.0);
    assert_near(best.caching, 0.92, 0.015);
    assert_near(best.read, 1.0, 0.0);
}

/// The paper's second example, at some h′.
fn example_of_both(reads_of_write_hits: f64) -> Demand {
    Demand {
        reads: 0.2,
        writes: 0.8,
        read_hits: zipf(1.2, 120),
        write_hits: zipf(1.4, 220),
        reads_of_write_hits,
    }
}

/// The second: reads as before, writes Zipf 1.4 over 220 %, 80 % writes, h′ = 0.2. The paper has u ≈ 0.64, r
/// ≈ 0.25. It does not give the unit of the popularity ranks; with hundredths of flash u agrees, and r is a
/// little higher.
#[test]
fn the_example_of_both_is_best_near_its_u_and_r() {
    let demand = example_of_both(0.2);
    let costs = CONFIG_1;
    let best = costs.best(&demand, 0.0, 0.01, 1.0);
    assert_near(best.caching, 0.64, 0.02);
    assert_near(best.read, 0.25, 0.07);
    // The paper's own partition is within a hundredth of the best.
    let papers = hybrid_ns(&costs, &demand, Partition { caching: 0.64, read: 0.25 });
    assert!(papers < 1.01 * hybrid_ns(&costs, &demand, best), "{papers}");
}

#[test]
fn the_algorithm_finds_the_least_of_all_partitions() {
    let demand = Demand {
        reads: 0.5,
        writes: 0.5,
        read_hits: zipf(0.9, 150),
        write_hits: zipf(1.1, 80),
        reads_of_write_hits: 0.4,
    };
    let costs = CONFIG_1;
    let step = 1.0 / 16.0;
    let best = costs.best(&demand, 0.0, step, 0.9);
    let least = hybrid_ns(&costs, &demand, best);
    assert!(best.caching <= 0.9);
    for u in 1..=14 {
        for r in 0..=16 {
            let partition = Partition { caching: f64::from(u) * step, read: f64::from(r) * step };
            assert!(hybrid_ns(&costs, &demand, partition) >= least, "{partition:?} costs less than {best:?}");
        }
    }
    let shares = best.read_share() + best.write_share();
    assert_near(shares, best.caching, 1e-12);
}

#[test]
fn nothing_asked_for_needs_no_cache() {
    let none = || HitCurve::new([], 1.0);
    let demand =
        Demand { reads: 0.0, writes: 0.0, read_hits: none(), write_hits: none(), reads_of_write_hits: 0.0 };
    assert_eq!(CONFIG_1.best(&demand, 0.0, 0.25, 1.0), Partition { caching: 0.25, read: 0.0 });
}

#[test]
fn written_through_only_reads_gain_from_the_write_cache() {
    let through = Costs { write_policy: WritePolicy::WriteThrough, ..CONFIG_1 };
    let both_ns = CONFIG_1.disk.write_ns() + 300e3;
    for hit_rate in [0.0, 0.5, 1.0] {
        assert_near(through.write_ns(hit_rate, 0.0, 300e3), both_ns, 1e-6);
        let read = hit_rate * 0.4;
        assert_near(through.write_ns(hit_rate, 0.4, 300e3), (1.0 - read) * both_ns + read * 125e3, 1e-6);
    }
    assert_eq!(through.best(&example_of_both(0.0), 0.0, 0.01, 1.0).read, 1.0, "no write cache");
    assert!(through.best(&example_of_both(0.2), 0.0, 0.01, 1.0).read < 1.0);
}

/// Of u′ N_P valid pages GC copies those that no other memory has: as many fewer as are spared, and all where none is.
#[test]
fn what_gc_is_spared_lowers_the_valid_pages_of_victims() {
    let flash = CONFIG_1.flash;
    let (u, spared) = (0.8, 0.2);
    let copied = victim_utilisation(u) * 0.75;
    let expected = (copied * 64.0 * 225e3 + 1.5e6) / ((1.0 - copied) * 64.0) + 300e3;
    assert_near(flash.write_ns(u, spared), expected, 1e-6);
    // All that flash holds is elsewhere, too: an erase for each N_P pages.
    assert_near(flash.write_ns(0.1, 0.5), 1.5e6 / 64.0 + 300e3, 1e-6);
    let demand = example_of_both(0.2);
    let caching = |spared| CONFIG_1.best(&demand, spared, 0.01, 1.0).caching;
    assert!(
        caching(0.3) > caching(0.1) && caching(0.1) > caching(0.0),
        "cheaper GC is worth less spare room"
    );
}
