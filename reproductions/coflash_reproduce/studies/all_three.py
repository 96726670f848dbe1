"""What a host's write buffer, a cache in NVM and a flash cache before disks save together, and what each alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from coflash.demo import find_trace
from coflash.measures.measure import MEAN, WAF_HOST, Measure, sum_of, value_at
from coflash.quantity import show_change
from coflash.results.estimate import Estimate, estimate
from coflash.results.why import shapley
from coflash.scenario import Scenario
from coflash_reproduce.drawing import bars
from coflash_reproduce.paper import Case, Exhibit, Experiment, Grid, Picture, Row, Run, Runs, spread, tabled
from coflash_reproduce.study import Finding, Study, each_holds, shown
from coflash_reproduce.text import Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

BUFFER, NVM, TIER = "write buffer (HGC)", "NVM cache (CDM)", "OP-FCL"
PARTS = (BUFFER, NVM, TIER)
SETS = tuple(frozenset(some) for count in range(4) for some in combinations(PARTS, count))
"""All sets of parts; the place of a case is the number of its set."""
KNOWLEDGE, TIERS = "knowledge", "tiers"
"""All memories are there, and a part is what GC knows of one, or how flash is divided; or the memory is a part, too."""
ZIPF, PGBENCH = "zipf", "pgbench"
WORKLOADS = {ZIPF: "Zipf 1.0, half reads", PGBENCH: "pgbench (trace)"}
ERASES = Measure("erases", "", value_at("erases_blocks"))
DISK = Measure("disk transfers", "", sum_of(["hybrid.disk_read_transfers", "hybrid.disk_write_transfers"]))
MEASURES = (MEAN, WAF_HOST, ERASES, DISK)
LEAST = 0.05
"""The least relative saving that counts as one."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    seeds: int
    with_trace: bool = True


