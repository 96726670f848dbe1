"""The description of a trace as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from coflash.quantity import Unit, counted, show
from coflash.trace.trace_info import MissRatioCurves, Sampling, TraceInfo

_UNITS: dict[str, Unit] = {"ns": "ns", "bytes": "bytes", "share": "share", "requests": "requests"}
_ERRORS = 2.131
"""The standard errors on each side of a 95 % interval: Student's t for the 16 random groups of a sample."""
_APART = frozenset({"formats", "sampling", "popularity", "reuse", "write_growth", "course", "remarks"})


def rows(found: TraceInfo, curves: MissRatioCurves | None = None) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each fact."""
    page_bytes = found.page_bytes
    yield "format", ", ".join(found.formats) + " (units assumed)" * any("assumed" in one for one in found.remarks)
    yield "read as", "\n".join(found.remarks) or "–"
    yield from _facts({name: value for name, value in found.to_dict().items() if name not in _APART}, page_bytes)
    for name, spread in (("read", found.popularity.read), ("write", found.popularity.write)):
        if spread is not None:
            errors: Mapping[str, Any] = spread.hottest_share_error or {}
            shares = (
                f"{key.split('_')[1]} % of pages {_estimate(share, errors.get(key))}"
                for key, share in spread.hottest_share.items()
            )
            yield f"{name} hottest", " · ".join(shares)
    if found.reuse is not None:
        yield "first accesses", show(found.reuse.first_share, "share")
        curve = found.reuse.curve
        yield "LRU miss ratio", _curve(curve.cache_pages, curve.miss_ratio, page_bytes, curve.miss_ratio_error)
        yield "", _followed(found.sampling, with_errors=bool(curve.miss_ratio_error))
    if curves is not None:
        for policy, ratios in curves.miss_ratio.items():
            yield f"{policy} simulated", _curve(curves.cache_pages, ratios, page_bytes)
        yield "", _followed(curves.sampling, with_errors=False)


def _facts(facts: Mapping[str, Any], page_bytes: int, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield facts; the last word of a name is its unit, and a distribution is one fact."""
    for name, value in facts.items():
        *words, last = name.split("_")
        unit = _UNITS.get(last)
        if isinstance(value, dict) and unit is None:
            yield from _facts(value, page_bytes, f"{prefix}{name} ".replace("_", " "))
        elif last == "pages":
            pages = None if value is None else f"{show(value * page_bytes, 'bytes')} ({counted(value, 'page')})"
            yield prefix + " ".join(words), pages or "–"
        else:
            label = " ".join(words) if words and unit is not None else name.replace("_", " ")
            yield prefix + label, _shown(value, unit)


def _curve(sizes: list[int], ratios: list[float], page_bytes: int, errors: list[float] | None = None) -> str:
    """Show a curve of miss ratios: eight sizes at most, from the smallest to the largest."""
    if not sizes:
        return "100 % at any size"
    rows = sorted({round(place * (len(sizes) - 1) / 7) for place in range(8)}) if len(sizes) > 8 else range(len(sizes))
    texts = (_estimate(ratios[row], errors[row] if errors else None) for row in rows)
    return " · ".join(f"{show(sizes[row] * page_bytes, 'bytes')} {text}" for row, text in zip(rows, texts, strict=True))


def _estimate(share: float, error: float | None = None) -> str:
    """Show a share, with its interval if it is an estimate."""
    return show(share, "share") if error is None else f"{show(share, 'share')} ± {100 * _ERRORS * error:.1f}"


def _followed(sampling: Sampling, *, with_errors: bool) -> str:
    if sampling.method == "exact":
        return "exact: every page was followed"
    followed = f"{counted(sampling.pages, 'page')} followed, {sampling.share * 100:.3g} % of all"
    meaning = "± is a 95 % interval in percentage points, " if with_errors else ""
    return f"sampled: {followed}; {meaning}--sample exact follows every page"


def _shown(value: Any, unit: Unit | None) -> str:
    match value:
        case None:
            return "–"
        case dict():
            return " · ".join(f"{name} {_shown(part, unit)}" for name, part in value.items() if name != "histogram")
        case int() | float() if unit is not None:
            return show(value, unit)
        case int():
            return f"{value:,}"
    return str(value)
