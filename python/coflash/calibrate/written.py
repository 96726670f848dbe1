"""The files of a calibration: a drive's scenario, beside it a page and a figure of how well it fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coflash._core import CoflashError
from coflash.calibrate import page
from coflash.calibrate.drive import drive_toml
from coflash.calibrate.fit import fit
from coflash.calibrate.from_sheet import FromSheet, read_sheet
from coflash.calibrate.measured import read_csv, read_fio
from coflash.calibrate.sheet import Sheet
from coflash.files import atomic_write, kinds
from coflash.quantity import parsed


def write_from_sheet(sheet: Path, out: Path) -> list[str]:
    """Write the scenario of a data sheet; return what was assumed, what it answers, and where it is.

    Raises:
        CoflashError: The sheet cannot be read, or the file not be written.
    """
    drive = FromSheet.of(read_sheet(sheet))
    atomic_write.check_file(out, kinds.CALIBRATED, [sheet])
    atomic_write.write_file(out, drive.to_toml(answers := drive.answers()))
    return [*(f"assumed: {sentence}" for sentence in drive.assumed()), *answers, f"scenario: {out}"]


def write_fitted(
    results: Path, out: Path, capacity: str | None, sheet: Path | None, report: Callable[[str], None]
) -> list[str]:
    """Fit a scenario to measurements, and write it, its page and its figure; return the verdict, and where they are.

    Args:
        results: A CSV of measurements, or the folder of a pack of jobs that was run.
        out: The scenario.
        capacity: The user capacity; None for that of the sheet, or of the measurements.
        sheet: The data sheet with the limits of the drive.
        report: Called with what the fit finds.

    Raises:
        CoflashError: A file cannot be read or written, or the model does not fit this drive.
    """
    image, about = out.with_suffix(".png"), out.with_suffix(".md")
    for file, kind in ((out, kinds.CALIBRATED), (image, kinds.FIGURE), (about, kinds.CALIBRATION)):
        atomic_write.check_file(file, kind)
    read = read_fio if results.is_dir() else read_csv
    stated = {} if sheet is None else read_sheet(sheet, alone=False)
    size = stated.get("capacity") if capacity is None else _bytes(capacity)
    found = fit(read(results, size, sheet=Sheet.of(stated)), report)
    atomic_write.write_file(image, page.figure(found))
    atomic_write.write_file(about, page.markdown(found, image.name))
    if found.is_refused:
        raise CoflashError(f"{results}: the model does not fit this drive; {about} says where; {out} was not written")
    atomic_write.write_file(out, drive_toml(found))
    return [page.verdict(found), f"scenario: {out}, page: {about}"]


def _bytes(text: str) -> float:
    size = parsed(text)
    if size is None or size[1] != "bytes" or size[0] < 2**20:
        raise CoflashError(f"--capacity: {text!r} was given; a size of at least 1MiB is allowed, such as 800GB")
    return size[0]
