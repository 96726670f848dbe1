"""The version of coflash that runs, with the commit that it was made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

from coflash._core import COMMIT, REVISION, __version__

_SOURCE = Path(__file__).parents[3]
"""Where the package is used from its repository: the folder of the repository."""


def version() -> str:
    """Return the version, the commit and the revision of results in one line."""
    return f"coflash {__version__}, {_commit()}, revision {REVISION} of results"


def _commit() -> str:
    """Return the commit of the repository that the package lies in, or else the one that the wheel was made of."""
    if not (_SOURCE / ".git").exists():
        return f"commit {COMMIT[:12]}" if COMMIT else "no commit known"
    options = ["--always", "--dirty=, with changes", "--abbrev=12", "--exclude=*"]
    command = ["git", "-C", str(_SOURCE), "describe", *options]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - a fixed command
        return f"commit {shown.stdout.strip()}"
    except (OSError, subprocess.CalledProcessError):
        return "no commit known"
