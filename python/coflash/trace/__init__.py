"""Traces: descriptions and tools. Everything is streamed; a file is written whole or not at all.

A trace is one file, or several in order; `-` is the standard input, and an archive (`.tar`) stands for its files.
Options say how to read it, with the names that `workload.trace_options` has in a scenario: `{"units.size": "4KiB"}`.
An Arrow file (`.arrow`, `.feather`), a frame of polars or pandas, also a lazy one, or an Arrow table is a trace, too.
Its columns are those of coflash's Parquet files (`time_ns`, `op`, `offset`, `length`), or known by other usual names,
as in a text. Sizes and times are texts with their unit.

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
from typing import TYPE_CHECKING, Any

from coflash import _core
from coflash._core import CoflashError
from coflash.files.atomic_write import check_file, write_file
from coflash.files.digest import awaited
from coflash.files.kinds import LIKE, LIKE_HEAD, TRACE
from coflash.lookup import no_such
from coflash.policies import policies
from coflash.scenario import Scenario, toml_value
from coflash.table import Table
from coflash.trace.frame import Frame, LazyFrame, columns_of, is_frame, kept
from coflash.trace.trace_info import MissRatioCurves, TraceInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
else:
    import lazy_loader

    __getattr__, *_ = lazy_loader.attach(__name__, ["survey", "volumes"])

Progress = Callable[[str, float | None, int], None]
Path = str | os.PathLike[str]
AnyFrame = Frame | LazyFrame
Paths = Path | AnyFrame | Iterable[Path | AnyFrame]
Options = Mapping[str, Any]

SIMULATED_PAGES = 131_072
"""The default for the largest number of pages simulated in miniature caches."""
WORKLOADS = ("workload.synthetic.generator", "workload.preset")
"""The families of policies whose members are workloads."""
NO_OPTIONS: Options = {}


def __dir__() -> list[str]:
    own = (name for name, value in globals().items() if getattr(value, "__module__", "") == __name__)
    return [*(name for name in own if name[0] != "_"), "MissRatioCurves", "TraceInfo", "survey", "volumes"]


def info(
    trace: Paths,
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
    *,
    page: str = "4KiB",
    sample: int | str = "auto",
    trims: bool = False,
) -> TraceInfo:
    """Describe a trace: requests, sizes, footprint, working sets, popularity, reuse distances, growth, course.

    One pass, from standard input too, in memory that does not grow with the length of the trace: some 10 MB, 80 bytes
    for each tracked page, and two bits for each page of the footprint (at most 512 MiB).

    Popularity and the miss ratios of LRU caches are exact for a footprint of up to `sample` pages. Beyond, they are
    estimates from `sample` pages, chosen by a hash of their number, after "Efficient MRC construction with SHARDS"
    (Waldspurger et al., FAST 2015; its fixed-size variant, with the correction SHARDS-adj). `sampling` tells which case
    it was. Each estimate comes with its standard error; 2.131 of them on each side are a 95 % interval, in which 95 %
    of the exact values of a recorded trace lay, over 40 samples. Over 12 Zipf workloads, from 8,192 of up to 131,072
    pages, the error of miss ratios, averaged over all cache sizes, was at most 0.006.

    Args:
        trace: Its file, or its files in order.
        options: How to read it.
        progress: Called as for [`run`][coflash.run].
        page: The size of a page, the unit of all counts but requests and bytes: a power of two of at least 512 bytes.
        sample: The largest number of tracked pages, at least 64; `auto` is 16,384 (64 MiB of footprint), `exact` all
            pages.
        trims: Whether the footprint has the pages of trims, too, for which a run that numbers pages densely has room.

    Raises:
        CoflashError: The trace cannot be read, or `page` or `sample` is invalid.
    """
    # Both are texts, even if they look like numbers.
    what = {"page": toml_value(page), "sample": toml_value(str(sample)), "trims": toml_value(trims)}
    files, how = paths(trace), settings_of(options)
    return TraceInfo(awaited(files, lambda: _core.trace_info(files, how, what, progress)))


def miss_ratio_curves(
    trace: Paths,
    policies: Iterable[str] = ("lru", "sieve", "s3-fifo"),
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
    *,
    sizes: Iterable[str | int] = (),
    page: str = "4KiB",
    sample: int | str = SIMULATED_PAGES,
) -> MissRatioCurves:
    """Compute miss ratios: simulate plain caches of several sizes under several eviction policies.

    Both reads and writes insert their page; trims are left out. Nothing else of a device is simulated. The trace is
    read once; the accesses to at most `sample` pages are kept (4 bytes each, at most 256 MiB) and given to caches that
    are scaled down by the same factor, after "Cache Modeling and Optimization using Miniature Simulations" (Waldspurger
    et al., USENIX ATC 2017). Pages are chosen by a hash of their number; misses are scaled up. `sampling` holds the
    share of the pages: at 1 all were simulated, and the ratios are exact.

    Over 12 Zipf workloads of up to 30,000 pages, each with a scan, estimated from 2,100 to 3,800 pages, for six
    policies and seven cache sizes down to a 64th of 25,000 pages, the error of miss ratios was 0.005 on average, 0.013
    on average in the worst workload, and at most 0.03.

    Args:
        trace: Its file, or its files in order.
        policies: Eviction policies by name (`coflash policies` lists them) with their default parameters. `belady` is
            the optimum, which knows all accesses ahead; it takes no standard input.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].
        sizes: The sizes of the caches, such as `64MiB`, or whole bytes. Default: 17 sizes, from the footprint down to a
            256th of it.
        page: The size of a page: a power of two of at least 512 bytes.
        sample: The largest number of simulated pages, at least 64; `auto` is 1,048,576, `exact` all pages.

    Raises:
        CoflashError: The trace cannot be read, there is no such policy, or a size is invalid.
    """
    in_text = [f"{size}B" if isinstance(size, int) else size for size in sizes]
    what = {"policies": list(policies), "sizes": in_text, "page": page, "sample": str(sample)}
    settings = {key: toml_value(value) for key, value in what.items()}
    files, how = paths(trace), settings_of(options)
    return MissRatioCurves(awaited(files, lambda: _core.miss_ratio_curves(files, how, settings, progress)))


def miss_ratio(
    trace: Paths, policy: str, size: str | int, options: Options = NO_OPTIONS, *, page: str = "4KiB"
) -> float:
    """Return the exact miss ratio of one plain cache: all pages are simulated.

    See [`miss_ratio_curves`][coflash.trace.miss_ratio_curves].
    """
    return miss_ratio_curves(trace, [policy], options, sizes=[size], page=page, sample="exact").miss_ratio[policy][0]


def cache_hits(keys: ArrayLike, policy: str, slots: int) -> NDArray[np.bool_]:
    """Simulate a plain cache, and return for each access whether it hits.

    Args:
        keys: The accessed objects, in order, of shape (accesses,): numbers or texts of any kind.
        policy: An eviction policy by name, or `belady`.
        slots: The capacity of the cache, in keys.

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
        raise CoflashError(f"cache_hits: {slots} slots were given; 0 to {2**31 - 1} is allowed")
    _, pages = np.unique(np.asarray(keys), return_inverse=True)
    return _core.cache_hits(pages.astype(np.uint32).ravel(), policy, slots)


