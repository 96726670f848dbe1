"""The volumes of a trace: each device as a trace of its own, and a document that lists them."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tempfile
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from coflash import _core
from coflash._core import CoflashError, __version__
from coflash.files import atomic_write, remote
from coflash.files.digest import check_lasting, digest_of
from coflash.files.kept import fetched
from coflash.quantity import counted, some
from coflash.trace import NO_OPTIONS, Options, Paths, Progress, info, paths, settings_of
from coflash.trace.survey import DOCUMENT, files_in
from coflash.trace.trace_info import TraceInfo

_PAGE = "4KiB"
_Given = TypeVar("_Given", bound=Hashable)
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Volume:
    """A volume: a trace of one device, and what a device for it must hold."""

    name: str
    """The name of the device in the trace, or that of the file."""
    file: str
    """The path or URL of its trace."""
    sha256: str
    bytes: int
    """The size of its trace."""
    requests: int
    written_bytes: int
    """What it writes, each time anew."""
    footprint_pages: int
    """Distinct pages of 4 KiB that it reads, writes or trims."""
    remarks: tuple[str, ...] = ()
    """Assumptions and omissions of its reader."""
    begins_ns: int | None = None
    """When its first request comes, after the first one of the trace that was split; its own trace begins at 0."""


def described(name: str, file: str, options: Options = NO_OPTIONS) -> Volume:
    """Describe a file as a volume.

    Raises:
        CoflashError: It cannot be read, or its footprint cannot be counted.
    """
    check_lasting([file], "a volume is read more than once")
    here = fetched(file)
    found, pages = _touched(file, here, options, _PAGE)
    size = Path(here).stat().st_size
    return Volume(name, file, digest_of(here), size, found.requests, found.write.bytes, pages, tuple(found.remarks))


def touched_pages(volume: Volume, options: Options, page: str) -> int:
    """Count the pages of some size that a volume touches.

    Raises:
        CoflashError: It cannot be read, or they cannot be counted.
    """
    return _touched(volume.file, fetched(volume.file), options, page)[1]


def _touched(file: str, here: str, options: Options, page: str) -> tuple[TraceInfo, int]:
    found = info(here, options, page=page, sample=64, trims=True)
    if found.footprint_pages is None:
        msg = f"{file}: its addresses are too far apart to count its pages"
        raise CoflashError(f"{msg}; `coflash trace slice --address FROM..UNTIL` takes a part")
    return found, found.footprint_pages


def split(
    trace: Paths,
    out: str | os.PathLike[str],
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
    workers: int | None = None,
) -> tuple[Volume, ...]:
    """Write each device of a trace as a trace of its own, in one pass and in bounded memory.

    The first request of each is at time zero. `volumes.json` lists them. A folder with the split of the same trace
    with the same options is taken as it is: a fleet that goes on splits nothing again. A warning names what is damaged
    in it, and is made anew. A folder with the split of another trace is refused. Files, and parts of a long text whose
    lines each tell a record, are read side by side.

    Args:
        trace: Its file, or its files in order; its records name a device or a volume.
        out: The folder to write, or a URL: a Parquet file for each device, named after it.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].
        workers: The number of threads; None for one on each core. The files that are written do not depend on it.

    Returns:
        The volumes, in the order of their first requests.

    Raises:
        CoflashError: The trace cannot be read, its records name no devices, or the folder cannot be written.
    """
    sources, place = paths(trace), str(out if remote.is_url(out) else remote.path_of(out))
    check_lasting(sources, "a split is known by the content of its trace, which is read twice")
    if len({source if remote.is_url(source) else os.path.realpath(source) for source in sources}) < len(sources):
        raise CoflashError("split: a file was given twice; each is allowed once")
    with ThreadPoolExecutor(workers) as pool:  # the core reads without the interpreter's lock
        here = list(pool.map(fetched, sources))
        digests = pool.map(digest_of, here)
    listed_sources = [{"file": file, "sha256": sha256} for file, sha256 in zip(sources, digests, strict=True)]
    what = {"trace": listed_sources, "options": {key: str(value) for key, value in options.items()}}
    found = read(place)
    old = {} if found is None else {one["file"]: one for one in found["volumes"]}
    if found is not None and {key: found[key] for key in what} == what:
        if not (damaged := _damaged(place, found)):
            return listed(place, found)
        warnings.warn(f"{place}: made anew, not as {DOCUMENT} lists it: {', '.join(sorted(damaged))}", stacklevel=2)
        old = {file: one for file, one in old.items() if file not in damaged}
    elif found is not None:
        _check_same_trace(place, found["trace"], listed_sources)

    def written(new: Path, within: str = "") -> dict[str, Any]:
        devices, remarks = _core.trace_split(here, settings_of(options), str(new), workers, progress)
        with ThreadPoolExecutor(workers) as pool:
            volumes = list(pool.map(partial(_of_new, new, tuple(remarks)), devices))
        listing = [{**asdict(one), "file": within + one.file} for one in volumes]
        return {"coflash": __version__, **what, "volumes": listing}

    if remote.is_url(place):
        # Beside what is there, which stays whole until the new list replaces the old one.
        tree, within = remote.Tree(place), hashlib.sha256(_text(what).encode()).hexdigest()[:12] + "/"
        with tempfile.TemporaryDirectory() as new, ThreadPoolExecutor(workers) as pool:
            document = json.loads(_text(written(Path(new), within)))
            files = [one["file"] for one in document["volumes"] if old.pop(one["file"], None) != one]
            list(pool.map(lambda file: tree.put(file, Path(new, file.removeprefix(within))), files))
        tree.put(DOCUMENT, _text(document).encode())
        for file in old:
            tree.remove(file)
    else:
        replaces = set() if found is None else {DOCUMENT, *(one["file"] for one in found["volumes"])}
        with atomic_write.folder(Path(place), replaces) as new_folder:
            document = written(new_folder)
            atomic_write.write_file(new_folder / DOCUMENT, _text(document))
    return listed(place, document)


def _check_same_trace(place: str, old: Sequence[Mapping[str, str]], new: Sequence[Mapping[str, str]]) -> None:
    """Refuse a folder with the volumes of a file that is not among those given, under its name or by its content."""
    given = {value for one in new for value in one.values()}
    if others := [one["file"] for one in old if given.isdisjoint(one.values())]:
        msg = f"{place}: it has the volumes of {some(others)}, which would be lost, and was to get those of"
        raise CoflashError(f"{msg} {some([one['file'] for one in new])}: give another folder, or remove this one")


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _of_new(folder: Path, remarks: tuple[str, ...], written: Mapping[str, Any]) -> Volume:
    name = Path(written["file"]).name
    found = described(written["name"], str(folder / name))
    # What was assumed of the whole trace was assumed of each volume; how its devices lie beside each other was not.
    whole = tuple(one for one in remarks if "device_stride" not in one)
    return replace(found, file=name, remarks=(*whole, *found.remarks), begins_ns=written["begins_ns"])


def _damaged(place: str, document: Mapping[str, Any]) -> set[str]:
    """Return the files that are not as a document lists them: in a folder by their content, below a URL by size."""
    volumes = document["volumes"]
    if remote.is_url(place):
        sizes = remote.Tree(place).sizes()
        return {
            one["file"] for one in volumes if one["file"] not in sizes or sizes[one["file"]] not in (one["bytes"], None)
        }

    def is_whole(one: Mapping[str, Any]) -> bool:
        file = Path(place) / one["file"]
        return file.is_file() and file.stat().st_size == one["bytes"] and digest_of(str(file)) == str(one["sha256"])

    with ThreadPoolExecutor() as pool:
        return {one["file"] for one, whole in zip(volumes, pool.map(is_whole, volumes), strict=True) if not whole}


def read(place: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the document of the volumes in a folder or below a URL; None if there is none.

    Raises:
        CoflashError: It cannot be read.
    """
    place = place if remote.is_url(place) else remote.path_of(place)
    at = f"{place}/{DOCUMENT}"
    try:
        if remote.is_url(place):
            text = remote.Tree(str(place)).contents([DOCUMENT]).get(DOCUMENT)
        else:
            text = Path(at).read_bytes()
        if text is None:
            return None
        document: dict[str, Any] = json.loads(text)
        if not {"coflash", "trace", "options"} <= set(document):
            raise KeyError
        listed(place, document)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CoflashError(f"{at}: cannot be read: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        msg = f"{at}: was not written by this version of coflash trace split; give another folder"
        raise CoflashError(msg) from error
    return document


def listed(place: str | os.PathLike[str], document: Mapping[str, Any]) -> tuple[Volume, ...]:
    """Return the volumes of a document, with the places of their files."""
    return tuple(
        Volume(**{**one, "file": f"{place}/{one['file']}", "remarks": tuple(one["remarks"])})
        for one in document["volumes"]
    )


def _command(document: Mapping[str, Any]) -> str:
    """Return the command that wrote a split, but for its folder."""
    words = ["coflash", "trace", "split", *(one["file"] for one in document["trace"])]
    for key, value in document["options"].items():
        words += ["--read", f"{key}={value}"]
    return shlex.join(words)


def documents(files: Iterable[str], *, each_file: bool = False) -> dict[str, dict[str, Any] | None]:
    """Return the documents of files that are folders of volumes, or URLs of some; None of others.

    With `each_file` any other folder stands for its files.

    Raises:
        CoflashError: One cannot be read, or its files are not as it lists them.
    """
    found = dict[str, dict[str, Any] | None]()
    for file in files:
        is_folder = not remote.is_url(file) and remote.path_of(file).is_dir()
        document = read(file) if remote.is_url(file) or is_folder else None
        inside = files_in(file) if is_folder and document is None else ()
        found |= dict.fromkeys(inside) if each_file and inside else {file: document}
        if document is None and is_folder and not (each_file and inside):
            given, mend = shlex.quote(file), f"`coflash trace split TRACE --out {file}` writes some"
            if inside:
                mend = f"`coflash fleet {given} --by file` takes each file as a volume"
                mend += f", `coflash trace split {given}/* --out DIR` writes those that its records name"
            raise CoflashError(f"{file}: is a folder without volumes; {mend}")
        if document is not None and (damaged := _damaged(str(file), document)):
            names = ", ".join(sorted(damaged))
            msg = f"{file}: not as {DOCUMENT} lists it: {names}; `{_command(document)} --out {file}` mends it"
            raise CoflashError(msg)
    return found


def of_files(
    files: Mapping[str, dict[str, Any] | None], options: Options = NO_OPTIONS
) -> tuple[tuple[Volume, ...], dict[str, str]]:
    """Take each file as a volume, named after the file; a folder of volumes, which has a document, stands for its own.

    Returns:
        The volumes, and why other files cannot be read, if those are skipped.

    Raises:
        CoflashError: Files cannot be read; all are named.
    """
    volumes = [one for file, document in files.items() if document is not None for one in listed(file, document)]
    plain = [file for file, document in files.items() if document is None]
    names = [Path(file).name.split(".")[0] for file in plain]
    names = [name if names.count(name) == 1 else file for name, file in zip(names, plain, strict=True)]
    described_files, unread = of_each(
        list(zip(names, plain, strict=True)), lambda item: described(*item, options), options
    )
    return (*volumes, *described_files), {file: problem for (_, file), problem in unread.items()}


def of_each(
    items: Sequence[_Given], read: Callable[[_Given], _Found], options: Options
) -> tuple[list[_Found], dict[_Given, str]]:
    """Read files side by side; those that cannot be read are left out with `on_error` "skip", each with its reason.

    Raises:
        CoflashError: Files cannot be read, and are not left out, or none can; all are named.
    """

    def tried(item: _Given) -> tuple[_Found | None, str]:
        try:
            return read(item), ""
        except CoflashError as error:
            return None, str(error)

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(tried, items))
    unread = {item: problem for item, (_, problem) in zip(items, results, strict=True) if problem}
    if unread and (options.get("on_error") != "skip" or len(unread) == len(items)):
        skips = "; the option on_error=skip skips bad records, and leaves out files with too many"
        without = "" if len(unread) == len(items) else skips
        some = f"{len(unread)} of {counted(len(items), 'file')} cannot be read{without}:\n  "
        raise CoflashError((some if len(items) > 1 else "") + "\n  ".join(unread.values()))
    return [item for item, problem in results if item is not None], unread