SCALES = {"quick": Scale(120_000, 2, with_trace=False), "full": Scale(240_000, 3)}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each set of parts on each workload."""
    scale, cases = SCALES[scale_name], tuple(_cases())
    found = [Experiment(ZIPF, WORKLOADS[ZIPF], _generated(scale), cases, seeds=scale.seeds)]
    if scale.with_trace:
        trace = (str(find_trace()),)
        found.append(Experiment(PGBENCH, WORKLOADS[PGBENCH], _traced(), cases, trace, seeds=1))  # nothing draws by it
    return tuple(found)


def _cases() -> Iterator[Case]:
    for line in (KNOWLEDGE, TIERS):
        for place, parts in enumerate(SETS):
            schemes = {(False, False): "none", (True, False): "hgc", (False, True): "cdm", (True, True): "cdm-hgc"}
            changes: dict[str, Any] = {"cooperation": schemes[BUFFER in parts, NVM in parts]}
            changes["hybrid.scheme"] = "op-fcl" if TIER in parts else {"name": "fp-fcl", "caching": "80%"}
            if line == TIERS:
                missing = {"host_buffer.size": BUFFER, "cache.size": NVM}
                changes |= {key: "0B" for key, part in missing.items() if part not in parts}
            yield Case(line, place, changes)


def _device(blocks: int, buffer: str, cache: str, segment: str) -> Scenario:
    """Return configuration 1 of OP-FCL with a smaller flash, below a cache and a write buffer."""
    changes = {"flash.blocks_per_plane": blocks, "hybrid.segment": segment, "hybrid.period_requests": 8192}
    memories = {"host_buffer.size": buffer, "host_buffer.dirty_age_max": "10min", "cache.size": cache}
    fast = {"timing.page_program_fast": "100us", "hybrid.disks.model.capacity": "2GB"}
    return Scenario.load("opfcl-config1").with_({**changes, **memories, **fast})


def _generated(scale: Scale) -> Scenario:
    generator = {"name": "zipf", "exponent": 1.0}
    arrival = {"name": "poisson", "mean": "4ms"}
    own = {"requests": scale.requests, "space": "256MiB", "read_share": "50%"}
    values = _device(512, "2MiB", "4MiB", "4MiB").to_dict()
    values["workload"] = {"remap": "dense", "synthetic": {"generator": generator, "arrival": arrival, **own}}
    return Scenario.from_dict(values | {"name": "all-three"})


def _traced() -> Scenario:
    values = _device(2048, "8MiB", "16MiB", "16MiB").to_dict()
    values["workload"], values["replay"] = {"remap": "dense"}, {"mode": "closed", "queue_depth": 8}
    return Scenario.from_dict(values | {"name": "all-three"})


Numbers = Mapping[frozenset[str], float]


def _by_seed(runs: Runs, name: str, line: str, measure: Measure) -> list[Numbers]:
    """Return a measure by set of parts, for each seed."""
    found: dict[int, dict[frozenset[str], float]] = {}
    for run in runs.of(name, line):
        found.setdefault(run.seed, {})[SETS[int(run.case.at)]] = run.read(measure)
    return list(found.values())


def _saved(numbers: Numbers, *parts: str) -> float:
    """Return the share that some parts save."""
    return 1 - numbers[frozenset(parts)] / numbers[frozenset()]


def _together(runs: Runs, name: str, line: str, measure: Measure) -> Estimate:
    return estimate([_saved(numbers, *PARTS) for numbers in _by_seed(runs, name, line, measure)])


def _sum_alone(runs: Runs, name: str, line: str, measure: Measure) -> Estimate:
    return estimate([sum(_saved(one, part) for part in PARTS) for one in _by_seed(runs, name, line, measure)])


def _share(found: Estimate) -> str:
    return spread(found, "share")


def _done(runs: Runs) -> list[str]:
    return [name for name in WORKLOADS if runs.of(name)]


@each_holds
def _knowledge_saves(runs: Runs) -> Iterator[Finding]:
    for name in _done(runs):
        found = _together(runs, name, KNOWLEDGE, ERASES)
        holds = (found.mean or 0) - (found.half_width or 0) >= LEAST
        yield Finding(holds, f"{WORKLOADS[name]}: {_share(found)}")


@each_holds
def _more_than_one(runs: Runs) -> Iterator[Finding]:
    for name in _done(runs):
        seeds = _by_seed(runs, name, KNOWLEDGE, ERASES)
        best = max(PARTS, key=lambda part: estimate([_saved(one, part) for one in seeds]).mean or 0)
        gain = estimate([_saved(one, *PARTS) - _saved(one, best) for one in seeds])
        yield Finding((gain.mean or 0) > (gain.half_width or 0), f"{WORKLOADS[name]}: {_share(gain)} beyond {best}")


@each_holds
def _overlap(runs: Runs) -> Iterator[Finding]:
    for name in _done(runs):
        whole, alone = (of(runs, name, TIERS, ERASES) for of in (_together, _sum_alone))
        yield Finding(
            (whole.mean or 0) < (alone.mean or 0),
            f"{WORKLOADS[name]}: {_share(whole)} together, {_share(alone)} as a sum",
        )


@each_holds
def _fewer_transfers(runs: Runs) -> Iterator[Finding]:
    for name in _done(runs):
        seeds = _by_seed(runs, name, KNOWLEDGE, DISK)
        found = estimate([_saved(one, NVM) for one in seeds])
        yield Finding((found.mean or 0) > (found.half_width or 0), f"{WORKLOADS[name]}: {_share(found)}")


def _title(parts: frozenset[str]) -> str:
    return " + ".join(part for part in PARTS if part in parts) or "none of them"


def _table(line: str) -> Any:
    @tabled("| | mean response | WAF | erases | disk transfers")
    def table(runs: Runs) -> Iterator[Row]:
        for name in _done(runs):
            for place, parts in enumerate(SETS):
                some = [run for run in runs.of(name, line) if run.case.at == place]
                yield (WORKLOADS[name], _title(parts), *(_cell(some, measure) for measure in MEASURES))

    return table


def _cell(some: list[Run], measure: Measure) -> str:
    return shown(estimate([run.read(measure) for run in some]), measure)


def _of_seed(numbers: Numbers) -> dict[str, float]:
    return shapley(PARTS, lambda parts: _saved(numbers, *parts))


def _shares(runs: Runs, line: str, measure: Measure) -> dict[str, dict[str, Estimate]]:
    """Return the exact share of each part in what all save, by workload: their sum is the whole."""
    found = {}
    for name in _done(runs):
        seeds = [_of_seed(numbers) for numbers in _by_seed(runs, name, line, measure)]
        found[WORKLOADS[name]] = {part: estimate([one[part] for one in seeds]) for part in PARTS}
    return found


_SHOWN = (MEAN, ERASES, DISK)


def _shapley_grid(runs: Runs) -> Grid:
    columns = ("", "", "saved of", *PARTS, "all")
    rows = []
    for line in (KNOWLEDGE, TIERS):
        for measure in _SHOWN:
            for name, shares in _shares(runs, line, measure).items():
                whole = show_change(-sum(one.mean or 0 for one in shares.values()))
                rows.append((line, name, measure.label, *(_share(shares[part]) for part in PARTS), whole))
    return Grid(columns, tuple(rows))


def _draw(runs: Runs) -> Canvas:
    groups = {
        f"{measure.label}, {line}, {name}": {part: 100 * (one.mean or 0) for part, one in shares.items()}
        for line in (KNOWLEDGE, TIERS)
        for measure in (ERASES, DISK)
        for name, shares in _shares(runs, line, measure).items()
    }
    return bars(groups, "saved, %")


STUDY = Study(
    name="all-three",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_knowledge_saves, _more_than_one, _overlap, _fewer_transfers),
    exhibits=(
        Picture("figure-1", _draw, _shapley_grid),
        Exhibit("table-1", _table(KNOWLEDGE)),
        Exhibit("table-2", _table(TIERS)),
    ),
)
