"""Explore each program of the corpus of faults (`tests/power`), and print what was found.

The exit status is 1 if a fault is missed, or a right program accused. `--write` writes the page
`docs/power_corpus.md` as well. Programs on a file system need root, FUSE and loop devices; where these or a database
are missing, that is said.

With `--seeds N` each fault is looked for with N seeds, until the first wrong state, beside as many busy processes as
`--load` says. These share a session with the exploration, so that a scheduler that is fair to sessions takes little
from what else runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from coflash import CoflashError, device

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/power_corpus.md"
POWER, EXAMPLES = ROOT / "tests/power", ROOT / "examples"
sys.path.insert(0, str(POWER))

import files  # noqa: E402
import kinds  # noqa: E402
import stores  # noqa: E402

FAULT, RIGHT = "fault", "right"
AS_IT_MUST_BE, MISSED, ACCUSED = "as it must be", "MISSED", "FALSE ALARM"


@dataclass(frozen=True)
class Medium:
    """What a program finds on its device; the smallest write that is not torn, and how many states are checked."""

    size: str
    atomic: str
    points: int
    prepare: tuple[str, ...] = ()
    tools: str = ""

    def missing(self) -> list[str]:
        """List the tools that it needs, and that are not here."""
        path = os.pathsep.join((os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))))
        return [tool for tool in self.tools.split() if shutil.which(tool, path=path) is None]


_MOUNTED = "nbdfuse nbdcopy mount umount e2fsck debugfs"
_PREPARE = f"{EXAMPLES}/ext4_power_cuts/prepare.sh"
MEDIA = {
    "raw": Medium("64MiB", "512B", 100),
    # A mount of ext4 writes its superblock, which has two sectors, in place.
    "ext4": Medium("68MiB", "4KiB", 60, (f"FS=ext4 SIZE=64M {_PREPARE}",), f"mkfs.ext4 {_MOUNTED}"),
    "xfs": Medium("304MiB", "512B", 60, (f"FS=xfs SIZE=300M {_PREPARE}",), f"mkfs.xfs xfs_repair {_MOUNTED}"),
    "ext4, PostgreSQL": Medium(
        "132MiB",
        "4KiB",
        24,
        (f"SIZE=128M {_PREPARE}", f"{EXAMPLES}/postgresql_on_a_cooperative_ssd/prepare.sh"),
        f"initdb psql {_MOUNTED}",
    ),
}


@dataclass(frozen=True)
class Case:
    """A program with a fault, and mended: commands by variant. A variant without one is not run."""

    name: str
    fault: str
    published: str
    medium: str
    run: dict[str, str]
    check: dict[str, str]
    module: str = ""
    """What it needs of Python."""
    drive: tuple[str, ...] = ()
    """The fault of the drive under which it shows, if it needs one."""
    recover: dict[str, str] = field(default_factory=dict)
    """The command that recovers, by variant, if the fault is there."""
    size: str | None = None
    """The sizes of its devices, if it has several."""

    def missing(self) -> list[str]:
        """List what it needs, and is not here."""
        module = [self.module] if self.module and importlib.util.find_spec(self.module) is None else []
        return MEDIA[self.medium].missing() + module


def cases() -> Iterator[Case]:
    """Yield the corpus: programs on raw devices, on file systems, databases, file systems themselves."""
    both = (FAULT, RIGHT)
    python = f"exec {sys.executable} -S -E {POWER}"
    for name, disk in kinds.KINDS.items():
        run, check, recover = (
            {each: f"{python}/kinds.py {name} {each} {act}" for each in both} for act in ("run", "check", "recover")
        )
        drive, recover = (disk.fault,) if disk.fault else (), recover if disk.recover else {}
        yield Case(
            name,
            disk.run.__doc__ or "",
            disk.published,
            "raw",
            run,
            check,
            drive=drive,
            recover=recover,
            size=disk.size,
        )
    for script, table, media in (("files.py", files.KINDS, ("ext4", "xfs")), ("stores.py", stores.KINDS, ("ext4",))):
        for name, kind in table.items():
            for medium in media:
                options = f"OPTIONS={kind.options}" if medium == "ext4" else ""
                command = {each: f"{sys.executable} -E {POWER}/{script} {name} {each}" for each in both}
                run = {each: f"{options} {EXAMPLES}/mounted.sh {command[each]} run" for each in both}
                check = {each: f"exec {command[each]} check" for each in both}
                yield Case(name, kind.step.__doc__ or "", kind.published, medium, run, check, kind.module)
    yield from _examples()


def _examples() -> Iterator[Case]:
    """Yield the examples: file systems themselves, and a bank in two databases."""
    for name, fault, published, medium, example, unsafe, safe in (
        (
            "ext4",
            "ext4 with `barrier=0`.",
            "Linux, ext4",
            "ext4",
            "ext4_power_cuts",
            "OPTIONS=barrier=0 FILES=6",
            "FILES=6",
        ),
        ("xfs", "", "", "xfs", "ext4_power_cuts", "", "FILES=6"),
        ("sqlite-bank-delete", *_SQLITE, "MODE=delete SYNCHRONOUS=off", "MODE=delete"),
        ("sqlite-bank-wal", *_SQLITE, "MODE=wal SYNCHRONOUS=off", "MODE=wal"),
        ("postgresql-bank", *_POSTGRESQL, "FSYNC=off", "FSYNC=on"),
    ):
        place = EXAMPLES / example
        settings = {FAULT: unsafe, RIGHT: safe} if fault else {RIGHT: safe}
        run = {variant: f"{setting} {place}/workload.sh" for variant, setting in settings.items()}
        check = {variant: f"{setting} {place}/check.sh" for variant, setting in settings.items()}
        yield Case(name, fault, published, medium, run, check)


_SQLITE = ("SQLite with `synchronous=off`.", "SQLite, PRAGMA synchronous", "ext4", "sqlite_on_a_cooperative_ssd")
_POSTGRESQL = (
    "PostgreSQL with `fsync=off`.",
    "PostgreSQL manual, fsync",
    "ext4, PostgreSQL",
    "postgresql_on_a_cooperative_ssd",
)


@dataclass(frozen=True)
class Outcome:
    """What the exploration of a program found."""

    states: int
    wrong: int
    seconds: float


def explored(case: Case, variant: str, folder: Path, points: int | None = None) -> Outcome:
    """Explore a program on the prepared device of a folder."""
    began, medium = time.monotonic(), MEDIA[case.medium]
    commands, points = (case.run[variant], case.check[variant]), points or medium.points
    found = device.explore(
        None,
        folder,
        *commands,
        recover=case.recover.get(variant),
        size=case.size,
        points=points,
        atomic=medium.atomic,
        seed=1,
        faults=case.drive,
    )
    return Outcome(found.states, found.failed, time.monotonic() - began)


def sought(case: Case, folder: Path, seed: int, points: int | None = None) -> int:
    """Return how many states were checked when a fault was found; 0 if it was not."""
    found = device.explore(
        None,
        folder,
        case.run[FAULT],
        case.check[FAULT],
        recover=case.recover.get(FAULT),
        size=case.size,
        points=points or MEDIA[case.medium].points,
        atomic=MEDIA[case.medium].atomic,
        seed=seed,
        faults=case.drive,
        progress=lambda _done, _states, wrong: wrong == 0,
    )
    return found.states if found.failed else 0


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep processes busy meanwhile, for the exploration to compete with."""
    command = [sys.executable, "-S", "-E", "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


SEEDS_HEAD = ["program", "busy processes", "seeds", "found with", "states until then: median", "most", "s at most"]


ROW = "{:24}{:>4} busy: {:>3} seeds, found with {:>3}, after {:>4} states, at most {:>4}; {:>4} s"


def seeds_row(case: Case, folder: Path, seeds: int, load: int, points: int | None) -> list[str]:
    """Look for a fault with some seeds; return a row of the table of seeds."""
    counts, seconds = [], []
    for seed in range(1, seeds + 1):
        began = time.monotonic()
        with busy(load):
            counts.append(sought(case, folder, seed, points))
        seconds.append(time.monotonic() - began)
    hits = [count for count in counts if count] or [0]
    told = (load, seeds, sum(map(bool, counts)), round(statistics.median(hits)), max(hits))
    return [case.name, *map(str, told), f"{max(seconds):.0f}"]


def prepared(medium: Medium, folder: Path) -> Path:
    """Make a device, and put on it what its programs find there."""
    with device.serve("ssd", folder, size=medium.size) as served:
        for command in medium.prepare:
            environment = {**os.environ, "COFLASH_NBD": served.address}
            subprocess.run(command, shell=True, check=True, env=environment)  # noqa: S602 - of the table above
    return folder


HEAD = ["program", "on", "published", "states", "wrong", "s", "right: states", "wrong", "s", ""]


def row(case: Case, outcomes: dict[str, Outcome]) -> list[str]:
    """Return a row of the table."""
    cells = [case.name, case.medium, case.published]
    for variant in (FAULT, RIGHT):
        found = outcomes.get(variant)
        cells += ["", "", ""] if found is None else [str(found.states), str(found.wrong), f"{found.seconds:.1f}"]
    return [*cells, verdict(outcomes)]


def verdict(outcomes: dict[str, Outcome]) -> str:
    """Return what a fault and its right counterpart came to."""
    missed = FAULT in outcomes and not outcomes[FAULT].wrong
    accused = RIGHT in outcomes and outcomes[RIGHT].wrong
    return ", ".join(text for text, holds in ((MISSED, missed), (ACCUSED, accused)) if holds) or AS_IT_MUST_BE


def main() -> int:
    """Explore, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="names of programs, or media such as raw; all by default")
    parser.add_argument("--points", type=int, help="states beside those right after flushes; by medium if not given")
    parser.add_argument("--seeds", type=int, default=0, help="look for each fault with this number of seeds")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside it")
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"write {PAGE.relative_to(ROOT)}; it keeps its rows of what is not explored",
    )
    arguments = parser.parse_args()
    corpus = list(cases())
    if unknown := set(arguments.only) - {case.name for case in corpus} - set(MEDIA):
        parser.error(f"{sorted(unknown)} are no programs; allowed: {', '.join(case.name for case in corpus)}")
    rows: list[tuple[Case, dict[str, Outcome]]] = []
    seed_rows: list[list[str]] = []
    failed = 0
    with tempfile.TemporaryDirectory() as place:

        @cache
        def folder(medium: str) -> Path:
            return prepared(MEDIA[medium], Path(place, str(list(MEDIA).index(medium))))

        for case in corpus:
            if arguments.only and not {case.name, case.medium} & set(arguments.only):
                continue
            if missing := case.missing():
                print(f"NOT TESTED: {case.name} on {case.medium}: {', '.join(missing)} is missing", file=sys.stderr)
                continue
            try:
                if arguments.seeds:
                    device_folder = folder(case.medium)
                    about = seeds_row(case, device_folder, arguments.seeds, arguments.load, arguments.points)
                    seed_rows.append(about)
                    failed += about[2] != about[3]
                    print(ROW.format(*about), flush=True)
                    continue
                outcomes = {each: explored(case, each, folder(case.medium), arguments.points) for each in case.run}
            except (CoflashError, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"{case.name} on {case.medium}: {error}", file=sys.stderr)
                continue
            rows.append((case, outcomes))
            failed += verdict(outcomes) != AS_IT_MUST_BE
            print("{:24}{:18}{:44}{:>6}{:>6}{:>7}{:>8}{:>6}{:>7}  {}".format(*row(case, outcomes)), flush=True)
    missed, accused = (sum(word in verdict(outcomes) for _, outcomes in rows) for word in (MISSED, ACCUSED))
    faults, right = (sum(variant in outcomes for _, outcomes in rows) for variant in (FAULT, RIGHT))
    print(f"{faults} faults, {missed} missed; {right} right programs, {accused} accused")
    if arguments.write:
        keeping = bool(arguments.only or arguments.seeds)
        PAGE.write_text(page(rows, seed_rows, keeping=keeping), encoding="utf-8")
    return 1 if failed else 0


def _seeds_table(rows: list[list[str]]) -> str:
    """Return the table of seeds, with the present rows of programs and loads that are not among `rows`."""
    lines = PAGE.read_text(encoding="utf-8").split("## Seeds and load")[-1].splitlines()
    cells = (line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and line.endswith(" |"))
    table = {tuple(each[:2]): each for each in [*cells, *rows] if len(each) == len(SEEDS_HEAD) and each[1].isdecimal()}
    order = [case.name for case in cases()]
    shown = sorted(table.values(), key=lambda each: (order.index(each[0]), int(each[1])))
    lines = [f"| {' | '.join(each)} |" for each in (SEEDS_HEAD, *shown)]
    return "\n".join([lines[0], "|" + "---|" * len(SEEDS_HEAD), *lines[1:]])


def page(
    rows: list[tuple[Case, dict[str, Outcome]]], seed_rows: list[list[str]] | None = None, *, keeping: bool
) -> str:
    """Return the page of the documentation; `keeping` its present rows of programs that are not among `rows`."""
    table = {(case.name, case.medium): f"\n| {' | '.join(row(case, outcomes))} |" for case, outcomes in rows}
    if keeping:
        lines = PAGE.read_text(encoding="utf-8").split("## Seeds and load")[0].splitlines()
        present = {tuple(line.split(" | ")[:2]): f"\n{line}" for line in lines if line.endswith(" |")}
        for case in cases():
            line = present.get((f"| {case.name}", case.medium))
            if line is not None:
                table.setdefault((case.name, case.medium), line)
    shown = [case for case in cases() if (case.name, case.medium) in table]
    points = ", ".join(f"{medium.points} more on {name}" for name, medium in MEDIA.items())
    parts = [
        "<!-- Written by scripts/power_corpus.py: make power-corpus -->",
        "# Faults that an exploration finds",
        "`tests/power` has small programs, each with one fault of a published kind, and the same program mended."
        f" [`coflash explore`](explore.md) explored each with one seed: the states right after flushes, and {points}."
        " *Wrong* are states that the check of the program refuses: a fault needs one, and a right program"
        " must have none. *MISSED*: none of so few states was wrong; more of them (`--points 200`) may be."
        " Seconds (*s*) are by the clock on the wall: when the latest rows were written, the machine"
        f" had {os.cpu_count()} processors and a load of {os.getloadavg()[2]:.0f}."
        " `make power-corpus` writes this page anew.",
        "| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD),
    ]
    parts[-1] += "".join(table[case.name, case.medium] for case in shown)
    parts += [
        "## Seeds and load",
        "With each of some seeds the fault is looked for until the first wrong state, at the same number of points:"
        " beside nothing else of ours, or beside processes that take all the time they get. *States until then* are"
        " those that were checked, with those right after flushes.",
        _seeds_table(seed_rows or []),
    ]
    described = {case.name: case.fault.splitlines()[0] for case in shown if case.fault}
    parts += ["## The faults", "| program | its fault |\n|---|---|"]
    parts[-1] += "".join(f"\n| {name} | {fault} |" for name, fault in described.items())
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
