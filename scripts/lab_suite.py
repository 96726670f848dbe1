"""Write the suite by which the laboratory's page grades a victim score: that of `coflash evaluate`, as JSON.

Of each workload it has the scenario, with PLACEHOLDER for the score, and the best built-in policy with its measure.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from coflash.evaluation import contests

PLACEHOLDER = "123456789"


def suite() -> list[dict[str, str | float]]:
    """Return the workloads of the suite."""
    placed = {"gc.victim": {"name": "score", "score": PLACEHOLDER}}
    return [
        {"workload": name, "scenario": scenario.with_(placed).to_toml(), "best": best, "value": value}
        for name, (scenario, best, value) in contests("gc").items()
    ]


def main() -> None:
    """Write the suite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.parse_args().file.write_text(json.dumps(suite()), "utf-8")


if __name__ == "__main__":
    main()
