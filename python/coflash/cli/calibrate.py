"""`coflash calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash._core import CoflashError
from coflash.cli.console import check_effect, errors, output
from coflash.cli.options import out_option
from coflash.files import atomic_write, kinds
from coflash.quantity import parsed

_RESULTS = "A CSV of measurements, such as used,waf; or the folder of a pack of jobs that was run."


def calibrate(
    results: Annotated[Path | None, typer.Argument(metavar="RESULTS", help=_RESULTS)] = None,
    out: Annotated[Path, out_option("FILE", "The scenario; its page and figure go beside it.")] = Path("drive.toml"),
    capacity: Annotated[
        str | None, typer.Option("--capacity", metavar="SIZE", help="The user capacity: 800GB.")
    ] = None,
    source: Annotated[str, typer.Option("--source", metavar="TEXT", help="Where the measurements are from.")] = "",
    link: Annotated[
        str | None, typer.Option("--link", metavar="TEXT", help="The link, by the data sheet: 'PCIe 4.0 x4'.")
    ] = None,
    read_bandwidth: Annotated[
        str | None,
        typer.Option("--read-bandwidth", metavar="SIZE", help="Bytes read per second, by the data sheet: 6500MB."),
    ] = None,
    read_iops: Annotated[
        float | None,
        typer.Option("--read-iops", metavar="N", min=1, help="Reads of 4 KiB per second, by the data sheet: 580000."),
    ] = None,
    sheet_file: Annotated[
        Path | None,
        typer.Option("--sheet", metavar="FILE", help='A data sheet alone: lines such as capacity = "3.84TB".'),
    ] = None,
    jobs: Annotated[
        Path | None,
        typer.Option(
            "--jobs", metavar="DIR", help="Write fio jobs that measure a drive, and the script that runs them."
        ),
    ] = None,
) -> None:
    """Fit a scenario to measurements of a drive, and say how well it predicts those that were held out."""
    sheet_options = {"--link": link, "--read-bandwidth": read_bandwidth, "--read-iops": read_iops}
    given = {"RESULTS": results, "--capacity": capacity, "--source": source, **sheet_options}
    if sheet_file is not None:
        check_effect({**given, "--jobs": jobs}, "with --sheet")
        from coflash.calibrate.from_sheet import FromSheet, read_sheet

        drive = FromSheet.of(read_sheet(sheet_file))
        atomic_write.check_file(out, kinds.CALIBRATED, [sheet_file])
        atomic_write.write_file(out, drive.to_toml(answers := drive.answers()))
        for line in (*(f"assumed: {sentence}" for sentence in drive.assumed()), *answers, f"scenario: {out}"):
            output().print(line, markup=False, highlight=False, soft_wrap=True)
        return
    from coflash.calibrate.jobs import SCRIPT, write_pack  # slow to import

    if jobs is not None:
        check_effect(given, "with --jobs")
        write_pack(jobs)
        advice = f"read {jobs / SCRIPT}, then run it as root on a drive whose data may be lost"
        output().print(advice, highlight=False, soft_wrap=True)
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
    sheet = Sheet(None if link is None else Link.read(link), _bytes("--read-bandwidth", read_bandwidth), read_iops)
    found = fit(
        read(results, _bytes("--capacity", capacity), source, sheet),
        lambda finds: errors().print(f"fit · {finds}", markup=False, highlight=False, soft_wrap=True),
    )
    atomic_write.write_file(image, page.figure(found))
    atomic_write.write_file(about, page.markdown(found, image.name))
    if found.is_refused:
        msg = f"{results}: the model does not fit this drive; {about} says where; {out} was not written"
        raise CoflashError(msg)
    atomic_write.write_file(out, drive_toml(found))
    output().print(page.verdict(found), markup=False, highlight=False, soft_wrap=True)
    output().print(f"scenario: {out}, page: {about}", markup=False, highlight=False, soft_wrap=True)


def _bytes(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    size = parsed(text)
    if size is None or size[1] != "bytes" or size[0] < 2**20:
        msg = f"{option}: {text!r} was given; a size of at least 1MiB is allowed, such as 800GB"
        raise CoflashError(msg)
    return size[0]
