"""The folder of this machine for traces that were shipped, fetched or made from frames."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def kept_folder() -> Path:
    """Return the folder, created if necessary: `COFLASH_TRACES`, or one of the user's among the temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(os.environ.get("COFLASH_TRACES") or Path(tempfile.gettempdir()) / f"coflash-traces-{user}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
