from __future__ import annotations

import pytest

from coflash import CoflashError, costmodel
from coflash.costmodel import Costs, Demand, zipf_hit_rates


@pytest.mark.parametrize(
    ("u", "valid", "write_us"),
    [
        (0.50, 0.2032, 386.8),
        (0.64, 0.3789, 475.0),
        (0.80, 0.6286, 744.0),
        (0.90, 0.8069, 1361.6),
        (0.95, 0.9017, 2602),
    ],
)
def test_the_check_values(u: float, valid: float, write_us: float) -> None:
    assert costmodel.victim_utilisation(u) == pytest.approx(valid, abs=5e-5)
    assert Costs().write_us(u) == pytest.approx(write_us, abs=0.5)


def test_the_examples_of_the_paper() -> None:
    reads = Demand(1, 0, zipf_hit_rates(1.2, 1.2))
    assert Costs().best(reads, step=0.01).u == pytest.approx(0.92, abs=0.015)
    both = Demand(0.2, 0.8, zipf_hit_rates(1.2, 1.2), zipf_hit_rates(1.4, 2.2), reads_of_write_hits=0.2)
    best = Costs().best(both, step=0.01)
    assert best.u == pytest.approx(0.64, abs=0.02)
    assert best.r == pytest.approx(0.25, abs=0.07)
    assert best.cost_us == Costs().hybrid_us(both, best.u, best.r)


def test_the_mean_is_that_of_its_parts() -> None:
    costs = Costs()
    u, r = 0.8, 0.5
    reads, writes = Demand(1, 0, [0.5], segment=1), Demand(0, 1, (), [0.8], reads_of_write_hits=0.1, segment=1)
    demand = Demand(0.3, 0.7, [0.5], [0.8], reads_of_write_hits=0.1, segment=1)
    of_both = 0.3 * costs.hybrid_us(reads, u, r) + 0.7 * costs.hybrid_us(writes, u, r)
    assert costs.hybrid_us(demand, u, r) == pytest.approx(of_both)
    missed = 1 - 0.5 * u * r
    of_reads = (1 - missed) * 125 + missed * (4500 + 4096 / 72 + costs.write_us(u))
    assert costs.hybrid_us(reads, u, r) == pytest.approx(of_reads, rel=1e-6)


def test_written_through_each_write_goes_to_the_disk() -> None:
    def write_us(costs: Costs, hit_rate: float) -> float:
        return costs.hybrid_us(Demand(0, 1, (), [hit_rate], segment=0.01), 0.8, 0.0)

    through, back = Costs(write_through=True), Costs()
    both_us = 4900 + 4096 / 72 + through.write_us(0.8)
    assert write_us(through, 0.0) == pytest.approx(both_us, rel=1e-6)
    assert write_us(through, 1.0) == write_us(through, 0.0)
    assert write_us(back, 1.0) == pytest.approx(back.write_us(0.8))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(CoflashError, match=r"u is 1\.5; 0 to 1 is allowed"):
        costmodel.victim_utilisation(1.5)
    with pytest.raises(CoflashError, match="read_hit_rates: rates from 0 to 1 that never fall"):
        Costs().hybrid_us(Demand(1, 0, [0.5, 0.4]), 0.5, 0.5)
    with pytest.raises(CoflashError, match="pages_per_block is 0"):
        Costs(pages_per_block=0).write_us(0.5)
    with pytest.raises(CoflashError, match="step is 0"):
        Costs().best(Demand(1, 0), step=0)
    with pytest.raises(CoflashError, match="working set 0"):
        zipf_hit_rates(1, 0)


OF_THE_SIMULATOR = [
    (0.46699642221841897, 1336.5768211331274, 2683.9498946217263, 0.625, 0.375, 2629.5139064698633),
    (0.46699642221841897, 1336.5768211331274, 4478.895122106109, 0.5625, 0.625, 4280.1339638191985),
]
"""Computed by the functions with which the simulated cache divides its flash: written back, and through."""


def test_the_numbers_are_those_of_the_simulator() -> None:
    kept = (64, 593, 61, 739, 3278, 6021, 4713)
    back, through = (Costs(*kept, write_through=is_through) for is_through in (False, True))
    demand = Demand(0.25, 0.75, zipf_hit_rates(0.9, 1.7, 0.05), zipf_hit_rates(1.2, 2.3, 0.05), 0.3, 0.05)
    found = [
        (costmodel.victim_utilisation(0.7), each.write_us(0.7), each.hybrid_us(demand, 0.7, 0.4), *each.best(demand))
        for each in (back, through)
    ]
    assert found == [pytest.approx(row, rel=1e-9) for row in OF_THE_SIMULATOR]
