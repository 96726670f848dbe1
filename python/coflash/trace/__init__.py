"""Traces: what is in them, and what can be done to them. Everything is streamed; a file is written whole or not at all.

A trace is one file, or several in order; `-` is the standard input, and an archive (`.tar`) stands for its files.
Options say how to read it, with the names that `workload.trace_options` has in a scenario: `{"units.size": "4KiB"}`.
An Arrow file (`.arrow`, `.feather`) has the columns of coflash's Parquet files: `time_ns`, `op`, `offset`, `length`; so
has a frame of polars or pandas, or an Arrow table, which is a trace as it is.
Sizes and times are texts with their unit.

Examples:
    >>> import coflash
    >>> coflash.trace.convert("web1.spc", "web1.parquet")  # doctest: +SKIP
    >>> coflash.trace.slice("web1.parquet", "minute.parquet", time_to="1min")  # doctest: +SKIP
    >>> coflash.trace.generate("zipf", "zipf.parquet", {"read_share": "30%"}, requests=10_000)  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from coflash import _core
from coflash._core import CoflashError
from coflash.files.atomic_write import check_file, write_file
from coflash.scenario import Scenario, toml_value
from coflash.table import Table
from coflash.trace import arrow
from coflash.trace.frame import Frame, is_frame, kept
from coflash.trace.trace_info import MissRatioCurves, TraceInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Progress = Callable[[str, float | None, int], None]
Path = str | os.PathLike[str]
Paths = Path | Frame | Iterable[Path | Frame]
Options = Mapping[str, Any]

SIMULATED_PAGES = 131_072
"""The most pages that are simulated in miniature caches by default."""
_NO_OPTIONS: Options = {}


def info(
    trace: Paths,
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
    *,
    page: str = "4KiB",
    sample: int | str = "auto",
) -> TraceInfo:
    """What a trace is like: requests, sizes, footprint, working sets, popularity, reuse distances, growth, course.

    One pass, from standard input too, in memory that does not grow with the length of the trace: some 10 MB, 80 bytes
    for each page that is followed, and two bits for each page of the footprint (at most 512 MiB).

    Popularity and the miss ratios of LRU caches are exact while no more pages are touched than `sample` allows. Beyond,
    they are estimates from `sample` pages, chosen by a hash of their place, after "Efficient MRC construction with
    SHARDS" (Waldspurger et al., FAST 2015; its fixed-size variant, with the correction SHARDS-adj). `sampling` says
    which of both it was. Each estimate has its standard error beside it: the exact value lies within two of them in
    nine of ten cases or more. Over 12 Zipf workloads, from 8,192 of up to 131,072 pages, miss ratios were off by 0.006
    at most on the average over all cache sizes.

    Args:
        trace: Its file, or its files in order.
        options: How to read it.
        progress: Called as for [`run`][coflash.run].
        page: The size of a page, in which all but requests and bytes is counted: a power of two of at least 512 bytes.
        sample: The most pages that are followed one by one, at least 64; `auto` is 16,384 (64 MiB of footprint),
            `exact` as many as there are.

    Raises:
        CoflashError: The trace cannot be read, or `page` or `sample` means nothing.
    """
    # Both are texts, also where they look like numbers.
    what = {"page": toml_value(page), "sample": toml_value(str(sample))}
    given = paths(trace)
    with arrow.converted(given) as files:
        found = _core.trace_info(files, _settings(options), what, progress)
    if files != given:
        found["formats"] = [arrow.NAME if name == "parquet" else name for name in found["formats"]]
    return TraceInfo(found)


def miss_ratio_curves(
    trace: Paths,
    policies: Iterable[str] = ("lru", "sieve", "s3-fifo"),
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
    *,
    sizes: Iterable[str] = (),
    page: str = "4KiB",
    sample: int | str = SIMULATED_PAGES,
) -> MissRatioCurves:
    """Simulate plain caches of several sizes under several eviction policies: their miss ratios.

    Reads and writes alike take their page in; trims are left out. Nothing else of a device is simulated. The trace is
    read once; the accesses to at most `sample` pages are kept (4 bytes each, at most 256 MiB) and given to caches that
    are scaled down as much, after "Cache Modeling and Optimization using Miniature Simulations" (Waldspurger et al.,
    USENIX ATC 2017). Pages are chosen by a hash of their place; misses are scaled up. `sampling` says which share it
    was: 1 where all pages were simulated, and then the ratios are exact.

    Over 12 Zipf workloads of up to 30,000 pages, each with a scan, and from 2,100 to 3,800 of them, miss ratios were
    off by 0.005 on the average over six policies and seven cache sizes down to a 64th of 25,000 pages, by 0.013 in the
    worst workload, and by 0.03 at most.

    Args:
        trace: Its file, or its files in order.
        policies: Eviction policies by name (`coflash policies` lists them) with their default parameters. `belady` is
            the optimum, which knows all accesses ahead; it takes no standard input.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].
        sizes: The sizes of the caches, such as `64MiB`. Without any, 17 sizes from the footprint down to a 256th of it.
        page: The size of a page: a power of two of at least 512 bytes.
        sample: The most pages that are simulated, at least 64; `auto` is 1,048,576, `exact` as many as there are.

    Raises:
        CoflashError: The trace cannot be read, there is no such policy, or a size means nothing.
    """
    what = {"policies": list(policies), "sizes": list(sizes), "page": page, "sample": str(sample)}
    settings = {key: toml_value(value) for key, value in what.items()}
    with arrow.converted(paths(trace)) as files:
        return MissRatioCurves(_core.miss_ratio_curves(files, _settings(options), settings, progress))


def miss_ratio(trace: Paths, policy: str, size: str, options: Options = _NO_OPTIONS, *, page: str = "4KiB") -> float:
    """The share of accesses that miss in one plain cache: exact, as all pages are simulated.

    See [`miss_ratio_curves`][coflash.trace.miss_ratio_curves].
    """
    curves = miss_ratio_curves(trace, [policy], options, sizes=[size], page=page, sample="exact")
    return curves.miss_ratio[policy][0]


def cache_hits(keys: ArrayLike, policy: str, slots: int) -> NDArray[np.bool_]:
    """Serve accesses by a plain cache, and return which of them hit.

    Args:
        keys: What is accessed, in order, of shape (accesses,): numbers or texts of any kind.
        policy: An eviction policy by name, or `belady`.
        slots: How many keys the cache holds.

    Returns:
        Whether each access hits, of shape (accesses,).

    Raises:
        CoflashError: There is no such policy, or `slots` is negative.

    Examples:
        >>> coflash.trace.cache_hits(["a", "b", "a", "c", "b"], "lru", 2).tolist()
        [False, False, True, False, False]
    """
    import numpy as np

    if not 0 <= slots < 2**31:
        msg = f"cache_hits: {slots} slots were given; 0 to {2**31 - 1} is allowed"
        raise CoflashError(msg)
    _, pages = np.unique(np.asarray(keys), return_inverse=True)
    return _core.cache_hits(pages.astype(np.uint32).ravel(), policy, slots)


def head(trace: Paths, count: int = 10, options: Options = _NO_OPTIONS) -> Table:
    """The first requests of a trace: `time_ns`, `op`, `offset_bytes`, `length_bytes`.

    If any has a placement hint there is a column `placement`, NaN for a request without one.

    Raises:
        CoflashError: The trace cannot be read.
    """
    if count < 0:
        msg = f"head: a count of {count} was given; 0 or more is allowed"
        raise CoflashError(msg)
    with arrow.converted(paths(trace)) as files:
        columns = _core.trace_head(files, _settings(options), count)
    import numpy as np

    return Table({name: np.asarray(column) for name, column in columns.items()})


def convert(
    trace: Paths,
    out: Path,
    format: str | None = None,
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes a trace in another format.

    Args:
        trace: Its file, or its files in order.
        out: The file to write: `.parquet`, the quickest to read, `.arrow`, or `.iolog` for fio, also with `.zst`.
        format: `parquet`, `arrow` or `fio`, if the name does not end in it.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].

    Returns:
        What was written: `file`, `format`, `requests`, `bytes` and `remarks`.

    Raises:
        CoflashError: The trace cannot be read, or the file not be written.
    """
    return _rewrite(trace, out, {}, format, options, progress)


