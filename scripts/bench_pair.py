"""Compare the processor time of two versions: build both, and run each row of the benchmark in turn.

A rate alone says as much of the machine and its hour as of the program. The ratio of two versions in turn says which is
faster.
"""

from __future__ import annotations

import argparse
import json
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
    """Build the benchmark of a source tree; return its program."""
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


def measure(program: Path, row: str) -> tuple[float, dict[str, object]]:
    """Run a row; return its processor time in seconds, and its measurements."""
    # Taken from outside the process: old versions do not report it.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "--row", row], check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


def compare(base: Path, new: Path, rows: list[str], pairs: int) -> None:
    """Run each row with one program and the other in turn; print the medians of their times and of the ratios."""
    print(f"{'':<34} {'base':>8} {'now':>8} {'ratio':>6} {'range':>11}  CPU seconds; above 1 is faster now")
    for row in rows:
        times = []
        for number in range(pairs):
            order = (base, new) if number % 2 == 0 else (new, base)
            took = {program: measure(program, row) for program in order}
            if took[base][1]["note"] != took[new][1]["note"]:
                print(f"{row}: other results: {took[base][1]['note']!r} and {took[new][1]['note']!r}")
            times.append((took[base][0], took[new][0]))
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
    with worktree(options.base) as tree:
        compare(build(tree, FOLDER / "target"), build(ROOT, ROOT / "target"), options.rows, options.pairs)


if __name__ == "__main__":
    main()
