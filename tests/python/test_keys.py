"""Every key of a scenario: the default that is shown, and what is said where it changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from coflash import CoflashError, Scenario, policies
from coflash.cli import keys as lists
from coflash.cli.scenario import list_ as listed_scenarios
from coflash.keys import ScenarioKey, keys
from coflash.runs.run import simulate

SMALL: dict[str, Any] = {
    "flash.exported": "32MiB",
    "gc.low_mark": "6%",
    "ftl.spare.share": "30%",
    "workload.remap": "none",
    "workload.synthetic": {
        "requests": 6000,
        "generator": "zipf",
        "read_share": "40%",
        "trim_share": "2%",
        "flush_share": "0.5%",
    },
}
DISKS: dict[str, Any] = {"precondition": {"fill": "none"}, "cache.size": "0B", "cooperation": "none"}
SET_UP: dict[str, dict[str, Any]] = {
    "hybrid.scheme": DISKS,
    "hybrid.disks.model": {**DISKS, "flash.exported": "512MiB", "hybrid.scheme": {"name": "fp-fcl"}},
    "cache.policy": {"cooperation": "none"},
    "ftl.placement": {"ftl.spare.share": "200%", "gc.low_mark": "30%", "cache.size": "0B", "cooperation": "none"},
    "cooperation": {"gc.low_mark": "12%", "ftl.spare.share": "60%"},
    "workload.preset": {"flash.exported": "64GiB"},
}
BUFFERS: dict[str, Any] = {**SET_UP["cooperation"], "cache.volatile": True, "host_buffer.size": "5%"}
LISTS: dict[str, Any] = {
    "limits": ["A sentence."],
    "timing.page_reads": ["25us", "50us"],
    "timing.page_programs": ["200us", "900us"],
    "ftl.shared_streams": [["host"]],
    "restart.at": ["10ms"],
    "precondition.random_passes": 2,
    "precondition.until_free": "9%",
    "workload.phases": [{"synthetic": {"requests": 100}}],
    "workload.tenants": [{"space": "50%", "synthetic": {"requests": 100}}, {"synthetic": {"requests": 100}}],
    "cooperation.rewrite_stream": "evict",
    "cooperation.sole_copies_max": "10%",
    "workload.synthetic.generator.scatter_block": "64KiB",
    "workload.synthetic.generator.footprint": "4MiB",
    "workload.trace_options.columns": "time:us,op,offset:sectors,size:sectors",
    "gc.victim.tie": "newest",
    "ftl.indirection_unit": "8KiB",
}
SILENT = {
    "name": "it describes the scenario",
    "description": "it describes the scenario",
    "measured.reads_per_s": "only a run beyond it has a note",
    "measured.writes_per_s": "only a run beyond it has a note",
    "measured.read_share": "only a run beyond it has a note",
    "measured.request_size": "only a run beyond it has a note",
    "measured.used": "only a run beyond it has a note",
    "limits": "it describes the scenario",
    "precondition.until_free": "more writes in order leave the same device but for the numbers of its blocks",
    "timing.page_program_fast": "only some schemes use it, and schemes are compared under the same keys",
    "ftl.refresh.fast_retention": "only some schemes use it, and schemes are compared under the same keys",
    "ftl.wear_levelling": "it acts where blocks wear unequally",
}


def small(**more: Any) -> Scenario:
    return Scenario.of("demo").with_({**SMALL, **more})


def outcome(scenario: Scenario) -> Mapping[str, Any]:
    document = json.loads(simulate(scenario).to_json())
    return {key: document[key] for key in ("workload", "metrics", "assumptions")}


def at(values: Any, path: str) -> Any:
    for step in path.split("."):
        values = values.get(step) if isinstance(values, dict) else None
    return values


def without_nulls(value: Any) -> Any:
    return {key: inner for key, inner in value.items() if inner is not None} if isinstance(value, dict) else value


def others(key: ScenarioKey, now: Any) -> list[Any]:
    """Values of a key that differ from the one that it has."""
    if key.path in LISTS:
        return [LISTS[key.path]]
    value = now if now is not None else json.loads(key.default or "null")
    if key.choices:
        return [choice for choice in key.choices if choice not in (value, at(value, "name"))]
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value * 2 or 5, value + 1]
        case str() if found := re.fullmatch(r"([\d.]+)([A-Za-z%]+)", value):
            count, unit = float(found[1]), found[2]
            return ["40%", "3%"] if unit == "%" else [f"{count * scale or 300_000:.0f}{unit}" for scale in (2, 4)]
    values = {"share": "40%", "duration": "300us", "size": "64KiB", "whole": 3, "true": True}
    return [value for word, value in values.items() if word in key.type] or ["x"]


def silent(scenario: Scenario) -> Iterator[str]:
    """Yield the keys whose other values change nothing of a result, of which nothing is said."""
    before = outcome(scenario)
    for key in keys():
        if "[]" in key.path:
            continue
        values = others(key, at(scenario.to_dict(), key.path))
        if not any(is_seen(scenario, key.path, value, before) for value in values):
            yield key.path


def is_seen(scenario: Scenario, key: str, value: Any, before: Mapping[str, Any]) -> bool:
    """Whether another value of a key is refused, told, or changes the result."""
    try:
        changed = scenario.with_({key: value})
        return bool(changed.without_effect()) or outcome(changed) != before
    except (CoflashError, OSError):
        return True


def test_a_key_that_changes_nothing_is_refused_or_told() -> None:
    assert set(silent(small())) == set(SILENT)


@pytest.mark.parametrize("key", ["gc.mode.valid", "gc.low_mark", "cache.size", "hybrid.decay", "cache.policy.window"])
def test_a_part_of_a_whole_is_at_most_the_whole(key: str) -> None:
    policies = {"cache": {"cache.policy": "cflru", "cooperation": "none"}, "gc": {"gc.mode": "lazy"}}
    policy = policies.get(key.split(".")[0], {})
    with pytest.raises(CoflashError, match=r'^[a-z_.]+(: [a-z_]+)?: "101%" is not a share from 0% to 100%$'):
        small(**policy).with_({key: "101%"})


def test_over_provisioning_may_exceed_the_exported_space() -> None:
    assert small(**{"ftl.spare.share": "150%"}).to_dict()["ftl"]["spare"]["share"] == "150%"


def test_a_cache_smaller_than_a_page_is_refused() -> None:
    with pytest.raises(CoflashError, match=r'cache.size: 16B holds no page of 4096 bytes: "0B" is no cache'):
        small(**{"cache.size": "16B"})


def test_each_default_that_is_shown_is_the_one_that_is_taken() -> None:
    plain = Scenario.from_dict({}).to_dict()
    wrong = {
        key.path: (key.default, at(plain, key.path))
        for key in keys()
        if key.default and not key.type.startswith("with ") and "[]" not in key.path
        if at(plain, key.path) not in (None, value := json.loads(key.default), {"name": value})
    }
    # The core writes back what follows from others.
    assert wrong == {}


def test_each_default_of_a_policy_is_the_one_that_is_taken() -> None:
    compared = 0
    for family in policies():
        for policy in family.policies:
            buffers = BUFFERS if family.key == "cooperation" and policy.name not in ("none",) else {}
            for more in (SET_UP.get(family.key, {}), buffers):
                try:
                    taken = small(**{**more, family.key: {"name": policy.name}}).to_dict()
                    break
                except CoflashError:
                    continue
            else:
                continue
            for parameter in policy.parameters:
                path = f"{family.key}.{parameter.name}"
                names = [key for key in keys(path) if policy.name in key.type.removeprefix("with ").split(", ")]
                assert len(names) == 1, (path, policy.name)
                value = at(taken, path)
                shown = json.loads(names[0].default or "null")
                # What is at its default may be left out of a document.
                assert value in (None, shown, without_nulls(shown), {"name": shown}), (path, policy.name, shown, value)
                compared += value is not None
    assert compared > 60


@pytest.mark.parametrize(
    ("word", "meant"), [("scheme", "cooperation"), ("spare", "ftl.spare"), ("w-tinylfu", "cache.policy")]
)
def test_a_word_that_is_no_key_leads_to_the_keys_that_it_means(word: str, meant: str) -> None:
    with pytest.raises(CoflashError, match=rf'no table or key "{word}"; did you mean .*\b{meant}\b'):
        keys(word)


def test_prose_in_a_pipe_has_lines_that_can_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for listed in (lists.keys, lists.policies, listed_scenarios):
        listed()
        assert 100 < max(map(len, capsys.readouterr().out.splitlines())) <= 120, listed
