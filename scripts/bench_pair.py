"""Compare the processor time of two versions: build both, and run each row of the benchmark in turn.

A rate alone says as much of the machine and its hour as of the program. The ratio of two versions in turn says which is
faster.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "bench-pair"


def build(source: Path, target: Path) -> Path:
    """Build the benchmark of a source tree, which takes minutes at first; return its program."""
    print(f"building {source.relative_to(ROOT) if source != ROOT else 'this version'} …", flush=True)
    options = ["--release", "--locked", "--quiet", "--package", "coflash-bench"]
    subprocess.run(["cargo", "build", *options, "--target-dir", target], cwd=source, check=True)
    return target / "release" / "coflash-bench"


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Check a commit out beside this one; the files that its rows read are in it."""
    tree = FOLDER / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


class NotMeasuredError(Exception):
    """A version could not run a row."""


def measure(program: Path, row: str) -> tuple[float, dict[str, object]]:
    """Run a row; return its processor time in seconds, and its measurements.

    Raises:
        NotMeasuredError: This version has no such row, or the row failed.
    """
    # Taken from outside the process: old versions do not report it.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "--row", row], capture_output=True, text=True)
    if done.returncode:
        reasons = [line for line in done.stderr.splitlines() if line and not line.startswith(("thread", "note:"))]
        raise NotMeasuredError(f"{program.relative_to(ROOT)}: {reasons[0] if reasons else done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


def compare(base: Path, new: Path, rows: list[str], pairs: int) -> None:
    """Run each row with one program and the other in turn; print the medians of their times and of the ratios."""
    print(f"{pairs} pairs: CPU seconds, and base / now, above 1 where this version is faster; medians")
    print(f"{'':<34} {'base':>8} {'now':>8} {'ratio':>6} {'range':>11}")
    for row in rows:
        times = []
        for number in range(pairs):
            order = (base, new) if number % 2 == 0 else (new, base)
            try:
                took = {program: measure(program, row) for program in order}
            except NotMeasuredError as error:
                print(f"{row:<34} not measured: {error}", flush=True)
                break
            # Other notes are times.
            before, now = (re.findall(r"WAF [\d.]+", str(took[program][1]["note"])) for program in (base, new))
            if before != now:
                print(f"{row}: other results: {before} and {now}")
            times.append((took[base][0], took[new][0]))
        if len(times) < pairs:
            continue
        ratios = sorted(one / other for one, other in times)
        medians = [median(side) for side in zip(*times, strict=True)]
        span = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
        print(f"{row:<34} {medians[0]:>8.2f} {medians[1]:>8.2f} {median(ratios):>6.2f} {span:>11}", flush=True)


def main() -> None:
    """Build, measure in turn, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("rows", nargs="+", help="names of rows of the benchmark")
    parser.add_argument("--pairs", type=int, default=5, help="measurements of each version")
    options = parser.parse_args()
    known = subprocess.run(["git", "cat-file", "-e", f"{options.base}^{{commit}}"], cwd=ROOT, capture_output=True)
    if known.returncode:
        parser.error(f"{options.base!r} was given; a commit is allowed, such as HEAD~1 (make bench-pair BASE=HEAD~1)")
    with worktree(options.base) as tree:
        compare(build(tree, FOLDER / "target"), build(ROOT, ROOT / "target"), options.rows, options.pairs)


if __name__ == "__main__":
    main()
