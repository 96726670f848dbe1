"""The closed forms against each other, against brute force, and against the simplest simulation."""

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from coflash import analytic
from zones import PLACEMENTS, best_separation, mixed, simulated

ROOT = Path(__file__).parents[2]
ALPHAS = st.floats(1.001, 10)
BLOCK_SIZES = st.integers(1, 4096)


def simulate(blocks: int, pages_per_block: int, logical: int, choices: int | None, writes: int) -> float:
    """A of a page-mapped device with one open and one spare block; without ``choices``, greedy."""
    rng = random.Random(2013)
    block_of: list[int | None] = [None] * logical
    valid: list[set[int]] = [set() for _ in range(blocks)]
    unused = list(range(blocks))
    active, room, copies = unused.pop(), pages_per_block, 0
    for step in range(logical + writes):
        if room == 0 and len(unused) > 1:
            active, room = unused.pop(), pages_per_block
        while room == 0:
            full = [b for b in range(blocks) if b != unused[0]]
            candidates = full if choices is None else rng.choices(full, k=choices)
            victim = min(candidates, key=lambda b: len(valid[b]))
            active = unused.pop()
            for page in valid[victim]:
                block_of[page] = active
            valid[active], valid[victim] = valid[victim], set()
            unused.append(victim)
            room = pages_per_block - len(valid[active])
            copies += len(valid[active]) if step >= logical + writes // 3 else 0
        page = step if step < logical else rng.randrange(logical)
        if (old := block_of[page]) is not None:
            valid[old].discard(page)
        block_of[page] = active
        valid[active].add(page)
        room -= 1
    return 1 + copies / (writes - writes // 3)


@pytest.mark.parametrize("choices", [1, 2, 10, None])
def test_agrees_with_a_simulation(choices: int | None) -> None:
    blocks, n, logical = 256, 8, 1640
    measured = simulate(blocks, n, logical, choices, writes=120_000)
    alpha = analytic.usable(blocks * n, n) / logical
    expected = analytic.greedy(alpha, n) if choices is None else analytic.d_choices(alpha, n, choices)
    assert measured == pytest.approx(expected, rel=0.015)


def mean_field(alpha: float, n: int, d: int) -> float:
    """A of d choices, by iterating the shares of blocks with 0 ... N valid pages until they are stationary."""
    share = np.zeros(n + 1)
    share[n], share[0] = 1 / alpha, 1 - 1 / alpha
    level = np.arange(n + 1)
    for _ in range(20_000):
        at_least = np.append(np.cumsum(share[::-1])[::-1], 0.0)
        victim = at_least[:-1] ** d - at_least[1:] ** d
        lost = level * share * (n - level @ victim) * alpha / n
        change = np.append(lost[1:], 1.0) - lost - victim
        share += change * 0.1 / n
    assert np.abs(change).max() < 1e-9
    assert share.sum() == pytest.approx(1)
    assert level @ share == pytest.approx(n / alpha)
    return float(n / (n - level @ victim))


@pytest.mark.parametrize(("alpha", "n", "d"), [(1.1, 4, 2), (1.25, 8, 1), (1.25, 8, 3), (1.5, 16, 5), (2, 8, 10)])
def test_d_choices_is_where_the_mean_field_rests(alpha: float, n: int, d: int) -> None:
    assert analytic.d_choices(alpha, n, d) == pytest.approx(mean_field(alpha, n, d), rel=1e-7)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda: analytic.random_choice(1.25), 5.0),
        (
            lambda: analytic.fifo(2 * math.log(2)),
            2.0,
        ),  # half the pages live: alpha = log(1/p) / (1 - p), p = 1/2
        (lambda: analytic.greedy(1.5, 2), 1.0),
        (lambda: analytic.greedy(1.25, 2), 1.5),
        (lambda: analytic.greedy(10 / 9, 4), 8 / 3),  # v = 5/2: 4 (1/4 + (1/3) / 2) / (3/2) = 10/9
        (
            lambda: analytic.d_choices(1.25, 1, 2),
            1 / (1 - 0.8**2),
        ),  # one page: the victim is valid if both are
    ],
)
def test_values_known_by_hand(model: Callable[[], float], expected: float) -> None:
    assert model() == pytest.approx(expected, rel=1e-7)


