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
    holds_run: bool = field(default=False, init=False)
    """Whether the file is of this run, which can go on from it."""
    _said: set[str] = field(default_factory=set, init=False)

    def tell(self, event: str, about: int | str) -> None:
        """Hear of the core where the run begins, and what becomes of the file; say it, the same sentence once."""
        self.holds_run |= event in ("resumed", "written")
        match event:
            case "resumed":
                sentence = f"the run goes on from {self.file}: {about:,} requests were served before"
            case "unusable":
                sentence = f"{self.file}: {about}: the run begins with its first request"
            case "unwritten":
                sentence = f"no checkpoint was kept at {self.file}: {about}"
            case _:
                return
        if sentence not in self._said:
            self._said.add(sentence)
            self.say(sentence)

    def remove(self) -> None:
        """Remove the file: the result is kept."""
        try:
            self.file.unlink(missing_ok=True)
        except OSError as error:
            self.say(f"{self.file}: is not needed any more, and cannot be removed: {error.strerror}")
