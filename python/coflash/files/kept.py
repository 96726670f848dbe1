"""The folder of this machine for traces that were shipped, fetched or made from frames."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from coflash._core import CoflashError
from coflash.files import digest, remote
from coflash.files.atomic_write import new_file

_PART_MAX = 0.9
"""The part of the free space that a fetched file may take."""


def kept_folder() -> Path:
    """Return the folder, created if necessary: `COFLASH_TRACES`, or one of the user's among the temporary files.

    Raises:
        CoflashError: Other users of this machine can write to the one among the temporary files.
    """
    user = os.getuid() if hasattr(os, "getuid") else None
    wanted = os.environ.get("COFLASH_TRACES")
    folder = Path(wanted or Path(tempfile.gettempdir()) / f"coflash-traces-{'user' if user is None else user}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.lstat()
    if not wanted and user is not None and (about.st_uid != user or about.st_mode & 0o022 or folder.is_symlink()):
        msg = (
            f"{folder}: other users can write to it, and what they put there would be taken for your traces: remove it"
        )
        raise CoflashError(f"{msg}, or set COFLASH_TRACES to a folder of yours")
    return folder


def kept_file(source: str, sha256: str) -> Path:
    """Return the place of a shipped or fetched file; its name keeps the suffixes, which tell the format."""
    return kept_folder() / f"{sha256[:32]}-{source.rsplit('/', 1)[-1]}"


def fetched(place: str) -> str:
    """Return the path on this machine of a file given by path or URL.

    Raises:
        CoflashError: It cannot be fetched.
    """
    if not remote.is_url(place):
        return str(remote.path_of(place)) if "://" in place else place
    with tempfile.TemporaryDirectory(prefix=".", dir=kept_folder()) as folder:
        new, found, room = Path(folder) / "trace", hashlib.sha256(), int(_PART_MAX * shutil.disk_usage(folder).free)
        with digest.opened(place) as source, new_file(new) as to:
            while chunk := digest.chunk(source, place):
                if (room := room - len(chunk)) < 0:
                    msg = f"{place}: takes more than {_PART_MAX:.0%} of what is free in {kept_folder()}"
                    raise CoflashError(f"{msg}: set COFLASH_TRACES to a folder with more room")
                found.update(chunk)
                to.write(chunk)
        file = kept_file(place, found.hexdigest())
        new.replace(file)
    return str(file)
