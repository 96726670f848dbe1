"""What a noisy handle costs the others, and what is left of cooperation above handles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from coflash.results.why import shapley
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment, Run
from coflash_reproduce.warp.streams import NONE, OWN, QUIET, SEED, SHARED, trace
from coflash_reproduce.warp.workloads import PERSISTENTLY, drive, placement

HANDLES, DRIVE = 3, -1
"""The handles, and what stands for all of them in the table of what they are charged."""
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
UNSTEADY_TOO = "the streams that WARP's jobs write fill an empty drive, and are counted as a whole"
SCALES = {"quick": (256, 1), "full": (64, 3)}
"""How much smaller the drive is, and how often the places of the requests are drawn: a case's place is the seed."""


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the noises under both kinds of copies, and CDM and ShadowGC above the handles."""
    divisor, drawings = SCALES[scale_name]

    def of(workload: str, handles: str, name: str, cases: tuple[Case, ...]) -> Iterator[Experiment]:
        for seed in range(SEED, SEED + drawings):
            written = trace(workload, handles, divisor, FILLS, logged=False, seed=seed)
            drawn = tuple(replace(case, at=seed) for case in cases)
            yield Experiment(name, f"{workload}, {handles}", drive(divisor), drawn, (written,))

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
    noisy = (of(noise, OWN, f"noise-{noise}", copies) for noise in NOISES)
    both = (of(on, side, f"above-{on}-{side}", above) for on in ABOVE for side in SIDES)
    return tuple(one for those in (*noisy, *both) for one in those)


def waf_of(run: Run, handle: int) -> float:
    """Return what the media wrote for a page of a handle: its own and its copies, which are counted to its units."""
    classes = run.document["metrics"]["placement"]
    own, copies = classes[handle], classes[HANDLES + handle]
    return float((own["media_bytes"] + copies["media_bytes"]) / own["host_bytes"]) if own["host_bytes"] else 0.0


def wafs_of(run: Run) -> list[float]:
    """Return the write amplification of each handle."""
    return [waf_of(run, handle) for handle in range(HANDLES)]


def written_by(run: Run) -> list[int]:
    """Return what the host wrote through each handle."""
    return [run.document["metrics"]["placement"][handle]["host_bytes"] for handle in range(HANDLES)]


def shares_of(system: str, lines: list[str], sides: list[str], wafs: list[float]) -> list[float]:
    """Return the exact share of the handles, and of each part of a system, in the programs that all save."""
    waf = {(line, side): each for line, side, each in zip(lines, sides, wafs, strict=True)}
    named = {frozenset({part}): part for part in PARTS[system]}
    named |= {frozenset(): BASES[system], frozenset(PARTS[system]): system}
    base = waf[BASES[system], NONE]

    def saved(parts: frozenset[str]) -> float:
        return 1 - waf[named[parts - {HANDLED}], OWN if HANDLED in parts else NONE] / base

    return [*shapley((HANDLED, *PARTS[system]), saved).values()]


STUDY = study(globals())
