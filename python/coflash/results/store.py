"""Stores of results: a folder or a URL, with a folder for each run as `coflash run --out` writes it.

In a folder, runs share no file and appear complete, by a rename. Any number of processes may write at the same time, a
sweep that is killed keeps its finished runs, and readers see complete runs only. Failures are files beside the runs.

Below a URL the same files have the same names. Most of these places cannot rename a folder: each file is written whole,
the document last, and a run exists once its document does. All writers of the same run write the same content.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from coflash._core import CoflashError
from coflash.files import atomic_write, remote
from coflash.files.errors import no_result
from coflash.files.kept import kept_folder
from coflash.results.result import DOCUMENT, FILES, Result, document_of

FLEET = "fleet.json"
"""The document of the last fleet in a folder."""
_RUNS, _FAILED = "runs", "failed"


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    run: str
    """The key of the run."""
    label: str
    """The label of the run."""
    error: str
    """The reason."""


class Fleets(dict[str, list[str]]):
    """What is to be known of the fleets of a folder in short, each with its remarks."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[tuple[str, str, str]] = set()
        """The name, the file and the digest of each volume that a fleet has had."""
        self.gone: set[tuple[Path, str, str]] = set()
        """The folder, the name and the digest of those that the fleet last asked there does not have."""

    def read(self, place: str, fleet: bytes) -> None:
        """Take what the document of a fleet says; nothing if it is another document of this name."""
        with suppress(ValueError, TypeError, KeyError):
            document = json.loads(fleet)
            short = f"{place}: a fleet of {document['count']}, each with runs of its own, by its name"
            self[f"{short}: count(distinct name)"] = document["remarks"]
            now = {(one["name"], one["file"], one["sha256"]) for one in document["volumes"]}
            former = {(name, file, digest) for name, file, digest in document.get("former", ())}
            self.asked |= now | former
            there = {(name, one) for name, *both in now for one in both}
            gone = [(name, digest) for name, file, digest in former if not {(name, digest), (name, file)} & there]
            self.gone |= {(Path(place), name, digest) for name, digest in gone}


class Unstored(CoflashError):  # noqa: N818 - a word that says it
    """A result cannot be stored where it was computed: further runs would be lost, too."""


def store_at(place: str | os.PathLike[str]) -> Store:
    """Return the store in a folder or below a URL.

    Raises:
        CoflashError: There is no driver for the URL.
    """
    return UrlStore(str(place)) if remote.is_url(place) else FolderStore(remote.path_of(place), str(place))


@dataclass(frozen=True)
class LocalFolder:
    """The folder of a run on this machine."""

    path: Path

    def here(self, *_: str) -> Path:
        """Return it."""
        return self.path

    def __str__(self) -> str:
        return str(self.path)


class FolderStore:
    """The runs of a folder."""

    def __init__(self, path: Path, place: str = "") -> None:
        self.path, self.place = path, place or str(path)
        self.broken: list[str] = []
        self.fleets = Fleets()

    def check(self) -> None:
        """Check that results can be written.

        Raises:
            CoflashError: They cannot, or the folder is that of a single run.
        """
        if (self.path / DOCUMENT).exists():
            raise CoflashError(f"{self.place}: holds the result of a single run; a folder of its own is allowed")
        atomic_write.make_folder(self.path / _RUNS)

    def _folder(self, key: str) -> Path:
        return self.path / _RUNS / key

    def __contains__(self, key: object) -> bool:
        """Whether there is a complete run of this key; a broken one must be repeated."""
        folder = self._folder(str(key))
        with suppress(CoflashError):
            return _read(folder / DOCUMENT) is not None and all((folder / name).exists() for name in FILES)
        return False

    def runs(self, keys: Iterable[str]) -> Iterator[Run]:
        """Yield the existing runs of these keys; broken ones are passed over."""
        for key in keys:
            if (content := self._known(self._folder(key) / DOCUMENT)) is not None:
                yield key, LocalFolder(self._folder(key)), content

    def all_runs(self) -> Iterator[Run]:
        """Yield every run, at any depth; broken ones are passed over, and fleets are put into `fleets`.

        A run's name is its path, without the folders that are named "runs". Runs that are being written or removed are
        left out.

        Raises:
            CoflashError: There is no such place.
        """
        if not self.path.is_dir():
            raise no_result(self.path)
        for inner, folders, files in os.walk(self.path):  # ignores folders that vanish
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if FLEET in files:
                with suppress(OSError):
                    self.fleets.read(inner, Path(inner, FLEET).read_bytes())
            if DOCUMENT in files and (content := self._known((folder := Path(inner)) / DOCUMENT)) is not None:
                steps = folder.parts[len(self.path.parts) :]
                yield _name(steps) or self.path.resolve().name, LocalFolder(folder), content

    def _known(self, document: Path) -> dict[str, Any] | None:
        try:
            return _read(document)
        except CoflashError as error:
            self.broken.append(str(error))
            return None

    def checkpoint(self, key: str) -> Path:
        """Return the file for the checkpoint of a run on this machine, in a folder that has no other files."""
        return self.path / ".checkpoints" / key

    def added(self, key: str) -> None:
        """Take note that a result was stored, here or by another process, or asked for again: it is the newest."""
        with suppress(OSError):  # a folder that is only read
            os.utime(self._folder(key) / DOCUMENT)

    def write(self, key: str, result: Result) -> None:
        """Store a result, unless there is a complete one under this key, which is then the same.

        Raises:
            CoflashError: It cannot be written.
        """
        folder = self._folder(key)
        if folder.exists() and key not in self:
            shutil.rmtree(folder)
        with atomic_write.folder(folder, replaces=None) as new:
            result.write_files(new)
        (self.path / _FAILED / f"{key}.json").unlink(missing_ok=True)

    def fleet(self) -> bytes:
        """Return the document of the last fleet; nothing if there is none."""
        return (self.path / FLEET).read_bytes() if (self.path / FLEET).is_file() else b""

    def write_fleet(self, text: str) -> None:
        """Store the document of a fleet, in the place of that of an earlier one.

        Raises:
            CoflashError: It cannot be written.
        """
        atomic_write.write_file(self.path / FLEET, text)

    def fail(self, failure: Failure) -> None:
        """Store a failure.

        Raises:
            CoflashError: It cannot be written.
        """
        (self.path / _FAILED).mkdir(exist_ok=True)
        atomic_write.write_file(self.path / _FAILED / f"{failure.run}.json", _text(failure))

    def failures(self) -> list[Failure]:
        """Return the failures of the last attempts."""
        return [Failure(**json.loads(file.read_text("utf-8"))) for file in sorted((self.path / _FAILED).glob("*.json"))]