def slice(  # noqa: A001 - the word of the field
    trace: Paths,
    out: Path,
    *,
    time_from: str | None = None,
    time_to: str | None = None,
    address_from: str | None = None,
    address_to: str | None = None,
    skip: int | None = None,
    count: int | None = None,
    format: str | None = None,
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes a part of a trace, its first request at zero; see [`convert`][coflash.trace.convert] for the rest.

    Args:
        trace: Its file, or its files in order.
        out: The file to write.
        time_from: Requests before it are left out, such as `10s`.
        time_to: Requests from it on are left out.
        address_from: What lies below it is left out, such as `1GiB`; a request that reaches beyond is cut.
        address_to: What lies above it is left out.
        skip: So many of the requests left by then are left out.
        count: So many of the rest are kept.
        format: As for `convert`.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].
    """
    part = {
        "slice.time_from": time_from,
        "slice.time_to": time_to,
        "slice.address_from": address_from,
        "slice.address_to": address_to,
        "slice.skip": skip,
        "slice.count": count,
    }
    return _rewrite(trace, out, part, format, options, progress)


def merge(
    traces: Iterable[Path],
    out: Path,
    offsets: Iterable[str] | None = None,
    format: str | None = None,
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes several traces as one, by time; see [`convert`][coflash.trace.convert] for the rest.

    Traces whose times are dates keep their distance. A device that several have is one device, unless they are moved.

    Args:
        traces: The traces, a file each.
        out: The file to write.
        offsets: How far up each trace is moved in the address space, such as `64GiB`; without it none is.
        format: As for `convert`.
        options: How to read the traces.
        progress: Called as for [`run`][coflash.run].
    """
    files = paths(traces)
    places = ["0B"] * len(files) if offsets is None else list(offsets)
    return _rewrite(files, out, {"offsets": places}, format, options, progress)


