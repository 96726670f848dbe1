"""Count the functions that a read and a write pass, in one version or more.

    python scripts/hops.py 7701cff HEAD

Each version is compiled without inlining, and simulates a small `demo` under valgrind: reads that mostly miss the
cache, and writes that evict dirty pages and make GC run. A hop is a function of the workspace that runs for four of
five such reads, or for each block that GC cleans, and that calls another such function or executes more than a few
instructions. Closures are none, nor is what a type does for a trait of Rust's core, such as a comparison. A hop
forwards if it does little but call one other of its own name, once.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "target/hops"
STEPS = (
    "coflash_sim::run::replay",
    "<coflash_engine::simulation::Running<L,M> as coflash_engine::steps::Steps>::step",
    "coflash_engine::simulation::Simulation::step",
)
"""What serves requests, by its name in each version."""
PROFILE = {"OPT_LEVEL": "0", "DEBUG": "line-tables-only", "OVERFLOW_CHECKS": "false", "DEBUG_ASSERTIONS": "false"}
REQUESTS = 12_000
FEW_INSTRUCTIONS = 40
SIMULATE = f"""
import coflash, sys
changes = {{"flash.exported": "128MiB", "workload.requests_max": {REQUESTS}, "workload.remap": "none"}}
changes["workload.synthetic"] = {{"generator": "uniform", "read_share": float(sys.argv[1])}}
print(coflash.run(coflash.Scenario.load("demo").with_(changes)).metrics.erases_blocks)
"""


def output(*command: str | Path, cwd: Path = ROOT, **environment: str) -> bytes:
    """Return what a command prints."""
    more = os.environ | environment
    return subprocess.run(command, cwd=cwd, check=True, env=more, stdout=subprocess.PIPE).stdout  # noqa: S603


def build(version: str) -> Path:
    """Compile a version without inlining; return the folder from which it is imported."""
    tree = PLACE / output("git", "rev-parse", version).decode().strip()
    if not (package := tree / "package").exists():
        tree.mkdir(parents=True, exist_ok=True)
        output("git", "archive", "--output", tree / "tree.tar", version)
        output("tar", "-xf", "tree.tar", cwd=tree)
        for file in tree.glob("crates/**/*.rs"):
            file.write_text(re.sub(r"#\[inline(\(always\))?\]", "", file.read_text("utf-8")), "utf-8")
        profile = {f"CARGO_PROFILE_DEV_{key}": value for key, value in PROFILE.items()}
        core = ("--package", "coflash-python", "--lib", "--target-dir", PLACE / "target")
        output("cargo", "build", "--quiet", "--locked", *core, cwd=tree, PYO3_PYTHON=sys.executable, **profile)
        whole = shutil.copytree(tree / "python", tree / "copy", dirs_exist_ok=True)
        shutil.copy(PLACE / "target/debug/lib_core.so", whole / "coflash/_core.abi3.so")
        whole.rename(package)
    return package


def simulate(package: Path, read_share: str) -> tuple[Path, int]:
    """Simulate under valgrind; return the profile of what serves requests, and the number of erased blocks."""
    profile = package / read_share
    valgrind = ("valgrind", "--quiet", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={profile}")
    steps = (f"--toggle-collect={step}*" for step in STEPS)
    run = (sys.executable, "-c", SIMULATE, read_share)
    return profile, int(output(*valgrind, *steps, *run, PYTHONPATH=str(package)))


def hops(profile: Path, runs_min: int) -> Iterator[tuple[str, bool]]:
    """Yield each hop of a profile that ran so often, and whether it only forwards."""
    names: dict[str, str] = {}
    own: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    callees: defaultdict[str, Counter[str]] = defaultdict(Counter)
    caller = callee = ""
    of_a_call = False

    def name(text: str) -> str:
        number, _, known = text.partition(" ")
        return names.setdefault(number, re.sub(r"'\d+$", "", known))  # what follows ' is the depth of a recursion

    for line in profile.read_text("utf-8").splitlines():
        if line.startswith("fn="):
            caller = name(line[3:])
        elif line.startswith("cfn="):
            callee = name(line[4:])
        elif line.startswith("calls="):
            count = int(line[6:].split()[0])
            calls[callee] += count
            callees[caller][callee] += count
            of_a_call = True
        elif re.match(r"[\d+*-]", line):
            if not of_a_call:
                own[caller] += int(line.split()[1])
            of_a_call = False

    often = {function for function, count in calls.items() if count >= runs_min and is_ours(function)}
    for function in often:
        others = {callee: count for callee, count in callees[function].items() if callee in often}
        few = own[function] <= FEW_INSTRUCTIONS * calls[function]
        if others or not few:
            same = [to for to, count in others.items() if count == calls[function] and method(to) == method(function)]
            yield function, few and len(same) == len(others)


def method(function: str) -> str:
    """Return the last part of a function's path."""
    return function.rsplit("::", 1)[1]


def is_ours(function: str) -> bool:
    """Return whether a function is written in the workspace, and not for a trait of Rust's core."""
    ours = re.match(r"<*(?:dyn )?coflash_\w+::", function) or " as coflash_" in function
    return bool(ours) and "{{closure}}" not in function and not re.search(r" as (core|alloc|std)::", function)


def main() -> None:
    """Print the hops of each version."""
    parser = argparse.ArgumentParser(description="Count the functions that a read and a write pass.")
    parser.add_argument("versions", nargs="*", default=["HEAD"], help="commits; HEAD if none is given")
    parser.add_argument("--list", action="store_true", help="print their names")
    arguments = parser.parse_args()
    for version in arguments.versions:
        package = build(version)
        for what, read_share in {"a read that misses": "1.0", "a write that makes GC run": "0.0"}.items():
            profile, erases_blocks = simulate(package, read_share)
            found = dict(hops(profile, REQUESTS * 4 // 5 if read_share == "1.0" else erases_blocks))
            print(f"{version}, {what}: {len(found)} functions, {sum(found.values())} of them only forward")
            for function, forwards in sorted(found.items()) if arguments.list else ():
                print(f"  {'forwards' if forwards else '':8} {function}")


if __name__ == "__main__":
    main()
