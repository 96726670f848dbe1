"""Plain caches: equal to libCacheSim miss by miss; curves by miniature simulation; the bound of the optimum."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import libcachesim
import numpy as np
import pytest
from numpy.typing import NDArray

import coflash
from coflash import CoflashError, trace
from coflash.demo import find_trace
from processes import coflash as command

Keys = NDArray[np.int64]
DOCUMENT = Path(__file__).parents[2] / "docs" / "eviction_policies.md"

EQUAL: dict[str, Callable[..., Any]] = {
    "lru": libcachesim.LRU,
    "fifo": libcachesim.FIFO,
    "clock": libcachesim.Clock,
    "lfu": libcachesim.LFU,
    "2q": libcachesim.TwoQ,
    "arc": libcachesim.ARC,
    "s3-fifo": libcachesim.S3FIFO,
    "sieve": libcachesim.Sieve,
    "belady": libcachesim.Belady,
}
SCAN_RESISTANT = ("lfu", "2q", "arc", "w-tinylfu", "s3-fifo", "sieve")
NEVER = 2**63 - 1


def drawn(seed: int, accesses: int = 6000) -> Keys:
    """Zipf over some hundred keys, with scans and a loop in between, and from the middle on other popular keys."""
    stream = np.random.default_rng(seed)
    keys = int(stream.integers(100, 900))
    weights = 1 / np.arange(1, keys + 1) ** stream.uniform(0.5, 1.3)
    popular = stream.choice(keys, accesses, p=weights / weights.sum())
    popular[accesses // 2 :] = (popular[accesses // 2 :] + keys // 3) % keys
    for _ in range(int(stream.integers(0, 6))):
        start, length = stream.integers(0, accesses - 400), stream.integers(20, 400)
        popular[start : start + length] = keys + np.arange(length)
    return popular.astype(np.int64)


def recorded(accesses: int) -> Keys:
    """The first accesses to pages of the trace of the demo."""
    first = trace.head(find_trace(), accesses)
    pages = [
        np.arange(offset // 4096, (offset + length - 1) // 4096 + 1)
        for op, offset, length in zip(first["op"], first["offset_bytes"], first["length_bytes"], strict=True)
        if op in ("read", "write")
    ]
    return np.concatenate(pages)[:accesses].astype(np.int64)


def libcachesim_hits(of: Callable[..., Any], keys: Keys, slots: int) -> list[bool]:
    cache = of(slots, hashpower=16)
    next_use = np.full(len(keys), NEVER)
    upcoming: dict[int, int] = {}
    for at in range(len(keys) - 1, -1, -1):
        next_use[at] = upcoming.get(int(keys[at]), NEVER)
        upcoming[int(keys[at])] = at
    request = libcachesim.Request()
    request.obj_size = 1
    hits = []
    for key, after in zip(keys.tolist(), next_use.tolist(), strict=True):
        request.obj_id, request.next_access_vtime = key + 1, after
        hits.append(cache.get(request))
    return hits


def workloads(seeds: int = 16) -> Iterable[tuple[str, Keys, int]]:
    for seed in range(seeds):
        keys = drawn(seed)
        # libCacheSim admits nothing to a small queue of one slot.
        yield f"seed {seed}", keys, [20, 37, 100, 250][seed % 4]
    pages = recorded(50_000)
    footprint = len(np.unique(pages))
    yield from (("recorded", pages, footprint // part) for part in (4, 32))


@pytest.mark.parametrize("policy", EQUAL)
def test_every_request_hits_or_misses_as_in_libcachesim(policy: str) -> None:
    for name, keys, slots in workloads():
        found, expected = trace.cache_hits(keys, policy, slots), libcachesim_hits(EQUAL[policy], keys, slots)
        differs = np.flatnonzero(found != expected)
        assert not len(differs), f"{policy}, {name}, {slots} slots: from access {differs[0]} on"
        assert 0 < found.sum() < len(keys), f"{policy}, {name}: it says nothing"


def stated_gap(policy: str) -> float:
    """The gap of hit ratios that the documentation states."""
    (row,) = (line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith(f"| `{policy}` |"))
    (gap,) = re.findall(r"hit ratios? within (0\.\d+)", row)
    return float(gap)


def test_w_tinylfu_comes_near_libcachesim_where_that_has_a_window() -> None:
    """Its sketch differs: it does not count hits in the window, and counts a page once more when it leaves."""
    gap = stated_gap("w-tinylfu")
    for name, keys, slots in workloads():
        found = trace.cache_hits(keys, "w-tinylfu", slots).mean()
        expected = np.mean(libcachesim_hits(libcachesim.WTinyLFU, keys, slots))
        if slots >= 100:
            assert found == pytest.approx(expected, abs=gap), f"{name}, {slots} slots"
        else:
            assert expected == 0 < found, f"{name}, {slots} slots: its window is 1 %, rounded down"


def test_no_policy_has_more_hits_than_the_optimum_and_a_scan_does_not_empty_the_new_ones() -> None:
    families = [family for family in coflash.policies() if family.key == "cache.policy"]
    names = [policy.name for family in families for policy in family.policies]
    for seed in range(6):
        keys = drawn(seed)
        most = trace.cache_hits(keys, "belady", 64).sum()
        for name in names:
            assert trace.cache_hits(keys, name, 64).sum() <= most, f"{name}, seed {seed}"
    popular = np.stack([np.tile(np.arange(20), 30), 500 + np.arange(600)], axis=1).ravel()
    scan = np.concatenate([popular, 2000 + np.arange(400), np.arange(20)])
    assert not trace.cache_hits(scan, "lru", 64)[-20:].any()
    for name in SCAN_RESISTANT:
        assert trace.cache_hits(scan, name, 64)[-20:].mean() > 0.8, name


def test_keys_may_be_anything_and_a_cache_may_have_no_slot() -> None:
    assert trace.cache_hits(["a", "b", "a"], "sieve", 2).tolist() == [False, False, True]
    assert trace.cache_hits(np.array([2**60, -5, 2**60]), "belady", 1).tolist() == [False, False, False]
    for policy in (*EQUAL, "w-tinylfu"):
        assert not trace.cache_hits([1, 1, 1], policy, 0).any()
        assert trace.cache_hits([], policy, 8).shape == (0,)


def written(path: Path, keys: Keys) -> Path:
    lines = (f"{at} d {'write' if at % 3 else 'read'} {key * 4096} 4096" for at, key in enumerate(keys.tolist()))
    path.write_text("\n".join(["fio version 3 iolog", *lines]) + "\n")
    return path


def test_a_curve_of_all_pages_is_exact(tmp_path: Path) -> None:
    keys = drawn(3)
    file = written(tmp_path / "drawn.iolog", keys)
    curves = trace.miss_ratio_curves(file, ["lru", "sieve", "belady"])
    footprint = len(np.unique(keys))
    assert curves.sampling.to_dict() == {"method": "exact", "share": 1.0, "pages": footprint}
    assert (curves.cache_pages[0], curves.cache_pages[-1]) == (footprint // 256 or 1, footprint)
    assert curves.accesses_pages == len(keys)
    for policy in ("lru", "sieve", "belady"):
        exact = [1 - trace.cache_hits(keys, policy, slots).mean() for slots in curves.cache_pages]
        assert curves.miss_ratio[policy] == pytest.approx(exact)
    stack = trace.info(file).reuse
    assert stack is not None
    held = np.searchsorted(stack.curve.cache_pages, curves.cache_pages, side="right")
    smooth = [1.0, *stack.curve.miss_ratio]
    assert [smooth[row] for row in held] == pytest.approx(curves.miss_ratio["lru"], abs=0.02)
    assert trace.miss_ratio(file, "sieve", "1MiB") == trace.miss_ratio(file, "sieve", 1 << 20)
    assert trace.miss_ratio(file, "sieve", "1MiB") == pytest.approx(1 - trace.cache_hits(keys, "sieve", 256).mean())


def test_a_sample_comes_as_near_as_is_said(tmp_path: Path) -> None:
    errors = []
    for seed in range(4):
        stream = np.random.default_rng(seed)
        weights = 1 / np.arange(1, 20_001) ** (0.6 + 0.2 * seed)
        keys = stream.permutation(20_000)[stream.choice(20_000, 150_000, p=weights / weights.sum())]
        keys[60_000:70_000] = 30_000 + np.arange(10_000)
        file = written(tmp_path / f"{seed}.iolog", keys)
        policies = ["lru", "sieve", "s3-fifo", "arc"]
        sizes = [4096 * (25_000 >> shift) for shift in range(7)]
        exact = trace.miss_ratio_curves(file, policies, sizes=sizes)
        sampled = trace.miss_ratio_curves(file, policies, sizes=sizes, sample=4096)
        assert (exact.sampling.method, sampled.sampling.method) == ("exact", "sampled")
        assert sampled.sampling.pages <= 4096
        gaps = [np.abs(np.subtract(sampled.miss_ratio[name], exact.miss_ratio[name])).mean() for name in policies]
        errors += gaps
        assert max(gaps) < 0.03, f"seed {seed}: {gaps}"
    assert np.mean(errors) < 0.015


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"policies": ["sievee"]}, '"sievee" is no eviction policy; did you mean "sieve"?'),
        ({"policies": ["belady"], "trace": "-"}, '"belady" needs the future, which a stream has not'),
        ({"sizes": ["1KiB"]}, "1KiB was given; at least a page (4KiB) is allowed"),
        ({"sizes": ["many"]}, "many"),
        ({"page": "3KiB"}, "a power of two of at least 512B is allowed"),
        ({"sample": 5}, "a number of pages from 64"),
    ],
)
def test_what_cannot_be_simulated_is_said(tmp_path: Path, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(CoflashError) as raised:
        trace.miss_ratio_curves(**({"trace": written(tmp_path / "few.iolog", drawn(1)[:50])} | given))
    assert problem in str(raised.value)


def test_the_slots_of_a_cache_are_a_number_that_there_can_be() -> None:
    with pytest.raises(CoflashError, match="-1 slots were given; 0 to"):
        trace.cache_hits([1], "lru", -1)
    with pytest.raises(CoflashError, match='did you mean "s3-fifo"'):
        trace.cache_hits([1], "s3fifo", 4)


def test_the_command_shows_and_draws_them(tmp_path: Path) -> None:
    file = written(tmp_path / "drawn.iolog", drawn(2))
    plot = tmp_path / "curves.svg"
    shown = command("trace", "info", str(file), "--policies", "lru, sieve,belady", "--plot", str(plot))
    assert all(f"{name} simulated" in shown.stdout for name in ("lru", "sieve", "belady"))
    drawn_text = plot.read_text()
    assert all(f">{name}<" in drawn_text for name in ("LRU stack", "lru", "sieve", "belady"))
    listed = ("--policies", "arc", "--cache-sizes", "64KiB,1MiB", "--json")
    found = json.loads(command("trace", "info", str(file), *listed).stdout)["miss_ratio_curves"]
    assert found["cache_pages"] == [16, 256]
    assert list(found["miss_ratio"]) == ["arc"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("FILE", "--policies", "srrip"), '"srrip" is no eviction policy'),
        (("FILE", "--policies", ""), '"" is no eviction policy'),
        (("FILE", "--cache-sizes", "1MiB"), "has no effect without --policies"),
        (("-", "--policies", "lru"), "it is there only once, and --policies reads the trace a second time"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    file = written(tmp_path / "few.iolog", drawn(1)[:50])
    failed = command("trace", "info", *(str(file) if each == "FILE" else each for each in arguments))
    assert failed.returncode != 0
    assert problem in " ".join(failed.stderr.split())
