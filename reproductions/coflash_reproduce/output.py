"""The folders into which an investigation writes: its own, and that of a published page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coflash.charts import Format
from coflash.files import atomic_write

IMAGES = "images"
"""The folder of the images, beside the page."""
SHOWN: Format = "svg"
"""The format of the images that pages show."""


@dataclass(frozen=True)
class Output:
    """The folders of an investigation. All are made at once, so that a run of hours does not fail at its end."""

    out: Path
    """The folder for all files."""
    publish: Path | None = None
    """A second folder for the page and its images."""

    def __post_init__(self) -> None:
        for place in self._places:
            atomic_write.make_folder(place / IMAGES)

    @property
    def _places(self) -> list[Path]:
        return [self.out] if self.publish is None else [self.out, self.publish]

    def write_image(self, name: str, drawn: Mapping[Format, bytes]) -> None:
        """Write an image in each format; that which the page shows is published, or a PNG."""
        for kind, content in drawn.items():
            atomic_write.write_file(self.out / IMAGES / f"{name}.{kind}", content)
        if self.publish is not None:
            kind = SHOWN if SHOWN in drawn else "png"
            atomic_write.write_file(self.publish / IMAGES / f"{name}.{kind}", drawn[kind])

    def write_page(self, name: str, text: str) -> Path:
        """Write the page; return its file among all files."""
        for place in self._places:
            atomic_write.write_file(place / f"{name}.md", text)
        return self.out / f"{name}.md"