def remap(
    trace: Paths,
    out: Path,
    to: Literal["dense", "modulo"] = "dense",
    page: str = "4KiB",
    size: str | None = None,
    format: str | None = None,
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes a trace with its addresses moved, page by page; see [`convert`][coflash.trace.convert] for the rest.

    Args:
        trace: Its file, or its files in order.
        out: The file to write.
        to: `dense` numbers pages as they are first read or written, `modulo` takes them modulo `size`.
        page: What is moved as one.
        size: For `modulo`.
        format: As for `convert`.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].
    """
    steps = {"remap.to": to, "remap.page": page, "remap.size": size}
    return _rewrite(trace, out, steps, format, options, progress)


def generate(
    workload: str | os.PathLike[str] | Scenario,
    out: Path,
    settings: Mapping[str, Any] | None = None,
    *,
    requests: int | None = None,
    seed: int | None = None,
    space: str | None = None,
    format: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes a workload that is made up as a trace: the very requests that a run of its scenario would be given.

    Args:
        workload: A generator (`zipf`), a workload that is ready made (`jesd219-enterprise`), `disksim`, or a scenario
            (its name, its file or itself), of which the workload is taken: phases, tenants, or whatever else is in it.
        out: The file to write; see [`convert`][coflash.trace.convert].
        settings: Keys and values: of a generator those of `workload.synthetic`, such as `{"generator.exponent": 0.9,
            "read_share": "30%"}`; of a ready-made workload its parameters; of a scenario its keys.
        requests: The number of requests; for phases and tenants the most.
        seed: Another seed than the scenario's, which is 0 for a workload that is named.
        space: The addresses it is laid out over: what the scenario's device exports, or else `64GiB`.
        format: As for `convert`.
        progress: Called as for [`run`][coflash.run].

    Returns:
        What was written, as `convert` does. `remarks` say what a reader of the trace must know.

    Raises:
        CoflashError: There is no such workload, a setting is not allowed, or the file cannot be written.
    """
    if isinstance(workload, Scenario):
        generated = _core.Generated.of(workload.with_(settings).core)
    else:
        generated = _core.Generated.named(os.fspath(workload), _settings(settings or {}))
    asked = generated.with_(requests, seed, space)
    return _written(out, format, lambda file, name: asked.write(file, name, progress))


