"""Findings: what runs say in numbers, tables and sentences, in the same words in commands, reports and notebooks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from coflash._core import __version__
from coflash.files import atomic_write
from coflash.quantity import Unit, show, show_change
from coflash.results.notes import together
from coflash.results.result import Result
from coflash.results.store import Failure
from coflash.scenario import Scenario
from coflash.text_table import TextTable

if TYPE_CHECKING:
    from typing_extensions import Self


_SAID = 7
"""The most values that are said."""


class Finding(ABC):
    """What the runs of a question tell."""

    @property
    def headline(self) -> str:
        """The answer in a line; empty if there is none."""
        return ""

    @property
    def asked(self) -> Sequence[str]:
        """What was asked, and how it was answered."""
        return ()

    @property
    def sentences(self) -> Sequence[str]:
        """The finding in sentences."""
        return ()

    @property
    def is_met(self) -> bool:
        """Whether goals are met, if there are any."""
        return True

    @property
    def is_sure(self) -> bool:
        """Whether it would stay the same with more runs, as far as is known."""
        return True

    @property
    def problem(self) -> str:
        """What was wrong; empty if nothing was."""
        return ""

    @property
    def lost(self) -> Sequence[Failure]:
        """The runs that failed."""
        return ()

    @property
    def runs(self) -> Mapping[str, Sequence[Result]]:
        """The runs that carry its numbers, by names of them."""
        return {}

    def notes(self, *measures: str) -> Sequence[str]:  # noqa: ARG002 - here and below: some are of measures
        """Return what a reader of the numbers should know: the notes of the runs that carry them."""
        return together((name, run.notes) for name, runs in self.runs.items() for run in runs)

    def stored(self) -> Sequence[str]:
        """Say where the runs are."""
        return ()

    def said(self, *measures: str) -> Sequence[str]:  # noqa: ARG002
        """Return the sentences below the tables, given the names of measures."""
        return [one for one in self.sentences if one != self.headline]

    def tables(self, *measures: str) -> Sequence[TextTable]:  # noqa: ARG002
        """Return the finding as tables; of some findings of measures, given their names."""
        return ()

    @abstractmethod
    def document(self, *measures: str) -> dict[str, Any]:
        """Return the finding as plain data; of some findings of measures, given their names."""

    def to_json(self, *measures: str) -> str:
        """Return the document as JSON, with the version of coflash."""
        return json.dumps({"coflash": __version__, **self.document(*measures)}, indent=2, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        return "\n".join([self.headline, *map(str, self.tables()), *self.said()]).strip()

    def _repr_html_(self) -> str:
        texts = (f"<p>{escape(text)}</p>".replace("\n", "<br>") for text in self.sentences)
        return "".join([*(table.html() for table in self.tables()), *texts])


@dataclass(frozen=True)
class Kept(Finding):
    """A finding whose document is in the folder of its runs."""

    DOCUMENT: ClassVar[str]
    """The name of the document."""

    path: Path
    """The folder of its runs."""

    def stored(self) -> list[str]:
        """Say where the runs are."""
        return [say("results", place=self.path, before="")]

    def write(self) -> Self:
        """Write the document, and return the finding."""
        atomic_write.write_file(self.path / self.DOCUMENT, self.to_json())
        return self


@cache
def _sentences() -> Mapping[str, str]:
    read: Mapping[str, str] = json.loads(Path(__file__).with_name("sentences.json").read_text("utf-8"))
    return read


class _Numbers(Formatter):
    """Formats numbers by their unit, as in `{saved:share}`; `{drift:change}` is a relative change."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec == "change":
            return show_change(value)
        unit = _UNITS.get(format_spec)
        return show(value, unit) if unit else super().format_field(value, format_spec)


_UNITS: Mapping[str, Unit] = {unit: unit for unit in get_args(Unit)}


def say(sentence: str, /, **values: object) -> str:
    """Return a sentence of `sentences.json`, or a part of one, with its values."""
    return _Numbers().format(_sentences()[sentence], **values)


def say_ends(values: Sequence[str]) -> str:
    """Say a few values, or the first and the last of many."""
    return ", ".join(values) if len(values) <= _SAID else f"{values[0]} … {values[-1]}"


def say_limits(scenario: Scenario, of_times: Sequence[str], others: Sequence[str], is_timed: bool = False) -> str:
    """Say what the numbers do not tell, a line for each limit; those of times come first where these are bounded."""
    drive = [say("fitted", limits=one.rstrip(".")) for one in scenario.to_dict()["limits"]] or [say("not fitted")]
    of_times = [*(one for one in drive if "latenc" in one), *of_times, say("tails")]
    others = [*(one for one in drive if "latenc" not in one), *others]
    return say("limits", limits="\n- ".join([*of_times, *others] if is_timed else [*others, *of_times]))
