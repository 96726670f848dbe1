"""The simulator equals naive models of the same systems to the last digit, on random devices from a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import coflash
from models.device import Device
from models.draw import Drawn, trace_of
from models.moving import MovingDevice
from models.replay import serve
from models.request import Request
from models.shadow import HostBuffer
from models.timing import at

pytestmark = pytest.mark.filterwarnings("ignore:.* no effect without ")  # keys are drawn at random

KINDS = ("all", "read", "write")
NOT_MODELLED = {
    "gc_steps",
    "die_utilisation",
    "channel_utilisation",
    *(f"response_ns.{kind}.{quantile}" for kind in KINDS for quantile in ("p50", "p90", "p99", "p99_9", "p99_99")),
}


NOT_MODELLED_PARTS = ("endurance.", "load.", "metadata.", "operations.")
"""They follow from other counters, or vary during a run: tested beside the code."""
MODELLED_OF_LINK = {f"host.to_device.{what}" for what in ("posted", "withdrawn", "messages", "bytes", "delay_max_ns")}


def is_left_out(name: str) -> bool:
    """Whether no model counts it: the cost of commands on the link is in the response times."""
    is_of_link = name.startswith("host.") and name not in MODELLED_OF_LINK
    return name in NOT_MODELLED or name.startswith(NOT_MODELLED_PARTS) or is_of_link


def compare(seeds: Iterable[int], draw: Callable[[int], Drawn], folder: Path) -> Counter[str]:
    """Runs simulator and model; returns for each count the number of devices in which it was above zero."""
    met: Counter[str] = Counter()
    for seed in seeds:
        drawn = draw(seed)
        expected, erases = by_model(drawn)
        result = coflash.run(drawn.scenario(folder / f"{seed}.csv"))
        counted = result.metrics.flat()
        differences = {
            name: (value, expected.get(name, 0))
            for name, value in counted.items()
            if not is_left_out(name) and value != expected.get(name, 0)
        }
        assert differences == {}, f"seed {seed}, (simulator, model): {drawn.fill} {drawn.options}"
        assert result.erase_counts().tolist() == erases, f"seed {seed}: {drawn.options}"
        met.update(name for name, value in expected.items() if value)
    return met


def by_model(drawn: Drawn) -> tuple[dict[str, Any], list[int]]:
    system: Device | HostBuffer
    if "host_buffer" in drawn.options:
        system = HostBuffer(drawn.options, drawn.logical_pages)
    elif drawn.options["cooperation"]["name"] in MOVING:
        system = MovingDevice(drawn.options, drawn.logical_pages)
    else:
        system = Device(drawn.options, drawn.logical_pages)
    ftl, begin = system.ftl, at(0)
    if drawn.fill == "sequential":
        for lpn in range(drawn.logical_pages):
            ftl.write(ftl.make_room(lpn, begin), lpn, "host", "host", begin)
    ftl.begin_measuring()
    return serve(system, drawn.options, drawn.requests), ftl.erase_counts()


PARTS = ("cdm", "cdm", "cdm", "cdm-overwrites", "cdm-removable", "cdm-invalidate-on-cache")


def cache_device(seed: int, weights: tuple[float, ...] = (1.0, 1.0, 0.5, 0.3, 0.0)) -> Drawn:
    drawn = Drawn(seed)
    if seed % 4 == 0:
        drawn.options["cache"]["volatile"] = drawn.rng.random() < 0.7
    else:
        drawn.use_cdm(drawn.rng.choice(PARTS), drawn.rng.choice(weights))
    drawn.finish(requests=1_000)
    return drawn


def test_cache_and_ftl(tmp_path: Path) -> None:
    """Under `none`, `cdm` and its parts: every counter, erases of every block, and most response times."""
    met = compare(range(120), cache_device, tmp_path)
    at_least(10, met, [f"programs_pages.{cause}" for cause in ("host", "evict", "gc", "metadata")])
    at_least(10, met, ["gc_drops_pages", "drop_rewrites_pages", "sole_copies.cleaned_pages", "host_trims_pages"])
    at_least(10, met, ["gc_spared_pages", "sole_copies.from_reads_pages"])
    at_least(5, met, [f"cache.{what}_pages" for what in ("merged", "flushed", "absorbed", "dropped")])


MOVING = ("move-in", "expected-cost")


def moving_device(scheme: str, seed: int) -> Drawn:
    drawn = Drawn(seed)
    drawn.use_cdm(scheme, drawn.rng.choice((1.0, 0.5, 0.0)))
    drawn.options["cache"] |= {"percent": drawn.rng.choice([5, 10, 20, 30]), "read_allocate": True}
    drawn.finish(requests=2_500)
    return drawn


@pytest.mark.parametrize("scheme", MOVING)
def test_pages_that_move_into_the_cache(tmp_path: Path, scheme: str) -> None:
    """Under the schemes by which garbage collection moves pages in: every counter, and most response times."""
    met = compare(range(60), partial(moving_device, scheme), tmp_path)
    at_least(10, met, ["moving.moved_in_pages", "gc_drops_pages", "drop_rewrites_pages", "sole_copies.cleaned_pages"])
    if scheme == "expected-cost":
        at_least(1, met, ["moving.without_room_pages"])


SCHEMES: list[dict[str, Any]] = [
    {"name": "ggc"},
    *({"name": "separation", "shadows": shadows} for shadows in ("host", "device", "both")),
    *({"name": "delay", "shadows": shadows, "lambda": 1.0} for shadows in ("host", "device", "both")),
    *({"name": "zgc", "lambda": by} for by in (0.0, 0.5, 3.0)),
    {"name": "hgc"},
    {"name": "dgc"},
    {"name": "sgc", "twins_at_flush": "durable"},
    {"name": "sgc", "twins_at_flush": "discarded"},
    {"name": "hgc-dgc"},
    {"name": "twin-discard"},
]


def shadow_device(seed: int) -> Drawn:
    drawn = Drawn(seed)
    drawn.use_shadows(SCHEMES[seed % len(SCHEMES)])
    drawn.finish(requests=1_200)
    return drawn


def test_shadows(tmp_path: Path) -> None:
    """Under ShadowGC's schemes, with a buffer in the host and one in the device: every counter, every response time."""
    met = compare([*range(70), 2203], shadow_device, tmp_path)  # 2203: a trim waits for a notice about its page
    at_least(5, met, [f"shadows.moved_{state}_pages" for state in ("valid", "host", "device", "twin")])
    at_least(5, met, [f"shadows.{what}_pages" for what in ("from_buffer", "fast", "discarded_twins")])
    at_least(5, met, ["fast_blocks.victims_blocks", "fast_blocks.victims_valid_pages"])
    reasons = ("dirty_evictions", "aged", "crowded", "flushed", "dropped")
    at_least(5, met, [f"host_buffer.{why}_pages" for why in reasons])
    at_least(5, met, [f"host.to_device.{what}" for what in ("posted", "withdrawn", "messages", "delay_max_ns")])


