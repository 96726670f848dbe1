"""Random scenarios of any small system: names are drawn from the core's lists."""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import coflash
from coflash import CoflashError, Scenario

PAGE_BYTES = 4096
REQUESTS = 1_000
ERASE_NS = 1_500_000

FAMILIES = {family.key: family.policies for family in coflash.policies()}

# Values of parameters of policies, if the default does not show the allowed values.
VALUES: dict[str, list[Any]] = {
    "age": ["linear", "root"],
    "costs": ["constants", "measured"],
    "hurst": [0.6, 0.9],
    "isolation": ["initially", "persistently"],
    "reads": ["valid", "whole"],
    "removable_weight": [0.0, 0.5, 1.0, "adaptive", "by-age"],
    "rewrite_stream": ["evict", "gc"],
    "shadows": ["host", "device", "both"],
    "sole_copies_max": ["10%", "50%"],
    "tie": ["oldest", "newest", "highest-block"],
    "twins_at_flush": ["durable", "discarded"],
}


def _is_for_caches(scheme: str) -> bool:
    """Whether it is a cooperation scheme of a cache; the others are of a write buffer."""
    return scheme in {"none", "move-in", "expected-cost"} or scheme.startswith("cdm")


def scenario(rng: random.Random) -> dict[str, Any]:
    """Any system; a quarter are hybrids. It may be refused, since parts drawn at random may not fit together."""
    return _hybrid(rng) if rng.randrange(4) == 0 else _cached_device(rng)


def system(seed: int) -> Scenario:
    """A random scenario with parts that fit together; others are refused with the name of a key, and drawn again."""
    rng = random.Random(seed)
    wanted = None
    while True:
        drawn = scenario(rng)
        # Another of the same kind, or kinds that are refused more often would be tested less often.
        wanted = wanted if wanted is not None else "hybrid" in drawn
        if wanted == ("hybrid" in drawn) and (checked := _accepted(drawn)):
            return checked


def system_at_the_edges(seed: int) -> Scenario:
    """A random scenario with some extreme values: keys are set one after another, wherever that is allowed."""
    rng, checked = random.Random(f"edges {seed}"), system(seed)
    for _ in range(rng.choice([1, 4, 12, 40])):
        options = copy.deepcopy(checked.to_dict())
        found = [list(_leaves(value, (table,))) for table, value in options.items()]
        *tables, key = path = rng.choice(rng.choice([paths for paths in found if paths]))
        below: Any = options
        for part in tables:
            below = below[part]
        below[key] = _extreme(rng, below[key])
        if not _is_work(path) and math.prod(options["flash"][count] for count in COUNTS) < 1 << 17:
            checked = _accepted(options) or checked
    return checked


COUNTS = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block"]


def _is_work(path: tuple[str | int, ...]) -> bool:
    """Whether a key sets how much there is to do: large values are no error, but take hours."""
    work = {"requests", "size"} if path[0] == "workload" else {"random_passes", "retention", "fast_retention"}
    return not work.isdisjoint(path)


def _accepted(options: dict[str, Any]) -> Scenario | None:
    try:
        checked = Scenario.from_dict(options)
        checked.check()
    except CoflashError as refused:
        assert re.match(r"[a-z_]+(\.[a-z_]+)*: ", str(refused)), refused
        return None
    return checked


