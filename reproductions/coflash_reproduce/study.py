"""The definition of a study: a question of ours, and hypotheses that its runs can refute.

A study is a module that declares one [`Study`][coflash_reproduce.study.Study]. It has experiments and exhibits as a
paper has them, and hypotheses in place of a paper's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from coflash.scenario import Scenario
from coflash_reproduce.claim import HOLDS, REFUTED, UNJUDGED
from coflash_reproduce.paper import Investigation, Runs


class Finding(NamedTuple):
    """The answer of the runs to a hypothesis."""

    holds: bool | None
    """None where no run that was steady says anything of it."""
    numbers: str
    """The numbers on which the answer rests."""


Hypothesis = Callable[[Runs], Finding]
"""The test of a hypothesis."""


@dataclass(frozen=True)
class Tested:
    """A hypothesis, and what the runs say of it."""

    what: str
    refuted_by: str
    finding: Finding

    @property
    def verdict(self) -> str:
        """Whether it holds."""
        return UNJUDGED if self.finding.holds is None else HOLDS if self.finding.holds else REFUTED

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        return (self.what, self.refuted_by, self.finding.numbers, self.verdict)


@dataclass(frozen=True, kw_only=True)
class Study(Investigation):
    """A study; its sections "question" and "limits" say why it matters, and what it does not show."""

    hypotheses: Mapping[str, Hypothesis]
    """By the name of its section, which says what would hold, and what would refute it."""
    answer: Callable[[Runs], Mapping[str, Any]] = lambda _: {}
    """The numbers of the section "answer"."""
    explanation: Callable[[Runs], Iterable[str]] = lambda _: ()
    """What follows it, a paragraph each."""
    unsteady_too: str = ""
    """Why it judges runs that were not steady by their notes, too; empty if it does not."""

    def test(self, runs: Runs) -> list[Tested]:
        """Test each hypothesis."""
        titles, bodies = self.text.titles, self.text.bodies
        return [Tested(titles[name], bodies[name], test(runs)) for name, test in self.hypotheses.items()]


WARM: Mapping[str, Any] = {"precondition.until_steady": True, "precondition.through_caches": True}
"""The keys with which a run begins in the steady state of its workload, caches included."""


def four_dies(blocks_per_plane: int) -> Scenario:
    """Return the device of `demo` with four dies only, warmed up, for workloads that take all its space."""
    flash = {"channels": 2, "chips_per_channel": 2, "blocks_per_plane": blocks_per_plane}
    keys = {f"flash.{key}": number for key, number in flash.items()}
    return Scenario.load("demo").with_({**keys, **WARM, "workload.remap": "none"})


def asked(scenario: Scenario, generator: Any, requests: int, read_share: str) -> Scenario:
    """Return a scenario with a generated workload."""
    keys = {"generator": generator, "requests": requests, "read_share": read_share}
    return scenario.with_({f"workload.synthetic.{key}": value for key, value in keys.items()})
