"""Numbers that measures take for granted, as results tell them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coflash.measures.measure import MEASURES, Measure
from coflash.measures.sections import SECTIONS
from coflash.quantity import Unit, show
from coflash.results.notes import together

_ENDURANCE, _CAPACITY = "endurance", "simulated capacity"
NONE, LIFE = "–", MEASURES["endurance.life_years"]


@dataclass(frozen=True)
class Assumption:
    """A number that the measures of a section take for granted."""

    section: str
    """The path of the section."""
    label: str
    value: float
    origin: str
    """Its origin in words: given, or a default."""
    unit: Unit = ""

    @property
    def shown(self) -> str:
        """The number as text."""
        return show(self.value, self.unit)

    def __str__(self) -> str:
        return f"{self.shown} ({self.origin})"


def assumptions_of(document: Mapping[str, Any], section: str) -> dict[str, Assumption]:
    """Return what a section of a result takes for granted, by its labels."""
    found = {one["label"]: Assumption(**one) for one in document.get("assumptions", ()) if one["section"] == section}
    is_part = section == _ENDURANCE and document["scenario"].get("limits")  # of a drive that was scaled down
    endurance = document["metrics"].get("endurance", {}) if is_part else {}
    if (years := found.get("years of warranty")) and (daily := endurance.get("drive_writes_per_day")):
        exported = endurance["tbw_bytes"] / (daily * 365 * years.value)
        found[_CAPACITY] = Assumption(section, _CAPACITY, exported, "whose endurance this is", "bytes")
    if section == _ENDURANCE and document["workload"].get("replay", "").startswith("closed loop"):
        found[LIFE.label] = Assumption(section, LIFE.label, float("nan"), "no host asked for it: closed loop", "years")
    return found


def texts_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return what the sections of a result take for granted, as texts by their paths."""
    sections = dict.fromkeys(one["section"] for one in document.get("assumptions", ()))
    found = {section: assumptions_of(document, section) for section in sections}
    return {section: ", ".join(f"{label} {one}" for label, one in of.items()) for section, of in found.items()}


def beside(documents: Sequence[Mapping[str, Any]], section: str) -> dict[str, list[str]]:
    """Return what a section takes for granted in each of several results, as rows of a table by their labels."""
    found = [assumptions_of(document, section) for document in documents]
    labels = dict.fromkeys(label for one in found for label in one)
    return {label: [str(one.get(label, NONE)) for one in found] for label in labels}


def assumed(measures: Iterable[Measure], runs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """State what some measures of named runs take for granted, from the documents of their results; each fact once."""
    paths = {measure.path.rpartition(".")[0] for measure in measures}
    return together(
        (run, [f"{SECTIONS[path].title}: {text}" for path, text in texts_of(document).items() if path in paths])
        for run, document in runs
    )
