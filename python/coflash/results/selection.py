"""Selection of runs and keys by short names: `--where cache.size=1GiB`, `--by cooperation`."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from coflash._core import CoflashError, hint
from coflash.quantity import number_in
from coflash.results.varying_keys import Key, words
from coflash.scenario import as_text, flat, text_of

_Run = TypeVar("_Run")
_VALUES_NAMED = 12


def matching(runs: Iterable[_Run], where: Sequence[str], scenario: Callable[[_Run], Mapping[str, Any]]) -> list[_Run]:
    """Keep the runs whose scenarios meet all conditions.

    Args:
        runs: The runs.
        where: Conditions `KEY=VALUE`. Units do not matter: 1GiB is 1024MiB.
        scenario: Returns the scenario of a run.

    Raises:
        CoflashError: No run has such a key, or none that meets the earlier conditions has such a value.
    """
    kept = list(runs)
    if not where:
        return kept
    leaves = [
        {path: as_text(value) for path, value in flat(scenario(run)).items() if value is not None} for run in kept
    ]
    for condition in where:
        name, equals, text = (part.strip() for part in condition.partition("="))
        if not (name and equals and text):
            raise CoflashError(f"where: '{condition}' was given; KEY=VALUE is allowed, such as cache.size=64MiB")
        path = called(name, dict.fromkeys(path for one in leaves for path in one))
        if path is None:
            msg = f"where: {name}: no run has this key{_nearest(name, {path for one in leaves for path in one})}"
            raise CoflashError(msg)
        found = dict.fromkeys(text_of(one[path]) for one in leaves if path in one)
        values = sorted(found, key=lambda value: (number_in(value) or (math.inf,))[0])
        same = [place for place, one in enumerate(leaves) if path in one and _is_same(one[path], text)]
        if not same:
            raise CoflashError(f'where: {path}: no run has "{text}"{hint(text, values[:_VALUES_NAMED])}')
        kept, leaves = [kept[place] for place in same], [leaves[place] for place in same]
    return kept


def key_called(keys: Sequence[Key], name: str) -> Key:
    """Find a key that varies by its path; `.name` may be left out.

    Raises:
        CoflashError: It does not vary, or belongs to the values of another key.
    """
    paths = {key.path: key for key in keys}
    if (path := called(name, paths)) is not None:
        return paths[path]
    for key in keys:
        if called(name, key.along) is not None:
            raise CoflashError(f"{name}: goes with the values of {key.path} in these runs; give {key.path}")
    near, there = _nearest(name, paths), ", ".join(paths) or "nothing"
    raise CoflashError(f"{name}: does not vary among these runs{near}; what varies: {there}")


def called(name: str, paths: Iterable[str]) -> str | None:
    """Complete a path: `cooperation` is `cooperation.name`, `cache size` is `cache.size`; None if there is none."""
    found = list(paths)
    exact = [path for path in found if name in (path, path.removesuffix(".name"))]
    alike = [path for path in found if words(path).lower() == name.lower()]
    return next(iter(exact + alike), None)


def _nearest(name: str, paths: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, sorted(paths), 1)
    return f"; did you mean {found[0]}?" if found else ""


def _is_same(value: Any, text: str) -> bool:
    ours, theirs = number_in(value), number_in(text)
    if ours is None or theirs is None:
        return text_of(value) == text
    return ours[1] == theirs[1] and math.isclose(ours[0], theirs[0], rel_tol=1e-9)
