"""The subject of a report: any number of results, and the question that they answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.files.errors import no_result
from coflash.measures.measure import Measure
from coflash.quantity import counted
from coflash.results.assumptions import assumed
from coflash.results.notes import checks, together
from coflash.results.result import Result, mixed_revisions, replays
from coflash.results.selection import matching
from coflash.results.store import Fleets, FolderStore, LocalFolder
from coflash.results.varying_keys import Key, labels, varied_keys
from coflash.text_table import TextTable

_SEARCH = "tune.json"


@dataclass(frozen=True)
class Subject:
    """Results to report together. The keys that vary are found from their scenarios."""

    results: Sequence[Result]
    title: str = ""
    question: str = ""
    answer: str = ""
    """The answer in a sentence, where the changes alone do not tell it."""
    limits: tuple[str, ...] = ()
    """What the results do not tell, beside their own remarks."""
    baseline: str = ""
    """The value of a varying key with which the others are compared; the first value if empty."""
    target: str = ""
    """The value of that key to which the page's first comparison goes; the last one if empty."""
    where: tuple[str, ...] = ()
    """The conditions by which the results were chosen."""
    broken: tuple[str, ...] = ()
    """The runs that were passed over, each with the reason."""
    fleets: Fleets = field(default_factory=Fleets)
    """What is to be known of the fleets in the folders."""
    search: Mapping[str, Any] | None = None
    """The search that the runs are trials of, as `Tuning.document` gives it; None without one."""
    tables: Sequence[TextTable] = ()
    """The answer as tables."""

    @cached_property
    def varied(self) -> tuple[Key, ...]:
        """The keys in which the scenarios differ."""
        return varied_keys([result.document["scenario"] for result in self.results])

    @property
    def heading(self) -> str:
        """The title, or else the keys that vary."""
        if self.title:
            return self.title
        scenarios = [result.document["scenario"] for result in self.results]
        names = list(dict.fromkeys(scenario.get("name", "") for scenario in scenarios))
        name = names[0] if len(names) == 1 and names[0] else ""
        if len(scenarios) == 1:
            return name or "One run"
        keys = ", ".join(key.label for key in self.varied[:3] if key.path != "seed")
        return f"{name}: {keys}" if name and keys else keys or name or counted(len(scenarios), "run")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each run: the values of the varying keys, and a number where these are equal."""
        seen: Counter[str] = Counter()
        found = []
        for label in self.labelled(range(len(self.results)), self.varied):
            seen[label] += 1
            found.append(f"{label} ({seen[label]})" if seen[label] > 1 else label)
        return tuple(found)

    def labelled(self, runs: Iterable[int], keys: Sequence[Key]) -> list[str]:
        """Return the values of some of the keys that vary, as text, of each run."""
        return [label or self.heading for label in labels(runs, keys)]

    @property
    def is_replayed(self) -> bool:
        """Whether traces are replayed, which are the same for every seed."""
        return any(replays(result.document) for result in self.results)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on these runs: those passed over, fleets, a mixture of revisions, and notes on single runs."""
        notes = ((*one.document.get("notes", ()), *checks(one.document)) for one in self.results)
        return (
            *self.broken,
            *(said for short, remarks in self.fleets.items() for said in (short, *remarks)),
            *mixed_revisions(result.document for result in self.results),
            *together(zip(self.labels, notes, strict=True)),
        )

    def assumed(self, measures: Iterable[Measure]) -> list[str]:
        """State what some measures take for granted in these runs, each fact once."""
        return assumed(measures, zip(self.labels, (result.document for result in self.results), strict=True))

    @classmethod
    def read(cls, paths: Sequence[Path], where: Sequence[str] = ()) -> Subject:
        """Read every result in the given folders and below them, sorted by the varying keys.

        A broken result is passed over, and named in `broken`.

        Args:
            paths: The folders.
            where: Conditions `KEY=VALUE` that the scenarios meet.

        Raises:
            CoflashError: A folder holds none, all are broken, or none meets the conditions.
        """
        loaded: dict[Path, Result] = {}
        broken: dict[str, None] = {}
        fleets = Fleets()
        for path in paths:
            store = FolderStore(path)
            store.fleets = fleets
            places = [folder.here() for _, folder, _ in store.all_runs()]
            if not places and not store.broken:
                raise no_result(path)
            for place, run in zip(places, map(_loaded, places), strict=True):
                if isinstance(run, Result):
                    loaded[place] = run
                else:
                    broken[str(run)] = None
            broken |= dict.fromkeys(store.broken)
        if not loaded:
            raise CoflashError(next(iter(broken)))
        runs = ((run, LocalFolder(place), run.document) for place, run in loaded.items())
        found, older = matching(runs, where, fleets.gone)
        results = [result for result, *_ in found]
        descriptions = {result.document["scenario"].get("description", "") for result in results}
        question = descriptions.pop() if len(descriptions) == 1 else ""
        keys = cls(results).varied
        order = sorted(range(len(results)), key=lambda run: [key.codes[run] for key in keys])
        chosen = tuple(results[run] for run in order)
        search = _search(paths[0]) if len(paths) == 1 else None
        told = (*sorted(broken), *older)
        return cls(chosen, question=question, where=tuple(where), broken=told, fleets=fleets, search=search)


def _loaded(place: Path) -> Result | CoflashError:
    try:
        return Result.load(place)
    except CoflashError as error:
        return error


def _search(folder: Path) -> Mapping[str, Any] | None:
    """Read the search of a folder; None if there is none, or it cannot be read, as while it is written."""
    with suppress(OSError, ValueError):
        document: Mapping[str, Any] = json.loads((folder / _SEARCH).read_text("utf-8"))
        return document
    return None
