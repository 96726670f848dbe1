"""What is stated of WARP's drive, and what would refute it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from coflash.measures.measure import WAF_HOST
from coflash_reproduce.claim import FALLS, RISES, Claim, Kind, Numbers
from coflash_reproduce.paper import Runs
from coflash_reproduce.warp import workloads as its
from coflash_reproduce.warp.reading import at_end, near
from coflash_reproduce.warp.streams import NONE, OWN, SHARED, WORKLOADS

FAR = 0.1
"""The largest share of points beyond 5 %."""


def _far(curves: tuple[str, ...], reading: str, runs: Runs, _: str = "") -> float | None:
    found = [one for name in curves for run in runs.of(name, reading) for one in near(run, name)]
    return 1 - sum(found) / len(found) if found else None


def _waf(runs: Runs, workload: str, handles: str) -> float | None:
    found = runs.of(f"{workload.replace(' ', '-')}-{handles}", its.SETTLED)
    return found[0].read(WAF_HOST) if found else None


def _change(workload: str, to: str, base: str, runs: Runs, _: str) -> Numbers | None:
    ours, than = _waf(runs, workload, to), _waf(runs, workload, base)
    return ours / than - 1 if ours and than else None


def _isolations(percent: int, runs: Runs, _: str) -> Numbers | None:
    initially, persistently = (at_end(runs, percent, line) for line in (its.INITIALLY, its.SETTLED))
    return persistently / initially - 1 if initially and persistently else None


bound, effect = (partial(Claim, experiments=(), kind=kind) for kind in (Kind.BOUND, Kind.EFFECT))


def claims() -> Iterator[Claim]:
    """Yield the statements; those that held when the page was written must go on to hold."""
    for name, curve in its.CURVES.items():
        ours, aside = partial(_far, (name,), its.SETTLED), "" if name in its.COUNTED else "not counted"
        what = f"share of points beyond 5 %, {', '.join(curve)}"
        yield bound("curves", what, paper=FAR, ours=ours, aside=aside, must=name in HELD)
    for group, names, aside in (
        ("all counted points", its.COUNTED, ""),
        ("all nine curves' points", tuple(its.CURVES), "not counted"),
    ):
        ours = partial(_far, names, its.SETTLED)
        yield bound("points", f"share of {group} beyond 5 %", paper=FAR, ours=ours, aside=aside)
    for before, curve_of, after, name, base, to in (
        ("idle units", "zipf 1.2, shared", "the hard mark only", "zipf-1.2-shared", its.FIRST, its.IDLE),
        ("copies to the caller", "zoned, own", "isolation kept", "zoned-own", its.IDLE, its.CALLER),
    ):
        what = f"{before}, points beyond 5 % of {curve_of}, against {after}"
        less, said = partial(_less, name, base, to), "not in the paper: our reading"
        yield effect("points", what, paper=FALLS, ours=less, said=said, must=True)
    for workload in WORKLOADS:
        for to, base in ((OWN, SHARED), (SHARED, NONE)):
            what = f"WAF with handles {to} against {base}, {workload}"
            yield effect("curves", what, paper=FALLS, ours=partial(_change, workload, to, base), said="lower")
    for percent, way, said in ((5, RISES, "higher"), (10, FALLS, "lower")):
        what, change = f"WAF of PI against II at {its.PROVISION[percent]}", partial(_isolations, percent)
        yield effect("isolations", what, paper=way, ours=change, said=said, must=percent == 10)


HELD = ("zipf-1.2-own", "zipf-2.2-own", "zoned-own", "zoned-shared")
"""The curves that held."""


def _less(name: str, base: str, to: str, runs: Runs, _: str) -> Numbers | None:
    before, after = _far((name,), base, runs), _far((name,), to, runs)
    return after - before if before is not None and after is not None else None