@given(ALPHAS)
def test_fifo_pages_survive_a_round_as_the_model_says(alpha: float) -> None:
    amplification = analytic.fifo(alpha)
    assert math.exp(-alpha / amplification) == pytest.approx(1 - 1 / amplification, abs=1e-9)


@given(st.floats(1e-9, 1e-3))
def test_fifo_is_precise_where_there_is_hardly_any_spare_space(spare: float) -> None:
    alpha = 1 + spare
    spare = alpha - 1  # as rounded
    assert analytic.fifo(alpha) == pytest.approx(1 / (2 * spare) + 2 / 3, rel=spare**2 + 1e-8)


@given(ALPHAS, BLOCK_SIZES)
def test_greedy_solves_its_equation(alpha: float, n: int) -> None:
    harmonic = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, n + 1))))
    amplification = analytic.greedy(alpha, n)
    if alpha >= harmonic[n]:
        assert amplification == 1
        return
    v = n - n / amplification
    assert 0 <= v < n
    drop = harmonic[n] - float(np.interp(v, np.arange(n + 1), harmonic))
    assert n * drop / (n - v) == pytest.approx(alpha, rel=1e-9)


@given(ALPHAS, st.floats(1e-3, 1), BLOCK_SIZES, st.integers(1, 100))
def test_more_space_never_hurts(alpha: float, more: float, n: int, d: int) -> None:
    assert analytic.fifo(alpha + more) <= analytic.fifo(alpha)
    assert analytic.random_choice(alpha + more) <= analytic.random_choice(alpha)
    assert analytic.greedy(alpha + more, n) <= analytic.greedy(alpha, n)
    n = min(n, 64)
    assert analytic.d_choices(alpha + more, n, d) <= analytic.d_choices(alpha, n, d) * (1 + 1e-9)


@given(ALPHAS, st.integers(1, 4095))
def test_greedy_gets_worse_with_the_block_size_up_to_fifo(alpha: float, n: int) -> None:
    slack = 1 + 1e-9
    assert 1 <= analytic.greedy(alpha, n) <= analytic.greedy(alpha, n + 1) * slack <= analytic.fifo(alpha) * slack**2


@given(st.floats(1.001, 5), st.integers(1, 64), st.integers(1, 99))
def test_every_further_choice_helps_from_random_to_greedy(alpha: float, n: int, d: int) -> None:
    slack = 1 + 1e-9
    few, more = analytic.d_choices(alpha, n, d), analytic.d_choices(alpha, n, d + 1)
    assert analytic.greedy(alpha, n) <= more * slack <= few * slack**2 <= analytic.random_choice(alpha) * slack**3


@pytest.mark.parametrize("alpha", [1.001, 1.05, 1.25, 2.0, 9.0])
@pytest.mark.parametrize("n", [1, 2, 37, 256])
def test_the_limits_of_d_choices(alpha: float, n: int) -> None:
    assert analytic.d_choices(alpha, n, 1) == pytest.approx(analytic.random_choice(alpha), rel=1e-9)
    assert analytic.d_choices(alpha, n, 10**9) == pytest.approx(analytic.greedy(alpha, n), rel=1e-6)


@pytest.mark.parametrize("alpha", [1.02, 1.2, 2.0])
def test_greedy_tends_to_fifo(alpha: float) -> None:
    assert analytic.greedy(alpha, 4_000_000) == pytest.approx(analytic.fifo(alpha), rel=1e-5)


