"""Write docs/reviewers.md: the command of each exhibit, what it takes, and the badges of artifacts; and held.json.

With --check, write nothing and fail if the page is stale. With --measure, carry a command out first and keep what it
took and, of a paper, what holds; with --from, keep what holds on a page that such a command has made. A statement that
held, and does not any more, is told, and the status is 1:

    python scripts/reviewers.py --measure "coflash study handles --scale quick"
    python scripts/reviewers.py --from results/reproduce/cdm-quick/cdm.md

The numbers of runs and requests are those of the published pages; processor time, memory and disk are in
reviewers.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from coflash_reproduce import reproduction
from coflash_reproduce.claim import COUNTED, HOLDS, recorded
from coflash_reproduce.paper import Exhibit, Investigation
from coflash_reproduce.reproduction import PAPERS, STUDIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "reviewers.md"
MEASURED = Path(__file__).with_suffix(".json")
HELD = Path(reproduction.__file__).with_name("held.json")
"""What holds at the scales of papers: a command that reproduces a paper says which of it is lost."""
_WRITTEN_BY = re.compile(r"<!-- Written by `(coflash [^`]+)`")
_RUNS = re.compile(r": ([\d,]+) runs(?:, ([\d,]+) requests)?")
_HEAD = """\
# For reviewers of artifacts

<!-- Written by `make generate` from the declared exhibits, the published pages and scripts/reviewers.json. -->

Which command makes which figure or table, what it takes, and where each condition of an artifact's badge is met.
Every command works from an installed wheel or from this repository ([installing](installing.md)), needs no network,
and repeats no run that is in its folder (`--out`). The same command gives the same numbers on every machine
([what stays the same](stability.md)). A quick run comes first: it goes the whole way on smaller devices.

The last line of `coflash reproduce` says how many statements hold, and how many did at this scale, if that is recorded.
It ends with the exit code 1 if one of these does not hold or is not there, or an input is met no more, and with 130 at
Control-C. Recorded are:
{recorded}.

`--figure figure-6` makes one figure with the runs that it needs, and `--figure list` lists them.

## Badges

