"""What a run found out: its metrics, its distributions, its course over time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, get_args

from coflash import _core, remote, whole
from coflash.metrics import Metrics
from coflash.scenario import Scenario
from coflash.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["all", "read", "write"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DOCUMENT, _SCENARIO = "result.json", "scenario.toml"
_SERIES, _HISTOGRAMS, _ERASES = "series.parquet", "histograms.parquet", "erase_counts.parquet"
TABLES = {"series": _SERIES, "histograms": _HISTOGRAMS, "erase_counts": _ERASES}
"""The file of each table."""
FILES = frozenset({DOCUMENT, _SCENARIO, *TABLES.values()})


class Histogram(NamedTuple):
    """A distribution of response times; empty buckets are left out.

    Attributes:
        values_ns: The highest time that each bucket holds, ascending, in ns; shape (buckets,).
        counts: How many requests fell into each bucket; shape (buckets,).
    """

    values_ns: NDArray[np.uint64]
    counts: NDArray[np.uint64]

    def exceeded_by(self) -> NDArray[np.float64]:
        """The share of requests that took longer than each of `values_ns`; shape (buckets,), descending to 0."""
        import numpy as np

        through = np.cumsum(self.counts, dtype=np.float64)
        return (through[-1:] - through) / through[-1:]


@final
class Result:
    """What a run found out, with all that is needed to run it again. Never changes.

    Attributes:
        document: The whole result but for its arrays, as JSON has it; what `save` writes to `result.json`.
    """

    __slots__ = ("_erase_counts", "_histograms", "_series", "document")

    def __init__(
        self,
        document: Mapping[str, Any],
        histograms: Mapping[Kind, Histogram],
        series: Table,
        erase_counts: NDArray[np.uint32],
    ) -> None:
        self.document = document
        self._histograms = histograms
        self._series = series
        self._erase_counts = erase_counts

    @classmethod
    def from_core(cls, core: _core.RunResult) -> Result:
        """The result that the core hands over; its arrays are not copied."""
        return cls(
            document=json.loads(core.to_json()),
            histograms={kind: Histogram(*core.histogram(kind)) for kind in KINDS},
            series=Table(core.series()),
            erase_counts=core.erase_counts(),
        )

    @property
    def metrics(self) -> Metrics:
        """What was counted: attributes, and a mapping."""
        return Metrics(self.document["metrics"])

    @property
    def scenario(self) -> Scenario:
        """The scenario that ran, its trace included: `run(result.scenario)` gives this result again."""
        return Scenario.from_dict(self.document["scenario"])

    @property
    def scenario_hash(self) -> str:
        """The fingerprint of the scenario."""
        return str(self.document["scenario_hash"])

    @property
    def seed(self) -> int:
        """The seed of every random stream of the run."""
        return int(self.document["seed"])

    @property
    def workload(self) -> Mapping[str, Any]:
        """What was replayed: its description, its files with their digests, and remarks on how they were read."""
        workload: Mapping[str, Any] = self.document["workload"]
        return workload

    @property
    def simulator(self) -> Mapping[str, Any]:
        """How fast the simulation went and what it took. Unlike everything else, differs from run to run."""
        simulator: Mapping[str, Any] = self.document["simulator"]
        return simulator

    def with_document(self, document: Mapping[str, Any]) -> Result:
        """The same arrays with another document."""
        return Result(document, self._histograms, self._series, self._erase_counts)

    def histogram(self, kind: Kind = "all") -> Histogram:
        """How the response times are distributed.

        Args:
            kind: Of `"all"` requests, of `"read"`s or of `"write"`s.

        Raises:
            CoflashError: There is no such kind.
        """
        if kind not in self._histograms:
            msg = f"histogram: no kind {kind!r}; there are {', '.join(KINDS)}"
            raise _core.CoflashError(msg)
        return self._histograms[kind]

    def series(self) -> Table:
        """What happened in each window of simulated time: `start_ns`, and a column for each count, in time's order."""
        return self._series

    def erase_counts(self) -> NDArray[np.uint32]:
        """How often each block was erased; shape (blocks,)."""
        return self._erase_counts

    def to_json(self) -> str:
        """The document as JSON text, two spaces deep, with a newline at its end."""
        return json.dumps(self.document, indent=2, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Writes the result to a folder: JSON, the scenario as TOML, Parquet. A result already there is replaced.

        Args:
            path: The folder, or a URL that fsspec knows; there files are put one by one, the JSON last.

        Raises:
            CoflashError: The folder cannot be written, or holds files that are no result.
        """
        if remote.is_url(path):
            with tempfile.TemporaryDirectory() as folder:
                self.write_files(Path(folder))
                remote.Tree(str(path)).put_folder("", Path(folder), last=DOCUMENT)
            return
        path = remote.path_of(path)
        with whole.folder(Path(path), replaces=FILES) as new:
            self.write_files(new)

    def write_files(self, place: Path) -> None:
        """Writes the files of `save` into a folder that is there."""
        import numpy as np

        (place / DOCUMENT).write_text(self.to_json(), encoding="utf-8")
        (place / _SCENARIO).write_text(self.scenario.to_toml(), encoding="utf-8")
        self._series.write_parquet(place / _SERIES)
        _stacked(self._histograms).write_parquet(place / _HISTOGRAMS)
        blocks = np.arange(len(self._erase_counts), dtype=np.uint32)
        Table({"block": blocks, "erases": self._erase_counts}).write_parquet(place / _ERASES)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Reads what `save` wrote.

        Raises:
            CoflashError: The folder holds no result.
        """
        place = Path(path)
        try:
            return cls(
                document=json.loads((place / DOCUMENT).read_text(encoding="utf-8")),
                histograms=_unstacked(Table.read_parquet(place / _HISTOGRAMS)),
                series=Table.read_parquet(place / _SERIES),
                erase_counts=Table.read_parquet(place / _ERASES)["erases"],
            )
        except FileNotFoundError as error:
            missing = f"has no {Path(error.filename).name}" if place.is_dir() else "is no folder"
            msg = f"{place}: holds no result of coflash: it {missing}"
            raise _core.CoflashError(msg) from error
        except (OSError, ValueError, KeyError) as error:
            msg = f"{place}: holds no complete result of coflash: {error}"
            raise _core.CoflashError(msg) from error

    def __repr__(self) -> str:
        return f"<Result of {self.metrics.requests:,} requests, scenario {self.scenario_hash}>"

    def _repr_html_(self) -> str:
        from coflash.report.card import result_html  # it is about results, too

        return result_html(self)


def _stacked(histograms: Mapping[Kind, Histogram]) -> Table:
    """The histograms one under another, in one table."""
    import numpy as np

    kinds = [np.full(len(histogram.counts), kind) for kind, histogram in histograms.items()]
    return Table(
        {
            "kind": np.concatenate(kinds),
            "value_ns": np.concatenate([histogram.values_ns for histogram in histograms.values()]),
            "requests": np.concatenate([histogram.counts for histogram in histograms.values()]),
        }
    )


def _unstacked(table: Table) -> dict[Kind, Histogram]:
    of = {kind: table["kind"] == kind for kind in KINDS}
    return {kind: Histogram(table["value_ns"][rows], table["requests"][rows]) for kind, rows in of.items()}
