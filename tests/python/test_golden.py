"""Golden results: other numbers of the same scenario are written under another revision of results only."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

import coflash
import golden
import golden_policies
from coflash._core import REVISION
from golden import CHANGELOG, GOLDEN, POLICIES, RefusedError, merged

ALGORITHMS = ("gc.victim", "ftl.placement", "cache.policy", "cooperation", "hybrid.scheme", "hybrid.disks.model")
"""The families whose members are algorithms: no two of them give the same numbers, but for those of `SAME`."""
SAME = {frozenset({"ftl.placement sepgc", "ftl.placement score"})}
"""The default of `score` is `sepgc`."""

NAMED = "# Changelog\n\n## Unreleased\n\n### Results changed\n\n- Revision 2: `dac` has other regions.\n\n### Fixed\n"
NOT_NAMED = [
    "",
    NAMED.replace("Revision 2", "Revision 21"),
    NAMED.replace("Revision 2", "Revision"),
    # Under another heading.
    NAMED.replace("### Results changed", "### Added"),
    NAMED.replace("- Revision 2: ", "- ") + "\n- Revision 2 has a number.\n",
]


def kept() -> tuple[golden.Entries, golden.Entries]:
    results, policies, _ = golden.read()
    return results, policies


def bare(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "revision"}


def dac_has_other_regions() -> tuple[golden.Entries, golden.Entries]:
    """Such a change leaves the hash of the scenario as it is."""
    name = "ftl.placement dac"
    now = kept()[1][name]
    return {name: {**now, "revision": 1, "digest": "0" * 16}}, {name: bare(now)}


def cdm_host_copies_fewer_pages() -> tuple[golden.Entries, golden.Entries]:
    """The programs of GC in `cdm-host` once went from 250,406 to 250,145, both under version 0.1.0."""
    before, now = (copy.deepcopy(kept()[0]["cdm-host.json"]) for _ in range(2))
    before["metrics"]["programs_pages"]["gc"], now["metrics"]["programs_pages"]["gc"] = 250_406, 250_145
    return {"cdm-host.json": {**before, "revision": 1}}, {"cdm-host.json": bare(now)}


@pytest.mark.parametrize("history", [dac_has_other_regions, cdm_host_copies_fewer_pages])
def test_other_numbers_need_a_greater_revision_that_the_changelog_names(history: Any) -> None:
    old, new = history()
    (name,) = new
    with pytest.raises(RefusedError, match=rf"^{name}: has changed, and REVISION in .* is still 1: .*REVISION to 2"):
        merged(old, new, 1, NAMED)
    for changelog in NOT_NAMED:
        with pytest.raises(RefusedError, match=rf'^{name}: has changed, and CHANGELOG\.md names no "revision 2"'):
            merged(old, new, 2, changelog)
    assert merged(old, new, 2, NAMED) == {name: {"revision": 2, **new[name]}}


def test_a_second_change_needs_a_second_revision() -> None:
    old, new = dac_has_other_regions()
    (name,) = new
    written = merged(old, {**new, "other": {"scenario_hash": "0", "digest": "1"}}, 2, NAMED)
    # The changelog still names revision 2, for what was written already; also where that was of another result.
    with pytest.raises(RefusedError, match="other: has changed"):
        merged(written, {**new, "other": {"scenario_hash": "0", "digest": "2"}}, 2, NAMED)
    with pytest.raises(RefusedError, match=f"{name}: has changed"):
        merged(written, {name: {**new[name], "digest": "2"}}, 2, NAMED)


def test_what_was_written_before_revisions_were_counted_is_of_revision_0() -> None:
    old = {"a": {"scenario_hash": "0", "digest": "1"}}
    new = {"a": {"scenario_hash": "0", "digest": "2"}}
    with pytest.raises(RefusedError, match="is still 0"):
        merged(old, new, 0, "")
    assert merged(old, new, 2, NAMED)["a"]["revision"] == 2


def test_new_results_new_scenarios_and_equal_numbers_need_nothing() -> None:
    old = {name: {"revision": 1, "scenario_hash": "0", "digest": "1"} for name in ("same", "another scenario", "gone")}
    new: golden.Entries = {
        "same": {"scenario_hash": "0", "digest": "1"},
        "another scenario": {"scenario_hash": "2", "digest": "2"},
        "new": {"scenario_hash": "0", "digest": "3"},
    }
    assert merged(old, new, 1, "") == {name: {"revision": 1, **entry} for name, entry in new.items()}
    assert merged({}, new, 0, "")["new"] == {"revision": 0, **new["new"]}


def test_a_revision_is_never_lowered() -> None:
    old = {"a": {"revision": 3, "scenario_hash": "0", "digest": "1"}}
    with pytest.raises(RefusedError, match="are of revision 3, and REVISION is 2: it is never lowered"):
        merged(old, {"a": bare(old["a"])}, 2, NAMED)


def test_many_changes_are_counted() -> None:
    old = {f"r{n}": {"revision": 1, "scenario_hash": "0", "digest": "1"} for n in range(9)}
    new: golden.Entries = {name: {"scenario_hash": "0", "digest": "2"} for name in old}
    with pytest.raises(RefusedError, match=r"^r0, r1, r2, r3, r4 and 4 more: have changed"):
        merged(old, new, 1, "")


def test_every_policy_of_the_registry_has_a_digest() -> None:
    registered = {
        f"{family.key} {policy.name}"
        for family in coflash.policies()
        if family.key not in golden_policies.NOT_RUN
        for policy in family.policies
    }
    assert len(registered) > 70
    assert set(kept()[1]) == registered
    assert set(golden_policies.NOT_RUN) < {family.key for family in coflash.policies()}


def test_no_two_algorithms_have_the_same_digest() -> None:
    by_digest: dict[tuple[str, str], set[str]] = {}
    for name, entry in kept()[1].items():
        family = name.split()[0]
        if family in ALGORITHMS:
            by_digest.setdefault((family, entry["digest"]), set()).add(name)
    assert {frozenset(names) for names in by_digest.values() if len(names) > 1} <= SAME


def test_a_digest_is_of_the_numbers_of_a_run() -> None:
    scenario = dict(golden_policies.scenarios())["cooperation cdm"]
    _, policies, keys = golden.read()
    entry = golden_policies.entry(golden_policies.numbers_of(scenario), keys)
    assert {"revision": REVISION, **entry} == policies["cooperation cdm"]
    other = golden_policies.numbers_of(scenario.with_(cooperation__removable_weight=0.5))
    assert entry["scenario_hash"] != other["scenario_hash"]
    assert entry["digest"] != golden_policies.entry(other, keys)["digest"]


def test_a_new_measure_changes_no_result() -> None:
    """Sweeps, warm devices and twins go by the revision: an added number makes none of them stale."""
    old = {name: {"revision": 2, **copy.deepcopy(bare(entry))} for name, entry in kept()[0].items()}
    new = {name: copy.deepcopy(bare(entry)) for name, entry in old.items()}
    for entry in new.values():
        entry["metrics"]["bypassed_pages"] = 3
        entry["metrics"]["programs_pages"]["new_cause"] = 0
    assert merged(old, new, 2, "") == {name: {"revision": 2, **entry} for name, entry in new.items()}
    for value in ({"flushes": -1}, {}):
        other = copy.deepcopy(new)
        del other["cdm-host.json"]["metrics"]["flushes"]
        other["cdm-host.json"]["metrics"].update(value)
        with pytest.raises(RefusedError, match=r"^cdm-host\.json: has changed"):
            merged(old, other, 2, NAMED)


def test_a_digest_is_over_the_keys_that_were_known() -> None:
    numbers = {"scenario_hash": "0", "metrics": {"a": 1, "of": [{"b": 2}, {"b": 3}]}}
    more: dict[str, Any] = {
        "scenario_hash": "0",
        "metrics": {"a": 1, "of": [{"b": 2, "c": 0}, {"b": 3, "c": 1}], "d": {"e": 5}},
    }
    keys = frozenset(golden_policies.keys_of(numbers))
    assert golden_policies.entry(numbers, keys) == golden_policies.entry(more, keys)
    assert golden_policies.entry(more, keys) != golden_policies.entry(more, keys | {".metrics.of[].c"})
    more["metrics"]["of"][1]["b"] = 4
    assert golden_policies.entry(numbers, keys) != golden_policies.entry(more, keys)


def test_all_that_is_kept_is_of_this_revision_which_the_changelog_names() -> None:
    results, policies = kept()
    assert {entry["revision"] for entry in (*results.values(), *policies.values())} == {REVISION}
    sections = re.findall(r"### Results changed\n(.*?)(?=\n##)", CHANGELOG.read_text("utf-8"), re.DOTALL)
    assert re.search(rf"\brevision {REVISION}\b", "".join(sections), re.IGNORECASE)
    assert json.loads((GOLDEN / POLICIES).read_text("utf-8")) == policies
