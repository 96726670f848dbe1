"""Files by URL, through fsspec: `s3://`, `gs://`, `https://`, `sftp://` and every other protocol with a driver."""

from __future__ import annotations

import os
import posixpath
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from coflash._core import CoflashError
from coflash.files import errors

named = partial(errors.named, errors=Exception)
"""Drivers raise exceptions of many kinds."""
_HERE = "file://"
_TRIAL = ".coflash-trial"
_EXTRAS = {"https": "http", "az": "abfs", "s3a": "s3", "gcs": "gs"}
"""The extra of fsspec with a protocol's driver, if its name is not the protocol's."""


def is_url(place: str | os.PathLike[str]) -> bool:
    """Whether this is a URL and not a path; a URL of `file://` counts as a path."""
    return "://" in str(place) and not str(place).startswith(_HERE)


def path_of(place: str | os.PathLike[str]) -> Path:
    """Return the path, given as such or as a URL of `file://`.

    Raises:
        CoflashError: The URL has none.
    """
    if str(place) == _HERE:
        raise CoflashError(f"{place}: names no place; a path follows, as in {_HERE}/data/results")
    return Path(str(place).removeprefix(_HERE))


def opened(url: str) -> IO[bytes]:
    """Open a file for reading.

    Raises:
        CoflashError: It cannot be read.
    """
    tree = Tree(url)
    with named(url, "read"):
        file: IO[bytes] = tree.files.open(tree.root, "rb")
        return file


class Tree:
    """The files below a URL.

    Raises:
        CoflashError: There is no such protocol, or its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        protocol, _, place = url.partition("://")
        if not place.strip("/"):
            raise CoflashError(f"{url}: names no place; a bucket or a folder follows, as in {protocol}://results")
        try:
            from fsspec.core import url_to_fs
            from fsspec.spec import AbstractFileSystem
        except ImportError as error:
            raise CoflashError(f"{url}: a URL needs fsspec: pip install fsspec") from error
        self.url = url.rstrip("/")
        try:
            self.files: Any
            self.files, self.root = url_to_fs(url)
        except ImportError as error:
            from importlib.metadata import metadata

            extra = _EXTRAS.get(protocol, protocol)
            known = extra in (metadata("fsspec").get_all("Provides-Extra") or ())
            get = f": pip install 'fsspec[{extra}]'" if known else ""
            raise CoflashError(f"{url}: the driver of {protocol}:// is not installed{get} ({error})") from error
        except Exception as error:
            raise CoflashError(f"{url}: cannot be used: {error}") from error
        self.root = self.root.rstrip("/")
        # Object stores cannot rename but copy; there a file appears complete.
        self._renames = type(self.files).mv is not AbstractFileSystem.mv

    def url_of(self, path: str) -> str:
        """Return the URL of a file."""
        return f"{self.url}/{path}"

    def names(self) -> list[str]:
        """List all files below the URL, sorted, without hidden ones; the list is empty if there is no such folder.

        Raises:
            CoflashError: They cannot be listed.
        """
        return sorted(path for path in self.sizes() if not any(step.startswith(".") for step in path.split("/")))

    def sizes(self) -> dict[str, int | None]:
        """Return the sizes of all files below the URL, as far as the driver knows them.

        Raises:
            CoflashError: They cannot be listed.
        """
        with named(self.url, "read"):
            self.files.invalidate_cache()  # other processes write too
            found = self.files.find(self.root, detail=True)
            return {posixpath.relpath(path, self.root): about.get("size") for path, about in found.items()}

    def contents(self, paths: list[str]) -> dict[str, bytes]:
        """Read files, in parallel where the driver can; files that have vanished are left out.

        Raises:
            CoflashError: One cannot be read.
        """
        found: dict[str, bytes] = {}
        if paths:
            with named(self.url, "read"):
                whole = {self._at(path): path for path in paths}
                read = self.files.cat(list(whole), on_error="return")
        for place, content in read.items() if paths else ():
            path = whole[place if place in whole else self.files._strip_protocol(place)]
            if isinstance(content, bytes):
                found[path] = content
            elif not isinstance(content, FileNotFoundError | NotADirectoryError):  # a file has nothing below it
                with named(self.url_of(path), "read"):
                    raise content
        return found

    def fetch(self, path: str, to: Path) -> None:
        """Copy a file to this machine.

        Raises:
            CoflashError: It cannot be read.
        """
        with named(self.url_of(path), "read"):
            self.files.get_file(self._at(path), str(to))

    def put(self, path: str, content: bytes | Path) -> None:
        """Write a file, or send one of this machine; whole or not at all.

        Raises:
            CoflashError: It cannot be written.
        """
        place = self._at(path)

        def send(to: str) -> None:
            if isinstance(content, bytes):
                self.files.pipe_file(to, content)
            else:
                self.files.put_file(str(content), to)

        with named(self.url_of(path), "written"):
            self.files.makedirs(posixpath.dirname(place), exist_ok=True)
            if self._renames:
                new = posixpath.join(posixpath.dirname(place), f".{posixpath.basename(place)}.{os.urandom(4).hex()}")
                try:
                    send(new)
                    self.files.mv(new, place)
                except BaseException:
                    with suppress(Exception):
                        self.files.rm_file(new)
                    raise
            else:
                send(place)

    def put_folder(self, path: str, folder: Path, last: str) -> None:
        """Write the files of a folder, the one named `last` after the others.

        Raises:
            CoflashError: One cannot be written.
        """
        for file in sorted(folder.iterdir(), key=lambda file: (file.name == last, file.name)):
            self.put(path + file.name, file)

    def check(self) -> None:
        """Check that files can be written.

        Raises:
            CoflashError: They cannot.
        """
        self.put(_TRIAL, b"")
        self.remove(_TRIAL)

    def remove(self, path: str) -> None:
        """Remove a file if it exists.

        Raises:
            CoflashError: It cannot be removed.
        """
        with named(self.url_of(path), "removed"):
            if self.files.exists(self._at(path)):
                self.files.rm_file(self._at(path))

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}"
