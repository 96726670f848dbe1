"""`coflash init`."""

from __future__ import annotations

from pathlib import Path

from coflash._core import CoflashError
from coflash.cli.console import say
from coflash.commented import commented
from coflash.files import atomic_write
from coflash.scenario import Scenario

_START = {
    "description": "A 1 GiB SSD whose cache and garbage collection cooperate",
    "cooperation": "cdm",
    "flash": {"channels": 2, "chips_per_channel": 2, "exported": "1GiB"},
    "ftl": {"spare": {"share": "15%"}},
    "cache": {"size": "5%"},
    "precondition": {"random_passes": 1.0},
    "workload": {"synthetic": {"generator": "zipf", "requests": 200_000, "read_share": "30%"}},
    "replay": {"mode": "closed", "queue_depth": 8},
}
"""A device that is simulated in seconds, under a workload that needs no trace."""


def init(file: Path = Path("scenario.toml"), start: str | None = None) -> None:
    """Write a scenario to start from: a TOML file with the meaning of every key in a comment.

    Options:
        file: `[FILE]` The file to write.
        start: `[SCENARIO]` Begin with this scenario, a built-in one or a TOML file, instead of a small SSD.
    """
    if file.suffix != ".toml":
        msg = f"{file}: the name of a scenario ends in .toml, such as {file.with_suffix('.toml')}"
        raise CoflashError(msg)
    if file.exists():
        msg = f"{file}: is there already; give another name, as in coflash init other.toml"
        raise CoflashError(msg)
    chosen = Scenario.from_dict({"name": file.stem, **_START}) if start is None else Scenario.load(start)
    atomic_write.write_file(file, commented(chosen))
    say(f"{file}; coflash run {file} simulates it")
