"""Traces by URL, and the trace of a sweep on any machine.

A path is a file on this machine: engines on other machines ship its bytes, once to each worker. A URL
(`s3://bucket/oltp.zst`, `file:///shared/oltp.zst`) is opened by each worker itself, through fsspec, and kept there.
Shipped and fetched files are kept under the name of their digest: each only once, and whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from coflash import _core
from coflash._core import CoflashError
from coflash.files import remote
from coflash.files.atomic_write import new_file
from coflash.files.digest import check_lasting, digest_of
from coflash.files.kept import fetched, kept_file
from coflash.results.identity import own_key
from coflash.results.result import Result
from coflash.scenario import Scenario
from coflash.trace import Paths, paths

_ONE = Lock()
"""Threads that need the same file wait for the one that fetches it: all readers of `memory://` share a position."""


@dataclass(frozen=True)
class Input:
    """One file of a trace."""

    source: str
    """Its path or URL, as it was given."""
    sha256: str

    @property
    def is_url(self) -> bool:
        """Whether workers fetch it themselves."""
        return "://" in self.source

    @property
    def kept(self) -> Path:
        """The place of the shipped or fetched file."""
        return kept_file(self.source, self.sha256)

    def local(self, *, shipped: bool = False) -> str:
        """Return the path of the file on this machine, fetched if necessary.

        Args:
            shipped: Whether this is another machine than the one where the path was given.

        Raises:
            CoflashError: It cannot be fetched.
        """
        if not self.is_url:
            return str(self.kept) if shipped else self.source
        if not remote.is_url(self.source):  # that of a file here
            return str(remote.path_of(self.source))
        with _ONE:
            if not self.kept.exists() and fetched(self.source) != str(self.kept):
                msg = f"{self.source}: has changed since the sweep began: give the same command again"
                raise CoflashError(f"{msg}, or remove a damaged volume and split its trace again")
        return str(self.kept)

    def keep(self, content: bytes) -> None:
        """Put a shipped file in its place."""
        if not self.kept.exists():
            with new_file(self.kept) as file:
                file.write(content)


def own_files(workload: Mapping[str, Any]) -> list[str]:
    """These files, and those that a job file includes.

    Raises:
        CoflashError: The job file cannot be read.
    """
    key = own_key(workload)
    if key == "fio":
        job_file = workload[key]
        return [job_file, *_core.job_files(fetched(job_file))[1:]]
    return [] if key is None else workload[key]


def inputs_of(scenario: Scenario, trace: Paths = ()) -> tuple[Input, ...]:
    """Return the trace, or else the files of the scenario, with their digests, which identify runs.

    Raises:
        CoflashError: One cannot be read.
    """
    workload = scenario.to_dict()["workload"]
    files = paths(trace) or workload["trace"] or own_files(workload)
    check_lasting(files, "many runs cannot read it")
    return tuple(Input(path, digest_of(path)) for path in files)


def credited(result: Result, local: Sequence[str], sources: Sequence[str]) -> Result:
    """Return a result that names its inputs as they were given.

    Args:
        result: The result of the core.
        local: The files that it read.
        sources: Their paths or URLs, as they were given.
    """
    if list(local) == list(sources):
        return result
    text = json.dumps(result.document)
    for here, given in zip(local, sources, strict=True):
        text = text.replace(json.dumps(here)[1:-1], json.dumps(given)[1:-1])
    document = json.loads(text)
    document["scenario_hash"] = Scenario.of_result(document).hash
    return result.with_document(document)