def _leaves(node: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values below a table or list."""
    if isinstance(node, (dict, list)):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _leaves(value, (*path, key))
    else:
        yield path


def _extreme(rng: random.Random, value: Any) -> Any:
    """An extreme value of the same kind; odd ones are as likely as those at the end of the range."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([0, 1, 2, 3, 2**32 - 1, _any_size(rng, 8), _any_size(rng, 16), _any_size(rng, 32)])
    if isinstance(value, float):
        return rng.choice([0.0, 1.0, 10 ** rng.uniform(-9, 9)])
    unit = re.fullmatch(r"[\d.]+([A-Za-z%]+)", str(value))
    match unit and unit[1]:
        case "%":
            return rng.choice(["0%", "100%", "0.0000001%", "99.9999999%", _share(rng, 0, 100), _share(rng, 0, 100)])
        case "ns" | "us" | "ms" | "s" | "min" | "h":
            return rng.choice(["0ns", "5000000h", f"{_any_size(rng, 30)}ns", f"{_any_size(rng, 44)}ns"])
        case "nJ" | "uJ" | "mJ" | "J":
            return f"{_any_size(rng, 63)}nJ"
        case str():
            pages = rng.randint(1, 300) * PAGE_BYTES
            count = rng.choice([0, 2**64 - 2**40, pages, pages, _any_size(rng, 44), 2 ** rng.randint(0, 34)])
            return f"{count}B"
    return value


def _any_size(rng: random.Random, bits: int) -> int:
    """A number of any size up to `bits` bits."""
    return int(2 ** rng.uniform(0, bits))


def _cached_device(rng: random.Random) -> dict[str, Any]:
    """A device with a cache in it or in the host, or with a write buffer in it and perhaps one in the host."""
    values = _flash(rng)
    cooperation = _policy(rng, "cooperation")
    buffers = not _is_for_caches(cooperation["name"])
    in_host = not buffers and rng.randrange(4) == 0
    values["cooperation"] = cooperation
    values["cache"] = {
        "size": _share(rng, 0, 20),
        "policy": _policy(rng, "cache.policy"),
        "read_allocate": rng.random() < 0.8,
        "write_allocate": rng.random() < 0.8,
        "eviction": _word(rng, "cache.eviction"),
        "placement": "host" if in_host else "in-storage",
        "volatile": buffers,
    }
    if in_host:
        values["host"] = {
            "protecting": _chosen(
                rng,
                "host.protecting",
                grants={"share": _share(rng, 0, 100)},
                request={"answer_time": rng.choice(["0ns", "5us"])},
            ),
            **_messages(rng),
        }
        values["ftl"]["indirection_unit"] = rng.choice(["4KiB", "16KiB"])
    elif rng.random() < (0.7 if buffers else 0.2):
        values["host_buffer"] = {
            "size": _share(rng, 1, 20),
            "policy": _policy(rng, "cache.policy"),
            "read_allocate": rng.random() < 0.5,
            "dirty_age_max": rng.choice(["30s", "20ms"]),
            "dirty_share_max": _share(rng, 10, 100),
        }
        values["host"] = _messages(rng)
    if rng.random() < 0.3:
        values["controller"] = {
            "cores": rng.randint(1, 4),
            "read_command": "2us",
            "write_4k": "1us",
            "write_buffer": rng.choice(["0B", "64KiB"]),
        }
    values["precondition"] = {
        "fill": rng.choice(["sequential", "random", "mapped"]),
        "random_passes": rng.choice([0, 1, "steady"]),
    }
    if rng.random() < 0.2:
        values["precondition"]["until_steady"] = True
    values["workload"] = {"synthetic": _synthetic(rng)}
    if rng.random() < 0.2:
        times = rng.sample(["0s", "20ms", "100ms", "300ms"], rng.randint(1, 3))
        values["restart"] = {"at": times, "shutdown": _word(rng, "restart.shutdown")}
    return values


def _messages(rng: random.Random) -> dict[str, Any]:
    """Notices across the link, and when they arrive."""
    return {
        "notice_size": rng.choice(["0B", "8B", "100B"]),
        "notices": _chosen(
            rng,
            "host.notices",
            batched={"max": rng.choice([1, 3, 40]), "wait": rng.choice(["0ns", "30us", "3ms"])},
            piggybacked={"bytes_max": rng.choice(["0B", "64B", "1KiB"])},
        ),
        "jitter": rng.choice(["0ns", "50us"]),
    }


def _hybrid(rng: random.Random) -> dict[str, Any]:
    """A flash cache in front of disks."""
    values = _flash(rng)
    model = _policy(rng, "hybrid.disks.model")
    if model["name"] == "constant":
        model["capacity"] = "32MiB"
    # The hits of other policies are found with many small caches, for which a whole drive is too large here.
    policy = _policy(rng, "cache.policy") if model["name"] == "constant" else {"name": "lru"}
    values["hybrid"] = {
        "scheme": _policy(rng, "hybrid.scheme"),
        "policy": policy,
        **{
            key: _word(rng, f"hybrid.{key}")
            for key in ("active_blocks", "destaging", "resizing", "partial_writes", "write_policy")
        },
        "segment": f"{rng.randint(1, 600) * PAGE_BYTES}B",
        "period_requests": rng.randint(100, 500),
        "resize_pages": rng.randint(1, 8),
        "destage_pages": rng.randint(1, 64),
        "sequential_unit": rng.choice(["0B", "32KiB"]),
        "disks": {
            "count": rng.randint(1, 3),
            "model": model,
            "placement": _word(rng, "hybrid.disks.placement"),
            "scheduler": _word(rng, "hybrid.disks.scheduler"),
        },
    }
    values["precondition"] = {"fill": "none"}
    values["workload"] = {"synthetic": {**_synthetic(rng), "space": rng.choice(["4MiB", "16MiB"])}}
    return values


def _flash(rng: random.Random) -> dict[str, Any]:
    """The device below any cache."""
    pools = _word(rng, "ftl.pools")
    placement = _policy(rng, "ftl.placement") if rng.random() < 0.5 else {"name": "none"}
    streams = rng.choice([[], [["host", "evict"]], [["host", "evict", "gc"]], [["host", "gc"]]])
    has_policy = placement["name"] != "none"
    return {
        "seed": rng.randrange(2**32),
        "flash": {
            "channels": rng.randint(1, 3),
            "chips_per_channel": rng.randint(1, 2),
            "planes_per_die": rng.randint(1, 2),
            "blocks_per_plane": rng.randint(24, 48),
            "pages_per_block": rng.randint(2, 32),
            "page_size": f"{PAGE_BYTES}B",
        },
        "timing": {
            "block_erase": f"{ERASE_NS}ns",
            "page_program_fast": "100us",
            "copy_back": rng.random() < 0.5,
            "channel": _word(rng, "timing.channel"),
            "planes": _word(rng, "timing.planes"),
            "ecc_decode": rng.choice(["0ns", "5us"]),
        },
        "ftl": {
            "spare": {"share": _share(rng, 45, 65), "definition": _word(rng, "ftl.spare.definition")},
            "summary": _word(rng, "ftl.summary"),
            "wear_levelling": _chosen(rng, "ftl.wear_levelling", static={"gap": rng.randint(1, 4)}),
            "chips": "static" if pools == "device" else _word(rng, "ftl.chips"),
            "pools": pools,
            "placement": placement,
            **({} if has_policy else {"shared_streams": streams}),
            "refresh": rng.choice([{}, {}, {"retention": "100ms"}, {"fast_retention": "50ms"}]),
        },
        "gc": {
            "victim": _policy(rng, "gc.victim"),
            "low_mark": rng.randint(6, 9) if has_policy else rng.randint(1, 5),
            "trigger": _word(rng, "gc.trigger"),
            "mode": _chosen(rng, "gc.mode", preemptive={"steps_max": rng.randint(4, 16)}),
        },
        "link": {"lane_rate": rng.choice(["0B", "200MB"]), "per_command": "1us"},
        "replay": {"mode": _word(rng, "replay.mode"), "queue_depth": rng.randint(1, 8)},
    }


def _synthetic(rng: random.Random) -> dict[str, Any]:
    size = rng.choice([policy.name for policy in FAMILIES["workload.synthetic.size"]])
    parameters: dict[str, dict[str, Any]] = {
        "fixed": {"size": rng.choice(["4KiB", "12KiB"])},
        "exponential": {"mean": "6KiB", "max": "32KiB"},
        "choice": {"sizes": [{"size": "512B", "weight": 1}, {"size": "8KiB", "weight": 3}]},
    }
    return {
        "generator": _policy(rng, "workload.synthetic.generator"),
        "requests": REQUESTS,
        "read_share": _share(rng, 0, 60),
        "trim_share": _share(rng, 0, 10),
        "flush_share": _share(rng, 0, 10),
        "size": {"name": size, **parameters.get(size, {})},
        "align": rng.choice(["512B", "4KiB"]),
        "arrival": _policy(rng, "workload.synthetic.arrival"),
    }


def _chosen(rng: random.Random, key: str, **parameters: dict[str, Any]) -> dict[str, Any]:
    """Any name of a choice, with the parameters given for it."""
    name = _word(rng, key)
    return {"name": name, **parameters.get(name, {})}


def _policy(rng: random.Random, family: str) -> dict[str, Any]:
    """Any policy of a family, with some of its parameters."""
    policy = rng.choice(FAMILIES[family])
    drawn = {"name": policy.name}
    for each in policy.parameters:
        if rng.random() < 0.5:
            drawn |= _parameter(rng, each.name, json.loads(each.default or "null"))
    return drawn


def _parameter(rng: random.Random, name: str, default: Any) -> dict[str, Any]:
    """A value of a policy's parameter; None if only its default is known."""
    if name in VALUES:
        return {name: rng.choice(VALUES[name])}
    if isinstance(default, bool):
        return {name: rng.random() < 0.5}
    if isinstance(default, int):
        return {name: rng.randint(1, 2 * default)}
    if isinstance(default, float):
        return {name: rng.uniform(0.5, 1.5) * default}
    if isinstance(default, str) and default.endswith("%"):
        return {name: _share(rng, 20, 90)}
    return {}


def _share(rng: random.Random, least: int, most: int) -> str:
    return f"{rng.randint(least, most)}%"


def _word(rng: random.Random, key: str) -> str:
    """Any of the words that a key of the scenario accepts."""
    return rng.choice(_words(key))


@cache
def _words(key: str) -> list[str]:
    schema = coflash.scenario_schema()
    found: dict[str, Any] = schema
    for part in key.split("."):
        found = found["properties"][part]
        for option in (found, *found.get("anyOf", ())):
            if "$ref" in option:
                found = schema["$defs"][option["$ref"].rpartition("/")[2]]
    return [word for option in found["oneOf"] for word in option.get("enum", [option.get("const")]) if word is not None]
