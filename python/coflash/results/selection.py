"""Selection of runs and keys by short names: `--where cache.size=1GiB`, `--by cooperation`."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from coflash import external
from coflash._core import CoflashError, hint
from coflash.quantity import agreed, counted, number_in
from coflash.results.identity import changed_inputs, inputs_of_run
from coflash.results.result import DOCUMENT, revision_of
from coflash.results.store import LocalFolder, RunFolder
from coflash.results.varying_keys import OWN, Key, name_own, words
from coflash.scenario import as_text, flat, leaf, text_of

_Named = TypeVar("_Named")
_Run = tuple[_Named, RunFolder, Mapping[str, Any]]
"""What stands for a run, its folder, and its document."""
_VALUES_NAMED = 12


def matching(
    runs: Iterable[_Run[_Named]], where: Sequence[str], gone: Set[tuple[Path, str, str]] = frozenset()
) -> tuple[list[_Run[_Named]], list[str]]:
    """Keep the runs whose scenarios meet all conditions; of each own policy and input file one version alone.

    Of a policy that is the version asked for last; of a file that was changed the present one, where runs have it; of
    fleets the volumes asked for last.

    Args:
        runs: The runs.
        where: Conditions `KEY=VALUE` or `KEY=VALUE,VALUE`. Units do not matter: 1GiB is 1024MiB. One on a digest
            chooses a version of a policy of the user's own, and keeps the runs of other policies.
        gone: The folder, the name and the digest of each volume that is no longer in its fleet.

    Returns:
        The runs, and a note on each version that was left out.

    Raises:
        CoflashError: No run has such a key, or none that meets the earlier conditions has such a value.
    """
    kept, notes = _once(runs)
    kept, of_files = _present(kept, gone)
    notes += of_files
    if not any(".digest" in condition for condition in where):
        kept, of_policies = _newest(kept)
        notes += of_policies
    if not where:
        return kept, notes
    scenarios = [flat(document["scenario"]) for *_, document in kept]
    leaves = [{path: as_text(value) for path, value in one.items() if value is not None} for one in scenarios]
    name_own(leaves)
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
        # A list is one value, with commas of its own.
        wanted = [text] if text in found else [each.strip() for each in text.split(",")]
        if absent := [each for each in wanted if not any(_is_same(value, each) for value in found)]:
            own = absent[0].rpartition(":")[2]  # a policy of the user's own is named by its class alone
            raise CoflashError(f'where: {path}: no run has "{absent[0]}"{hint(own, values[:_VALUES_NAMED])}')
        wanted += [text_of(None)] * path.endswith(".digest")  # policies that are not the user's own have none
        same = [place for place, one in enumerate(leaves) if any(_is_same(one.get(path), each) for each in wanted)]
        kept, leaves = [kept[place] for place in same], [leaves[place] for place in same]
    return kept, notes


def _once(runs: Iterable[_Run[_Named]]) -> tuple[list[_Run[_Named]], list[str]]:
    """Leave out runs that are there a second time, as those of two sweeps in two folders: they are no other seeds."""
    found: dict[Any, _Run[_Named]] = {}
    again = 0
    for number, run in enumerate(runs):
        one = run[2]
        files = [file["sha256"] for file in inputs_of_run(one)]
        made = one.get("coflash"), revision_of(one), *one.get("notes", ())
        named = one["scenario"].get("name"), one["scenario"].get("seed")
        same = (one.get("scenario_hash", number), *named, *made, *files)
        again += same in found
        found.setdefault(same, run)
    told = f"{counted(again, 'run')} {agreed(again, 'is')} there again in another folder, and counted once"
    return [*found.values()], [told] if again else []


def _present(runs: list[_Run[_Named]], gone: Set[tuple[Path, str, str]]) -> tuple[list[_Run[_Named]], list[str]]:
    """Leave out the runs of files as they were before, and of volumes that are gone, with a note on each file."""
    old, others = changed_inputs(document for *_, document in runs)

    def left_out(at: RunFolder, document: Mapping[str, Any]) -> set[tuple[str, str]]:
        read = {(file["file"], file["sha256"]) for file in inputs_of_run(document)}
        before = {(file, "was changed") for file, _ in read & old}
        place, name = Path(str(at)).parent.parent, document["scenario"].get("name")
        return before | {(file, "is no longer in its fleet") for file, digest in read if (place, name, digest) in gone}

    files = [left_out(at, document) for _, at, document in runs]
    told = "{} {}: {} of it as it was before left out (another --out keeps them apart)"
    notes = [told.format(*why, counted(count, "run")) for why, count in Counter(chain(*files)).items()]
    apart = "the column inputs tells traces apart, and another --out keeps their runs apart"
    notes += [f"all runs of {name} replayed an older trace, which is no longer there; {apart}" for name in others]
    return [run for run, of in zip(runs, files, strict=True) if not of], notes


def _newest(runs: list[_Run[_Named]]) -> tuple[list[_Run[_Named]], list[str]]:
    """Leave out, of policies of the user's own, all versions but the one asked for last, with a note on each."""
    # Files at a URL have no time that every driver knows: of these all versions stay, and are told apart.
    versions = [own_versions(one["scenario"]) if isinstance(at, LocalFolder) else {} for _, at, one in runs]
    written = {place: (runs[place][1].here() / DOCUMENT).stat().st_mtime for place, of in enumerate(versions) if of}
    last: dict[tuple[str, str], str] = {}
    for place in sorted(written, key=written.__getitem__):
        last |= versions[place]
    older = Counter((*of, digest) for each in versions for of, digest in each.items() if digest != last[of])
    told = "{} was changed: {} of another version than that asked for last left out (--where {}.digest={})"
    notes = [told.format(code, counted(count, "run"), key, digest) for (key, code, digest), count in older.items()]
    return [run for run, of in zip(runs, versions, strict=True) if of.items() <= last.items()], notes


def own_versions(scenario: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return for each policy of the user's own, by its key and code, the digest of its source."""
    chosen = ((key, leaf(scenario, key.split("."))) for key in external.KEYS)
    return {(key, one["code"]): one.get("digest", "") for key, one in chosen if leaf(one, ["name"]) == OWN}


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
    ends = [path for path in sorted(paths) if path.endswith(f".{name}")]
    found = ends or difflib.get_close_matches(name, sorted(paths), 1)
    return f"; did you mean {found[0]}?" if found else ""


def _is_same(value: Any, text: str) -> bool:
    ours, theirs = number_in(value), number_in(text)
    if ours is None or theirs is None:
        return text_of(value) == text
    is_share = {ours[1], theirs[1]} == {"share", ""}  # 0.9 is 90%
    return (is_share or ours[1] == theirs[1]) and math.isclose(ours[0], theirs[0], rel_tol=1e-9)
