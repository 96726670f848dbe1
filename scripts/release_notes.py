"""Print the section of the changelog for a release, and refuse a tag that is not the version of this source."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version() -> str:
    """Return the version of this source, as Python spells it."""
    (given,) = re.findall(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    return re.sub(r"-dev\.(\d+)$", r".dev\1", given)


def main() -> int:
    """Print the notes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag", help="such as v1.0.0")
    tag, wanted = parser.parse_args().tag, version()
    if tag != f"v{wanted}":
        print(f'error: the tag is "{tag}", and Cargo.toml has version {wanted}: tag v{wanted}', file=sys.stderr)
        return 1
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    section = re.search(rf"^## {re.escape(wanted)} \(.+?\)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        print(f'error: CHANGELOG.md has no section "## {wanted} (date)": date "Unreleased"', file=sys.stderr)
        return 1
    print(section[1].strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