def head(trace: Paths, count: int = 10, options: Options = NO_OPTIONS) -> Table:
    """Return the first requests of a trace: `time_ns`, `op`, `offset_bytes`, `length_bytes`.

    If any has a placement hint there is a column `placement`, NaN for a request without one.

    Raises:
        CoflashError: The trace cannot be read.
    """
    if count < 0:
        raise CoflashError(f"head: a count of {count} was given; 0 or more is allowed")
    columns = awaited(files := paths(trace), lambda: _core.trace_head(files, settings_of(options), count))
    import numpy as np

    return Table({name: np.asarray(column) for name, column in columns.items()})


def convert(
    trace: Paths,
    out: Path,
    format: str | None = None,
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a trace in another format, as one device from time 0: dates and names of devices go.

    Args:
        trace: Its file, or its files in order.
        out: The file to write: `.parquet`, the quickest to read, `.arrow`, or `.iolog` for fio, also with `.zst`.
        format: `parquet`, `arrow` or `fio`, if the name does not end in it.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].

    Returns:
        A summary of the written file: `file`, `format`, `requests`, `bytes` and `remarks`.

    Raises:
        CoflashError: The trace cannot be read, or the file cannot be written.
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
    sample: int | None = None,
    skip: int | None = None,
    count: int | None = None,
    format: str | None = None,
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a part of a trace, its first request at time zero; see [`convert`][coflash.trace.convert] for the rest.

    Args:
        trace: Its file, or its files in order.
        out: The file to write.
        time_from: The start, such as `10s`; earlier requests are left out.
        time_to: The end; requests at this time or later are left out.
        address_from: The lowest address, such as `1GiB`; requests are cut to the range.
        address_to: The end of the address range.
        sample: Keep one chunk of 256 KiB in this many, moved together: the trace of a drive scaled to that fraction.
        skip: The number of requests to skip within these limits.
        count: The number of requests to keep after that.
        format: As for `convert`.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].
    """
    part = {
        "slice.time_from": time_from,
        "slice.time_to": time_to,
        "slice.address_from": address_from,
        "slice.address_to": address_to,
        "slice.sample": sample,
        "slice.skip": skip,
        "slice.count": count,
    }
    return _rewrite(trace, out, part, format, options, progress)


def merge(
    traces: Iterable[Path],
    out: Path,
    offsets: Iterable[str] | None = None,
    format: str | None = None,
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Merge several traces by time; see [`convert`][coflash.trace.convert] for the rest.

    Traces with dates as times keep their distance in time. A device in several traces stays one, unless moved.

    Args:
        traces: The traces, a file each.
        out: The file to write.
        offsets: The shift of each trace in the address space, such as `64GiB`; none by default.
        format: As for `convert`.
        options: How to read the traces.
        progress: Called as for [`run`][coflash.run].
    """
    files = paths(traces)
    places = ["0B"] * len(files) if offsets is None else list(offsets)
    return _rewrite(files, out, {"offsets": places}, format, options, progress)


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
    """Write a generated workload as a trace: exactly the requests of a run of its scenario.

    Args:
        workload: A generator (`zipf`), a preset (`jesd219-enterprise`, or its beginning `jesd219`), `disksim`, or a
            scenario (an object, its name or its file), to use its workload: phases, tenants, or any other.
        out: The file to write; see [`convert`][coflash.trace.convert].
        settings: Keys and values: for a generator those of `workload.synthetic`, such as `{"generator.exponent": 0.9,
            "read_share": "30%"}`; for a preset its parameters; for a scenario its keys.
        requests: The number of requests; for phases and tenants the largest number.
        seed: A seed instead of the scenario's, which is 0 for a named workload.
        space: The size of the address space; by default the exported capacity of the scenario's device, or else
            `64GiB`.
        format: As for `convert`.
        progress: Called as for [`run`][coflash.run].

    Returns:
        A summary of the written file, as `convert` does. `remarks` are notes for readers of the trace.

    Raises:
        CoflashError: There is no such workload, a setting is not allowed, or the file cannot be written.
    """
    if isinstance(workload, Scenario):
        generated = _core.Generated.of(workload.with_(settings))
    else:
        generated = _core.Generated.named(named(os.fspath(workload)), settings_of(settings or {}))
    asked = generated.with_(requests, seed, space)
    check_file(FilePath(out), TRACE, _read_by(workload))
    return asked.write(os.fspath(out), format, progress)


