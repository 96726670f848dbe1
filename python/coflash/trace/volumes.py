"""The volumes of a trace: each device as a trace of its own, and a document that lists them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from coflash import _core
from coflash._core import CoflashError, __version__
from coflash.files import atomic_write, remote
from coflash.files.digest import digest_of
from coflash.files.kept import fetched
from coflash.scenario import toml_value
from coflash.trace import Options, Paths, Progress, arrow, info, paths

DOCUMENT = "volumes.json"
_PAGE = "4KiB"
_NO_OPTIONS: Options = {}


@dataclass(frozen=True)
class Volume:
    """A volume: a trace of one device, and what a device for it must hold."""

    name: str
    """The name of the device in the trace, or that of the file."""
    file: str
    """The path or URL of its trace."""
    sha256: str
    requests: int
    written_bytes: int
    """What it writes, each time anew."""
    footprint_pages: int
    """Distinct pages of 4 KiB that it reads or writes."""
    remarks: tuple[str, ...] = ()
    """Assumptions and omissions of its reader."""


def described(name: str, file: str, options: Options = _NO_OPTIONS) -> Volume:
    """Describe a file as a volume.

    Raises:
        CoflashError: It cannot be read, or its footprint cannot be counted.
    """
    here = fetched(file)
    found = info(here, options, page=_PAGE, sample=64)
    if found.footprint_pages is None:
        msg = f"{file}: its addresses are too far apart to count its pages; `coflash trace remap` brings them together"
        raise CoflashError(msg)
    counts = found.requests, found.write.bytes, found.footprint_pages
    return Volume(name, file, digest_of(here), *counts, tuple(found.remarks))


def split(
    trace: Paths, out: str | os.PathLike[str], options: Options = _NO_OPTIONS, progress: Progress | None = None
) -> tuple[Volume, ...]:
    """Write each device of a trace as a trace of its own, in one pass and in bounded memory.

    The first request of each is at time zero. `volumes.json` lists them. A folder with the split of the same trace
    with the same options is taken as it is, so that an interrupted work goes on.

    Args:
        trace: Its file, or its files in order; its records name a device or a volume.
        out: The folder to write, or a URL: a Parquet file for each device, named after it.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].

    Returns:
        The volumes, in the order of their first requests.

    Raises:
        CoflashError: The trace cannot be read, its records name no devices, or the folder cannot be written.
    """
    sources, place = paths(trace), str(out if remote.is_url(out) else remote.path_of(out))
    if "-" in sources:
        msg = "standard input: a split is known by the content of its trace, which is read twice: give a file"
        raise CoflashError(msg)
    if len({*sources}) < len(sources):
        msg = "split: a file was given twice; each is allowed once"
        raise CoflashError(msg)
    here = [fetched(file) for file in sources]
    what = {
        "trace": [{"file": file, "sha256": digest_of(at)} for file, at in zip(sources, here, strict=True)],
        "options": {key: str(value) for key, value in options.items()},
    }
    if (found := read(place)) is not None and {key: found[key] for key in what} == what and _is_whole(place, found):
        return listed(place, found)
    old = set() if found is None else {one["file"] for one in found["volumes"]}

    def written(new: Path, within: str = "") -> dict[str, Any]:
        settings = {key: toml_value(value) for key, value in options.items()}
        with arrow.converted(here) as files:
            devices, remarks = _core.trace_split(files, settings, str(new), progress)
        with ThreadPoolExecutor() as pool:  # the core reads without the interpreter's lock
            volumes = list(pool.map(partial(_of_new, new, tuple(remarks)), devices))
        listing = [{**asdict(one), "file": within + one.file} for one in volumes]
        return {"coflash": __version__, **what, "volumes": listing}

    if remote.is_url(place):
        # Beside what is there, which stays whole until the new list replaces the old one.
        tree, within = remote.Tree(place), hashlib.sha256(_text(what).encode()).hexdigest()[:12] + "/"
        with tempfile.TemporaryDirectory() as new:
            document = written(Path(new), within)
            tree.put_folder(within, Path(new), last="")
        tree.put(DOCUMENT, _text(document).encode())
        for file in old - {one["file"] for one in document["volumes"]}:
            tree.remove(file)
    else:
        with atomic_write.folder(Path(place), replaces=set() if found is None else {DOCUMENT, *old}) as new_folder:
            document = written(new_folder)
            atomic_write.write_file(new_folder / DOCUMENT, _text(document))
    return listed(place, document)


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _of_new(folder: Path, remarks: tuple[str, ...], written: Mapping[str, Any]) -> Volume:
    name = Path(written["file"]).name
    found = described(written["name"], str(folder / name))
    # What was assumed of the whole trace was assumed of each volume; how its devices lie beside each other was not.
    whole = tuple(one for one in remarks if "device_stride" not in one)
    return replace(found, file=name, remarks=(*whole, *found.remarks))


def _is_whole(place: str, document: Mapping[str, Any]) -> bool:
    """Whether all files of a document are there, as they were written; below a URL their names must do."""
    if remote.is_url(place):
        return {one["file"] for one in document["volumes"]} <= {*remote.Tree(place).names()}
    files = [(Path(place) / one["file"], one["sha256"]) for one in document["volumes"]]
    return all(file.is_file() and digest_of(str(file)) == sha256 for file, sha256 in files)


def read(place: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the document of the volumes in a folder or below a URL; None if there is none.

    Raises:
        CoflashError: It cannot be read.
    """
    place = place if remote.is_url(place) else remote.path_of(place)
    at, names = f"{place}/{DOCUMENT}", {field.name for field in fields(Volume)}
    try:
        if remote.is_url(place):
            text = remote.Tree(str(place)).contents([DOCUMENT]).get(DOCUMENT)
        else:
            text = Path(at).read_bytes()
        if text is None:
            return None
        document: dict[str, Any] = json.loads(text)
        is_ours = {"coflash", "trace", "options"} <= set(document)
        is_ours = is_ours and all(names == set(one) for one in document["volumes"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        msg = f"{at}: cannot be read: {error}"
        raise CoflashError(msg) from error
    except (ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        msg = f"{at}: was not written by this version of coflash trace split; give another folder"
        raise CoflashError(msg)
    return document


def listed(place: str | os.PathLike[str], document: Mapping[str, Any]) -> tuple[Volume, ...]:
    """Return the volumes of a document, with the places of their files."""
    return tuple(
        Volume(**{**one, "file": f"{place}/{one['file']}", "remarks": tuple(one["remarks"])})
        for one in document["volumes"]
    )


def is_folder(place: str) -> bool:
    """Whether this is a folder, or a URL with volumes below it."""
    return remote.path_of(place).is_dir() or _document(place) is not None


def _document(place: str) -> dict[str, Any] | None:
    return read(place) if remote.is_url(place) or remote.path_of(place).is_dir() else None


def of_files(files: Iterable[str], options: Options = _NO_OPTIONS) -> tuple[Volume, ...]:
    """Take each file as a volume, named after the file; a folder of volumes stands for its own.

    Raises:
        CoflashError: A file cannot be read.
    """
    volumes: list[Volume] = []
    plain: list[str] = []
    for file in files:
        if (document := _document(file)) is not None:
            volumes += listed(file, document)
        else:
            plain.append(file)
    if folder := next((file for file in plain if not remote.is_url(file) and remote.path_of(file).is_dir()), None):
        msg = f"{folder}: is a folder without volumes; `coflash trace split TRACE --out {folder}` writes some"
        raise CoflashError(msg)
    names = [Path(file).name.split(".")[0] for file in plain]
    names = [name if names.count(name) == 1 else file for name, file in zip(names, plain, strict=True)]
    with ThreadPoolExecutor() as pool:
        return (*volumes, *pool.map(partial(described, options=options), names, plain))
