"""Checkpoints: files from which interrupted runs go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 600.0
"""The time between two checkpoints: a long run loses at most so much, and keeps it at a hundredth of its time."""


@dataclass
class Checkpoint:
    """Where a run keeps what it has become."""

    file: Path
    say: Callable[[str], object]
    """Hears at once what a reader should know: a sentence each."""
    seconds: float = SECONDS
    """The time between two checkpoints; 0 for none."""
    replaces_another: bool = False
    """Whether a checkpoint of another run is replaced. Otherwise it is refused."""
    _unwritten: set[str] = field(default_factory=set)

    def tell(self, resumed: int | None, unusable: str | None, unwritten: str | None) -> None:
        """Say where a run begins, or why no checkpoint can be kept, the same reason once."""
        if resumed is not None:
            self.say(f"the run goes on from {self.file}: {resumed:,} requests were served before")
        if unusable is not None:
            self.say(f"{self.file}: {unusable}: the run begins with its first request")
        if unwritten is not None and unwritten not in self._unwritten:
            self._unwritten.add(unwritten)
            self.say(f"no checkpoint was kept at {self.file}: {unwritten}")

    def remove(self) -> None:
        """Remove the file: the result is kept."""
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            self.say(f"{self.file}: is not needed any more, and cannot be removed: {error.strerror}")
