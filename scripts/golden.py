"""Write the golden results: of small scenarios whole, and of a run of every policy a digest.

Each `tests/golden/NAME.toml` runs on its own workload; `NAME.json` keeps its metrics. `policies.json` has a digest for
each policy, over the keys in `keys.json`. All of them have the revision of results under which they were written.

Another value of a known key of the same scenario is refused, unless REVISION in crates/kernel/engine/src/lib.rs was
raised and CHANGELOG.md names the new revision under "Results changed": results of different numbers must not pass for
equal. A new key, such as a new measure, needs no other revision. With --check, write nothing and fail if a result has
changed.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import coflash
from coflash._core import REVISION
from golden_policies import entry, keys_of
from golden_policies import numbers as numbers_of_policies

ROOT = Path(__file__).parents[1]
GOLDEN, CHANGELOG = ROOT / "tests" / "golden", ROOT / "CHANGELOG.md"
POLICIES, KEYS = "policies.json", "keys.json"

Entries = dict[str, dict[str, Any]]
"""Results by name. Each has its `revision` and its `scenario_hash`; the rest are its numbers."""


class RefusedError(Exception):
    """Results may not be written."""


def merged(old: Mapping[str, Mapping[str, Any]], new: Entries, revision: int, changelog: str) -> Entries:
    """Return what to write in place of `old`: `new`, all under `revision`.

    Another value of a known key of the same scenario needs a greater revision, which the changelog names. A new result,
    a new key, and a name that has another scenario need neither.

    Args:
        old: The results as they are kept; one without a revision is of revision 0.
        new: The results of now, without a revision.
        revision: The revision of now.
        changelog: The text of CHANGELOG.md.

    Raises:
        RefusedError: The revision was not raised, or the changelog does not name it.
    """
    kept = max((entry.get("revision", 0) for entry in old.values()), default=0)
    changed = [name for name, entry in new.items() if name in old and _is_changed(old[name], entry)]
    if revision < kept:
        msg = f"the results are of revision {kept}, and REVISION is {revision}: it is never lowered"
        raise RefusedError(msg)
    if changed and revision == kept:
        msg = (
            f"{_listed(changed)} changed, and REVISION in crates/kernel/engine/src/lib.rs is still {revision}: mend "
            f'the code; or raise REVISION to {revision + 1}, say in CHANGELOG.md under "Results changed" what '
            f'"revision {revision + 1}" changes, and write the results again: make golden'
        )
        raise RefusedError(msg)
    if changed and not _names(changelog, revision):
        msg = (
            f'{_listed(changed)} changed, and CHANGELOG.md names no "revision {revision}" under "Results changed": say '
            "there what it changes, and write the results again: make golden"
        )
        raise RefusedError(msg)
    return {name: {"revision": revision, **entry} for name, entry in new.items()}


def _is_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the value of a known key of the same scenario is another."""
    known = {name: value for name, value in old.items() if name != "revision"}
    return old["scenario_hash"] == new["scenario_hash"] and not _holds(new, known)


def _holds(new: Any, old: Any) -> bool:
    """Whether a document has all that an older one has, with equal values; it may have more keys."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return all(key in new and _holds(new[key], value) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_holds, new, old))
    return type(old) is type(new) and bool(old == new)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if names[5:] else ""
    return f"{', '.join(names[:5])}{more}: {'has' if len(names) == 1 else 'have'}"


def _names(changelog: str, revision: int) -> bool:
    """Whether a section "Results changed" of any version names the revision."""
    sections = re.findall(r"^### Results changed$(.*?)(?=^##|\Z)", changelog, re.MULTILINE | re.DOTALL)
    return any(re.search(rf"\brevision {revision}\b", section, re.IGNORECASE) for section in sections)


def golden_results() -> Entries:
    """Return of each scenario the part of its result that must not change: not its speed, not its version.

    Raises:
        SystemExit: There is no scenario.
    """
    scenarios = sorted(GOLDEN.glob("*.toml"))
    if not scenarios:
        sys.exit(f"no golden scenarios in {GOLDEN}")
    return {f"{scenario.stem}.json": _numbers(scenario) for scenario in scenarios}


def _numbers(scenario: Path) -> dict[str, Any]:
    document = coflash.run(scenario).document
    return {key: document[key] for key in ("scenario_hash", "seed", "workload", "metrics")}


def read() -> tuple[Entries, Entries, frozenset[str]]:
    """Return the kept results of scenarios, those of policies, and the keys that the digests of policies are over."""
    kept = {file.name: json.loads(file.read_text("utf-8")) for file in sorted(GOLDEN.glob("*.json"))}
    policies, keys = kept.pop(POLICIES, {}), frozenset(kept.pop(KEYS, ()))
    return kept, policies, keys


def main() -> int:
    """Write the results, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a result has changed")
    check = parser.parse_args().check
    (old, old_policies, known), new, policies = read(), golden_results(), numbers_of_policies()
    keys = frozenset(key for each in policies.values() for key in keys_of(each))
    refused = ""
    try:
        comparable = {name: entry(each, known or keys) for name, each in policies.items()}
        merged({**old, **old_policies}, {**new, **comparable}, REVISION, CHANGELOG.read_text("utf-8"))
    except RefusedError as error:
        refused = str(error)
    digests = {name: entry(each, keys) for name, each in policies.items()}
    stamped = [{name: {"revision": REVISION, **each} for name, each in some.items()} for some in (new, digests)]
    stale = [GOLDEN / name for name in old.keys() - new.keys()]
    changed = False
    for name, content in {**stamped[0], POLICIES: stamped[1], KEYS: sorted(keys)}.items():
        file, now = GOLDEN / name, json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        if now == before:
            continue
        changed = True
        print(f"{file.relative_to(ROOT)}: {'changed' if check or refused else 'written'}")
        print("\n".join(difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", "", "", 1, "")))
        if not check and not refused:
            file.write_text(now, encoding="utf-8")
    for file in stale:
        print(f"{file.relative_to(ROOT)}: has no scenario")
        if not check and not refused:
            file.unlink()
    if refused:
        print(f"refused: {refused}", file=sys.stderr)
    return int(bool(refused) or (check and (changed or bool(stale))))


if __name__ == "__main__":
    sys.exit(main())
