from __future__ import annotations

from pathlib import Path

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
    assert costmodel.effective_utilisation(valid / (1 - valid)) == pytest.approx(u, abs=1e-4)
    assert Costs().write_us(u) == pytest.approx(write_us, abs=0.5)
    assert Costs().write_us(u, worst=True) > Costs().write_us(u)
    assert Costs().gc_us(u) == pytest.approx(costmodel.victim_utilisation(u) * 64 * 225 + 1500)


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
    demand = Demand(0.3, 0.7, [0.5], [0.8], reads_of_write_hits=0.1, segment=1)
    u, r = 0.8, 0.5
    read = costs.read_cache_us(0.5 * u * r, u)
    write = costs.write_cache_us(0.8 * u * (1 - r), 0.1, u)
    assert costs.hybrid_us(demand, u, r) == pytest.approx(0.3 * read + 0.7 * write)


def test_written_through_each_write_goes_to_the_disk() -> None:
    through, back = Costs(write_through=True), Costs()
    both_us = 4900 + 4096 / 72 + through.write_us(0.8)
    assert through.write_cache_us(0.0, 0.0, 0.8) == pytest.approx(both_us, rel=1e-6)
    assert through.write_cache_us(1.0, 0.0, 0.8) == through.write_cache_us(0.0, 0.0, 0.8)
    assert back.write_cache_us(1.0, 0.0, 0.8) == pytest.approx(back.write_us(0.8))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(CoflashError, match=r"u is 1\.5; 0 to 1 is allowed"):
        costmodel.victim_utilisation(1.5)
    with pytest.raises(CoflashError, match="-1 copies a page; at least 0 is allowed"):
        costmodel.effective_utilisation(-1)
    with pytest.raises(CoflashError, match="read_hit_rates: rates from 0 to 1 that never fall"):
        Costs().hybrid_us(Demand(1, 0, [0.5, 0.4]), 0.5, 0.5)
    with pytest.raises(CoflashError, match="pages_per_block is 0"):
        Costs(pages_per_block=0).gc_us(0.5)
    with pytest.raises(CoflashError, match="step is 0"):
        Costs().best(Demand(1, 0), step=0)
    with pytest.raises(CoflashError, match="working set 0"):
        zipf_hit_rates(1, 0)


def test_figures_are_written(tmp_path: Path) -> None:
    files = costmodel.write_figures(tmp_path, "png")
    assert [file.name for file in files] == ["cost-of-reads.png", "cost-of-both.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
