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


def claims() -> Iterator[Claim]:
    """Yield the statements; those that held when the page was written must go on to hold."""
    for name in its.CURVES:
        yield Claim(
            "curves",
            f"share of points beyond 5 %, {', '.join(its.CURVES[name])}",
            (),
            FAR,
            partial(_far, (name,), its.SETTLED),
            kind=Kind.BOUND,
            aside="" if name in its.COUNTED else "not counted",
            must=name in HELD,
        )
    yield Claim(
        "points",
        "share of all counted points beyond 5 %",
        (),
        FAR,
        partial(_far, its.COUNTED, its.SETTLED),
        kind=Kind.BOUND,
    )
    yield Claim(
        "points",
        "share of all nine curves' points beyond 5 %",
        (),
        FAR,
        partial(_far, tuple(its.CURVES), its.SETTLED),
        kind=Kind.BOUND,
        aside="not counted",
    )
    yield Claim(
        "points",
        "idle units, points beyond 5 % of zipf 1.2, shared, against the hard mark only",
        (),
        FALLS,
        partial(_less, "zipf-1.2-shared", its.FIRST, its.IDLE),
        kind=Kind.EFFECT,
        said="not in the paper: our reading",
        must=True,
    )
    yield Claim(
        "points",
        "copies to the caller, points beyond 5 % of zoned, own, against isolation kept",
        (),
        FALLS,
        partial(_less, "zoned-own", its.IDLE, its.CALLER),
        kind=Kind.EFFECT,
        said="not in the paper: our reading",
        must=True,
    )
    for workload in WORKLOADS:
        for to, base in ((OWN, SHARED), (SHARED, NONE)):
            yield Claim(
                "curves",
                f"WAF with handles {to} against {base}, {workload}",
                (),
                FALLS,
                partial(_change, workload, to, base),
                kind=Kind.EFFECT,
                said="lower",
            )
    for percent, way in ((5, RISES), (10, FALLS)):
        yield Claim(
            "isolations",
            f"WAF of PI against II at {its.PROVISION[percent]}",
            (),
            way,
            partial(_isolations, percent),
            kind=Kind.EFFECT,
            said="higher" if way > 0 else "lower",
            must=percent == 10,
        )


HELD = ("zipf-1.2-own", "zipf-2.2-own", "zoned-own", "zoned-shared")
"""The curves that held."""


def _less(name: str, base: str, to: str, runs: Runs, _: str) -> Numbers | None:
    before, after = _far((name,), base, runs), _far((name,), to, runs)
    return after - before if before is not None and after is not None else None
