"""The result of a run: metrics, distributions, time series."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import orjson

from coflash import _core
from coflash.files import atomic_write, kinds, remote
from coflash.files.errors import named, no_result
from coflash.lookup import no_such
from coflash.measures.metrics import Metrics
from coflash.quantity import counted
from coflash.results.histogram import KINDS, Histogram, Kind, stacked, unstacked
from coflash.results.identity import Identity, check_replaces
from coflash.results.notes import checks, times_of_cell
from coflash.scenario import Scenario
from coflash.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DOCUMENT, _SCENARIO = kinds.RESULT, kinds.SCENARIO
_SERIES, _HISTOGRAMS, _ERASES = "series.parquet", "histograms.parquet", "erase_counts.parquet"
TABLES = {"series": _SERIES, "histograms": _HISTOGRAMS, "erase_counts": _ERASES}
"""The file of each table."""
FILES = frozenset({DOCUMENT, _SCENARIO, *TABLES.values()})
_PARTS = ("coflash", "metrics", "scenario", "scenario_hash", "seed", "simulator", "workload")


def document_of(content: bytes, place: object) -> dict[str, Any]:
    """Read the document of a result.

    Raises:
        CoflashError: It is no document of a result.
    """
    try:
        document = orjson.loads(content)
    except ValueError as error:
        raise _core.CoflashError(f"{place}: is no result of coflash: {error}") from error
    missing = [part for part in _PARTS if not isinstance(document, dict) or part not in document]
    if missing:
        raise _core.CoflashError(f'{place}: is no result of coflash: it has no "{missing[0]}"')
    found: dict[str, Any] = document
    if type(revision := revision_of(found)) is not int or revision < 0:
        msg = f"{place}: is no result of coflash: its revision is {revision!r}, and a whole number from 0 is allowed"
        raise _core.CoflashError(msg)
    return found


def check_place(place: str | Path, run: Callable[[], Identity], scenario: Scenario) -> None:
    """Check that a folder or URL holds no result of another run.

    Args:
        place: The folder or URL; it need not exist.
        run: The run whose result is to be written there; asked only if a result is there, since traces may be long.
        scenario: Its scenario.

    Raises:
        CoflashError: It does, or its document is not a result.
    """
    if remote.is_url(place):
        found = list(remote.Tree(str(place)).contents([DOCUMENT]).values())
    else:
        file = remote.path_of(place) / DOCUMENT
        with named(file, "read"):
            found = [file.read_bytes()] if file.exists() else []
    for content in found:
        check_replaces(place, document_of(content, place), run(), f'of "{scenario.name}" ({scenario.hash})')


def revision_of(document: Mapping[str, Any]) -> int:
    """Return the revision of a result; 0 if it was made before revisions were counted."""
    revision: int = document.get("revision", 0)
    return revision


def mixed_revisions(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a note if runs are of several revisions of results; otherwise an empty list."""
    versions: dict[int, Counter[str]] = {}
    for document in documents:
        versions.setdefault(revision_of(document), Counter())[str(document["coflash"])] += 1
    if len(versions) < 2:
        return []
    each = [f"{of.total()} of revision {at} (coflash {', '.join(sorted(of))})" for at, of in sorted(versions.items())]
    note = "these runs are of different revisions of results, and their numbers may differ for that alone"
    return [f"{note}: {', '.join(each)}"]


class Arrays(NamedTuple):
    """The arrays of a result."""

    histograms: Mapping[Kind, Histogram]
    series: Table
    erase_counts: NDArray[np.uint32]


