"""Sizes that are given as shares of a device or of its cache, in bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coflash import _core
from coflash.quantity import PPB, parsed
from coflash.scenario import leaf

AMOUNTS = {"cache.size": "cache", "host_buffer.size": "host_buffer", "cooperation.sole_copies_max": "cache"}
"""The keys whose value is a size or a share, each with the buffer whose size it is, or is a part of."""


def with_bytes(
    columns: Mapping[str, Sequence[Any]], runs: Sequence[Mapping[str, Any]], times: Sequence[float] = ()
) -> dict[str, Sequence[Any]]:
    """Put sizes in bytes in the place of shares, which get a column beside them: `cache.size_share`.

    Args:
        columns: The values by key, one for each run.
        runs: The documents of their results; that of a run without one is empty.
        times: How many times as large each device is than the one that ran.
    """
    found: dict[str, Sequence[Any]] = {}
    for name, values in columns.items():
        found[name] = values
        shares = [_share(value) for value in values] if name in AMOUNTS else []
        if any(share is not None for share in shares):
            rows = zip(values, shares, zip(runs, times or [1.0] * len(runs), strict=True), strict=True)
            found[name] = [one if share is None else _in_bytes(name, share, *of) for one, share, of in rows]
            found[f"{name}_share"] = shares
    return found


def _share(value: Any) -> float | None:
    number, unit = parsed(value) or (0.0, "")
    return number if unit == "share" else None


def _in_bytes(key: str, share: float, run: Mapping[str, Any], times: float) -> str | None:
    """Return the size that a share was in a run, as a text; None if the run does not tell it."""
    pages = leaf(run, ("metrics", AMOUNTS[key], "capacity_pages"))
    if pages is None:
        return None
    page, _ = _core.quantity(run["scenario"]["flash"]["page_size"])
    of = pages if key.endswith(".size") else round(share * PPB) * pages // PPB
    return f"{round(of * times) * page}B"
