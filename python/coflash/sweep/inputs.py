"""The trace of a sweep, wherever its runs take place.

A path is that of a file here: engines on other machines ship its bytes, once to each worker. A URL
(`s3://bucket/oltp.zst`, `file:///shared/oltp.zst`) is opened by each worker itself, through fsspec, and kept there.
What is shipped or fetched lies in a folder under the name of its digest, so it is there only once, and whole.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from coflash._core import CoflashError
from coflash.scenario import Scenario
from coflash.trace import Paths, paths

_CHUNK_BYTES = 1 << 20
_HERE = "file://"


@dataclass(frozen=True)
class Input:
    """One file of a trace."""

    source: str
    """Its path or URL, as it was given."""
    sha256: str

    @property
    def is_url(self) -> bool:
        """Whether workers get it themselves."""
        return "://" in self.source

    @property
    def kept(self) -> Path:
        """Where it lies once it was shipped or fetched; the name keeps the suffixes that formats are told by."""
        return kept_folder() / f"{self.sha256[:32]}-{self.source.rsplit('/', 1)[-1]}"

    def local(self, *, shipped: bool = False) -> str:
        """The path of the file on this machine, fetched if need be.

        Args:
            shipped: Whether this is another machine than the one where the path was given.

        Raises:
            CoflashError: It cannot be fetched.
        """
        if self.source.startswith(_HERE):
            return self.source.removeprefix(_HERE)
        if not self.is_url:
            return str(self.kept) if shipped else self.source
        if not self.kept.exists():
            digest = _copy(self.source, self.kept)
            if digest != self.sha256:
                self.kept.unlink()
                msg = f"{self.source}: has changed since the sweep began"
                raise CoflashError(msg)
        return str(self.kept)

    def keep(self, content: bytes) -> None:
        """Puts what was shipped in its place."""
        if not self.kept.exists():
            with _whole(self.kept) as file:
                file.write(content)


def inputs_of(scenario: Scenario, trace: Paths = ()) -> tuple[Input, ...]:
    """The trace, or else what the scenario reads, with the digests by which runs are told apart.

    Raises:
        CoflashError: One cannot be read.
    """
    workload = scenario.to_dict()["workload"]
    files = paths(trace) or workload["trace"] or workload.get("like", [])
    if "-" in files:
        msg = "standard input: it is there only once, and many runs cannot read it: give a file"
        raise CoflashError(msg)
    return tuple(Input(path, _digest(path)) for path in files)


def kept_folder() -> Path:
    """Where this machine keeps traces: `COFLASH_TRACES`, or a folder of the user's among the temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(os.environ.get("COFLASH_TRACES") or Path(tempfile.gettempdir()) / f"coflash-traces-{user}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with _opened(path) as file:
        while chunk := _read(file, path):
            digest.update(chunk)
    return digest.hexdigest()


def _copy(url: str, to: Path) -> str:
    digest = hashlib.sha256()
    with _opened(url) as source, _whole(to) as file:
        while chunk := _read(source, url):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _read(file: IO[bytes], name: str) -> bytes:
    try:
        return file.read(_CHUNK_BYTES)
    except OSError as error:
        raise _unreadable(name, error) from error


def _opened(path: str) -> IO[bytes]:
    try:
        if "://" not in path or path.startswith(_HERE):
            return Path(path.removeprefix(_HERE)).open("rb")
        try:
            import fsspec
        except ImportError as error:
            msg = f"{path}: a URL needs fsspec: pip install fsspec"
            raise CoflashError(msg) from error
        return cast("IO[bytes]", fsspec.open(path, "rb").open())
    except (OSError, ValueError, ImportError) as error:  # no such file, no such protocol, its library is missing
        raise _unreadable(path, error) from error


def _unreadable(name: str, error: Exception) -> CoflashError:
    return CoflashError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}")


@contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is complete; of two writers either may win, as both write the same."""
    descriptor, name = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
