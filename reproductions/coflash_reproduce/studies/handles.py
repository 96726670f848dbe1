"""What a noisy handle costs the others, and what is left of cooperation above handles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from coflash import palette
from coflash.measures.measure import WAF_HOST
from coflash.quantity import show, show_change
from coflash.results.why import shapley
from coflash_reproduce.paper import Case, Exhibit, Experiment, Picture, Row, Run, Runs, tabled
from coflash_reproduce.study import Finding, Study
from coflash_reproduce.text import Text
from coflash_reproduce.warp.streams import NONE, OWN, QUIET, SHARED, trace
from coflash_reproduce.warp.workloads import PERSISTENTLY, drive, placement

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

HANDLES = 3
NOISES = (QUIET, "zipf 1.2", "zipf 2.2", "zoned")
"""The overwriting stream, from none to the one that makes most garbage."""
KEPT, BROKEN = "isolation kept", "copies to the writer"
ALONE, CDM, GGC, HGC, DGC, SGC = "no cooperation", "CDM", "GGC", "HGC", "DGC", "SGC"
LINES = (ALONE, CDM, GGC, HGC, DGC, SGC)
BASES = {CDM: ALONE, SGC: GGC}
"""The systems, and the same memories without them."""
ABOVE = ("zipf 1.2", "zoned")
SIDES = (OWN, SHARED, NONE)
CACHE, HALF = "2%", "1%"
"""The size of CDM's cache, and that of either buffer of ShadowGC."""
_BUFFERS: Mapping[str, Any] = {f"{memory}.size": HALF for memory in ("cache", "host_buffer")} | {"cache.volatile": True}
_FAST: Mapping[str, Any] = {"timing.page_program_fast": "1250ns"}
PARTS = {CDM: (CDM,), SGC: (HGC, DGC)}
"""What a system knows of one memory each."""
HANDLED = "handles"
FILLS = 6
SCALES = {"quick": 256, "full": 64}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the noises under both kinds of copies, and CDM and ShadowGC above the handles."""
    divisor = SCALES[scale_name]

    def of(workload: str, handles: str, name: str, cases: tuple[Case, ...]) -> Experiment:
        written = trace(workload, handles, divisor, FILLS, logged=False)
        return Experiment(name, f"{workload}, {handles}", drive(divisor), cases, (written,))

    kept = placement(PERSISTENTLY) | {"handles": HANDLES}
    copies = tuple(
        Case(line, 0, {"ftl.placement": kept | {"isolation": {"name": PERSISTENTLY, "copies": kind}}})
        for line, kind in ((KEPT, "of-unit"), (BROKEN, "of-writer"))
    )
    schemes: Mapping[str, Any] = {ALONE: "none", CDM: {"name": "cdm", "removable_weight": 1.0}}
    above = (
        *(
            Case(line, 0, {"ftl.placement": kept, "cache.size": CACHE, "cooperation": scheme})
            for line, scheme in schemes.items()
        ),
        *(
            Case(line, 0, {"ftl.placement": kept, **_BUFFERS, **_FAST, "cooperation": line.lower()})
            for line in (GGC, HGC, DGC, SGC)
        ),
    )
    noisy = tuple(of(noise, OWN, f"noise-{noise}", copies) for noise in NOISES)
    return noisy + tuple(of(on, side, f"above-{on}-{side}", above) for on in ABOVE for side in SIDES)


def waf_of(run: Run, handle: int) -> float:
    """Return what the media wrote for a page of a handle: its own and its copies, which are counted to its units."""
    classes = run.document["metrics"]["placement"]
    own, copies = classes[handle], classes[HANDLES + handle]
    return float((own["media_bytes"] + copies["media_bytes"]) / own["host_bytes"])


def _one(runs: Runs, experiment: str, line: str) -> Run:
    return runs.of(experiment, line)[0]


def _beside(runs: Runs, noise: str, line: str) -> float:
    """Return the write amplification of the handle beside the noisy one."""
    return waf_of(_one(runs, f"noise-{noise}", line), 1)


def _suffers(runs: Runs) -> Finding:
    found = {noise: _beside(runs, noise, KEPT) / _beside(runs, QUIET, KEPT) - 1 for noise in NOISES[1:]}
    return Finding(min(found.values()) > 0.05, _said(found))


def _policy(runs: Runs) -> Finding:
    base = _beside(runs, QUIET, KEPT)
    kept, broken = _beside(runs, "zoned", KEPT) - base, _beside(runs, "zoned", BROKEN) - base
    found = f"zoned: +{kept:.2f} with isolation kept, +{broken:.2f} where copies go to the writer"
    return Finding(broken / 2 < kept < broken, found)


def _whole(runs: Runs) -> Finding:
    found = {
        noise: _one(runs, f"noise-{noise}", BROKEN).read(WAF_HOST) / _one(runs, f"noise-{noise}", KEPT).read(WAF_HOST)
        - 1
        for noise in NOISES[1:]
    }
    return Finding(max(found.values()) < 0.05, _said(found))


def _waf(runs: Runs, on: str, side: str, line: str) -> float:
    return _one(runs, f"above-{on}-{side}", line).read(WAF_HOST)


def change(runs: Runs, on: str, side: str, system: str = CDM) -> float:
    """Return the relative change of write amplification by a system, with the same memories."""
    return _waf(runs, on, side, system) / _waf(runs, on, side, BASES[system]) - 1


def _all_lower(runs: Runs, system: str) -> Finding:
    found = {f"{on}, {side}": change(runs, on, side, system) for on in ABOVE for side in SIDES}
    return Finding(max(found.values()) < -0.01, _said(found))


def _lowers(runs: Runs) -> Finding:
    return _all_lower(runs, CDM)


def _shadows_lower(runs: Runs) -> Finding:
    return _all_lower(runs, SGC)


def _less_is_left(runs: Runs) -> Finding:
    pairs = [(system, on) for system in BASES for on in ABOVE]
    found = {
        ", ".join(pair): change(runs, pair[1], OWN, pair[0]) - change(runs, pair[1], NONE, pair[0]) for pair in pairs
    }
    return Finding(min(found.values()) > 0, "points less: " + _said(found))


def exact_shares(runs: Runs, on: str, system: str) -> dict[str, float]:
    """Return the exact share of the handles, and of each part of a system, in the programs that all save."""
    lines = {frozenset({part}): part for part in PARTS[system]}
    lines |= {frozenset(): BASES[system], frozenset(PARTS[system]): system}
    base = _waf(runs, on, NONE, BASES[system])

    def saved(parts: frozenset[str]) -> float:
        return 1 - _waf(runs, on, OWN if HANDLED in parts else NONE, lines[parts - {HANDLED}]) / base

    return shapley((HANDLED, *PARTS[system]), saved)


def _handles_save_more(runs: Runs) -> Finding:
    found = {}
    for system in BASES:
        for on in ABOVE:
            shares = exact_shares(runs, on, system)
            found[f"{system}, {on}"] = 2 * shares[HANDLED] - sum(shares.values())
    return Finding(min(found.values()) > 0, "points more: " + _said(found))


def _said(found: Mapping[str, float]) -> str:
    return "; ".join(f"{name}: {show_change(value)}" for name, value in found.items())


@tabled(f"overwrites | WAF, {KEPT} | handle 0 | handle 1 | handle 2 | WAF, {BROKEN} | handle 0 | handle 1 | handle 2")
def noises(runs: Runs) -> Iterator[Row]:
    """Yield the write amplification of the drive and of each handle by noise."""
    for noise in NOISES:
        cells = []
        for line in (KEPT, BROKEN):
            run = _one(runs, f"noise-{noise}", line)
            written = [run.document["metrics"]["placement"][handle]["host_bytes"] for handle in range(HANDLES)]
            own = (show(waf_of(run, handle), "ratio") if written[handle] else "–" for handle in range(HANDLES))
            cells += [run.shown(WAF_HOST), *own]
        yield noise, *cells


@tabled(f"overwrites | handles | {' | '.join(LINES)} | change by {CDM} | by {SGC}")
def above(runs: Runs) -> Iterator[Row]:
    """Yield what CDM and ShadowGC change by handles."""
    for on in ABOVE:
        for side in SIDES:
            cells = (_one(runs, f"above-{on}-{side}", line).shown(WAF_HOST) for line in LINES)
            yield on, side, *cells, *(show_change(change(runs, on, side, system)) for system in BASES)


@tabled(f"overwrites | handles and | saved by {HANDLED} | {CDM} | {HGC} | {DGC} | all")
def shares_of(runs: Runs) -> Iterator[Row]:
    """Yield the exact share of each part in what all save, against the same memories without handles."""
    for on in ABOVE:
        for system in BASES:
            found = exact_shares(runs, on, system)
            cells = (show(found[part], "share") if part in found else "–" for part in (HANDLED, CDM, HGC, DGC))
            yield on, system, *cells, show(sum(found.values()), "share")


def _draw(runs: Runs) -> Canvas:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6.5, 3), layout="constrained")
    axes = canvas.subplots()
    for number, (line, colour) in enumerate(zip((KEPT, BROKEN), palette.LINES, strict=False)):
        places = [at + 0.36 * number - 0.18 for at in range(len(NOISES))]
        axes.bar(places, [_beside(runs, noise, line) for noise in NOISES], 0.34, color=colour, label=line)
    axes.set_xticks(range(len(NOISES)), NOISES)
    axes.set_ylabel("WAF of handle 1")
    axes.grid(axis="y")
    axes.legend()
    return canvas


def _answer(runs: Runs) -> Mapping[str, Any]:
    return {
        "quiet": _beside(runs, QUIET, KEPT),
        "kept": _beside(runs, "zoned", KEPT),
        "broken": _beside(runs, "zoned", BROKEN),
        "own": show_change(change(runs, "zoned", OWN)),
        "none": show_change(change(runs, "zoned", NONE)),
        "sgc_own": show_change(change(runs, "zoned", OWN, SGC)),
        "sgc_none": show_change(change(runs, "zoned", NONE, SGC)),
    }


STUDY = Study(
    name="handles",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    answer=_answer,
    hypotheses=(_suffers, _policy, _whole, _lowers, _shadows_lower, _less_is_left, _handles_save_more),
    exhibits=(Picture("figure-1", _draw, noises), Exhibit("table-1", above), Exhibit("table-2", shares_of)),
)
