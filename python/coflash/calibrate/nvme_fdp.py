"""`nvme fdp stats`: a result in that form.

nvme-cli prints three counters of the endurance group since the beginning: HBMW, MBMW, MBE. Lines that begin with `#`
are ours: the end of each interval, and at last the handles, of which a device tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from coflash.quantity import number_in
from coflash.results.result import Result

NAMES = {
    "HBMW": "Host Bytes with Metadata Written",
    "MBMW": "Media Bytes with Metadata Written",
    "MBE": "Media Bytes Erased",
}


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
    flash = result.scenario.to_dict()["flash"]
    found = number_in(flash["page_size"])
    page = int(found[0]) if found else 0
    return page, page * int(flash["pages_per_block"])


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
