"""Runs side by side: the differences of their scenarios and of their measures."""

from __future__ import annotations

import os
from typing import final

from coflash._core import CoflashError
from coflash.measures.catalogue import named
from coflash.measures.measure import HEADLINE, OVERALL, WAF_HOST, applying
from coflash.measures.sections import sections
from coflash.quantity import agreed, change, counted
from coflash.results.result import Result, mixed_revisions
from coflash.results.subject import Subject
from coflash.results.tables import beside_table
from coflash.results.varying_keys import Key
from coflash.results.why import Why, explained
from coflash.table import Table


@final
class SideBySide(Subject):
    """Runs compared with the first of them."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys in which the scenarios differ."""
        return self.varied

    def table(self) -> Table:
        """Return a row for each measure: its path, its value in each run, and the relative changes from the first.

        The columns are `measure`, the labels of the runs, and for every run but the first its label with the suffix
        `.change`, as a share of the first run's value.
        """
        import numpy as np

        found = [result.metrics for result in self.results]
        of_parts = [measure for section in sections(found) for measure in section.measures]
        measures = [one for one in applying(dict.fromkeys((*HEADLINE, *OVERALL, *of_parts)), found) if one.path]
        rows = [[measure.read(result.metrics) for result in self.results] for measure in measures]
        columns = {"measure": np.array([measure.path for measure in measures])}
        for place, label in enumerate(self.labels):
            columns[label] = np.array([row[place] for row in rows], np.float64)
            if place:
                columns[f"{label}.change"] = np.array([change(row[place], row[0]) for row in rows], np.float64)
        return Table(columns)

    def whys(self, measure: str = "waf_host") -> list[Why]:
        """Explain the differences of a measure by exact shares, where the runs of the schemes between are there, too.

        Raises:
            CoflashError: There is no such measure.
        """
        runs = [(result.document, result.metrics) for result in self.results]
        return [why for _, why in explained(runs, named(measure).read)]

    def __repr__(self) -> str:
        return f"<SideBySide of {counted(len(self.results), 'run')}: {', '.join(self.labels)}>"

    def _repr_html_(self) -> str:
        mixed = mixed_revisions(result.document for result in self.results)
        title = " ".join([*mixed, *(f"{why.said(WAF_HOST)}." for why in self.whys())])
        keys = ((key.path, [key.texts[code] for code in key.codes]) for key in self.keys)
        return beside_table(self.labels, keys, [[one.document] for one in self.results], title=title).html()


def compare(*runs: Result | str | os.PathLike[str]) -> SideBySide:
    """Put runs side by side.

    Args:
        runs: Two or more results, or their folders; the first is the baseline.

    Raises:
        CoflashError: Fewer than two are given, or a folder holds no result.
    """
    if len(runs) < 2:
        msg = f"compare: {counted(len(runs), 'run')} {agreed(len(runs), 'was')} given; two or more are allowed"
        raise CoflashError(msg)
    return SideBySide(tuple(run if isinstance(run, Result) else Result.load(os.fspath(run)) for run in runs))
