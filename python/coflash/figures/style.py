"""The look of every figure: as wide as columns of a paper, in colours and dashes that survive a printer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from coflash._core import CoflashError
from coflash.files import atomic_write, kinds
from coflash.quantity import SCALES, Unit, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format = Literal["pdf", "svg", "png"]
FORMATS: tuple[Format, ...] = get_args(Format)
COLUMN_INCHES, GUTTER_INCHES = 3.4, 0.25

DASHES = ("-", (0, (4, 1.6)), (0, (1, 1.4)), (0, (5, 1.5, 1, 1.5)), (0, (7, 2)), (0, (2.5, 1.2)))
MARKERS = ("o", "s", "D", "^", "x", "v", "P", "*")
_COLOURS = 48
"""The colours of a PNG: eight of lines, each with its shades at edges."""
_METADATA: dict[Format, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


@contextmanager
def style(columns: int = 1) -> Iterator[None]:
    """Apply the common style to every figure that is made inside.

    Args:
        columns: The width of a figure, in columns of a paper.

    Raises:
        CoflashError: matplotlib is missing.
    """
    needs_matplotlib()
    from matplotlib import rc_context

    width_inches = columns * COLUMN_INCHES + (columns - 1) * GUTTER_INCHES
    with rc_context(_common() | {"figure.figsize": (width_inches, COLUMN_INCHES)}):
        yield


@cache
def _common() -> dict[Any, Any]:
    from matplotlib import rc_params_from_file

    return rc_params_from_file(Path(__file__).with_name("coflash.mplstyle"), use_default_template=False)


def picture(figure: Figure, format: Format) -> bytes:
    """Render a figure; the same figure gives the same bytes."""
    file = BytesIO()
    figure.savefig(file, format=format, metadata=_METADATA[format])
    lines_alone = format == "png" and not any(axes.images for axes in figure.axes)
    return _in_few_colours(file) if lines_alone else file.getvalue()


def _in_few_colours(png: BytesIO) -> bytes:
    """Return a picture of lines and letters at a quarter of its size: each colour becomes the nearest of a few."""
    from PIL import Image, PngImagePlugin

    with Image.open(png) as picture:
        few = picture.convert("RGB").quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, 1, dither=Image.Dither.NONE)
        drawn_by, file = PngImagePlugin.PngInfo(), BytesIO()
        drawn_by.add_text("Software", picture.info["Software"])  # by which `kinds.FIGURE` knows it
        few.save(file, "png", optimize=True, dpi=picture.info["dpi"], pnginfo=drawn_by)
    return file.getvalue()


def format_of(file: Path, or_else: str = "") -> Format:
    """Return the format of a picture from the suffix of its file.

    Args:
        file: The file.
        or_else: Other allowed values, for the message.

    Raises:
        CoflashError: It has no suffix of a known format.
    """
    for form in FORMATS:
        if file.suffix.lower() == f".{form}":
            return form
    ending = file.suffix or "a name without an ending"
    msg = f"{file}: {ending} cannot be drawn; a name that ends in .{', .'.join(FORMATS)}{or_else} is allowed"
    raise CoflashError(msg)


def write_pictures(folder: Path, pictures: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write pictures into a folder, which is created; return the files.

    Raises:
        CoflashError: The folder cannot be written, or holds another file of that name.
    """
    atomic_write.make_folder(folder)
    written = []
    for name, content in pictures:
        atomic_write.check_file(folder / name, kinds.FIGURE)
        atomic_write.write_file(folder / name, content)
        written.append(folder / name)
    return written


def needs_matplotlib() -> None:
    """Check before a run that drawing is possible after it.

    Raises:
        CoflashError: matplotlib is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise CoflashError("figures for papers need matplotlib: pip install 'coflash[plots]'") from error


def new_figure(height_inches: float) -> tuple[Figure, Axes]:
    """Make a figure of the width of the style, with one plot."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    figure = Figure(figsize=(rcParams["figure.figsize"][0], height_inches), layout="constrained")
    return figure, figure.add_subplot()


def axis_unit(unit: Unit, most: float) -> tuple[float, str]:
    """Return the factor and the name of the unit for the labels of an axis."""
    if unit in SCALES:
        return scale(unit, most)
    if unit == "share":
        return 0.01, "%"
    if unit in ("ratio", ""):
        return 1.0, ""
    if most >= 1e6:
        return 1e6, f"million {unit}"
    return (1e3, f"thousand {unit}") if most >= 2e4 else (1.0, unit)