@final
class Result:
    """The result of a run, with all that is needed to repeat the run. Immutable.

    Attributes:
        document: The whole result without its arrays, as in JSON; `save` writes it to `result.json`.
    """

    __slots__ = ("_held", "document")

    def __init__(self, document: Mapping[str, Any], held: Arrays | _core.RunResult) -> None:
        self.document, self._held = document, held

    @classmethod
    def from_core(cls, core: _core.RunResult) -> Result:
        """Wrap the result of the core; its arrays are not copied."""
        document = json.loads(core.to_json())
        if seconds := _core.hook_seconds():
            document["simulator"]["hook_seconds"] = seconds
        return cls(document, core)

    @property
    def _arrays(self) -> Arrays:
        """The arrays, made of the core's at their first use: to import numpy takes longer than a short run."""
        if not isinstance(self._held, Arrays):
            core = self._held
            histograms: Mapping[Kind, Histogram] = {kind: Histogram(*core.histogram(kind)) for kind in KINDS}
            self._held = Arrays(histograms, Table(core.series()), core.erase_counts())
        return self._held

    def __reduce__(self) -> tuple[type[Result], tuple[Any, ...]]:
        """Copy or send the arrays: the core's result stays in its process."""
        return Result, (self.document, self._arrays)

    @property
    def metrics(self) -> Metrics:
        """The metrics: attributes, and a mapping."""
        return Metrics(self.document["metrics"])

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run, its trace included: `run(result.scenario)` gives this result again."""
        return Scenario.of_result(self.document)

    @property
    def scenario_hash(self) -> str:
        """The digest of the scenario."""
        return str(self.document["scenario_hash"])

    @property
    def seed(self) -> int:
        """The seed of every random stream of the run."""
        return int(self.document["seed"])

    @property
    def revision(self) -> int:
        """The revision of results: the same scenario, inputs, seed and revision give the same result."""
        return revision_of(self.document)

    @property
    def workload(self) -> Mapping[str, Any]:
        """The workload: its description, its files with their digests, and remarks on how they were read."""
        workload: Mapping[str, Any] = self.document["workload"]
        return workload

    @property
    def setting(self) -> dict[str, str]:
        """Short descriptions of the scenario, its scheme, its cache, its workload, and how time was replayed."""
        return setting_of(self.document)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a reader of the metrics: remarks on the workload, and notes on the run."""
        return notes_of(self.document)

    @property
    def simulator(self) -> Mapping[str, Any]:
        """The speed and memory of the simulation, which differ from run to run, unlike everything else."""
        simulator: Mapping[str, Any] = self.document["simulator"]
        return simulator

    def with_document(self, document: Mapping[str, Any]) -> Result:
        """Return the same arrays with another document."""
        return Result(document, self._held)

    def histogram(self, kind: Kind = "all") -> Histogram:
        """Return the distribution of response times, in nanoseconds: the requests of each bucket, of shape (buckets,).

        Args:
            kind: `"all"` requests, `"read"`s or `"write"`s.

        Raises:
            CoflashError: There is no such kind.
        """
        if kind not in KINDS:
            raise no_such("histogram: no kind", kind, KINDS)
        return self._arrays.histograms[kind]

    def series(self) -> Table:
        """Return the time series: a row for each window of simulated time, from its `start_ns` on.

        The counts are `requests`, `erases_blocks`, and pages: those of the host
        (`host_reads_pages`, `host_writes_pages`), `programs_…_pages` by their cause, of the cache and of the collector.
        `response_mean_ns`, `response_p99_ns` and `response_max_ns` are of the requests of the window, in nanoseconds.
        """
        return self._arrays.series

    def erase_counts(self) -> NDArray[np.uint32]:
        """Return the number of erases of each block; shape (blocks,)."""
        return self._arrays.erase_counts

    def to_json(self) -> str:
        """Return the document as JSON text, indented by two spaces, with a newline at its end."""
        return json.dumps(self.document, indent=2, ensure_ascii=False) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the result to a folder: JSON, the scenario as TOML, Parquet. An older result of the run is replaced.

        Args:
            path: The folder, or a URL that fsspec knows; there the files are written one by one, the JSON last.
            force: Whether the result of another run is replaced, too: of another scenario, seed or trace.

        Raises:
            CoflashError: The folder cannot be written, or holds files that are not a result, or that of another run.
        """
        if not force:
            check_place(path, lambda: Identity.of_result(self.document), self.scenario)
        if remote.is_url(path):
            with tempfile.TemporaryDirectory() as folder:
                self.write_files(Path(folder))
                remote.Tree(str(path)).put_folder("", Path(folder), last=DOCUMENT)
            return
        path = remote.path_of(path)
        with atomic_write.folder(Path(path), replaces=FILES) as new:
            self.write_files(new)

    def write_files(self, place: Path) -> None:
        """Write the files of `save` into an existing folder."""
        import numpy as np

        (place / DOCUMENT).write_text(self.to_json(), encoding="utf-8")
        (place / _SCENARIO).write_text(self.scenario.to_toml(), encoding="utf-8")
        histograms, series, erases = self._arrays
        series.write_parquet(place / _SERIES)
        stacked(histograms).write_parquet(place / _HISTOGRAMS)
        Table({"block": np.arange(len(erases), dtype=np.uint32), "erases": erases}).write_parquet(place / _ERASES)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Load a result that `save` wrote.

        Raises:
            CoflashError: The folder holds no result.
        """
        place = Path(path)
        with _complete(place):
            document = document_of((place / DOCUMENT).read_bytes(), place / DOCUMENT)
            series, histograms, erases = (Table.read_parquet(place / file) for file in TABLES.values())
            return cls(document, Arrays(unstacked(histograms), series, erases["erases"]))

    def __repr__(self) -> str:
        return f"<Result of {counted(self.metrics.requests, 'request')}, scenario {self.scenario_hash}>"

    def _repr_html_(self) -> str:
        from coflash.results.tables import run_table

        table = run_table(self)
        table.title = " · ".join(filter(None, self.setting.values()))
        by = f"revision {self.revision} of results, coflash {self.document['coflash']}"
        table.below = f"scenario {self.scenario_hash}, seed {self.seed}, {by}"
        return table.html()


