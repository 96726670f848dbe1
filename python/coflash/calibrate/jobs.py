"""The fio jobs that measure a drive for `coflash calibrate`, and a script that runs them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coflash.files import atomic_write

STEPS = "steps.csv"
SCRIPT = "run.sh"
RATES_PER_S = (5000, 10_000, 20_000, 40_000, 80_000, 160_000)
"""Write rates of the latency steps; a rate beyond the drive's reach gives the knee."""
_TIMED_S = 600
"""The time of a latency step."""


@dataclass(frozen=True)
class Step:
    """A job of fio: its writes, and the conditions of the points that it measures."""

    name: str
    options: Mapping[str, str]
    passes: float
    """The amount that it writes, over the capacity, to estimate its hours; 0 if its time is fixed."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """As in a table; a step without conditions prepares the drive and measures nothing."""


_SEQUENTIAL = {"rw": "write", "bs": "512k", "iodepth": "4"}
_RANDOM = {"rw": "randwrite", "bs": "4k", "iodepth": "128", "numjobs": "4", "norandommap": "1", "group_reporting": "1"}


def steps() -> Iterator[Step]:
    """Yield the steps in their order; each measuring step follows one that prepares the drive."""
    yield Step("sequential", _SEQUENTIAL, 1, {"pattern": "sequential"})
    yield from _pair("uniform", "uniform", {}, 1.0, held_out=False)
    for rate in RATES_PER_S:
        yield _latency(rate)
    for used, held_out in ((0.85, True), (0.7, False), (0.5, True)):
        yield Step(f"fill-{used:.0%}".rstrip("%"), _SEQUENTIAL | {"size": f"{used:.0%}"}, used)
        size = {"size": f"{used:.0%}"}
        yield from _pair(f"uniform-{used:.0%}".rstrip("%"), "uniform", size, used, held_out)
    for cold, held_out in ((0.8, False), (0.9, True), (0.95, True)):
        zones = f"zoned:{100 * cold:g}/{100 - 100 * cold:g}:{100 - 100 * cold:g}/{100 * cold:g}"
        yield Step(f"fill-two-zone-{100 * cold:g}", _SEQUENTIAL, 1)
        pattern = f"two-zone {cold:g} contiguous"
        yield from _pair(f"two-zone-{100 * cold:g}", pattern, {"random_distribution": zones}, 1.0, held_out)
    for cold, held_out in ((0.4, False), (0.8, True)):
        yield Step(f"fill-read-only-{100 * cold:g}", _SEQUENTIAL, 1)
        part = {"offset": f"{cold:.0%}", "size": f"{1 - cold:.0%}"}
        yield from _pair(f"read-only-{100 * cold:g}", f"read-only {cold:g} contiguous", part, 1 - cold, held_out)


def _pair(name: str, pattern: str, options: Mapping[str, str], used: float, held_out: bool) -> Iterator[Step]:
    """Yield three passes that reach a steady state, and two that measure it."""
    written = {**_RANDOM, **options}
    yield Step(f"{name}-settle", written | _volume(3), 3 * used)
    held, in_pattern = ("yes" if held_out else "no"), 1 if pattern == "uniform" else used
    conditions = {"pattern": pattern, "held_out": held}
    conditions |= {"from_pass": f"{3 * in_pattern:g}", "passes": f"{5 * in_pattern:g}"}
    if pattern == "uniform":
        conditions["used"] = f"{used:g}"
    yield Step(name, written | _volume(2), 2 * used, conditions)


def _latency(rate: int) -> Step:
    """Return ten minutes of reads and writes at a fixed rate, reads a tenth of them."""
    options = {
        "rw": "randrw",
        "rwmixread": "10",
        "bs": "4k",
        "iodepth": "64",
        "numjobs": "7",
        "norandommap": "1",
        "group_reporting": "1",
        "rate_iops": f"{rate // 63},{rate // 7}",
        "rate_process": "poisson",
        "time_based": "1",
        "runtime": f"{_TIMED_S}",
    }
    conditions = {
        "pattern": "uniform",
        "writes_per_s": f"{rate}",
        "reads_per_s": f"{rate // 9}",
        "held_out": "no" if rate in RATES_PER_S[::3] else "yes",
    }
    return Step(f"latency-{rate}", options, 0, conditions)


def _volume(passes: int) -> dict[str, str]:
    """Return the options by which four jobs together write their space a number of times."""
    return {"io_size": f"{25 * passes}%"}


def write_pack(folder: Path) -> list[Path]:
    """Write jobs, the list of steps and the script into a folder, which is created; return the files.

    Raises:
        CoflashError: The folder cannot be written.
    """
    atomic_write.make_folder(folder)
    all_steps = list(steps())
    files = {f"{step.name}.fio": _job(step) for step in all_steps}
    files[STEPS] = _steps_csv(all_steps)
    files[SCRIPT] = _script(all_steps)
    for name, text in files.items():
        atomic_write.write_file(folder / name, text)
    (folder / SCRIPT).chmod(0o755)
    return [folder / name for name in files]


def _job(step: Step) -> str:
    options = {"ioengine": "io_uring", "direct": "1", "filename": "${DRIVE}", "randrepeat": "0", **step.options}
    return "\n".join([f"[{step.name}]", *(f"{name}={value}" for name, value in options.items())]) + "\n"


_COLUMNS = ("step", "pattern", "used", "from_pass", "passes", "writes_per_s", "reads_per_s", "held_out")
_DEFAULTS = {"used": "1", "passes": "1", "held_out": "no"}


def _steps_csv(all_steps: list[Step]) -> str:
    text = io.StringIO()
    rows = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    rows.writeheader()
    for step in all_steps:
        if step.conditions:
            rows.writerow({"step": step.name, **_DEFAULTS, **step.conditions})
    return text.getvalue()


def _script(all_steps: list[Step]) -> str:
    lines = []
    for step in all_steps:
        if step.options["rw"] == "write":
            lines.append(f"trimmed {step.name}")
        amount = f"{step.passes:g} times the capacity" if step.passes else f"{_TIMED_S // 60} minutes"
        lines.append(f'step {step.name} "{amount}"')
    timed_h = sum(step.passes == 0 for step in all_steps) * _TIMED_S / 3600
    numbers = {"@PASSES@": sum(step.passes for step in all_steps), "@TIMED_HOURS@": timed_h}
    text = Path(__file__).with_name(SCRIPT).read_text("utf-8")
    for name, number in numbers.items():
        text = text.replace(name, f"{number:.0f}")
    return "\n".join([text, *lines, ""])