def test_cooperation() -> None:
    assert analytic.cdm(1250, 1000, 0, 32) == (1, analytic.greedy(1.25, 32), analytic.greedy(1.25, 32))
    half = analytic.cdm(1250, 1000, 500, 32)
    assert half.flash_write_rate == 0.5
    assert half.waf_ftl == analytic.greedy(2.5, 32)
    assert half.waf_host == half.waf_ftl / 2


@given(st.integers(0, 998), BLOCK_SIZES)
def test_every_cached_page_helps_twice(cached: int, n: int) -> None:
    fewer, more = (analytic.cdm(1100.5, 1000, c, n) for c in (cached, cached + 1))
    assert more.flash_write_rate < fewer.flash_write_rate
    assert more.waf_ftl <= fewer.waf_ftl


ZONES = st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=4)


def shares(zones: list[tuple[float, float]]) -> list[tuple[float, float]]:
    traffic, space = (sum(z) for z in zip(*zones, strict=True))
    return [(r / traffic, s / space) for r, s in zones]


def amplification_of_split(
    zones: list[tuple[float, float]], alpha: float, n: int | None, split: tuple[float, ...]
) -> float:
    total = 0.0
    for (r, s), part in zip(zones, split, strict=True):
        own = 1 + max(part, 1e-12) * (alpha - 1) / s
        total += r * (analytic.fifo(own) if n is None else analytic.greedy(own, n))
    return total


@given(ZONES, st.floats(1.01, 3), st.sampled_from([None, 1, 4, 256]), st.randoms(use_true_random=False))
def test_no_other_split_beats_the_best(
    raw: list[tuple[float, float]], alpha: float, n: int | None, rng: random.Random
) -> None:
    zones = shares(raw)
    best = best_separation(zones, alpha, n)
    assert sum(best.spare_shares) == pytest.approx(1)
    assert min(best.spare_shares) >= 0
    assert best.write_amplification == pytest.approx(
        amplification_of_split(zones, alpha, n, best.spare_shares), rel=1e-7
    )
    whole = analytic.fifo(alpha) if n is None else analytic.greedy(alpha, n)
    assert best.write_amplification <= whole * (1 + 1e-9)
    for scale in (1.0, 0.01):
        weights = [share + scale * rng.random() for share in best.spare_shares]
        other = tuple(w / sum(weights) for w in weights)
        assert best.write_amplification <= amplification_of_split(zones, alpha, n, other) * (1 + 1e-9)


