"""A workload or a job file of fio in place of a trace: its requests are written as one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from coflash._core import CoflashError
from coflash.quantity import counted
from coflash.scenario import Scenario
from coflash.sweep.finding import say
from coflash.trace import Paths, generate, named, paths

_REQUESTS, _SPACE = 400_000, "1GiB"


def traced(
    trace: Paths, folder: Path, requests: int | None, space: str | None, drive: Scenario
) -> tuple[Paths, list[str], Path | None]:
    """Return a trace as it is, and the file of a workload that is named in its place, with what was generated.

    In place of a job file of fio stands what its jobs send to the drive; it has seeds of its own. Last comes another
    draw of the workload.
    """
    found = paths(trace)
    if jobs := next((file for file in found if file.endswith(".fio")), ""):
        if len(found) > 1 or space:
            raise CoflashError(say("more than jobs", file=jobs))
        count = requests or _REQUESTS
        file = folder / f"{Path(jobs).stem}-{count}.parquet"
        return file, [say("of jobs", requests=_written(drive.with_jobs(jobs), file, count), jobs=jobs, file=file)], None
    name = named(found[0])
    if len(found) > 1 or "/" in name or Path(name).suffix or Path(name).exists():
        if requests or space:
            raise CoflashError(say("its own requests"))
        return trace, [], None
    count, within = requests or _REQUESTS, space or _SPACE
    file, draw = (folder / f"{name}-{count}-{within}{end}.parquet" for end in ("", "-seed1"))
    try:
        made, _ = _written(name, file, count, within), _written(name, draw, count, within, 1)
    except CoflashError as error:
        raise CoflashError(f"{name}: no such file; as a workload: {error}") from None
    return file, [say("generated", requests=made, workload=name, space=within, file=file)], draw


def _written(
    workload: str | Scenario, file: Path, requests: int, space: str | None = None, seed: int | None = None
) -> str:
    """Write the requests of a workload, and return their number; an error leaves no new folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return counted(generate(workload, file, requests=requests, seed=seed, space=space)["requests"], "request")
    except CoflashError:
        with suppress(OSError):  # unless it was there, with files
            file.parent.rmdir()
        raise
