"""The exhibits: our curves on the published ones, their deviations, what conserves pages, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from coflash.measures.measure import WAF_HOST
from coflash.quantity import change, show, show_change
from coflash.table import Table
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Row, Run, Runs, flash_pages, tabled
from coflash_reproduce.warp import workloads as its
from coflash_reproduce.warp.streams import NONE, PAGES, Numbers, published

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
    rows = [row for row in published()[its.CURVES[curve]] if 1 < row.fills <= end]
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


@tabled("curve | counted | points | " + " | ".join(its.READINGS))
def deviations(runs: Runs) -> Iterator[Row]:
    """Yield for each curve, and for groups of them, the points near under each reading, and the worst deviation."""
    for name in its.CURVES:
        if runs.of(name):
            cells = (_near(run, name) for reading in its.READINGS for run in runs.of(name, reading))
            yield (
                _title(name),
                "yes" if name in its.COUNTED else "no",
                str(len(_all_near(runs, name, its.SETTLED))),
                *cells,
            )
    for title, names in GROUPS.items():
        near_by = {
            reading: [one for name in names for one in _all_near(runs, name, reading)] for reading in its.READINGS
        }
        if whole := len(near_by[its.SETTLED]):
            yield title, "", str(whole), *(f"{sum(found)} ({sum(found) / whole:.0%})" for found in near_by.values())


GROUPS: Mapping[str, tuple[str, ...]] = {"all counted": its.COUNTED, "all curves": tuple(its.CURVES)}


TARGET = 0.9


def missed(runs: Runs) -> Iterator[str]:
    """Yield what is reached of the target."""
    for reading in (its.IDLE, its.CALLER):
        cells = []
        for title, names in GROUPS.items():
            found = [one for name in names for one in _all_near(runs, name, reading)]
            if found:
                cells.append(f"{title} {sum(found)} of {len(found)} ({sum(found) / len(found):.0%})")
        far = [name for name in its.CURVES if (of := _all_near(runs, name, reading)) and sum(of) < TARGET * len(of)]
        if cells:
            verdict = "reached" if not far else f"missed by {len(far)} curves: {'; '.join(map(_title, far))}"
            yield f"Under *{reading}*: {'; '.join(cells)}. The target, {TARGET:.0%} of a curve's points, is {verdict}."


def _all_near(runs: Runs, name: str, reading: str) -> list[bool]:
    return [one for run in runs.of(name, reading) for one in near(run, name)]


def _title(name: str) -> str:
    return ", ".join(its.CURVES[name])


def _near(run: Run, curve: str) -> str:
    return f"{sum(near(run, curve))}, worst {show_change(_worst(run, curve))}"


def _worst(run: Run, curve: str) -> float:
    return max((ours / theirs - 1 for _, ours, theirs in points(run, curve)), key=abs)


@tabled("curve | handles − device, at most | copied by handle, of what its media wrote after 3 fills | mix | closes")
def conservation(_: Runs) -> Iterator[Row]:
    """Yield what the columns of each curve let one check."""
    for name, key in its.CURVES.items():
        rows = published()[key]
        apart = max(abs(sum(row.medias) / row.media - 1) for row in rows)
        begin = next(row for row in rows if row.fills >= 3)
        shares = []
        for handle in range(3):
            host = rows[-1].hosts[handle] - begin.hosts[handle]
            media = rows[-1].medias[handle] - begin.medias[handle]
            if media > 0.01:
                shares.append(f"{handle}: {1 - host / media:.0%}")
        says = "not in the log" if key[1] == NONE else "in the log"
        yield _title(name), f"{apart:.2%}", ", ".join(shares), says, _closes(name)


def _closes(name: str) -> str:
    return "trivially: one handle" if its.CURVES[name][1] == NONE else "the sum does; by handle no column says"


@tabled("log of GC | handle | media wrote, GB | growth, GB | erased, GB | remainder, GB | copied, GB")
def logs(_: Runs) -> Iterator[Row]:
    """Yield what is left over of what each handle wrote in the two logs of GC."""
    for name, handles in LOGS.items():
        for handle, (media, growth, erased, copied) in enumerate(handles):
            grown = growth * _UNIT_BYTES / 1e9
            left = media - grown - erased
            yield name, str(handle), f"{media:,.0f}", f"{grown:.0f}", f"{erased:,.0f}", f"{left:+.0f}", f"{copied:.0f}"


COPIED: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "zoned, own, 20 % over-provisioning": ((26220, 11847, 25764), (11217, 642738, 647292), (0, 245158, 224719)),
    "zoned, own, a GC of its own": (
        (604002, 2448941, 2166580),
        (3245442, 35888340, 32383786),
        (2608726, 30222268, 33771487),
    ),
}
"""Of the same logs, by handle of the victim: pages by which the live pages of each handle grew.