@contextmanager
def _complete(place: Path) -> Iterator[None]:
    """Say of files that are missing or broken that they are no complete result."""
    try:
        yield
    except FileNotFoundError as error:
        missing = [name for name in (DOCUMENT, *TABLES.values()) if not (place / name).exists()]
        if missing[:1] in ([], [DOCUMENT]):
            raise no_result(place) from error
        msg = f"{place}: holds no complete result of coflash: it has no {missing[0]}; `coflash run` makes it again"
        raise _core.CoflashError(msg) from error
    except (OSError, ValueError, KeyError) as error:
        raise _core.CoflashError(f"{place}: holds no complete result of coflash: {error}") from error


def setting_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Describe the scenario of a result, its scheme, cache, workload and replay, each in a few words."""
    scenario = document["scenario"]
    hybrid = scenario.get("hybrid") or {}
    scheme = hybrid.get("scheme") or scenario.get("cooperation") or {}
    return {
        "scenario": scenario.get("name") or "without a name",
        "scheme": scheme.get("name", "none"),
        "cache": "; ".join(_caches(scenario, hybrid)) or "none",
        "workload": document["workload"]["description"],
        "replay": document["workload"].get("replay", ""),  # older results do not tell it
    }


def _caches(scenario: Mapping[str, Any], hybrid: Mapping[str, Any]) -> Iterator[str]:
    """Describe each cache: its size and policy as the scenario has them, and its place."""
    places = {"host_buffer": "write buffer in the host", "cache": "in the host"}
    for key, place in places.items():
        cache = scenario.get(key) or {}
        if cache.get("size", "0B") != "0B":
            in_device = key == "cache" and cache.get("placement") != "host"
            memory = ", volatile" if cache.get("volatile") else ""
            yield f"{cache['size']}, {cache['policy']['name']}{memory}, {'in the device' if in_device else place}"
    if hybrid:
        yield f"flash before disks, {hybrid['policy']['name']}"


def replays(document: Mapping[str, Any]) -> bool:
    """Whether a run replayed a trace, which is the same for every seed."""
    return bool(document["workload"]["inputs"]) and not document["scenario"].get("workload", {}).get("like")


def notes_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the notes of a result from its document."""
    return (*document["workload"]["remarks"], *document.get("notes", ()), *checks(document), *times_of_cell(document))
