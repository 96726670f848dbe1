"""`coflash calibrate`."""

from __future__ import annotations

from pathlib import Path

from coflash._core import CoflashError
from coflash.cli.console import check_effect, errors, say
from coflash.files import atomic_write, kinds
from coflash.quantity import parsed


def calibrate(
    results: Path | None = None,
    out: Path = Path("drive.toml"),
    capacity: str | None = None,
    sheet_file: Path | None = None,
    jobs: Path | None = None,
) -> None:
    """Fit a scenario to measurements of a drive, and say how well it predicts those that were held out.

    Options:
        results: `RESULTS` A CSV of measurements, such as used,waf; or the folder of a pack of jobs that was run.
        out: `--out -o FILE` The scenario; its page and figure go beside it.
        capacity: `--capacity SIZE` The user capacity: 800GB.
        sheet_file: `--sheet FILE` The data sheet, lines such as capacity = "3.84TB": beside RESULTS its limits, alone
            all that is known.
        jobs: `--jobs DIR` Write fio jobs that measure a drive, and the script that runs them.
    """
    from coflash.calibrate.from_sheet import FromSheet, read_sheet  # slow to import, as are those below

    given = {"RESULTS": results, "--capacity": capacity}
    if sheet_file is not None and results is None:
        check_effect({**given, "--jobs": jobs}, "with --sheet alone")
        drive = FromSheet.of(read_sheet(sheet_file))
        atomic_write.check_file(out, kinds.CALIBRATED, [sheet_file])
        atomic_write.write_file(out, drive.to_toml(answers := drive.answers()))
        for line in (*(f"assumed: {sentence}" for sentence in drive.assumed()), *answers, f"scenario: {out}"):
            say(line)
        return
    from coflash.calibrate.jobs import SCRIPT, write_pack  # slow to import

    if jobs is not None:
        check_effect({**given, "--sheet": sheet_file}, "with --jobs")
        write_pack(jobs)
        advice = f"read {jobs / SCRIPT}, then run it as root on a drive whose data may be lost"
        say(advice)
        return
    if results is None:
        msg = "RESULTS: a CSV or a folder of results is needed; --jobs DIR writes jobs that make one"
        raise CoflashError(msg)
    from coflash.calibrate import fit, page, read_csv, read_fio
    from coflash.calibrate.drive import drive_toml
    from coflash.calibrate.sheet import Link, Sheet

    image, about = out.with_suffix(".png"), out.with_suffix(".md")
    for file, kind in ((out, kinds.CALIBRATED), (image, kinds.FIGURE), (about, kinds.CALIBRATION)):
        atomic_write.check_file(file, kind)
    read = read_fio if results.is_dir() else read_csv
    stated = {} if sheet_file is None else read_sheet(sheet_file, alone=False)
    link = Link.read(stated["link"]) if "link" in stated else None
    sheet = Sheet(link, stated.get("sequential_read"), stated.get("random_read"))
    found = fit(
        read(results, stated.get("capacity") if capacity is None else _bytes("--capacity", capacity), sheet=sheet),
        lambda finds: errors().print(f"fit · {finds}", soft_wrap=True),
    )
    atomic_write.write_file(image, page.figure(found))
    atomic_write.write_file(about, page.markdown(found, image.name))
    if found.is_refused:
        msg = f"{results}: the model does not fit this drive; {about} says where; {out} was not written"
        raise CoflashError(msg)
    atomic_write.write_file(out, drive_toml(found))
    say(page.verdict(found))
    say(f"scenario: {out}, page: {about}")


def _bytes(option: str, text: str) -> float:
    size = parsed(text)
    if size is None or size[1] != "bytes" or size[0] < 2**20:
        msg = f"{option}: {text!r} was given; a size of at least 1MiB is allowed, such as 800GB"
        raise CoflashError(msg)
    return size[0]
