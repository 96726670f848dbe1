"""Completion in the shell: names of scenarios, keys with their values, measures, workloads (`--install-completion`)."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from coflash.keys import ScenarioKey, keys
from coflash.policies import policies
from coflash.scenario import built_in_scenarios


def scenarios(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a scenario: the built-in ones, and TOML files."""
    folder = Path(incomplete).parent if "/" in incomplete else Path()
    files = [(str(file), "") for file in sorted(folder.glob("*.toml"))]
    return _begun(incomplete, [*built_in_scenarios().items(), *files])


def tables_and_keys(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a table, or of a key."""
    found = {key.path: key.meaning for key in keys()}
    tables = {path.partition(".")[0]: "" for path in found}
    return _begun(incomplete, (tables | found).items() if incomplete else tables.items())


def key_names(incomplete: str) -> list[tuple[str, str]]:
    """Complete the path of a key."""
    return _begun(incomplete, ((key.path, key.meaning) for key in keys() if "[]" not in key.path))


def assignments(incomplete: str) -> list[tuple[str, str]]:
    """Complete KEY=VALUE: the path of a key, then its values: names of policies, other choices, or its default."""
    path, equals, _ = incomplete.partition("=")
    found = [key for key in keys() if key.path.startswith(path) and "[]" not in key.path]
    if not found:
        return []
    first, *others = found
    names = [(f"{key.path}=", key.meaning) for key in found]
    if equals or all(key.path.startswith(f"{first.path}.") for key in others):  # its parameters
        names += [(f"{first.path}={value}", "") for value in _values(first)]
    return _begun(incomplete, names)


def trace_options(incomplete: str) -> list[tuple[str, str]]:
    """Complete KEY=VALUE of `workload.trace_options`."""
    table = "workload.trace_options."
    return [(name.removeprefix(table), about) for name, about in assignments(table + incomplete)]


def measures(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a measure."""
    from coflash.measures.measure import MEASURES

    return _begun(incomplete, ((path, measure.label) for path, measure in MEASURES.items()))


def workloads(incomplete: str) -> list[tuple[str, str]]:
    """Complete a workload: generators, presets, scenarios."""
    from coflash.trace import WORKLOADS

    found = ((one.name, one.summary) for family in policies() if family.key in WORKLOADS for one in family.policies)
    return [*_begun(incomplete, found), *scenarios(incomplete)]


@contextmanager
def in_bash() -> Iterator[None]:
    """Within the block, join the words that bash splits at each `=`; bash replaces only the text after the last one."""
    if os.environ.get("_COFLASH_COMPLETE") != "complete_bash":
        yield
        return
    words, place = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    whole = re.sub("\n?=\n?", "=", "\n".join(words[: place + 1])).split("\n")
    os.environ |= {"COMP_WORDS": "\n".join(whole), "COMP_CWORD": str(len(whole) - 1)}
    known = whole[-1][: whole[-1].rfind("=") + 1]
    shown = io.StringIO()
    try:
        with redirect_stdout(shown):
            yield
    finally:
        sys.stdout.write("".join(line.removeprefix(known) for line in shown.getvalue().splitlines(keepends=True)))


def _values(key: ScenarioKey) -> Sequence[str]:
    return key.choices or ([str(json.loads(key.default))] if key.default else [])


def _begun(incomplete: str, found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, about) for name, about in found if name.startswith(incomplete)]