def named(beginning: str) -> str:
    """Return the only generator or preset whose name begins like this; else what was given."""
    found = [one.name for family in policies() if family.key in WORKLOADS for one in family.policies]
    found = [name for name in found if name == beginning] or [name for name in found if name.startswith(beginning)]
    return found[0] if len(found) == 1 else beginning


def like(
    trace: Paths,
    out: Path | None = None,
    *,
    requests: int | None = None,
    seed: int = 0,
    page: str = "4KiB",
    format: str | None = None,
    options: Options = NO_OPTIONS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Fit a generated workload to a trace, and measure both the same way.

    Args:
        trace: Its file, or its files in order.
        out: The file to write: a trace, as for [`convert`][coflash.trace.convert], or with the suffix `.toml` a
            scenario with the workload as `workload.synthetic`.
        requests: The number of written requests; if None, for as many pages as in the trace.
        seed: The seed of the written and the measured workload.
        page: The size of a page, the unit of popularity and footprint.
        format: As for `convert`.
        options: How to read the trace.
        progress: Called as for [`run`][coflash.run].

    Returns:
        `workload`, the keys of `workload.synthetic`; `original` and `fitted`, measured the same way; `remarks` on the
        trace; and `written`, if `out` is a trace.

    Raises:
        CoflashError: The trace cannot be read, no request has an address, or the file cannot be written.
    """
    given = paths(trace)
    if out is not None:
        check_file(FilePath(out), LIKE if os.fspath(out).endswith(".toml") else TRACE, given)
    how = settings_of(options)
    fitted = awaited(given, lambda: _core.trace_like(given, how, page, requests, seed, progress))
    found, scenario, generated = fitted
    if out is not None and os.fspath(out).endswith(".toml"):
        write_file(FilePath(out), LIKE_HEAD + scenario)
    elif out is not None:
        found["written"] = generated.write(os.fspath(out), format, progress)
    return found


def columns(frame: AnyFrame, roles: Mapping[str, str]) -> str:
    """Return the value of the option `columns` for a frame whose columns have names of one's own.

    Examples:
        >>> columns = {"when": [0, 9], "kind": ["R", "W"], "at": [0, 8], "many": [8, 8]}
        >>> frame = polars.DataFrame(columns)  # doctest: +SKIP
        >>> roles = {"when": "time:us", "kind": "op", "at": "offset:sectors", "many": "size:sectors"}
        >>> coflash.trace.info(frame, {"columns": coflash.trace.columns(frame, roles)})  # doctest: +SKIP

    Args:
        frame: The frame.
        roles: By the name of a column its role and unit: `time:us`, `op`, `offset:bytes`, `size:sectors`, `device`,
            `latency:ms`, `placement`. Other columns are left out.

    Raises:
        CoflashError: The frame has no such column.
    """
    names = columns_of(frame)
    for name in roles:
        if name not in names:
            raise no_such("columns: the frame has no column", name, names)
    return ",".join(roles.get(name, "skip") for name in names)


def paths(given: Paths) -> list[str]:
    """Return one path or several, as texts; for a frame the path of its file.

    Raises:
        CoflashError: Something else is given.
    """
    alone = is_frame(given) or not isinstance(given, Iterable) or isinstance(given, str)  # a frame may be iterable
    return [_path(each) for each in ([given] if alone else given)]  # type: ignore[union-attr]


def _path(given: Any) -> str:
    if is_frame(given):
        return kept(given)
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    msg = f"trace: {type(given).__name__} was given; a path, a URL or a frame is allowed, or a list of them"
    raise CoflashError(msg)


def _rewrite(
    trace: Paths,
    out: Path,
    steps: Mapping[str, Any],
    format: str | None,
    options: Options,
    progress: Progress | None,
) -> dict[str, Any]:
    how, what = settings_of(options), settings_of(steps)
    given = paths(trace)
    check_file(FilePath(out), TRACE, given)
    return awaited(given, lambda: _core.trace_rewrite(given, how, what, os.fspath(out), format, progress))


def _read_by(workload: str | os.PathLike[str] | Scenario) -> list[str]:
    """Return the files that a workload to generate is read from."""
    if isinstance(workload, Scenario):
        own = workload.to_dict()["workload"]
        return [*own["trace"], *own["like"], *filter(None, [own.get("fio")])]
    name = os.fspath(workload)
    return [name, *_read_by(Scenario.load(name))] if name.endswith(".toml") else [name]


def settings_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Return keys and values as the core reads them; texts are unchanged, None is left out."""
    return {
        key: value if isinstance(value, str) else toml_value(value) for key, value in given.items() if value is not None
    }
