"""The exhibits: our curves on the published ones, their deviations, what conserves pages, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from coflash.measures.measure import WAF_HOST
from coflash.quantity import show, show_change
from coflash_reproduce.paper import Axis, Experiment, Line, Row, Run, Runs, tabled
from coflash_reproduce.warp.streams import PAGES, Numbers, published
from coflash_reproduce.warp.workloads import (
    COUNTED,
    CURVES,
    INITIALLY,
    OP,
    PERSISTENTLY,
    PROVISION,
    READINGS,
    SCALES,
    SETTLED,
    SIZES,
)

NEAR = 0.05
"""A point is near if it deviates by at most this."""
PUBLISHED = "WARP"
FILLS_AXIS = Axis("fills of the drive written", "")
_UNIT_BYTES = 2**28

LOGS: Mapping[str, tuple[tuple[int, float, float, float], ...]] = {
    "zoned, own, 20 % over-provisioning": ((2120, -50, 2131, 101), (204, 94, 175, 28), (194, 51, 186, 19)),
    "zoned, own, a GC of its own": ((2642, 7, 2193, 543), (491, -3, 707, 346), (470, 68, 684, 325)),
}
"""Of two logs of GC, by handle: GB that the media wrote, growth in units, GB erased, GB copied."""


def divisor_of(run: Run) -> int:
    """Return how much smaller than the drive a run's device is."""
    return 1024 // int(run.scenario.to_dict()["flash"]["pages_per_block"])


_COURSES: dict[str, tuple[Numbers, Numbers]] = {}


def _course(run: Run) -> tuple[Numbers, Numbers]:
    """Return the fills and the write amplification at the end of each interval of a run."""
    if run.key not in _COURSES:
        _COURSES[run.key] = _read_course(run)
    return _COURSES[run.key]


def _read_course(run: Run) -> tuple[Numbers, Numbers]:
    series = run.result().series()
    programs = sum(np.cumsum(series[name], dtype=float) for name in series.columns if name.startswith("programs_"))
    host = np.cumsum(series["host_writes_pages"], dtype=float)
    return host / (PAGES / divisor_of(run)), np.asarray(programs) / np.maximum(host, 1)


def waf_at(run: Run, fills: float) -> float:
    """Return the write amplification since the beginning, at a number of fills."""
    places, waf = _course(run)
    return float(np.interp(fills, places, waf))


def points(run: Run, curve: str) -> list[tuple[float, float, float]]:
    """Return fills, ours and theirs at every published point after the first fill that the run reached."""
    end = _course(run)[0][-1]
    rows = [row for row in published()[CURVES[curve]] if 1 < row.fills <= end]
    return [(row.fills, waf_at(run, row.fills), row.waf) for row in rows]


def near(run: Run, curve: str) -> list[bool]:
    """Return for each point whether it is near."""
    return [abs(ours / theirs - 1) <= NEAR for _, ours, theirs in points(run, curve)]


