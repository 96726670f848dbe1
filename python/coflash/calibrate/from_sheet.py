"""A drive from its data sheet alone: what a sheet states, what is assumed, and the range in which answers lie.

A sheet has the bandwidth of sequential writes, which cause no GC, and the rate of random writes in steady state, which
do. Their ratio tells the write amplification (WAF), and so the spare space, if the time of GC's reads is known. How
long reads wait depends on the time of a program. No sheet states these two. They are taken from the drives that were
calibrated: the middle one for the scenario, the ends for the range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.analytic import greedy
from coflash.calibrate.latency import Service
from coflash.calibrate.model import PAGES_PER_BLOCK, slowdown
from coflash.calibrate.pattern import PAGE_BYTES
from coflash.calibrate.sheet import Sheet
from coflash.commented import commented
from coflash.files.errors import text_of
from coflash.lookup import no_such
from coflash.quantity import parsed, show
from coflash.roots import root
from coflash.scenario import Scenario

READ_COSTS = (0.11, 0.26, 0.49)
"""The time of GC's read over that of a program: of the calibrated drives the least, the middle and the most."""
PROGRAMS_US = (74.0, 90.0, 173.0)
"""The mean wait of a read for a program: the same."""
ALPHAS = (1.02, 4.0)
"""The least and the most T / U that a drive is taken to have."""
_USUAL = {"read_latency": 70e3, "write_latency": 10e3, "years": 5.0, "dwpd": 0.0}
_ROUNDING, _AGREES = 1.05, 1.25
"""What random requests may exceed sequential ones by, and two statements of endurance one another, as rounded."""
_LINE = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^#"']*?))\s*(?:#.*)?""")


def read_sheet(file: Path, *, alone: bool = True) -> dict[str, Any]:
    """Read a data sheet: lines `name = value`, as in TOML.

    Args:
        file: The file.
        alone: Whether a drive follows from it alone, without measurements.

    Raises:
        CoflashError: A line is none of a data sheet, or what is needed is missing.
    """
    table = Path(__file__).with_name("sheet_keys.txt").read_text("utf-8").splitlines()
    known = {name: rest.split(": ", 1) for name, rest in (line.split(" ", 1) for line in table)}
    stated: dict[str, Any] = {}
    for number, line in enumerate(text_of(file).splitlines(), 1):
        if not line.split("#", 1)[0].strip():
            continue
        found = _LINE.fullmatch(line.strip())
        if not found or found[1] not in known:
            raise no_such(f"{file}:{number}: a data sheet has no", found[1] if found else line.strip(), known)
        (unit, meaning), text = known[found[1]], next(part for part in found.groups()[1:] if part is not None)
        value = parsed(text) if unit in ("bytes", "ns") else None
        plain = re.fullmatch(r"[\d_]+(?:\.\d+)?", text) if unit == "number" else None
        stated[found[1]] = (
            text if unit == "text" else value[0] if value and value[1] == unit else plain and float(plain[0])
        )
        if not stated[found[1]]:
            raise CoflashError(f"{file}:{number}: {found[1]}: '{text}' was given; {meaning} is allowed")
    if not alone:
        return stated
    if missing := [name for name in ("capacity", "sequential_write", "random_write") if name not in stated]:
        raise CoflashError(f"{file}: {', '.join(missing)}: is missing; the spare space follows from it")
    if against := list(contradictions(stated)):
        raise CoflashError(f"{file}: contradicts itself: {'; '.join(against)}")
    return {"name": file.stem} | stated


def contradictions(stated: Mapping[str, Any]) -> Iterator[str]:
    """Say which values of a data sheet cannot be true together."""
    bytes_of = {"sequential_read": 1, "sequential_write": 1, "random_read": PAGE_BYTES, "random_write": PAGE_BYTES}
    rates = {name: stated[name] * size for name, size in bytes_of.items() if name in stated}
    link = Sheet.of(stated).link
    limits = {link.name: link.bytes_per_s, **rates} if link else rates
    lesser = [(link.name, name) for name in rates] if link else []
    lesser += [(f"sequential_{kind}", f"random_{kind}") for kind in ("read", "write")]
    lesser.append(("random_read", "random_write"))
    for limit, name in lesser:
        if name in rates and limit in limits and rates[name] > _ROUNDING * limits[limit]:
            each = f"{stated[name]:,.0f} of 4 KiB a second, " if name.startswith("random") else ""
            yield f"{name} is {each}{show(rates[name], 'bytes/s')}, but {limit} {show(limits[limit], 'bytes/s')}"
    years, capacity = stated.get("years", _USUAL["years"]), stated["capacity"]
    by_days = stated.get("dwpd", 0.0) * capacity * 365 * years
    written = stated.get("tbw", by_days)
    if by_days and not by_days / _AGREES < written < by_days * _AGREES:
        of = f"dwpd {stated['dwpd']:g} is {show(by_days, 'bytes')} in {years:g} years"
        yield f"tbw is {show(written, 'bytes')}, but {of}"
    if written > (most := rates["sequential_write"] * years * 365 * 86_400):
        yield f"the endurance is {show(written, 'bytes')}, but sequential_write gives {show(most, 'bytes')} by then"


