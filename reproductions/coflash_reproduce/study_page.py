"""The page of a study: what was found and what would refute it, then each figure with its numbers.

Every number is computed from the runs when the page is written; none is typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coflash_reproduce.page import csv_of, exhibits, made_by, table
from coflash_reproduce.paper import Grid, Runs
from coflash_reproduce.study import Finding, Hypothesis, Study

HOLDS, REFUTED = "holds", "refuted"


@dataclass(frozen=True)
class Tested:
    """A hypothesis, and what the runs say of it."""

    hypothesis: Hypothesis
    finding: Finding

    @property
    def verdict(self) -> str:
        """Whether it holds."""
        return HOLDS if self.finding.holds else REFUTED

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        return (self.hypothesis.what, self.hypothesis.refuted_by, self.finding.numbers, self.verdict)


COLUMNS = ("hypothesis", "refuted by", "found", "")


def tested(study: Study, runs: Runs) -> list[Tested]:
    """Test each hypothesis."""
    return [Tested(hypothesis, hypothesis.test(runs)) for hypothesis in study.hypotheses]


def markdown(study: Study, scale: str, traces: Sequence[str], runs: Runs, images: str) -> str:
    """Write the page.

    Args:
        study: The study.
        scale: The scale of the runs.
        traces: The traces of the user.
        runs: Its runs.
        images: The folder of the images, as the page refers to it.
    """
    found = tested(study, runs)
    parts = [
        f"# {study.title}",
        study.question,
        *made_by("study", study, scale, traces, runs),
        "## What was found",
        f"Of {len(found)} hypotheses {sum(one.finding.holds for one in found)} hold. Numbers after ± are half-widths "
        "of 95 % confidence intervals over seeds.",
        table(Grid(COLUMNS, tuple(one.row() for one in found))),
        *study.explanation(runs),
        *exhibits(study, runs, images),
        "## What this does not show",
        "\n".join(f"- {limit}" for limit in study.limits),
    ]
    return "\n\n".join(parts) + "\n"


def findings_csv(study: Study, runs: Runs) -> str:
    """Write the hypotheses and what was found as CSV."""
    return csv_of([COLUMNS, *(one.row() for one in tested(study, runs))])