@pytest.mark.parametrize("n", [None, 64])
def test_the_best_split_is_the_one_a_search_finds(n: int | None) -> None:
    zones = [(0.7, 0.1), (0.25, 0.3), (0.05, 0.6)]
    best = best_separation(zones, 1.2, n)

    def cost(logits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        weights = np.exp(np.append(logits, 0.0))
        return amplification_of_split(zones, 1.2, n, tuple(weights / weights.sum()))

    found = minimize(cost, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert best.write_amplification == pytest.approx(found.fun, rel=1e-6)


def test_zones_that_share_blocks_amplify_as_documented() -> None:
    """The published simulations of docs/placement.md are within 1 % of the closed form."""
    published = {0.5: 4.173, 0.7: 4.297, 0.8: 4.515, 0.9: 5.112, 0.95: 5.904}
    cells = [mixed([(hot, 1 - hot), (1 - hot, hot)], 1 / 0.875) for hot in published]
    assert cells == pytest.approx(list(published.values()), rel=0.01)
    row = " | ".join(f"{cell:.3f}" for cell in cells)
    assert f"| closed form | {row} |" in (ROOT / "docs" / "placement.md").read_text()


@given(st.floats(1.001, 100), st.floats(0.01, 0.99))
def test_equal_zones_that_share_blocks_are_one(alpha: float, part: float) -> None:
    assert mixed([(part, part), (1 - part, 1 - part)], alpha) == pytest.approx(analytic.fifo(alpha), rel=1e-6)
    assert mixed([(part, part), (1 - part, 1 - part)], alpha) <= mixed([(1, part), (0, 1 - part)], alpha)


def test_no_placement_writes_less_than_the_best_separation() -> None:
    bound, wafs = simulated(0.9, 0.1)
    assert set(wafs) == set(PLACEMENTS)
    assert 1 < bound < min(wafs.values()) < wafs["none"], "the bound binds, and a placement helps"


def test_two_zones_by_hand() -> None:
    """N = 2: A is 2 (2 - alpha) up to alpha = 3/2, so all 0.2 U spare pages go where r / s is larger."""
    best = best_separation([(0.8, 0.5), (0.2, 0.5)], 1.2, 2)
    assert best.write_amplification == pytest.approx(0.8 * 1.2 + 0.2 * 2)
    assert best.spare_shares == pytest.approx((1, 0))


@pytest.mark.parametrize("n", [None, 8])
def test_a_zone_never_written_gets_nothing_and_equal_zones_get_the_same(n: int | None) -> None:
    assert best_separation([(1, 1e-4), (0, 1 - 1e-4)], 1.1, None).spare_shares == (1, 0)
    single = best_separation([(1, 1)], 1.1, n)
    whole = analytic.fifo(1.1) if n is None else analytic.greedy(1.1, n)
    assert single.write_amplification == pytest.approx(whole)
    assert best_separation([(0.3, 0.3), (0.7, 0.7)], 1.1, n).write_amplification == pytest.approx(whole)


@pytest.mark.parametrize("alpha", [1 + 1e-6, 1.1, 1000])
def test_zones_may_differ_extremely(alpha: float) -> None:
    best = best_separation([(1 - 1e-15, 1e-6), (1e-15, 1 - 1e-6)], alpha)
    assert 1 <= best.write_amplification <= analytic.fifo(alpha)
    assert sum(best.spare_shares) == pytest.approx(1)


def test_space_that_no_zone_can_use_is_spread() -> None:
    assert best_separation([(0.9, 0.25), (0.1, 0.75)], 100, 1) == (1, (0.25, 0.75))


def test_usable() -> None:
    assert analytic.usable(64_000, 64) == 64_000 - 96
    assert analytic.usable(64_000, 64, pools=8, open_blocks_per_pool=2, reserve_blocks_per_pool=3) == 64_000 - 2048
    assert analytic.usable(100, 10, open_blocks_per_pool=0, reserve_blocks_per_pool=0) == 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analytic.fifo(1), "alpha is 1; allowed: 1 < alpha"),
        (lambda: analytic.fifo(math.nan), "alpha is nan"),
        (lambda: analytic.random_choice(0.9), "alpha is 0.9"),
        (lambda: analytic.greedy(math.inf, 4), "alpha is inf"),
        (lambda: analytic.greedy(1.2, 0), "pages_per_block is 0; allowed: an integer >= 1"),
        (lambda: analytic.d_choices(1.2, 0, 2), "pages_per_block is 0"),
        (lambda: analytic.d_choices(1.2, 4, 0), "d is 0"),
        (lambda: analytic.cdm(1250, 0, 0, 4), "logical_pages is 0"),
        (lambda: analytic.cdm(1250, 1000, 1000, 4), "cached_pages is 1000; allowed: 0 .. 999"),
        (lambda: analytic.cdm(1000, 1000, 10, 4), "physical_pages is 1000"),
        (lambda: best_separation([], 1.2), "zones is"),
        (lambda: best_separation([(1, 0)], 1.2), r"zone is \(1, 0\); allowed: \(traffic share >= 0"),
        (lambda: best_separation([(0.5, 0.5), (0.6, 0.5)], 1.2), "sum of the traffic shares is 1.1"),
        (lambda: best_separation([(0.5, 0.5), (0.5, 0.4)], 1.2), "sum of the space shares is 0.9"),
        (lambda: best_separation([(1, 1)], 1.0), "alpha is 1.0"),
        (lambda: analytic.usable(96, 64), "physical_pages is 96; allowed: more than the 96 not usable"),
        (lambda: analytic.usable(96, 64, pools=0), "pools is 0"),
    ],
)
def test_what_cannot_be_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("hot_share", "passes"), [(0.01, 0.0), (0.01, 0.05), (0.1, 0.01)])
def test_greedy_after_a_short_fill_has_what_is_left_of_the_spare_space(hot_share: float, passes: float) -> None:
    alpha, logical = 1.25, 1e6
    free = alpha * logical - (1 + passes) * logical
    expected = analytic.greedy(free / (hot_share * logical), 64)
    assert analytic.greedy_after_fill(alpha, hot_share, passes, 64) == pytest.approx(expected)