The conditions are those of [ACM](https://www.acm.org/publications/policies/artifact-review-and-badging-current)
(version 1.1) and of [USENIX and EuroSys](https://sysartifacts.github.io).

| badge | condition | where it is met |
|---|---|---|
"""
_README, _TOUR, _RELEASING = "[README](../README.md)", "[a tour](../ARCHITECTURE.md)", "[releasing](../RELEASING.md)"
_CONDITIONS = (
    (
        "Available",
        "it is in a public archive that keeps it, with an identifier",
        f"each release is archived with a DOI ({_RELEASING}); not met before the first release",
    ),
    ("Available", "its licence lets others use it", "MIT or Apache 2.0, at the choice of the user"),
    ("Available", "others can cite it", "`CITATION.cff`; each result names its version, revision and inputs"),
    (
        "Functional",
        "documented: its contents, how it is installed and used",
        f"{_README}, [installing](installing.md), {_TOUR}",
    ),
    ("Functional", "consistent: it makes the published numbers", "the table of commands below"),
    (
        "Functional",
        "complete: all that is needed is there",
        "the tables of exhibits below; the papers' recorded traces may not ship, and "
        "[take the place of the stand-ins](reproductions/own_traces.md) for those who have them",
    ),
    (
        "Functional",
        "exercisable: it can be carried out, and its results looked at",
        "`coflash demo` or `make demo`; the store and the CSV files in the folder of each command",
    ),
    ("Functional", "verified", "`make test`; [how it is known to be right](../tests/README.md)"),
    (
        "Reusable (ACM)",
        "others can build upon it",
        "[policies of one's own](own_policies.md), [the rules for changes](../CONTRIBUTING.md), "
        "[what stays the same](stability.md)",
    ),
    (
        "Reproduced",
        "others obtained the main results again with the artifact",
        "for a reviewer to say: the commands below with `--scale full`; a row of a page has the paper's statement, our "
        "number, and what would refute it",
    ),
    (
        "Replicated (ACM)",
        "others obtained the main results again without the authors' artifact",
        "for a reviewer to say: none of the papers' programs is used here. CDM's numbers are inputs; the rows of each "
        "page say what holds",
    ),
)


@dataclass(frozen=True)
class Command:
    """A command that makes a page, and what it takes."""

    text: str
    page: str
    """The published page, from docs/; empty if it was published from another scale."""
    runs: str = ""
    requests: str = ""

    def row(self, measured: dict[str, dict[str, Any]]) -> str:
        """Return its row in the table of commands."""
        known = measured.get(self.text)
        runs = self.runs or (str(known["runs"]) if known else "")
        requests = self.requests or (f"{known['requests']:,}" if known else "")
        took = ["not measured", "", ""]
        if known:
            took = [duration(known["cpu_s"]), f"{known['memory_mib']:,} MiB", f"{known['disk_mib']:,} MiB"]
        page = f"[{Path(self.page).stem}]({self.page})" if self.page else ""
        return row([f"`{self.text}`", page, runs, requests, *took])


def row(cells: Iterable[str]) -> str:
    """Write a row of a table."""
    return f"| {' | '.join(cells)} |"


def duration(seconds: float) -> str:
    """Show a time with two digits or so."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def published() -> dict[str, Command]:
    """Return the commands that made published pages, by the page's name."""
    found = {}
    for file in sorted(DOCS.glob("**/*.md")):
        text = file.read_text("utf-8")
        if by := _WRITTEN_BY.search(text):
            (made,) = [line for line in text.splitlines() if line.startswith("`") and "made this page" in line]
            runs, requests = counts.groups() if (counts := _RUNS.search(made)) else ("", "")
            place = file.relative_to(DOCS).as_posix()
            found[file.stem] = Command(by[1], place, runs or "", requests or "")
    return found


def commands(pages: dict[str, Command]) -> Iterator[Command]:
    """Yield all commands: of each paper and study those of its scales, then those of the other pages."""
    others = dict(pages)
    for kind, those in (("reproduce", PAPERS), ("study", STUDIES)):
        for name, what in those.items():
            made = others.pop(name)
            for scale in what.text.scales:
                text = f"coflash {kind} {name} --scale {scale}"
                yield made if made.text == text else Command(text, "")
    yield from others.values()


def verdicts(text: str) -> dict[str, Counter[str]]:
    """Count the verdicts on the statements of a page by their exhibit."""
    found: dict[str, Counter[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 6 and cells[-1] in COUNTED:
            found.setdefault(cells[0], Counter())[cells[-1]] += 1
    return found


def holding(page: str) -> list[str]:
    """Return the statements that hold on a page, the inputs that are met and the targets that are reached."""
    rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines())
    return [kept for cells in rows if len(cells) == 6 and (kept := recorded(": ".join(cells[:2]), cells[-1]))]


def held() -> dict[str, dict[str, list[str]]]:
    """Return the statements that hold at each scale of each paper: on its published page, and as measured."""
    record: dict[str, dict[str, list[str]]] = json.loads(HELD.read_text("utf-8"))
    for name in PAPERS:
        made = published()[name]
        record[name][made.text.rpartition(" ")[2]] = holding((DOCS / made.page).read_text("utf-8"))
    return record


def exhibits(what: Investigation, made: Command) -> Iterator[str]:
    """Yield the rows of the exhibits of a paper or a study."""
    text = (DOCS / made.page).read_text("utf-8")
    judged = verdicts(text)
    for exhibit in what.exhibits:
        name = exhibit.name.replace("-", " ")
        shown = f"\n## {name.capitalize()}: " in text
        form = "table" if isinstance(exhibit, Exhibit) else "figure and table"
        counts = judged.get(name, Counter())
        holds = f"{counts[HOLDS]} of {sum(counts.values())}" if counts else ""
        yield f"| {name} | {what.text.titles[exhibit.name]} | {form} | {holds} | {'yes' if shown else 'not yet'} |"


def page() -> str:
    """Write the page."""
    pages, measured = published(), json.loads(MEASURED.read_text("utf-8"))
    columns = ["command", "page", "runs", "requests", "processor time", "memory", "disk"]
    recorded = "; ".join(f"{name} {', '.join(sorted(scales))}" for name, scales in held().items())
    text = [_HEAD.format(recorded=recorded) + "\n".join(map(row, _CONDITIONS)), "\n## Commands\n"]
    text += [row(columns), "|---|---|---:|---:|---:|---:|---:|"]
    text += [command.row(measured["commands"]) for command in commands(pages)]
    dates = sorted({each["date"] for each in measured["commands"].values()})
    machines = sorted({each["machine"] for each in measured["commands"].values()})
    text += ["", f"Measured on {' and '.join(dates)} on {' and '.join(machines)}. {measured['how']}\n"]
    text += [
        "The commands of an exhibit are those of its page: one set of runs makes all exhibits of a page. Beside the",
        "page, the folder `--out` has each exhibit as CSV (`tables`), each figure as SVG (`images`) and all runs",
        "(`store`).\n",
    ]
    for kind, those in (("reproduce", PAPERS), ("study", STUDIES)):
        for name, what in those.items():
            made = pages[name]
            text += [f"## `coflash {kind} {name}`\n", f"{what.text.title}: [{name}]({made.page}).\n"]
            text += ["| exhibit | what it shows | as | statements that hold | published |", "|---|---|---|---:|---|"]
            text += [*exhibits(what, made), ""]
    return "\n".join(text)


def keep(made: Path) -> None:
    """Keep what holds on a page, if it is that of a paper."""
    text = made.read_text("utf-8")
    command = _WRITTEN_BY.search(text)
    if command and (named := re.fullmatch(r"coflash reproduce (\S+) --scale (\S+)", command[1])):
        record = json.loads(HELD.read_text("utf-8"))
        record[named[1]][named[2]] = holding(text)
        HELD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


def measure(command: str) -> dict[str, Any]:
    """Carry a command out in an empty folder, and return what it took."""
    with tempfile.TemporaryDirectory() as out:
        words = [str(Path(sys.executable).with_name("coflash")), *shlex.split(command)[1:]]
        process = subprocess.Popen([*words, "--on", "1", "--quiet", "--out", out])
        whole, most = psutil.Process(process.pid), 0
        usage = None
        while usage is None:
            time.sleep(0.2)
            ended, _, took = os.wait4(process.pid, os.WNOHANG)
            usage = took if ended else None
            most = max(most, memory(whole))
        files = [file for file in Path(out).rglob("*") if file.is_file()]
        made = Path(out, f"{shlex.split(command)[2]}.md")
        keep(made)
        runs, requests = _RUNS.search(made.read_text("utf-8").partition("made this page")[2]).groups()  # type: ignore[union-attr]
        return {
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "machine": f"{platform.system()} {platform.machine()}",
            "runs": int(runs.replace(",", "")),
            "requests": int(requests.replace(",", "")),
            "cpu_s": round(usage.ru_utime + usage.ru_stime),
            "memory_mib": round(most / 2**20),
            "disk_mib": -(-sum(file.stat().st_size for file in files) // 2**20),
        }


def memory(process: psutil.Process) -> int:
    """Return the memory that a process and all below it take, in bytes; 0 once they have ended."""
    total = 0
    try:
        for each in (process, *process.children(recursive=True)):
            total += each.memory_full_info().pss
    except psutil.Error:
        pass
    return total


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where the page is stale")
    parser.add_argument(
        "--measure", metavar="COMMAND", action="append", default=[], help="carry this command out first"
    )
    parser.add_argument(
        "--from", dest="made", metavar="PAGE", type=Path, action="append", default=[], help="keep what holds on it"
    )
    options = parser.parse_args()
    before = json.loads(HELD.read_text("utf-8"))
    for made in options.made:
        keep(made)
    for command in options.measure:
        took = measure(command)
        measured = json.loads(MEASURED.read_text("utf-8"))
        measured["commands"][re.sub(r" --publish \S+", "", command)] = took
        MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n", "utf-8")
    now = held()
    written = {PAGE: page(), HELD: json.dumps(now, indent=1, ensure_ascii=False) + "\n"}
    stale = [file for file, text in written.items() if not file.exists() or file.read_text("utf-8") != text]
    if options.check and stale:
        print(f"stale: {', '.join(map(str, stale))}; run make generate", file=sys.stderr)
        return 1
    for file in stale:
        file.write_text(written[file], "utf-8")
    gone = lost(before, now)
    for statement in gone:
        print(f"on record no more: {statement}", file=sys.stderr)
    return 1 if gone else 0


def lost(before: dict[str, dict[str, list[str]]], now: dict[str, dict[str, list[str]]]) -> list[str]:
    """Return the statements that were on record, and are not any more."""
    return [
        f"{paper} {scale}: {statement}"
        for paper, scales in before.items()
        for scale, statements in scales.items()
        for statement in statements
        if statement not in now.get(paper, {}).get(scale, [])
    ]


if __name__ == "__main__":
    sys.exit(main())
