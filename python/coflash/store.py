"""A folder of results, one folder a run, as `coflash run --out` writes it.

Runs never share a file and appear whole, by a rename. So any number of writers may be at it, a sweep that is killed
leaves what it had done, and readers see complete runs only. What failed stands beside, a file for each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coflash import whole
from coflash._core import CoflashError
from coflash.result import DOCUMENT, Result

_RUNS, _FAILED = "runs", "failed"


@dataclass(frozen=True)
class Failure:
    """A run that did not end."""

    run: str
    """Its key."""
    label: str
    """What it was to show."""
    error: str
    """Why it did not."""


Run = tuple[str, Path, dict[str, Any]]
"""The name of a run, its folder, its document."""


class Store:
    """The runs of a folder, by key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Makes the folder, or says now why results could not be put there.

        Raises:
            CoflashError: They could not.
        """
        try:
            (self.path / _RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{self.path}: cannot be written: {error.strerror or error}"
            raise CoflashError(msg) from error

    def folder(self, key: str) -> Path:
        """Where a run is, or would be."""
        return self.path / _RUNS / key

    def __contains__(self, key: object) -> bool:
        return (self.folder(str(key)) / DOCUMENT).exists()

    def runs(self, keys: Iterable[str]) -> Iterator[Run]:
        """The runs of these keys, where they are there."""
        for key in keys:
            if (content := _read(self.folder(key) / DOCUMENT)) is not None:
                yield key, self.folder(key), content

    def add(self, key: str, result: Result) -> None:
        """Keeps a result, unless there is one under this key: it is the same.

        Raises:
            CoflashError: It cannot be written.
        """
        with whole.folder(self.folder(key), replaces=None) as new:
            result.write_files(new)
        (self.path / _FAILED / f"{key}.json").unlink(missing_ok=True)

    def fail(self, failure: Failure) -> None:
        """Keeps why a run failed.

        Raises:
            CoflashError: It cannot be written.
        """
        (self.path / _FAILED).mkdir(exist_ok=True)
        text = json.dumps(asdict(failure), indent=2, ensure_ascii=False) + "\n"
        whole.write_file(self.path / _FAILED / f"{failure.run}.json", text)

    def failures(self) -> list[Failure]:
        """The runs that failed when they were last tried."""
        return [Failure(**json.loads(file.read_text("utf-8"))) for file in sorted((self.path / _FAILED).glob("*.json"))]


def runs_below(path: Path) -> Iterator[Run]:
    """Every run in a folder or anywhere below it: its name, its folder, its document.

    The name is the way to it, without the folders that are called "runs". What vanishes meanwhile is left out, and so
    is what is being written: it is hidden.

    Raises:
        CoflashError: A result is broken.
    """
    for inner, folders, files in os.walk(path):  # which passes over folders that vanish
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        folder = Path(inner)
        if DOCUMENT in files and (content := _read(folder / DOCUMENT)) is not None:
            steps = folder.relative_to(path).parts
            yield "/".join(step for step in steps if step != _RUNS) or path.resolve().name, folder, content


def _read(document: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(document.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        msg = f"{document}: is no result of coflash: {error}"
        raise CoflashError(msg) from error
    return content
