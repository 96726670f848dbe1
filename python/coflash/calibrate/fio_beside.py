"""What fio measured on a drive, beside a result in the form of its JSON: the jobs that both have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from coflash._core import CoflashError
from coflash.files.errors import text_of
from coflash.quantity import Unit
from coflash.results.fio_json import OPERATIONS
from coflash.scenario import leaf


def read_fio_json(file: str | Path) -> dict[str, Any]:
    """Read the JSON that fio wrote.

    Raises:
        CoflashError: The file cannot be read, or holds no results of fio.
    """
    text = text_of(file)
    try:
        # fio may write warnings before the document.
        document = json.loads(text[text.find("{") :])
    except ValueError as error:
        msg = f"{file}: is no JSON of fio ({error}); `fio --output-format=json --output={file} JOBS` writes it"
        raise CoflashError(msg) from error
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) and "jobname" in job for job in jobs):
        raise CoflashError(
            f'{file}: is no JSON of fio: no list of "jobs" with a "jobname" each; `fio --output-format=json` writes it'
        )
    found: dict[str, Any] = document
    return found


class Row(NamedTuple):
    """A measure of a job in two results; None for a result without it."""

    job: str
    label: str
    unit: Unit
    first: float | None
    second: float | None


_MEASURES: tuple[tuple[str, Unit, Sequence[str]], ...] = (
    ("bandwidth", "bytes/s", ("bw_bytes",)),
    ("requests a second", "1/s", ("iops",)),
    ("response time, mean", "ns", ("clat_ns", "mean")),
    ("response time, 50 %", "ns", ("clat_ns", "percentile", "50.000000")),
    ("response time, 99 %", "ns", ("clat_ns", "percentile", "99.000000")),
    ("response time, 99.9 %", "ns", ("clat_ns", "percentile", "99.900000")),
)


def beside(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the measures of the jobs that two fio documents share by name.

    Raises:
        CoflashError: They share no job with requests.
    """
    found = False
    others = {job["jobname"]: job for job in reversed(second["jobs"])}
    for job in first["jobs"]:
        other = others.get(job["jobname"])
        for operation in OPERATIONS if other else ():
            if not (_at(job, (operation, "total_ios")) and _at(other, (operation, "total_ios"))):
                continue
            for label, unit, path in _MEASURES:
                values = [_at(document, (operation, *path)) for document in (job, other)]
                if values != [None, None]:
                    found = True
                    yield Row(job["jobname"], f"{operation}: {label}", unit, *values)
    if not found:
        names = [", ".join(dict.fromkeys(str(job["jobname"]) for job in side["jobs"])) for side in (first, second)]
        raise CoflashError(f"no job of both has requests of the same kind: one has {names[0]}, the other {names[1]}")


def _at(document: Any, path: Sequence[str]) -> float | None:
    """Return the number at a path, if there is one."""
    found = leaf(document, path)
    return float(found) if isinstance(found, int | float) else None
