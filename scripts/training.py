"""Run what a wheel learns from: the golden scenarios, one for every policy, and the runs of `instructions.py`.

`maturin build --pgo` starts this with a core that counts which branches are taken, and compiles the core once more
with these counts (`pgo-command` in pyproject.toml). The wheels of a release are built so.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import coflash
from golden_policies import scenarios
from instructions import ROOT, ROWS, TRACE


def main() -> None:
    """Run each once, and read a trace in each way."""
    chosen = [coflash.Scenario.load(path) for path in sorted((ROOT / "tests" / "golden").glob("*.toml"))]
    chosen += [scenario for _, scenario in scenarios()]
    for row in ROWS.values():
        chosen.append(coflash.Scenario.load(row.scenario).set([*row.assignments.items(), (row.length, row.values[0])]))
    for scenario in chosen:
        coflash.run(scenario)
    coflash.trace.info(TRACE)
    coflash.trace.miss_ratio_curves(TRACE)
    with tempfile.TemporaryDirectory() as folder:
        coflash.trace.convert(TRACE, Path(folder, "trace.parquet"))


if __name__ == "__main__":
    main()
