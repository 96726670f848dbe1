"""A workload in place of a trace: it is generated, and written as one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from coflash._core import CoflashError
from coflash.quantity import counted
from coflash.sweep.finding import say
from coflash.trace import Paths, generate, named, paths

_REQUESTS, _SPACE = 400_000, "1GiB"


def traced(trace: Paths, folder: Path, requests: int | None, space: str | None) -> tuple[Paths, list[str]]:
    """Return a trace as it is, and the file of a workload that is named in its place, with what was generated."""
    found = paths(trace)
    if jobs := next((file for file in found if file.endswith(".fio")), ""):
        raise CoflashError(say("size of jobs", file=jobs))
    name = named(found[0])
    if len(found) > 1 or "/" in name or Path(name).suffix or Path(name).exists():
        if requests or space:
            raise CoflashError(say("its own requests"))
        return trace, []
    count, within = requests or _REQUESTS, space or _SPACE
    file = folder / f"{name}-{count}-{within}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        wrote = generate(name, file, requests=count, space=within)
    except CoflashError as error:
        with suppress(OSError):  # unless it was there, with files
            folder.rmdir()
        raise CoflashError(f"{name}: no such file; as a workload: {error}") from None
    requests_made = counted(wrote["requests"], "request")
    return file, [say("generated", requests=requests_made, workload=name, space=within, file=file)]
