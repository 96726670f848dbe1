"""The volumes of a trace: each device as a trace of its own, and a document that lists them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from coflash import _core
from coflash._core import CoflashError, __version__
from coflash.files import atomic_write
from coflash.files.digest import digest_of
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
    found = info(file, options, page=_PAGE, sample=64)
    if found.footprint_pages is None:
        msg = f"{file}: its addresses are too far apart to count its pages; `coflash trace remap` brings them together"
        raise CoflashError(msg)
    counts = found.requests, found.write.bytes, found.footprint_pages
    return Volume(name, file, digest_of(file), *counts, tuple(found.remarks))


def split(
    trace: Paths, out: str | os.PathLike[str], options: Options = _NO_OPTIONS, progress: Progress | None = None
) -> tuple[Volume, ...]:
    """Write each device of a trace as a trace of its own, in one pass and in bounded memory.

    The first request of each is at time zero. `volumes.json` lists them. A folder with the split of the same trace
    with the same options is taken as it is, so that an interrupted work goes on.

    Args:
        trace: Its file, or its files in order; its records name a device or a volume.
        out: The folder to write: a Parquet file for each device, named after it.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].

    Returns:
        The volumes, in the order of their first requests.

    Raises:
        CoflashError: The trace cannot be read, its records name no devices, or the folder cannot be written.
    """
    folder = Path(out)
    sources = paths(trace)
    if "-" in sources:
        msg = "standard input: a split is known by the content of its trace, which is read twice: give a file"
        raise CoflashError(msg)
    if len({*sources}) < len(sources):
        msg = "split: a file was given twice; each is allowed once"
        raise CoflashError(msg)
    what = {
        "trace": [{"file": file, "sha256": digest_of(file)} for file in sources],
        "options": {key: str(value) for key, value in options.items()},
    }
    if (found := read(folder)) is not None and {key: found[key] for key in what} == what and _is_whole(folder, found):
        return listed(folder, found)
    old = set() if found is None else {DOCUMENT, *(one["file"] for one in found["volumes"])}
    settings = {key: toml_value(value) for key, value in options.items()}
    with atomic_write.folder(folder, replaces=old) as new:
        with arrow.converted(sources) as files:
            written, remarks = _core.trace_split(files, settings, str(new), progress)
        with ThreadPoolExecutor() as pool:  # the core reads without the interpreter's lock
            volumes = list(pool.map(partial(_of_new, new, tuple(remarks)), written))
        document = {"coflash": __version__, **what, "volumes": [asdict(one) for one in volumes]}
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        atomic_write.write_file(new / DOCUMENT, text)
    return listed(folder, document)


def _of_new(folder: Path, remarks: tuple[str, ...], written: Mapping[str, Any]) -> Volume:
    name = Path(written["file"]).name
    found = described(written["name"], str(folder / name))
    # What was assumed of the whole trace was assumed of each volume; how its devices lie beside each other was not.
    whole = tuple(one for one in remarks if "device_stride" not in one)
    return replace(found, file=name, remarks=(*whole, *found.remarks))


def _is_whole(folder: Path, document: Mapping[str, Any]) -> bool:
    """Whether all files of a document are there, as they were written."""
    files = [(folder / one["file"], one["sha256"]) for one in document["volumes"]]
    return all(file.is_file() and digest_of(str(file)) == sha256 for file, sha256 in files)


def read(folder: Path) -> dict[str, Any] | None:
    """Return the document of a folder of volumes; None if there is none.

    Raises:
        CoflashError: It cannot be read.
    """
    names = {field.name for field in fields(Volume)}
    try:
        document: dict[str, Any] = json.loads((folder / DOCUMENT).read_bytes())
        is_ours = {"coflash", "trace", "options"} <= set(document)
        is_ours = is_ours and all(names == set(one) for one in document["volumes"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        msg = f"{folder / DOCUMENT}: cannot be read: {error}"
        raise CoflashError(msg) from error
    except (ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        msg = f"{folder / DOCUMENT}: was not written by this version of coflash trace split; give another folder"
        raise CoflashError(msg)
    return document


def listed(folder: Path, document: Mapping[str, Any]) -> tuple[Volume, ...]:
    """Return the volumes of a document, with the places of their files."""
    return tuple(
        Volume(**{**one, "file": str(folder / one["file"]), "remarks": tuple(one["remarks"])})
        for one in document["volumes"]
    )


def of_files(files: Iterable[str], options: Options = _NO_OPTIONS) -> tuple[Volume, ...]:
    """Take each file as a volume, named after the file; a folder of volumes stands for its own.

    Raises:
        CoflashError: A file cannot be read.
    """
    volumes: list[Volume] = []
    plain: list[str] = []
    for file in files:
        if Path(file).is_dir() and (document := read(Path(file))) is not None:
            volumes += listed(Path(file), document)
        else:
            plain.append(file)
    names = [Path(file).name.split(".")[0] for file in plain]
    names = [name if names.count(name) == 1 else file for name, file in zip(names, plain, strict=True)]
    with ThreadPoolExecutor() as pool:
        return (*volumes, *pool.map(partial(described, options=options), names, plain))
