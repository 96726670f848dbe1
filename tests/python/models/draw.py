"""Random small devices and requests for them, from a seed; as the models read them, and as a scenario."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import coflash
from models.request import Request

SECTOR_BYTES = 512


class Drawn:
    """A device, its initial contents, and requests for it. Times are in nanoseconds, sizes in bytes."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.options = _device(self.rng)
        self.fill = self.rng.choice(["none", "sequential", "sequential", "sequential"])
        self.reads = self.rng.choice([0.0, 0.2, 0.5])
        self.trims = self.rng.choice([0.0, 0.05])
        self.requests: list[Request] = []
        self.logical_pages = 0

    def finish(self, *, requests: int, whole_pages: bool = False) -> None:
        """Fills in the dependent values."""
        self.logical_pages = _logical_pages(self.rng, self.options)
        cooperation, slots = self.options["cooperation"], self.logical_pages * self.options["cache"]["percent"] // 100
        if slots * cooperation.get("sole_copies_percent", 100) < 100:
            cooperation["sole_copies_percent"] = 100
        self.requests = _requests(self, requests, whole_pages=whole_pages)

    def use_cdm(self, name: str, weight: float) -> None:
        """Gives the device `cdm` or a part of it."""
        rng = self.rng
        self.reads = rng.choice([0.2, 0.5, 0.7])
        parameters = {
            "removable_weight": weight,
            "rewrite_stream": rng.choice(["evict", "gc"]),
            "sole_copies_percent": rng.choice([100, 50, 30, 10]),
        }
        has_parameters = name in {"cdm", "cdm-removable", "move-in", "expected-cost"}
        if name == "expected-cost":
            parameters |= {"moves_in": rng.random() < 0.8, "read_weight": rng.choice([0.0, 0.5])}
        self.options["cooperation"] = {"name": name, **(parameters if has_parameters else {})}
        self.options["cache"]["percent"] = rng.choice([2, 5, 10, 30, 60, 60])

    def use_shadows(self, cooperation: dict[str, Any]) -> None:
        """Gives the device a scheme of ShadowGC, and the host a write buffer."""
        rng = self.rng
        self.reads = rng.choice([0.0, 0.2])
        self.options["cooperation"] = cooperation
        # Garbage collection may fill two blocks at once.
        self.options["gc"]["low_mark"] = rng.randint(2, 3)
        self.options["cache"] |= {"volatile": True, "percent": rng.choice([0, 5, 10, 20])}
        self.options["host_buffer"] = {
            "percent": rng.choice([5, 10, 30]),
            "dirty_percent_max": rng.choice([100, 50, 10]),
            "policy": rng.choice(["lru", "fifo"]),
            "page_read": rng.randint(10, 100),
            "page_write": rng.randint(10, 100),
            "read_allocate": rng.random() < 0.5,
            "dirty_age_max": rng.choice([30_000_000_000, 100_000_000, 10_000_000]),
            "notices": rng.choice(["each", "batched", "piggybacked"]),
        }

    def scenario(self, trace: Path) -> coflash.Scenario:
        """The same in the words of a scenario; writes the requests to a file."""
        options = self.options
        flash, link, cache, cooperation = (
            dict(options[section]) for section in ("flash", "link", "cache", "cooperation")
        )
        sole_copies = cooperation.pop("sole_copies_percent", 100)
        if sole_copies < 100:
            cooperation["sole_copies_max"] = f"{sole_copies}%"
        sizes = {key: f"{flash[key]}B" for key in ("page_size", "sector_size")}
        rate = f"{1_000_000_000 // link['ns_per_byte']}B" if link["ns_per_byte"] else "0B"
        spare = {"share": f"{options['ftl']['spare_percent']}%", "definition": "spare_of_physical"}
        values = {
            "flash": {**flash, **sizes},
            "timing": _in_ns(options["timing"]),
            "ftl": {**{key: value for key, value in options["ftl"].items() if key != "spare_percent"}, "spare": spare},
            "gc": options["gc"],
            "cache": {"size": f"{cache.pop('percent')}%", **_in_ns(cache)},
            "cooperation": cooperation,
            "link": {"per_command": f"{link['per_command']}ns", "lane_rate": rate},
            "precondition": {"fill": self.fill},
            "workload": trace_of(self.requests, trace),
        }
        if "host_buffer" in options:
            buffer = dict(options["host_buffer"])
            size, dirty = buffer.pop("percent"), buffer.pop("dirty_percent_max")
            values["host_buffer"] = {"size": f"{size}%", "dirty_share_max": f"{dirty}%", **_in_ns(buffer)}
        return coflash.Scenario.from_dict(values)


def trace_of(requests: Sequence[Request], file: Path) -> dict[str, Any]:
    """Writes requests to a trace file; the workload that they are."""
    lines = (f"{r.arrival_ns},{r.operation},{r.offset},{r.size}\n" for r in requests)
    file.write_text("".join(lines), encoding="utf-8")
    return {"trace": [str(file)], "trace_options": {"columns": "time:ns,op,offset:bytes,size:bytes"}}


def _in_ns(times: dict[str, Any]) -> dict[str, Any]:
    return {key: f"{value}ns" if type(value) is int else value for key, value in times.items()}