def lines(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the lines of a panel: the readings and the published curve."""
    found = []
    for run in runs.of(experiment.name):
        of = points(run, experiment.name)
        found.append(Line(run.case.line, tuple((fills, ours) for fills, ours, _ in of)))
    theirs = points(runs.of(experiment.name)[0], experiment.name)
    return [*found, Line(PUBLISHED, tuple((fills, waf) for fills, _, waf in theirs))]


@tabled("curve | counted | points | " + " | ".join(READINGS))
def deviations(runs: Runs) -> Iterator[Row]:
    """Yield for each curve, and all counted, the points near under each reading, and the worst deviation."""
    total = dict.fromkeys(READINGS, 0)
    whole = 0
    for name in CURVES:
        of = {run.case.line: run for run in runs.of(name)}
        if not of:
            continue
        cells = [_near(of.get(reading), name) for reading in READINGS]
        count = len(points(of[SETTLED], name))
        if name in COUNTED:
            whole += count
            for reading, run in of.items():
                total[reading] += sum(near(run, name))
        yield _title(name), "yes" if name in COUNTED else "no", str(count), *cells
    if whole:
        yield "all counted", "", str(whole), *(f"{number} ({number / whole:.0%})" for number in total.values())


def _title(name: str) -> str:
    return ", ".join(CURVES[name])


def _near(run: Run | None, curve: str) -> str:
    if run is None:
        return "–"
    worst = max((ours / theirs - 1 for _, ours, theirs in points(run, curve)), key=abs)
    return f"{sum(near(run, curve))}, worst {show_change(worst)}"


@tabled("curve | handles − device, at most | copied by handle, of what its media wrote after 3 fills | mix | closes")
def conservation(_: Runs) -> Iterator[Row]:
    """Yield what the columns of each curve let one check."""
    for name, key in CURVES.items():
        rows = published()[key]
        apart = max(abs(sum(row.medias) / row.media - 1) for row in rows)
        begin = next(row for row in rows if row.fills >= 3)
        shares = []
        for handle in range(3):
            host = rows[-1].hosts[handle] - begin.hosts[handle]
            media = rows[-1].medias[handle] - begin.medias[handle]
            if media > 0.01:
                shares.append(f"{handle}: {1 - host / media:.0%}")
        says = "in the log" if name in COUNTED or name.startswith("zoned-own") else "not in the log"
        yield _title(name), f"{apart:.2%}", ", ".join(shares), says, _closes(name)


def _closes(name: str) -> str:
    if name in COUNTED:
        return "as far as the columns say"
    return (
        "a log of GC of this job, of another build, does not"
        if name.startswith("zoned-own")
        else "trivially: one handle"
    )


@tabled("log of GC | handle | media wrote, GB | growth, GB | erased, GB | remainder, GB | copied, GB")
def logs(_: Runs) -> Iterator[Row]:
    """Yield what is left over of what each handle wrote in the two logs of GC."""
    for name, handles in LOGS.items():
        for handle, (media, growth, erased, copied) in enumerate(handles):
            grown = growth * _UNIT_BYTES / 1e9
            left = media - grown - erased
            yield name, str(handle), f"{media:,.0f}", f"{grown:.0f}", f"{erased:,.0f}", f"{left:+.0f}", f"{copied:.0f}"


NOTED = {5: (2.187, 2.365), 10: (1.338, 1.181)}
"""What readers of the paper noted: II and PI by over-provisioning in percent."""


def at_end(runs: Runs, percent: int, isolation: str) -> float | None:
    """Return the write amplification after all fills of an isolation at an over-provisioning."""
    found = runs.of(f"{OP}-{percent}", isolation)
    return found[0].read(WAF_HOST) if found else None


@tabled("over-provisioning | II here | PI here | PI against II | II, WARP | PI, WARP | PI against II")
def isolations(runs: Runs) -> Iterator[Row]:
    """Yield both isolations by over-provisioning."""
    for percent, said in PROVISION.items():
        ours = [at_end(runs, percent, isolation) for isolation in (INITIALLY, PERSISTENTLY)]
        theirs = NOTED.get(percent, (None, None))
        cells = [
            cell
            for first, second in (ours, theirs)
            for cell in (
                show(first, "ratio"),
                show(second, "ratio"),
                show_change(second / first - 1) if first and second else "–",
            )
        ]
        yield said, *cells


@tabled("zipf 1.2, shared: fills | this size | smaller | change | WARP")
def sizes(runs: Runs) -> Iterator[Row]:
    """Yield the settled curve of two sizes of the drive."""
    large, small = runs.of("zipf-1.2-shared", SETTLED), runs.of(SIZES)
    for fills, ours, theirs in points(large[0], "zipf-1.2-shared")[3::4] if large and small else ():
        other = waf_at(small[0], fills)
        yield f"{fills:.2f}", f"{ours:.3f}", f"{other:.3f}", show_change(other / ours - 1), f"{theirs:.3f}"


@tabled("size of the drive | runs | pages written | processor time | most memory")
def cost(runs: Runs) -> Iterator[Row]:
    """Yield time and memory by size."""
    for divisor in sorted({scale.divisor for scale in SCALES.values()} | {scale.coarser for scale in SCALES.values()}):
        of = [run for run in runs if divisor_of(run) == divisor]
        if of:
            known = [run.document["simulator"] for run in of]
            yield (
                f"1 / {divisor}",
                str(len(of)),
                f"{sum(run.programs for run in of):,}",
                f"{sum(one['wall_seconds'] for one in known) / 60:.1f} min",
                show(max(one["peak_rss_bytes"] for one in known), "bytes"),
            )
