"""The measures of some systems only, in sections that terminal, notebook and report show for runs that have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coflash.measures.measure import DECLARED, MEASURES, Measure, value_at
from coflash.measures.metrics import Metrics


@dataclass(frozen=True)
class Section:
    """Measures of one part of a system."""

    title: str
    about: str
    path: str
    """The part of the metrics that runs have if they have this part of a system."""
    measures: tuple[Measure, ...]
    """They read None if a run has no such part."""

    def applies(self, metrics: Metrics) -> bool:
        """Whether the run has this part."""
        if self.path == "cache":
            # A cache of no pages has nothing to show; the hits of a hybrid are shown in its own section.
            return "hybrid" not in metrics and bool(value_at("cache.capacity_pages")(metrics))
        return value_at(self.path)(metrics) is not None and any(each.applies(metrics) for each in self.measures)

    def courses(self, metrics: Metrics) -> Mapping[str, Sequence[float]]:
        """The contents of flash before disks as shares, at moments of the run that may be unequally far apart."""
        if self.path != "hybrid":
            return {}
        flash_pages, sizes = metrics.hybrid.flash_pages, metrics.hybrid["sizes"]
        clean, dirty = ([size[f"{kind}_pages"] / flash_pages for size in sizes] for kind in ("clean", "dirty"))
        spare = [1 - read - write for read, write in zip(clean, dirty, strict=True)]
        return {"read cache": clean, "write cache": dirty, "over-provisioned": spare}


_EVERYWHERE = ("", "programs_pages", "response_ns", "erase_count")
"""Parts of the metrics that every run has, and every summary shows."""


def _sections() -> dict[str, Section]:
    """The sections by their paths, those of one path put together."""
    found: dict[str, Section] = {}
    for declared in DECLARED:
        path = declared["path"]
        own = tuple(MEASURES[f"{path}.{each['name']}"] for each in declared["measures"] if each["is_shown"] and path)
        if path.partition(".")[0] in _EVERYWHERE or not own:
            continue
        before = found.get(path, Section(declared["title"], declared["meaning"].strip(), path, ()))
        found[path] = Section(before.title, before.about, path, before.measures + own)
    return found


SECTIONS = _sections()
"""Every section by its path, in the order in which they are shown."""


_ACTS_ON = {"cooperation": ("cache", "host_buffer")}
"""The parts on which the keys of a table act, where these are not the part of that name."""


def can_act(key: str, metrics: Metrics) -> bool:
    """Whether a run has a part of a system on which a key of its scenario acts; of most keys every run has."""
    table = key.partition(".")[0]
    parts = [SECTIONS[path] for path in _ACTS_ON.get(table, (table,)) if path in SECTIONS]
    return not parts or any(part.applies(metrics) for part in parts)


def sections(runs: Iterable[Metrics]) -> list[Section]:
    """Return those that apply to any of the runs."""
    found = list(runs)
    return [section for section in SECTIONS.values() if any(section.applies(metrics) for metrics in found)]