Counted from one forced victim to the next, where the counters of the host are the same in both lines.
"""


@tabled("log of GC | victims of handle | pages copied | to handle 0 | to handle 1 | to handle 2")
def copies(runs: Runs) -> Iterator[Row]:
    """Yield in whose units the copies of a victim landed, by its handle, and where they land here."""
    for name, victims in COPIED.items():
        for handle, pages in enumerate(victims):
            yield name, str(handle), f"{sum(pages):,}", *(f"{one / sum(pages):.0%}" for one in pages)
    for reading in (its.IDLE, its.CALLER):
        for run in runs.of("zoned-own", reading):
            into = _copied(run)
            whole = max(sum(into), 1)
            yield f"zoned, own, here, {reading}", "all", f"{whole:,}", *(f"{one / whole:.0%}" for one in into)


NOTED = {5: (2.187, 2.365), 10: (1.338, 1.181)}
"""What readers of the paper noted: II and PI by over-provisioning in percent."""


def at_end(runs: Runs, percent: int, line: str) -> float | None:
    """Return the write amplification after all fills at an over-provisioning, of II or of a reading of PI."""
    found = runs.of(f"{its.OP}-{percent}", line)
    return found[0].read(WAF_HOST) if found else None


def _copied(run: Run) -> list[int]:
    """Return the pages that GC copied into units of handles 0, 1 and 2."""
    classes = run.document["metrics"]["placement"]
    return [classes[len(classes) // 2 + handle]["copied_pages"] for handle in range(3)]


@tabled(
    "over-provisioning | II | PI, isolated | against II | PI, to the caller | against II | WARP, II | PI | against II"
)
def isolations(runs: Runs) -> Iterator[Row]:
    """Yield both isolations by over-provisioning."""
    for percent, said in its.PROVISION.items():
        ii, isolated, caller = (at_end(runs, percent, line) for line in (its.INITIALLY, its.IDLE, its.CALLER))
        ii_said, pi_said = NOTED.get(percent, (None, None))
        pairs = ((isolated, ii), (caller, ii), (pi_said, ii_said))
        ours, faulty, theirs = ((show(pi, "ratio"), show_change(change(pi, of))) for pi, of in pairs)
        yield said, show(ii, "ratio"), *ours, *faulty, show(ii_said, "ratio"), *theirs


@tabled("curve | size of the drive | at 2 fills | at 3 | at 5 | points within 5 % | worst | time | device | process")
def sizes(runs: Runs) -> Iterator[Row]:
    """Yield the settled curves at several sizes of the drive; those of the whole drive are stored."""
    for name in its.COUNTED:
        of = [
            *runs.of(name, its.SETTLED),
            *(run for run in runs if run.experiment.name.startswith(f"{its.SIZES}-{name}-")),
        ]
        for run in sorted(of, key=divisor_of, reverse=True):
            simulator, found = run.document["simulator"], near(run, name)
            end = _course(run)[0][-1]
            cells = [f"{waf_at(run, fills):.3f}" if fills < end + 0.1 else "–" for fills in _AT]
            device = simulator["state_bytes_per_page"] * flash_pages(run.scenario)
            memory = (show(size, "bytes") for size in (device, simulator["peak_rss_bytes"]))
            cells += [f"{sum(found)} of {len(found)}", show_change(_worst(run, name))]
            yield _title(name), f"1 / {divisor_of(run)}", *cells, f"{simulator['wall_seconds']:.0f} s", *memory
        if min(map(divisor_of, of), default=1) > 1:
            yield from _stored(_title(name))
        rows = published()[its.CURVES[name]]
        theirs = np.interp(_AT, [row.fills for row in rows], [row.waf for row in rows])
        yield _title(name), PUBLISHED, *(f"{waf:.3f}" for waf in theirs), "", "", "", "", ""


def _stored(title: str) -> Iterator[Row]:
    """Yield the stored row of a curve on the whole drive: the same table of `--scale whole`."""
    yield from (row for row in Grid.beside(__file__, "whole.csv").rows if row[:2] == (title, WHOLE))


WHOLE = "1 / 1"
_AT = (2, 3, 5)


@tabled("curve | overwriting stream, of the one beside it | at 3 fills | at 6 | at 9 | points within 5 % | worst")
def mixes(runs: Runs) -> Iterator[Row]:
    """Yield what the mix does to the curves whose overwriting stream shares a handle, under the settled reading."""
    for name in its.MIXED:
        of = {1.0: runs.of(name, its.SETTLED)} | {
            times: runs.of(f"{its.MIXES}-{name}-{times}") for times in its.OVER_BESIDE
        }
        for times, found in sorted(of.items()):
            for run in found:
                wafs = (f"{waf_at(run, fills):.2f}" for fills in (3, 6, 9))
                whether, worst = near(run, name), _worst(run, name)
                yield _title(name), f"× {times}", *wafs, f"{sum(whether)} of {len(whether)}", show_change(worst)
        rows = published()[its.CURVES[name]]
        theirs = np.interp((3, 6, 9), [row.fills for row in rows], [row.waf for row in rows])
        yield _title(name), PUBLISHED, *(f"{waf:.2f}" for waf in theirs), "", ""


_FILL = (0.9, 0.1, 0.0)
"""What the fill writes through handles 0, 1 and 2, in fills."""


@tabled("program and erase | asked, MB/s | sequential | beside | overwriting | of all that is asked | falls behind at")
def rates(runs: Runs) -> Iterator[Row]:
    """Yield the rates that ours reaches of those that are asked, by the times of flash."""
    for times in its.TIMES:
        for asked, (rates_mb, _) in its.ASKED_MB.items():
            for run in runs.of(f"{its.RATES}-{asked}-{times}", asked):
                exported, asked_mb = PAGES / divisor_of(run) * 4096, sum(rates_mb)
                classes, seconds = run.document["metrics"]["placement"], its.rated_seconds(asked, divisor_of(run))
                found = [(classes[at]["host_bytes"] - _FILL[at] * exported) / seconds / 1e6 for at in range(3)]
                cells = (f"{rate:.0f}" for rate in found)
                behind = _behind(run.result().series(), asked_mb, exported)
                yield times, " : ".join(map(str, rates_mb)), *cells, f"{sum(found) / asked_mb:.0%}", behind


def _behind(series: Table, asked_mb: float, exported: float) -> str:
    """Return the fills at which less than 99 % of what is asked is written, over all since the fill."""
    starts, written = np.asarray(series["start_ns"], float), np.cumsum(series["host_writes_pages"], dtype=float) * 4096
    begin = int(np.searchsorted(written, exported))
    since = (written[begin:-1] - written[begin]) / np.maximum(starts[begin + 1 :] - starts[begin + 1], 1) * 1e3
    late = np.flatnonzero(since[1:] < 0.99 * asked_mb)
    return f"{written[begin + 1 + late[0]] / exported:.1f} fills" if len(late) else "never"


PLATEAU = 2.04
"""The write amplification of the real drive from its third fill on, in each fill."""


def plateau(run: Run) -> float:
    """Return the write amplification in the last quarter of a run."""
    series = run.result().series()
    late = slice(len(series) * 3 // 4, None)
    programs = sum(series[name][late].sum() for name in series.columns if name.startswith("programs_"))
    return float(programs / series["host_writes_pages"][late].sum())


@tabled(f"spare space, of what is exported | {' | '.join(its.ORDERS)} | real drive")
def stream(runs: Runs) -> Iterator[Row]:
    """Yield the steady state of random writes of 128 KiB by spare space, the one unknown of the real drive."""
    found = {order: [run for run in runs if run.case.line == order] for order in its.ORDERS}
    wafs = {order: [plateau(run) for run in of] for order, of in found.items()}
    for at, spare in enumerate(its.SPARES):
        yield f"{spare} %", *(f"{of[at]:.2f}" for of in wafs.values() if of), f"{PLATEAU:.2f}"
    needed = [np.interp(-PLATEAU, [-waf for waf in of], its.SPARES) for of in wafs.values() if of]
    cells = (f"{spare:.0f} %" if its.SPARES[0] < spare < its.SPARES[-1] else "none of these" for spare in needed)
    yield "for 2.04, read between the runs", *cells, ""


@tabled("size of the drive | runs | pages written | time | most memory")
def cost(runs: Runs) -> Iterator[Row]:
    """Yield time and memory by size."""
    for divisor in sorted({divisor_of(run) for run in runs}):
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
