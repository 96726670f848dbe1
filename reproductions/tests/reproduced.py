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
from coflash_reproduce import drawing
from coflash_reproduce.paper import Investigation
from coflash_reproduce.reproduction import Done


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