@dataclass(frozen=True)
class FromSheet:
    """A drive as its sheet tells it, and the drives at the ends of what is assumed."""

    stated: Mapping[str, Any]
    drives: tuple[Service, ...]
    """With the least, the middle and the most of what is assumed."""

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> FromSheet:
        """Find the drive.

        Raises:
            CoflashError: Random writes are nearly as fast as sequential ones, or the reverse.
        """
        writes = stated["random_write"]
        latencies_us = [{**_USUAL, **stated}[f"{kind}_latency"] / 1000 for kind in ("read", "write")]
        ratio = stated["sequential_write"] / (writes * PAGE_BYTES)

        def service(read_cost: float, program_us: float) -> Service:
            def slow(alpha: float) -> float:
                return float(slowdown(greedy(alpha, PAGES_PER_BLOCK), read_cost, scattered=True) - ratio)

            if slow(ALPHAS[1]) > 0 or slow(ALPHAS[0]) < 0:
                msg = f"{stated['name']}: random_write: 1 / {ratio:.2f} of sequential_write is not the steady state's"
                raise CoflashError(msg)
            alpha = root(slow, *ALPHAS)
            waf = greedy(alpha, PAGES_PER_BLOCK)
            return Service(alpha, waf, writes, (ratio - waf) / (waf - 1), program_us, *latencies_us)

        return cls(stated, tuple(map(service, READ_COSTS, PROGRAMS_US)))

    def assumed(self) -> list[str]:
        """Return what the sheet does not state, in sentences."""
        (least, middle, most), (short, usual, long) = READ_COSTS, PROGRAMS_US
        unstated = [name for name in ("read_latency", "write_latency") if name not in self.stated]
        return [
            "Random writes are those of the steady state, of 4 KiB each to all of the drive; GC is greedy.",
            f"As in calibrated drives, GC's read takes {middle:g} of a program's time, from {least:g} to {most:g}.",
            f"As in calibrated drives, a read waits {usual:g} µs for a program, from {short:g} to {long:g}.",
            *(f"{name}: {_USUAL[name] / 1000:g} µs." for name in unstated),
        ]

    def answers(self) -> list[str]:
        """Return answers of the drive, each with the range in which it lies."""
        half = [drive.at_rate(drive.writes_max_per_s / 2, drive.writes_max_per_s / 2) for drive in self.drives]
        found = {
            f"read at half load, {part}, µs": [one.metrics.flat()[f"response_ns.read.{part}"] / 1000 for one in half]
            for part in ("p50", "p99")
        }
        for used in (1.0, 0.8):
            found[f"WAF of uniform writes, {used:.0%} in use"] = [
                greedy(one.alpha / used, PAGES_PER_BLOCK) for one in self.drives
            ]
        found["spare space, (T − U) / U"] = [drive.alpha - 1 for drive in self.drives]
        return [f"{name}: {of[1]:.3g}, from {min(of):.3g} to {max(of):.3g}" for name, of in found.items()]

    def scenario(self) -> Scenario:
        """Return the middle drive, scaled down, with uniform writes of 4 KiB as fast as it takes them."""
        stated, drive, usual = self.stated, self.drives[1], {**_USUAL, **self.stated}
        keys: dict[str, Any] = {
            "name": stated["name"],
            "description": f"By its data sheet; uniform writes of 4 KiB; {drive.part:.0%} of its dies and rates",
            "limits": ["The drive was not measured: its data sheet and assumptions, at the head of its file, are all."],
            **drive.keys(),
            "replay.queue_depth": 448,
            "workload.synthetic": {"requests": 500_000},
        }
        if written := usual.get("tbw") or usual["dwpd"] * stated["capacity"] * 365 * usual["years"]:
            # The erases of a block that the endurance asks for: host writes × WAF over the flash.
            cycles = max(1, round(written * drive.waf / (stated["capacity"] * drive.alpha)))
            keys["endurance"] = {"rated_cycles": cycles, "warranty_years": round(usual["years"])}
        firmware_us = drive.read_us - drive.array_read_us, drive.write_us
        return Scenario.from_dict(Sheet.of(stated).limiting(keys, drive.part, *firmware_us))

    def to_toml(self, answers: list[str]) -> str:
        """Write the scenario below comments: what was stated, what is assumed, the range of answers."""
        lines = [f"{name} = {value}" for name, value in self.stated.items()]
        lines += ["", *(f"Assumed: {sentence}" for sentence in self.assumed()), "", *answers, ""]
        head = [f"# {self.stated['name']} by its data sheet, calibrated.", *(f"# {line}".rstrip() for line in lines)]
        return "\n".join(head) + f"\n{commented(self.scenario())}"
