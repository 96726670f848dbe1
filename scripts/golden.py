"""Write the golden results of small scenarios.

Each `tests/golden/NAME.toml` runs on its own workload; `NAME.json` keeps its metrics. With --check, write nothing and
fail if a result has changed. A change is either a mistake or stands in CHANGELOG.md under "Results changed".
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from pathlib import Path

import coflash

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"


def golden_text(scenario: Path) -> str:
    """Return the part of a result that must not change: not its speed, not its version."""
    document = dict(coflash.run(scenario).document)
    kept = {key: document[key] for key in ("scenario_hash", "seed", "workload", "metrics")}
    return json.dumps(kept, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the results, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a result has changed")
    check = parser.parse_args().check
    changed = False
    scenarios = sorted(GOLDEN.glob("*.toml"))
    if not scenarios:
        sys.exit(f"no golden scenarios in {GOLDEN}")
    for scenario in scenarios:
        kept = scenario.with_suffix(".json")
        before = kept.read_text(encoding="utf-8") if kept.exists() else ""
        now = golden_text(scenario)
        if now != before:
            changed = True
            print(f"{kept.relative_to(GOLDEN.parents[1])}: {'changed' if check else 'written'}")
            print(
                "\n".join(
                    difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=1)
                )
            )
            if not check:
                kept.write_text(now, encoding="utf-8")
    return int(check and changed)


if __name__ == "__main__":
    sys.exit(main())
