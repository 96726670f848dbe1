"""What sweeping costs, and what a second core gives: bare runs one after another against sweeps of the same runs.

Of several rounds the fastest counts, as whatever else the machine does only ever makes it slower. What the machinery
takes of a processor is told apart as well, and hardly depends on what else goes on: it works in a thread of its own.
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
                coflash.sweep(SCENARIO, {"seed": range(options.runs)}, out=Path(folder), workers=workers)

        return work

    kinds = {"bare": bare, "1 worker": swept(1), "2 workers": swept(2)}
    walls: dict[str, list[float]] = {name: [] for name in kinds}
    machinery: list[float] = []
    for work in kinds.values():
        work()  # what is loaded at first use is no part of it
    for _ in range(options.rounds):
        for name, work in kinds.items():
            wall, mine, all_threads = time.perf_counter(), time.thread_time(), time.process_time()
            work()
            walls[name].append(time.perf_counter() - wall)
            if name == "1 worker":
                mine = time.thread_time() - mine
                machinery.append(mine / (time.process_time() - all_threads - mine))
    best = {name: min(times) for name, times in walls.items()}
    for name, wall in best.items():
        print(f"{name:10} {wall:6.2f} s, {wall / options.runs:.2f} s a run")
    print(f"overhead of a sweep with one worker: {best['1 worker'] / best['bare'] - 1:+.1%}")
    print(f"of it, the machinery's processor time: {min(machinery):.1%}")
    print(f"two workers against one: {best['1 worker'] / best['2 workers']:.2f} x")


if __name__ == "__main__":
    main()