def like(
    trace: Paths,
    out: Path | None = None,
    *,
    requests: int | None = None,
    seed: int = 0,
    page: str = "4KiB",
    format: str | None = None,
    options: Options = _NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Makes up a workload like a trace, and measures both the same way.

    Args:
        trace: Its file, or its files in order.
        out: Where the workload is written: a trace, as for [`convert`][coflash.trace.convert], or with `.toml` at its
            end a scenario with the workload as `workload.synthetic`.
        requests: How many are written; as many as the trace has if None.
        seed: Of the workload that is written.
        page: Popularity and footprint are counted in pages of this size.
        format: As for `convert`.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].

    Returns:
        `workload`, the keys of `workload.synthetic`; `original` and `fitted`, measured the same way; `remarks` on the
        trace; and `written`, where `out` is a trace.

    Raises:
        CoflashError: The trace cannot be read, it asks for no address, or the file cannot be written.
    """
    with arrow.converted(paths(trace)) as files:
        likeness = _core.trace_like(files, _settings(options), page, requests, progress)
    found = likeness.to_dict()
    if out is not None and os.fspath(out).endswith(".toml"):
        write_file(FilePath(out), likeness.to_toml(seed))
    elif out is not None:
        fitted = likeness.generated(seed)
        found["written"] = _written(out, format, lambda file, name: fitted.write(file, name, progress))
    return found


def targets() -> list[str]:
    """The formats that can be written."""
    return _core.trace_targets()


def paths(given: Paths) -> list[str]:
    """One path or several, as texts; that of a frame's file for a frame."""
    if isinstance(given, str | os.PathLike) or is_frame(given):
        given = [given]  # type: ignore[list-item]  # a frame may be iterable
    return [kept(each) if is_frame(each) else os.fspath(each) for each in given]  # type: ignore[arg-type, union-attr]


def _rewrite(
    trace: Paths,
    out: Path,
    steps: Mapping[str, Any],
    format: str | None,
    options: Options,
    progress: Progress | None,
) -> dict[str, Any]:
    how, what = _settings(options), _settings(steps)
    with arrow.converted(paths(trace)) as files:
        return _written(out, format, lambda file, name: _core.trace_rewrite(files, how, what, file, name, progress))


def _written(out: Path, format: str | None, write: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
    """Write to `out`, given a function that writes a file in a format of the core."""
    given = os.fspath(out)
    target = _core.trace_target(given, format)
    if target != arrow.NAME:
        return write(given, target)
    check_file(FilePath(given))
    with TemporaryDirectory(prefix="coflash-") as folder:
        parquet = str(FilePath(folder, "trace.parquet"))
        with arrow.renaming({parquet: given}):
            written = write(parquet, "parquet")
        return {**written, "file": given, "format": target, "bytes": arrow.write(parquet, given)}


def _settings(given: Mapping[str, Any]) -> dict[str, str]:
    """Keys and values as the core reads them, a text as it is; None is not given."""
    return {
        key: value if isinstance(value, str) else toml_value(value) for key, value in given.items() if value is not None
    }
