"""What the tests of reproductions and studies share: a scale that takes seconds, and what was written."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coflash.charts import Format
from coflash_reproduce import drawing, page
from coflash_reproduce.claim import Paper, judge
from coflash_reproduce.paper import Investigation, Runs
from coflash_reproduce.reproduction import Done, needed


@contextmanager
def tiny_scale(
    paper: Investigation,
    workloads: ModuleType,
    scale: object,
    recorded: Path | None = None,
    formats: tuple[Format, ...] = ("svg",),
) -> Iterator[None]:
    """A paper or a study with the scale "tiny", too; with another trace for the shipped one, which does not shrink.

    Drawing takes longer than the runs: each picture is in the formats given, of which one paper is drawn in all.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(workloads.SCALES, "tiny", scale)
        patch.setitem(paper.text.scales, "tiny", "Everything is tiny.")  # type: ignore[attr-defined,misc,unused-ignore]
        patch.setattr(drawing, "FORMATS", formats)
        patch.setattr(Runs, "steady", lambda runs: runs)  # tiny runs are judged whatever their state
        if recorded is not None:
            patch.setattr(workloads, "find_trace", lambda: recorded)
        yield


def documents(done: Done) -> dict[str, dict[str, Any]]:
    """What each run was and counted, by its name in the store."""
    runs = (done.page.parent / "store" / "runs").iterdir()
    return {run.name: json.loads((run / "result.json").read_text("utf-8")) for run in runs}


def rows(done: Done, exhibit: str) -> list[dict[str, str]]:
    """The table of an exhibit."""
    with (done.page.parent / "tables" / f"{done.page.stem}-{exhibit}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def alone(paper: Paper, name: str, workloads: ModuleType, runs: Runs) -> Runs:
    """Those of all runs that one exhibit needs, and no more than these."""
    names = {one.name for one in needed(paper, name, workloads.experiments("tiny", ()))}
    return Runs(tuple(run for run in runs if run.experiment.name in names))


def shown(paper: Paper, name: str, runs: Runs) -> tuple[str, list[str], list[tuple[str, ...]]]:
    """What some runs show in an exhibit: its numbers, its sentences, and the statements on it."""
    (exhibit,) = (one for one in paper.exhibits if one.name == name)
    claims = [claim for claim in paper.claims if claim.exhibit == name]
    return page.exhibit_csv(exhibit, runs), [*exhibit.notes(runs)], [one.row() for one in judge(claims, runs)]
