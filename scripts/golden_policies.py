"""A short run of every policy, so that an algorithm that changes is seen: its digest is a golden result.

A digest is over the keys that results had when it was written (`keys.json`), so that a new measure changes none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import coflash
from coflash import Scenario

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
REQUESTS = 12_000
NOT_RUN = ("workload.trace_options.format",)
"""Families whose members have other tests: of a format of traces what it reads is compared with samples."""

_SMALL = {"flash.blocks_per_plane": 32, "flash.pages_per_block": 64}
"""Small enough to be written over several times, so that garbage collection has choices."""
_HOT_COLD = {
    "flash.blocks_per_plane": 64,
    "flash.pages_per_block": 32,
    "gc.low_mark": 9,
    "ftl.spare.share": "45%",
    "workload.synthetic.generator.name": "hot-cold",
}
"""Room for a block of each class, and pages that differ."""
_TURNED_OVER = {"cache.size": "0.3%"}
"""Every page of the cache leaves it several times."""
_BY_NAME: dict[str, dict[str, Any]] = {
    "cooperation cdm-hgc": {"host_buffer.size": "512KiB"},
    # Pages leave the cache before it is known how long they stay.
    "hybrid.scheme drop-evict": {"workload.synthetic.requests": 40_000},
}
"""What a policy needs besides."""


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """Yield a scenario for every policy of the registry, with its name: the family and the policy."""
    for family in coflash.policies():
        if family.key not in NOT_RUN:
            for policy in family.policies:
                yield f"{family.key} {policy.name}", _scenario(family.key, policy.name)


def numbers() -> dict[str, dict[str, Any]]:
    """Run every policy; return of each its scenario's hash, and the numbers of its result."""
    return {name: numbers_of(scenario) for name, scenario in scenarios()}


def numbers_of(scenario: Scenario) -> dict[str, Any]:
    """Run a scenario; return its hash, and the numbers of its result."""
    document = coflash.run(scenario).document
    return {"scenario_hash": scenario.hash, **{key: document[key] for key in ("seed", "workload", "metrics")}}


def entry(numbers: dict[str, Any], keys: Set[str]) -> dict[str, str]:
    """Return the hash of the scenario of some numbers, and a digest of those under these keys."""
    counted = {key: value for key, value in numbers.items() if key != "scenario_hash"}
    text = json.dumps(pruned(counted, keys), sort_keys=True, ensure_ascii=False)
    return {"scenario_hash": numbers["scenario_hash"], "digest": hashlib.sha256(text.encode()).hexdigest()[:16]}


def keys_of(value: Any, path: str = "") -> Iterator[str]:
    """Yield the keys of a document, with those that contain them; `[]` stands for any item of a list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from keys_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, f"{path}[]")


def pruned(value: Any, keys: Set[str], path: str = "") -> Any:
    """Return a document without the keys that are not among `keys`."""
    if isinstance(value, dict):
        inner = {key: (item, f"{path}.{key}") for key, item in value.items()}
        return {key: pruned(item, keys, name) for key, (item, name) in inner.items() if name in keys}
    return [pruned(item, keys, f"{path}[]") for item in value] if isinstance(value, list) else value


def _scenario(family: str, policy: str) -> Scenario:
    base, changes = _base(family, policy)
    scenario = Scenario.load(GOLDEN / f"{base}.toml")
    if family == "workload.preset":
        values = scenario.to_dict()
        values["workload"] = {"preset": {"name": policy, "requests": REQUESTS, "space": "64MiB"}}
        values["flash"] |= changes
        return Scenario.from_dict(values)
    more = _BY_NAME.get(f"{family} {policy}", {})
    return scenario.with_({"workload.synthetic.requests": REQUESTS, **changes, **more}).set(
        [(family, f'{{ name = "{policy}" }}')]
    )


def _base(family: str, policy: str) -> tuple[str, dict[str, Any]]:
    """Return the golden scenario in which a policy does its work, and changes to it."""
    if family == "ftl.placement":
        return "greedy-uniform", _HOT_COLD
    if family.startswith("hybrid."):
        return "op-fcl", {}
    if family == "cache.policy":
        return "cdm-adaptive", _TURNED_OVER
    if family == "cooperation":
        own = policy in {"none", "move-in", "expected-cost"} or policy.startswith("cdm")
        return ("cdm-adaptive" if own else "sgc"), {}
    if family == "workload.preset":
        return "greedy-uniform", {"blocks_per_plane": 80}
    return "greedy-uniform", _SMALL