class UrlStore:
    """The runs below a URL; its methods are those of `FolderStore`."""

    def __init__(self, url: str) -> None:
        self._tree = remote.Tree(url)
        self.place = self._tree.url
        self.broken: list[str] = []
        self.fleets = Fleets()
        self._copies = _Copies()

    @cached_property
    def _known(self) -> set[str]:
        """The documents of complete runs: found at the beginning, or written since; listed once for speed."""
        names = set(self._tree.names())
        documents = [name for name in names if name.endswith(f"/{DOCUMENT}")]
        whole = [name for name in documents if {name.replace(DOCUMENT, file) for file in FILES} <= names]
        return {name for name, _ in self._documents(whole)}

    def check(self) -> None:  # noqa: D102 - as for a folder, here and below
        self._tree.check()

    def __contains__(self, key: object) -> bool:
        return f"{_RUNS}/{key}/{DOCUMENT}" in self._known

    def runs(self, keys: Iterable[str]) -> Iterator[Run]:  # noqa: D102
        folders = {f"{_RUNS}/{key}/{DOCUMENT}": key for key in keys}
        for document, content in self._documents([path for path in folders if path in self._known]):
            yield folders[document], self._folder(document), content

    def all_runs(self) -> Iterator[Run]:  # noqa: D102
        names = self._tree.names()
        documents = [name for name in names if name.split("/")[-1] == DOCUMENT]
        if not documents:
            raise no_result(self.place)
        fleets = [name for name in names if name.split("/")[-1] == FLEET]
        for name, fleet in self._tree.contents(fleets).items():
            self.fleets.read(self._tree.url_of(name.removesuffix(FLEET)).rstrip("/"), fleet)
        for document, content in self._documents(documents):
            yield _name(document.split("/")[:-1]) or self.place.rsplit("/", 1)[-1], self._folder(document), content

    def checkpoint(self, key: str) -> Path:  # noqa: D102
        return kept_folder() / "checkpoints" / key

    def added(self, key: str) -> None:  # noqa: D102
        self._known.add(f"{_RUNS}/{key}/{DOCUMENT}")

    def write(self, key: str, result: Result) -> None:  # noqa: D102
        with tempfile.TemporaryDirectory() as place:
            result.write_files(Path(place))
            self._tree.put_folder(f"{_RUNS}/{key}/", Path(place), last=DOCUMENT)
        self._tree.remove(f"{_FAILED}/{key}.json")

    def fleet(self) -> bytes:  # noqa: D102
        return self._tree.contents([FLEET]).get(FLEET, b"")

    def write_fleet(self, text: str) -> None:  # noqa: D102
        self._tree.put(FLEET, text.encode())

    def fail(self, failure: Failure) -> None:  # noqa: D102
        self._tree.put(f"{_FAILED}/{failure.run}.json", _text(failure).encode())

    def failures(self) -> list[Failure]:  # noqa: D102
        files = [name for name in self._tree.names() if name.startswith(f"{_FAILED}/")]
        return [Failure(**json.loads(content)) for content in self._tree.contents(files).values()]

    def _documents(self, paths: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for path, content in self._tree.contents(paths).items():
            if (document := self._parsed(content, self._tree.url_of(path))) is not None:
                yield path, document

    def _parsed(self, content: bytes, url: str) -> dict[str, Any] | None:
        try:
            return document_of(content, url)
        except CoflashError as error:
            self.broken.append(str(error))
            return None

    def _folder(self, document: str) -> RunFolder:
        return _RemoteFolder(self._tree, document.removesuffix(DOCUMENT).rstrip("/"), self._copies)


class _Copies:
    """A folder for fetched files, which is removed with the last reference to this object."""

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
        return document_of(document.read_bytes(), document)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CoflashError(f"{document}: is no result of coflash: {error}") from error


RunFolder: TypeAlias = LocalFolder | _RemoteFolder
Store: TypeAlias = FolderStore | UrlStore
Run = tuple[str, RunFolder, Mapping[str, Any]]
"""The name of a run, its files, and its document."""