def _device(rng: random.Random) -> dict[str, Any]:
    victims = [
        *({"name": "greedy", "tie": tie} for tie in ("oldest", "newest", "highest-block")),
        {"name": "fifo"},
        {"name": "windowed-greedy", "window": rng.randint(1, 8)},
        {"name": "cost-benefit"},
    ]
    groups = [[], [["host", "evict"]], [["host", "evict", "gc"]], [["evict", "gc"]], [["host"], ["gc", "evict"]]]
    return {
        "flash": _flash(rng),
        "timing": {
            "page_read": rng.randint(20_000, 60_000),
            "page_program": rng.randint(150_000, 400_000),
            "page_program_fast": rng.randint(50_000, 150_000),
            "block_erase": rng.randint(1_000_000, 3_000_000),
            "sector_transfer": rng.randint(500, 15_000),
            "ecc_decode": rng.choice([0, 5_003]),
            "copy_back": rng.random() < 0.5,
            "channel": "private",
            "planes": rng.choice(["serial", "parallel"]),
        },
        "ftl": {
            "chips": rng.choice(["static", "round-robin"]),
            "pools": rng.choice(["plane", "plane", "die"]),
            "shared_streams": rng.choice(groups),
            "summary": rng.choice(["off", "off", "on", "free-in-gc"]),
            "wear_levelling": rng.choice(["off", "dynamic"]),
        },
        "gc": {
            "victim": rng.choice(victims),
            "low_mark": rng.randint(1, 3),
            "trigger": rng.choice(["write", "operation"]),
        },
        "cache": {
            "percent": rng.choice([0, 2, 5, 10, 25, 60]),
            "policy": rng.choice(["lru", "lru", "fifo"]),
            "read_allocate": rng.random() < 0.8,
            "write_allocate": rng.random() < 0.8,
            "eviction": rng.choice(["foreground", "background"]),
            "page_read": rng.randint(20, 2_000),
            "page_write": rng.randint(20, 2_000),
            "volatile": False,
        },
        "cooperation": {"name": "none"},
        "link": {"per_command": rng.choice([0, 1_500]), "ns_per_byte": rng.choice([0, 0, 1, 4])},
    }


def _flash(rng: random.Random) -> dict[str, int]:
    """From 2 to 8 dies, few enough pages that the requests fill the device and garbage collection begins."""
    while True:
        flash = {
            "channels": rng.randint(1, 4),
            "chips_per_channel": rng.randint(1, 4),
            "planes_per_die": rng.choice([1, 1, 2, 3]),
            "blocks_per_plane": rng.randint(9, 40),
            "pages_per_block": rng.randint(4, 32),
        }
        dies = flash["channels"] * flash["chips_per_channel"]
        pages = dies * flash["planes_per_die"] * flash["blocks_per_plane"] * flash["pages_per_block"]
        if 2 <= dies <= 8 and 300 <= pages <= 2_000:
            return {**flash, "page_size": rng.choice([2048, 4096]), "sector_size": SECTOR_BYTES}


def _logical_pages(rng: random.Random, options: dict[str, Any]) -> int:
    """The exported share of flash: at most as large as garbage collection allows."""
    flash, ftl = options["flash"], options["ftl"]
    pools = 1 if ftl["pools"] == "die" else flash["planes_per_die"]
    pool_blocks = flash["blocks_per_plane"] * flash["planes_per_die"] // pools
    block_pages = flash["pages_per_block"] - (ftl["summary"] != "off")
    # Free blocks at the mark, four streams, and one to copy into.
    options["gc"]["low_mark"] = min(options["gc"]["low_mark"], pool_blocks - 7)
    usable = pool_blocks - options["gc"]["low_mark"] - 4 - 1
    spare_percent_min = -(-100 * (pool_blocks - usable) // pool_blocks)
    ftl["spare_percent"] = rng.randint(spare_percent_min, min(85, spare_percent_min + 20))
    dies = flash["channels"] * flash["chips_per_channel"]
    return int(pool_blocks * pools * block_pages * (100 - ftl["spare_percent"]) // 100 * dies)


def _requests(drawn: Drawn, count: int, *, whole_pages: bool) -> list[Request]:
    """Reads, writes, trims and flushes, of whole pages or not; half of them for a few hot pages."""
    rng, page_bytes, pages = drawn.rng, drawn.options["flash"]["page_size"], drawn.logical_pages
    flushes = rng.choice([0.0, 0.01, 0.01])
    whole = 1.0 if whole_pages else rng.choice([0.0, 0.5, 1.0])
    hot = max(1, pages // rng.choice([4, 20]))
    mean_gap_ns = rng.choice([10_000, 300_000, 3_000_000])
    end = pages * page_bytes
    arrival_ns = 0
    requests = []
    for _ in range(count):
        kind = rng.random()
        operation = "write"
        if kind < flushes:
            operation = "flush"
        elif kind < flushes + drawn.trims:
            operation = "trim"
        elif rng.random() < drawn.reads:
            operation = "read"
        offset = rng.randrange(hot if rng.random() < 0.5 else pages) * page_bytes
        size = rng.choice([1, 1, 1, 2, 3, 5]) * page_bytes
        if rng.random() >= whole:
            offset += rng.randrange(page_bytes // SECTOR_BYTES) * SECTOR_BYTES
            size = rng.randint(1, 2 * page_bytes // SECTOR_BYTES) * SECTOR_BYTES
        where = (0, 0) if operation == "flush" else (offset, min(size, end - offset))
        requests.append(Request(arrival_ns, operation, *where))
        arrival_ns += int(rng.expovariate(1 / mean_gap_ns))
    return requests
