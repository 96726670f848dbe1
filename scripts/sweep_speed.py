"""Measure the overhead of a sweep, and the speed-up from a second core, against separate runs in sequence.

The overhead is measured in processor time, which hardly depends on other programs. The speed-up can only be measured in
wall time, on an idle machine. Rounds alternate, so that slow changes of the machine affect both sides of a ratio, and
the median of the rounds counts.

The installed core is measured: `make bench` installs a release build.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

import coflash

OVERHEAD_MAX, SPEEDUP_MIN = 0.05, 1.8
BUSY = 0.3
"""The load of other processes above which wall times are unreliable."""

# A run of one to two seconds. Seeds differ, so that runs of a sweep share no warm device, as separate runs do not.
SCENARIO = coflash.Scenario.load("demo").with_(
    {"workload.synthetic.generator": "uniform", "workload.synthetic.requests": 3_000_000}
)


def timed(work: Callable[[], None]) -> tuple[float, float, float]:
    """Return the wall time, the processor time, and the processor time of this thread, which hands out the runs."""
    before = time.perf_counter(), time.process_time(), time.thread_time()
    work()
    after = time.perf_counter(), time.process_time(), time.thread_time()
    wall, cpu, own = (end - begin for begin, end in zip(before, after, strict=True))
    return wall, cpu, own


def main() -> None:
    """Measure and print; with --check, exit with status 1 if a bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8, help="runs of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--check", action="store_true", help="fail above 5 %% of overhead, or below 1.8 times the speed"
    )
    options = parser.parse_args()

    def bare() -> None:
        for seed in range(options.runs):
            coflash.run(SCENARIO.with_(seed=seed))

    def swept(workers: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            coflash.sweep(SCENARIO, {"seed": range(options.runs)}, out=folder, on=workers)

    def round_of_three() -> tuple[float, float, float]:
        _, bare_cpu, _ = timed(bare)
        one_wall, one_cpu, one_own = timed(lambda: swept(1))
        two_wall, _, _ = timed(lambda: swept(2))
        return one_cpu / bare_cpu - 1, one_own / (one_cpu - one_own), one_wall / two_wall

    coflash.run(SCENARIO.with_({"workload.synthetic.requests": 1000}))  # without the imports at first use
    swept(2)
    rounds = []
    for number in range(options.rounds):
        rounds.append(round_of_three())
        overhead, machinery, speedup = rounds[-1]
        print(f"round {number + 1}: overhead {overhead:+.1%}, handing out {machinery:.1%}, two workers {speedup:.2f} x")
    overhead, machinery, speedup = (median(column) for column in zip(*rounds, strict=True))
    print(f"overhead of a sweep, processor time: {overhead:+.1%} (at most {OVERHEAD_MAX:.0%})")
    print(f"of it, handing out runs and keeping results: {machinery:.1%}")
    print(f"two workers against one, on the clock: {speedup:.2f} x (at least {SPEEDUP_MIN})")
    cores = os.cpu_count() or 1
    if cores < 2 or os.getloadavg()[0] > 2 + BUSY * cores:
        print("others are using this machine: the last number says nothing")
    if options.check and (overhead > OVERHEAD_MAX or speedup < SPEEDUP_MIN):
        sys.exit(1)


if __name__ == "__main__":
    main()