def test_greedy_after_a_long_fill_is_as_if_all_were_written() -> None:
    alpha = 1.07
    threshold = alpha - 1 - 0.01 * alpha
    stuck = analytic.greedy(alpha, 64)
    assert analytic.greedy_after_fill(alpha, 0.01, threshold, 64) == pytest.approx(stuck)
    assert analytic.greedy_after_fill(alpha, 0.01, threshold - 0.005, 64) < stuck / 2
    assert analytic.greedy_after_fill(alpha, 0.01, 3, 64) == stuck
    assert analytic.greedy_after_fill(alpha, 1, 0, 64) == stuck


def simulated_removable_pages(
    weights: Sequence[float], cached: int, read_share: float
) -> tuple[float, Sequence[float]]:
    """The share of clean cached pages, sampled at random times, that leave unmodified; and the hit ratios."""
    draw = random.Random(7)
    requests = draw.choices(range(len(weights)), weights, k=200_000)
    cache: dict[int, list[int]] = {}  # page -> samples of its stay so far; None once it is dirty
    dirty: set[int] = set()
    asked = left = 0
    hits, uses = [0] * len(weights), [0] * len(weights)
    for step, page in enumerate(requests):
        uses[page] += 1
        hits[page] += page in cache
        questions = cache.pop(page, [0])
        if len(cache) == cached:
            gone, their = next(iter(cache.items()))
            del cache[gone]
            if gone not in dirty:
                left += their[0]
            dirty.discard(gone)
        cache[page] = questions
        if draw.random() >= read_share:
            dirty.add(page)
        if step % 5 == 0 and (other := draw.choice(list(cache))) not in dirty:
            cache[other][0] += 1
            asked += 1
    still = sum(questions[0] for page, questions in cache.items() if page not in dirty)
    return left / (asked - still), [hit / max(1, use) for hit, use in zip(hits, uses, strict=True)]


@pytest.mark.parametrize("exponent", [0.0, 0.9])
@pytest.mark.parametrize("read_share", [0.3, 0.8])
@pytest.mark.parametrize("cached", [20, 60])
def test_what_leaves_unmodified_is_as_in_a_cache(exponent: float, read_share: float, cached: int) -> None:
    weights = [rank**-exponent for rank in range(1, 201)]
    measured, hits = simulated_removable_pages(weights, cached, read_share)
    ratios = analytic.lru_hit_ratios(weights, cached)
    assert ratios.sum() == pytest.approx(cached)
    assert ratios[:10] == pytest.approx(hits[:10], abs=0.03)
    assert analytic.leaves_unmodified(ratios, read_share) == pytest.approx(measured, abs=0.015)


def test_the_weight_of_a_removable_page_is_the_expected_cost_of_a_drop() -> None:
    assert analytic.removable_weight(0.4) == 0.4
    assert analytic.removable_weight(0.4, 0.5) == pytest.approx(0.4 * 0.5 * 2 + 0.4 * 0.5)
    assert analytic.removable_weight(0.8, 1.0) == 1.0
    with pytest.raises(ValueError, match=r"unmodified_share is 1.2; allowed: 0 <= share <= 1"):
        analytic.removable_weight(1.2)
