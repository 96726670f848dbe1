"""Where results are kept: a folder, or a URL, with a folder for each run as `coflash run --out` writes it.

In a folder, runs never share a file and appear whole, by a rename. So any number of writers may be at it, a sweep that
is killed leaves what it had done, and readers see complete runs only. What failed stands beside, a file for each.

Below a URL the same files have the same names. Few of the places that URLs lead to can rename a folder: each file is
put whole, the document last, and a run is there when its document is. Writers of the same run write the same.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from coflash import remote, whole
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


class RunFolder(Protocol):
    """The files of a run, wherever they are. As text: where."""

    def here(self, *names: str) -> Path:
        """The folder on this machine in which the files of these names are, fetched if need be.

        Raises:
            CoflashError: One cannot be fetched.
        """
        ...


Run = tuple[str, RunFolder, dict[str, Any]]
"""The name of a run, its files, its document."""


class Store(Protocol):
    """The runs of a place, by key."""

    @property
    def place(self) -> str:
        """The folder or the URL."""
        ...

    def check(self) -> None:
        """Says now why results could not be put there.

        Raises:
            CoflashError: They could not.
        """
        ...

    def __contains__(self, key: object) -> bool: ...

    def runs(self, keys: Iterable[str]) -> Iterator[Run]:
        """The runs of these keys, where they are there."""
        ...

    def all_runs(self) -> Iterator[Run]:
        """Every run there or anywhere below: its name, its files, its document.

        The name is the way to it, without the folders that are called "runs". What vanishes meanwhile is left out, and
        so is what is being written.

        Raises:
            CoflashError: There is no such place, or a result is broken.
        """
        ...

    def add(self, key: str, result: Result) -> None:
        """Keeps a result, unless there is one under this key: it is the same.

        Raises:
            CoflashError: It cannot be written.
        """
        ...

    def fail(self, failure: Failure) -> None:
        """Keeps why a run failed.

        Raises:
            CoflashError: It cannot be written.
        """
        ...

    def failures(self) -> list[Failure]:
        """The runs that failed when they were last tried."""
        ...


def store_at(place: str | os.PathLike[str]) -> Store:
    """The store in a folder or below a URL.

    Raises:
        CoflashError: There is no driver for the URL.
    """
    return UrlStore(str(place)) if remote.is_url(place) else FolderStore(remote.path_of(place))


@dataclass(frozen=True)
class _LocalFolder:
    path: Path

    def here(self, *_: str) -> Path:
        return self.path

    def __str__(self) -> str:
        return str(self.path)


class FolderStore:
    """The runs of a folder."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)

    def check(self) -> None:  # noqa: D102 - as the protocol says, here and below
        try:
            (self.path / _RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{self.path}: cannot be written: {error.strerror or error}"
            raise CoflashError(msg) from error

    def _folder(self, key: str) -> Path:
        return self.path / _RUNS / key

    def __contains__(self, key: object) -> bool:
        return (self._folder(str(key)) / DOCUMENT).exists()

    def runs(self, keys: Iterable[str]) -> Iterator[Run]:  # noqa: D102
        for key in keys:
            if (content := _read(self._folder(key) / DOCUMENT)) is not None:
                yield key, _LocalFolder(self._folder(key)), content

    def all_runs(self) -> Iterator[Run]:  # noqa: D102
        if not self.path.is_dir():
            msg = f"{self.path}: there is no such folder; give one that `coflash sweep` or `coflash run --out` wrote"
            raise CoflashError(msg)
        for inner, folders, files in os.walk(self.path):  # which passes over folders that vanish
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            folder = Path(inner)
            if DOCUMENT in files and (content := _read(folder / DOCUMENT)) is not None:
                steps = folder.relative_to(self.path).parts
                yield _name(steps) or self.path.resolve().name, _LocalFolder(folder), content

    def add(self, key: str, result: Result) -> None:  # noqa: D102
        with whole.folder(self._folder(key), replaces=None) as new:
            result.write_files(new)
        (self.path / _FAILED / f"{key}.json").unlink(missing_ok=True)

    def fail(self, failure: Failure) -> None:  # noqa: D102
        (self.path / _FAILED).mkdir(exist_ok=True)
        whole.write_file(self.path / _FAILED / f"{failure.run}.json", _text(failure))

    def failures(self) -> list[Failure]:  # noqa: D102
        return [Failure(**json.loads(file.read_text("utf-8"))) for file in sorted((self.path / _FAILED).glob("*.json"))]


class UrlStore:
    """The runs below a URL."""

    def __init__(self, url: str) -> None:
        self._tree = remote.Tree(url)
        self.place = self._tree.url
        self._copies = _Copies()

    @cached_property
    def _known(self) -> set[str]:
        """The documents that were there at first, and those put since: asking for each would take long."""
        return {name for name in self._tree.names() if name.endswith(DOCUMENT)}

    def check(self) -> None:  # noqa: D102
        self._tree.check()

    def __contains__(self, key: object) -> bool:
        return f"{_RUNS}/{key}/{DOCUMENT}" in self._known

    def runs(self, keys: Iterable[str]) -> Iterator[Run]:  # noqa: D102
        folders = {f"{_RUNS}/{key}/{DOCUMENT}": key for key in keys}
        for document, content in self._documents([path for path in folders if path in self._known]):
            yield folders[document], self._folder(document), content

    def all_runs(self) -> Iterator[Run]:  # noqa: D102
        documents = [name for name in self._tree.names() if name.split("/")[-1] == DOCUMENT]
        if not documents:
            msg = f"{self.place}: no results are there; give the URL that `coflash sweep --out` was given"
            raise CoflashError(msg)
        for document, content in self._documents(documents):
            yield _name(document.split("/")[:-1]) or self.place.rsplit("/", 1)[-1], self._folder(document), content

    def add(self, key: str, result: Result) -> None:  # noqa: D102
        with tempfile.TemporaryDirectory() as place:
            result.write_files(Path(place))
            self._tree.put_folder(f"{_RUNS}/{key}/", Path(place), last=DOCUMENT)
        self._known.add(f"{_RUNS}/{key}/{DOCUMENT}")
        self._tree.remove(f"{_FAILED}/{key}.json")

    def fail(self, failure: Failure) -> None:  # noqa: D102
        self._tree.put(f"{_FAILED}/{failure.run}.json", _text(failure).encode())

    def failures(self) -> list[Failure]:  # noqa: D102
        files = [name for name in self._tree.names() if name.startswith(f"{_FAILED}/")]
        return [Failure(**json.loads(content)) for content in self._tree.contents(files).values()]

    def _documents(self, paths: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for path, content in self._tree.contents(paths).items():
            yield path, _parsed(content, self._tree.url_of(path))

    def _folder(self, document: str) -> RunFolder:
        path = document.removesuffix(DOCUMENT).rstrip("/")
        return _RemoteFolder(self._tree, path, self._copies)


class _Copies:
    """A folder for what is fetched, which lasts as long as anybody refers to this."""

    @cached_property
    def place(self) -> Path:
        place = tempfile.mkdtemp(prefix="coflash-results-")
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        return Path(place)


@dataclass(frozen=True)
class _RemoteFolder:
    tree: remote.Tree
    path: str
    copies: _Copies

    def here(self, *names: str) -> Path:
        copy = self.copies.place / self.path
        copy.mkdir(parents=True, exist_ok=True)
        for name in names:
            if not (copy / name).exists():
                self.tree.fetch(f"{self.path}/{name}" if self.path else name, copy / name)
        return copy

    def __str__(self) -> str:
        return self.tree.url_of(self.path)


def _name(steps: Iterable[str]) -> str:
    return "/".join(step for step in steps if step != _RUNS)


def _text(failure: Failure) -> str:
    return json.dumps(asdict(failure), indent=2, ensure_ascii=False) + "\n"


def _read(document: Path) -> dict[str, Any] | None:
    try:
        return _parsed(document.read_bytes(), str(document))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        msg = f"{document}: is no result of coflash: {error}"
        raise CoflashError(msg) from error


def _parsed(content: bytes, place: str) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(content)
    except ValueError as error:
        msg = f"{place}: is no result of coflash: {error}"
        raise CoflashError(msg) from error
    return document
