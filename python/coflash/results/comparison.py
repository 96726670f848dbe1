"""Comparisons: several schemes on one workload, at several cache sizes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import REVISION, CoflashError, __version__
from coflash.files.errors import named
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import change, show
from coflash.results.result import DOCUMENT, Result, document_of, mixed_revisions
from coflash.table import Table

if TYPE_CHECKING:
    import numpy as np

_DOCUMENT, _TABLE, _RUNS = "comparison.json", "runs.parquet", "runs"
REPORT = "report.html"
FILES = frozenset({_DOCUMENT, _TABLE, _RUNS, REPORT})


@dataclass(frozen=True)
class Case:
    """One run of a comparison."""

    scheme: str
    """The scheme, in a word or two."""
    cache_bytes: int
    """The size of the cache; 0 without one."""
    result: Result

    @property
    def label(self) -> str:
        """The scheme, and the size of the cache if there is one."""
        return f"{self.scheme} {show(self.cache_bytes, 'bytes')}" if self.cache_bytes else self.scheme

    @property
    def folder(self) -> str:
        """The name of the run's folder."""
        return self.label.replace(" ", "-")


@dataclass(frozen=True)
class Comparison:
    """Runs that differ only in their scheme and cache size."""

    title: str
    question: str
    """The question of the comparison, in a sentence or two."""
    cases: tuple[Case, ...]
    baseline: str = ""
    """The scheme with which the others are compared; may be empty."""
    background: str = field(default="", kw_only=True)
    """Background that a reader needs to judge the answer."""

    @classmethod
    def of_one(cls, result: Result) -> Comparison:
        """Make a comparison of a single run."""
        scenario = result.document["scenario"]
        return cls(scenario["name"], scenario.get("description", ""), (Case(scenario["name"], 0, result),))

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes, in the order of the cases."""
        return tuple(dict.fromkeys(case.scheme for case in self.cases))

    @property
    def cache_sizes_bytes(self) -> tuple[int, ...]:
        """The sizes of the caches, ascending."""
        return tuple(sorted({case.cache_bytes for case in self.cases if case.cache_bytes}))

    @property
    def without_cache(self) -> tuple[Case, ...]:
        """The cases without a cache."""
        return tuple(case for case in self.cases if not case.cache_bytes)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The schemes with a cache other than the baseline."""
        return tuple(dict.fromkeys(c.scheme for c in self.cases if c.cache_bytes and c.scheme != self.baseline))

    def at(self, scheme: str, cache_bytes: int) -> Result | None:
        """Return the result of a scheme at a cache size; None if there was no such run."""
        found = (case.result for case in self.cases if (case.scheme, case.cache_bytes) == (scheme, cache_bytes))
        return next(found, None)

    def changes(self, scheme: str, measure: Measure) -> Iterator[float]:
        """Yield the relative change of a measure from the baseline to a scheme, for each cache size that both have."""
        for size in self.cache_sizes_bytes:
            ours, theirs = self.at(scheme, size), self.at(self.baseline, size)
            if ours is not None and theirs is not None:
                relative = change(measure.read(ours.metrics), measure.read(theirs.metrics))
                if relative is not None:
                    yield relative

    def table(self) -> Table:
        """Return a table with a row for each run: `scheme`, `cache_bytes`, and every metric by its dotted path."""
        rows = [
            {"scheme": case.scheme, "cache_bytes": case.cache_bytes, **case.result.metrics.flat()}
            for case in self.cases
        ]
        columns = dict.fromkeys(name for row in rows for name in row)
        return Table({name: _column([row.get(name) for row in rows]) for name in columns})

    @classmethod
    def documents(cls, path: Path) -> list[dict[str, Any]]:
        """Return the documents of the runs of a comparison; none if there is no folder.

        Raises:
            CoflashError: One cannot be read.
        """
        files = sorted(path.glob(f"{_RUNS}/*/{DOCUMENT}"))
        with named(path, "read"):
            return [document_of(file.read_bytes(), file) for file in files]

    def write_files(self, place: Path) -> None:
        """Write the comparison into an existing folder: JSON, a table of the runs, and a folder for each run."""
        document = {
            "coflash": __version__,
            "revision": REVISION,
            "title": self.title,
            "question": self.question,
            "background": self.background,
            "baseline": self.baseline,
            "runs": [
                {
                    "scheme": case.scheme,
                    "cache_bytes": case.cache_bytes,
                    "folder": f"{_RUNS}/{case.folder}",
                    "scenario_hash": case.result.scenario_hash,
                    "metrics": case.result.metrics.to_dict(),
                }
                for case in self.cases
            ],
        }
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        (place / _DOCUMENT).write_text(text, encoding="utf-8")
        self.table().write_parquet(place / _TABLE)
        for case in self.cases:
            folder = place / _RUNS / case.folder
            folder.mkdir(parents=True)
            case.result.write_files(folder)

    def _repr_html_(self) -> str:
        from coflash.results.card import comparison_html  # needs numpy

        def metrics(scheme: str, cache_bytes: int) -> Metrics | None:
            found = self.at(scheme, cache_bytes)
            return None if found is None else found.metrics

        notes = mixed_revisions(case.result.document for case in self.cases)
        return comparison_html(self.title, self.baseline, self.rivals, self.cache_sizes_bytes, metrics, notes)

    @classmethod
    def load(cls, path: Path) -> Comparison:
        """Load a comparison, or a single run as one.

        Raises:
            CoflashError: The folder holds neither.
        """
        if not (path / _DOCUMENT).exists():
            return cls.of_one(Result.load(path))
        try:
            document = json.loads((path / _DOCUMENT).read_text(encoding="utf-8"))
            return cls(
                title=document["title"],
                question=document["question"],
                background=document["background"],
                baseline=document["baseline"],
                cases=tuple(
                    Case(run["scheme"], run["cache_bytes"], Result.load(path / run["folder"]))
                    for run in document["runs"]
                ),
            )
        except (OSError, ValueError, KeyError) as error:
            msg = f"{path / _DOCUMENT}: is no comparison of coflash ({error}); `coflash demo` makes one"
            raise CoflashError(msg) from error


def _column(values: list[float | str | None]) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    import numpy as np

    return np.array([np.nan if value is None else value for value in values])
