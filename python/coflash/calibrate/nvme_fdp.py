"""`nvme fdp stats`: a result in that form, and logs of it beside a result; logs of `nvme smart-log` as well.

nvme-cli prints three counters of the endurance group since the beginning: HBMW, MBMW, MBE. A log is what it printed one
time after the other, as text, as a table (nvme-cli 3) or as JSON. Lines that begin with `#` are ours: the end of each
interval, and at last the handles, of which a device tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from coflash._core import CoflashError
from coflash.files.errors import text_of
from coflash.quantity import show, show_change
from coflash.results.result import Result
from coflash.sweep.memory import page_bytes

NAMES = {
    "HBMW": "Host Bytes with Metadata Written",
    "MBMW": "Media Bytes with Metadata Written",
    "MBE": "Media Bytes Erased",
}
_COUNTER = re.compile(
    r"\b(HBMW|MBMW|MBE)\b[\")\s]*[:=|\s]\s*\"?(\d[\d,.'_\u202f\u00a0 ]*)(?=([^\W\d]*))", re.IGNORECASE
)
_HOST_UNITS = re.compile(r"(?i)data[ _]units[ _]written[\"\s]*:\s*\"?(\d[\d,.'_\u202f\u00a0]*)")
"""The host's counter of `nvme smart-log` and smartctl: thousands of 512 bytes, with a rounded size behind it."""
_MEDIA_BYTES = re.compile(
    r"(?i)physical.media.units.written[\"\s]*[-:][\s{]*(?:\"hi\"[\s:]*)?(?:(\d+)(?:[ \t]+|,\s*\"lo\"[\s:]*))?(\d+)"
)
"""The counter of `nvme ocp smart-add-log`: bytes, as one number, or as its two halves of 64 bits."""
_WHOLE = re.compile(r"\d+|\d{1,3}(?:[,.'_\u202f\u00a0 ]\d{3})+")
_DIGITS_MOST = 52
"""Of a counter of 128 bits, with separators."""
_WAF_MOST = 100.0
"""A log with a larger write amplification has counters of two units."""
_HANDLE = re.compile(
    r"^(?:#\s*|Reclaim Unit )handle\s+(\d{1,9})\b.*?\b(\d{1,39}),?\s+(?:media\s+)?(\d{1,39})\s*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Host and media bytes of a handle: our line, or that of WARP's nvme-cli, each time anew."""
_BYTES = ("", "b", "byte", "bytes", "hbmw", "mbmw", "mbe", "host", "media")
_STEP = 0.25
"""The distance of the rows of a comparison, in fills."""
_FILLS_MOST = 100.0
"""A longer log is one of a larger drive, most likely."""


class Stats(NamedTuple):
    """The counters at one time, in bytes since the beginning."""

    host: int
    media: int
    erased: int

    @property
    def waf(self) -> float:
        """Media bytes over host bytes."""
        return self.media / self.host if self.host else 1.0


class Log(NamedTuple):
    """Counters over time, and at the end host and media bytes of each handle, where they are known."""

    stats: Sequence[Stats]
    handles: Mapping[int, tuple[int, int]]


def _bytes_of(result: Result) -> tuple[int, int]:
    """Return the bytes of a page and of a block."""
    page = page_bytes(result.scenario)
    return page, page * int(result.scenario.to_dict()["flash"]["pages_per_block"])


def fdp_log(result: Result) -> Log:
    """Return the counters of a result at the end of each interval of its time series."""
    page, block = _bytes_of(result)
    series = result.series()
    programs = [name for name in series.columns if name.startswith("programs_")]
    media = accumulate(sum(int(series[name][row]) for name in programs) for row in range(len(series)))
    host = accumulate(map(int, series["host_writes_pages"]))
    erased = accumulate(map(int, series["erases_blocks"]))
    stats = [Stats(h * page, m * page, e * block) for h, m, e in zip(host, media, erased, strict=True)]
    return Log(stats, dict(_handles(result)))


def _handles(result: Result) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield host and media bytes of each handle; the shared copies of initially isolated handles are one more."""
    placement = result.scenario.to_dict()["ftl"]["placement"]
    if not isinstance(placement, dict) or placement["name"] != "fdp":
        return
    classes, handles = result.document["metrics"]["placement"], int(placement["handles"])
    own = placement["isolation"]["name"] == "persistently"
    for handle, of in enumerate(classes[: handles if own else handles + 1]):
        copies = classes[handles + handle]["media_bytes"] if own else 0
        yield handle, (of["host_bytes"], of["media_bytes"] + copies)


def fdp_text(result: Result) -> str:
    """Write what nvme-cli prints for `nvme fdp stats` at the end of each interval, and at last the handles."""
    log = fdp_log(result)
    starts = [*map(int, result.series()["start_ns"])][1:]
    lines = []
    for number, stats in enumerate(log.stats):
        at = starts[number] if number < len(starts) else int(result.document["metrics"]["simulated_ns"])
        lines.append(f"# {at / 1e9:.6f} s")
        counters = zip(NAMES.items(), stats, strict=True)
        lines += [f"{name} ({short}): {value}" for (short, name), value in counters]
    lines += [f"# handle {handle}: host {host}, media {media}" for handle, (host, media) in log.handles.items()]
    return "\n".join(lines) + "\n"


def as_counters(text: str) -> str:
    """Name the counters of `nvme smart-log` and `nvme ocp smart-add-log` as those of `nvme fdp stats`, in bytes."""
    text = _HOST_UNITS.sub(lambda found: f"HBMW: {_number(found[1]) * 512_000}\n", text)
    return _MEDIA_BYTES.sub(lambda found: f"MBMW: {int(found[1] or 0) * 2**64 + int(found[2])}\n", text)


def read_fdp_log(path: Path) -> Log:
    """Read a log of `nvme fdp stats`, or of `nvme smart-log` and `nvme ocp smart-add-log` in turns.

    The latter are counters of a drive's whole life: those of the first time are taken off where there are more.

    Raises:
        CoflashError: It cannot be read, has no counters, or counters that cannot be totals in bytes.
    """
    written = text_of(path)
    text = as_counters(written)
    found: list[Stats] = []
    now: dict[str, int] = {}
    for name, digits, unit in _COUNTER.findall(text):
        short, number = name.upper(), digits.rstrip(",.'_\u202f\u00a0 ")
        if not _WHOLE.fullmatch(number) or len(number) > _DIGITS_MOST or unit.lower() not in _BYTES:
            given = f"{number[:_DIGITS_MOST]} {unit}".rstrip()
            raise CoflashError(f"{path}: {short} “{given}” was given; a whole number of bytes is allowed")
        if short in now:
            found.append(_stats(path, now))
            now = {}
        now[short] = _number(number)
    if now:
        found.append(_stats(path, now))
    if not found:
        msg = f"{path}: no counters of nvme fdp stats; lines such as “{NAMES['HBMW']} (HBMW): 4096” are allowed"
        raise CoflashError(msg)
    if text != written and len(found) > 1:
        found = [Stats(*(late - early for late, early in zip(of, found[0], strict=True))) for of in found[1:]]
    _check(path, found)
    handles = {int(handle): (int(host), int(media)) for handle, host, media in _HANDLE.findall(text)}
    for handle, (host, media) in handles.items():
        _check_units(path, f"handle {handle}: host", host, "media", media)
    return Log(found, handles)


def _number(digits: str) -> int:
    return int(re.sub(r"\D", "", digits))


def _check(path: Path, stats: Sequence[Stats]) -> None:
    """Refuse counters that are no totals of one device."""
    for number, (before, now) in enumerate(pairwise(stats), 2):
        for short, one, other in zip(NAMES, before, now, strict=True):
            if other < one:
                back = f"{path}: {short} goes back from {one} to {other} at time {number}"
                raise CoflashError(f"{back}; totals since the beginning, of one device without a reset, are allowed")
    host, media, _ = stats[-1]
    if not host or not media:
        msg = f"{path}: {'HBMW' if not host else 'MBMW'} is 0 to the end: a log of a device that was written is allowed"
        raise CoflashError(msg)
    _check_units(path, "HBMW", host, "MBMW", media)


def _check_units(path: Path, name: str, host: int, other: str, media: int) -> None:
    if host and (media > _WAF_MOST * host or host > _WAF_MOST * media):
        msg = f"{path}: {name} ends at {host} and {other} at {media}: counters in one unit, bytes, are allowed"
        raise CoflashError(msg)


def remarks_of(log: Log, fills: float) -> Iterator[str]:
    """Yield what a reader of the comparison should know of a log and its length in fills, in sentences."""
    if len(log.stats) == 1:
        yield "The log has one time only: its WAF is the mean since the beginning."
    if fills > _FILLS_MOST:
        yield f"The log is {fills:,.0f} fills of this drive long: if its drive is larger, --capacity says how large."
    host, media, _ = log.stats[-1]
    if media < host:
        fewer = f"The log ends with fewer media bytes ({media}) than host bytes ({host})"
        yield f"{fewer}: data in a buffer, compression, or counters that were swapped."


def _stats(path: Path, of: Mapping[str, int]) -> Stats:
    for name in ("HBMW", "MBMW"):
        if name not in of:
            msg = f"{path}: {name} is missing beside {', '.join(of)}: each time has HBMW and MBMW, and may have MBE"
            raise CoflashError(msg)
    return Stats(of["HBMW"], of["MBMW"], of.get("MBE", 0))


def media_at(stats: Sequence[Stats], host: float) -> float | None:
    """Return the media bytes when the host had written `host`, between the nearest times; None beyond the last."""
    before = Stats(0, 0, 0)
    for one in stats:
        if one.host >= host:
            span = one.host - before.host
            return before.media + (one.media - before.media) * ((host - before.host) / span if span else 1.0)
        before = one
    return None


def beside_log(result: Result, log: Log, capacity: int | None = None) -> Iterator[tuple[str, ...]]:
    """Yield a row each quarter of a fill: fills, WAF of the result and of the log, the deviation; then the handles.

    Args:
        result: The result.
        log: The log.
        capacity: What the log's drive exports, in bytes; None for as much as the result's.

    Raises:
        CoflashError: One of them ends within a quarter of a fill.
    """
    ours, fill = fdp_log(result), result.scenario.exported_bytes()
    fills = (fill, capacity or fill)
    steps = int(min(of.stats[-1].host / whole for of, whole in zip((ours, log), fills, strict=True)) / _STEP)
    if not steps:
        ends = (show(of.stats[-1].host, "bytes") for of in (ours, log))
        quarters = " and ".join(show(whole * _STEP, "bytes") for whole in dict.fromkeys(fills))
        msg = f"compare: they end after {' and '.join(ends)}; a quarter of a fill, {quarters}, is the least"
        raise CoflashError(msg)
    for step in range(1, steps + 1):
        mine, theirs = (media_at(of.stats, step * _STEP * w) for of, w in zip((ours, log), fills, strict=True))
        if mine is not None and theirs is not None:
            wafs = (media / (step * _STEP * whole) for media, whole in zip((mine, theirs), fills, strict=True))
            yield f"{step * _STEP:.2f} fills", *_both(*wafs)
    for handle in sorted(ours.handles.keys() & log.handles.keys()):
        pairs = (ours.handles[handle], log.handles[handle])
        if all(host for host, _ in pairs):
            yield f"handle {handle}, at the end", *_both(*(media / host for host, media in pairs))


def _both(ours: float, theirs: float) -> tuple[str, str, str]:
    return f"{ours:.4f}", f"{theirs:.4f}", show_change(ours / theirs - 1) if theirs else "–"
