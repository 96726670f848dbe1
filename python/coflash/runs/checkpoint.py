"""Checkpoints: files from which interrupted runs go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

SECONDS = 600.0
"""The time between two checkpoints: a long run loses at most so much, and keeps it at a hundredth of its time."""


@dataclass
class Checkpoint:
    """Where a run keeps what it has become, and what happened to that file."""

    file: Path
    seconds: float = SECONDS
    told: list[str] = field(default_factory=list)
    """What a reader should know: a sentence each."""

    def tell(self, resumed: int | None, unusable: str | None, unwritten: str | None) -> None:
        """Note where a run began, and whether a checkpoint could be kept."""
        if resumed is not None:
            self.told.append(f"the run went on from {self.file}: {resumed:,} requests were served before")
        if unusable is not None:
            self.told.append(f"{self.file}: {unusable}: the run began with its first request")
        if unwritten is not None:
            self.told.append(f"no checkpoint was kept at {self.file}: {unwritten}")

    def remove(self) -> None:
        """Remove the file, and what a killed process had begun to write in its place: the result is kept."""
        for file in (self.file, *self.file.parent.glob(f".{escape(self.file.name)}.*")):
            file.unlink(missing_ok=True)