@pytest.mark.parametrize("scheme", ["hgc", "cdm-hgc"])
@pytest.mark.parametrize("fill", ["sequential", "none"])
def test_a_page_that_stays_dirty_in_the_host_is_a_shadow_when_gc_moves_it(
    tmp_path: Path, fill: str, scheme: str
) -> None:
    """Page 0 is written repeatedly, and left the host once: flash has an outdated copy of it.

    On a device that was empty, that copy was on its way in the device's buffer when the host wrote the page again.
    """
    pages = [0, 1, 2, *(page for number in range(300) for page in (0, 1 + number % 40))]
    requests = [Request(number * 1_000_000, "write", page * 4096, 4096) for number, page in enumerate(pages)]
    scenario = coflash.Scenario.from_dict(
        {
            "flash": {"channels": 1, "blocks_per_plane": 20, "pages_per_block": 4},
            "ftl": {"spare": {"share": "45%", "definition": "spare_of_physical"}},
            "gc": {"low_mark": 2, "victim": "fifo"},
            "cache": {"size": "8KiB", "volatile": scheme == "hgc"},
            "host_buffer": {"size": "8KiB", "notices": "each"},
            "cooperation": scheme,
            "precondition": {"fill": fill},
            "workload": trace_of(requests, tmp_path / "trace.csv"),
        }
    )
    moved = coflash.run(scenario).metrics.flat()
    assert moved["shadows.moved_host_pages"] == 1


@pytest.mark.parametrize("with_gc", [False, True])
def test_shared_channels(tmp_path: Path, with_gc: bool) -> None:
    """Response times where the dies of a channel wait for each other's transfers."""

    def draw(seed: int) -> Drawn:
        drawn = cache_device(seed, (1.0,))
        drawn.options["timing"]["channel"] = "shared"
        # A flush that waits for programs is an event of its own among simultaneous ones.
        drawn.options["cache"]["volatile"] = False
        if not with_gc:
            drawn.fill = "none"
            del drawn.requests[100:]
        return drawn

    met = compare(range(28), draw, tmp_path)
    assert (met["erases_blocks"] > 20) if with_gc else (met["erases_blocks"] == 0)


def at_least(devices: int, met: Counter[str], names: Iterable[str]) -> None:
    """Fails if too few devices had any of these counts: the comparison would prove little."""
    assert {name: met[name] for name in names if met[name] < devices} == {}
