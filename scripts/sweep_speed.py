"""What sweeping costs, and what a second core gives: bare runs one after another against sweeps of the same runs.

Of several rounds the fastest counts, as whatever else the machine does only ever makes it slower.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import coflash

# A run of one to two seconds.
SCENARIO = coflash.Scenario.load("demo").with_(
    {"workload.synthetic.generator": "uniform", "workload.synthetic.requests": 3_000_000}
)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8, help="runs of a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    def bare() -> None:
        for seed in range(options.runs):
            coflash.run(SCENARIO.with_(seed=seed))

    def swept(workers: int) -> Callable[[], None]:
        def work() -> None:
            with tempfile.TemporaryDirectory() as folder:
                vary = {"seed": range(options.runs)}
                coflash.sweep(SCENARIO, vary, out=Path(folder), workers=workers)

        return work

    kinds = {"bare": bare, "1 worker": swept(1), "2 workers": swept(2)}
    walls: dict[str, list[float]] = {name: [] for name in kinds}
    cpus: dict[str, list[float]] = {name: [] for name in kinds}
    bare()  # what is loaded at first use is no part of it
    for _ in range(options.rounds):
        for name, work in kinds.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(time.process_time() - cpu)
    for name in kinds:
        print(f"{name:10} {min(walls[name]):6.2f} s, {min(cpus[name]):6.2f} s of processor time")
    print(f"overhead, wall:           {min(walls['1 worker']) / min(walls['bare']) - 1:+.1%}")
    print(f"overhead, processor time: {min(cpus['1 worker']) / min(cpus['bare']) - 1:+.1%}")
    print(f"two workers against one:  {min(walls['1 worker']) / min(walls['2 workers']):.2f} x")


if __name__ == "__main__":
    main()
