"""`coflash calibrate`."""

from __future__ import annotations

from pathlib import Path

from coflash._core import CoflashError
from coflash.cli.console import check_effect, errors, say


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
    from coflash.calibrate.written import write_fitted, write_from_sheet  # slow to import, as are those below

    given = {"RESULTS": results, "--capacity": capacity}
    if sheet_file is not None and results is None:
        check_effect({**given, "--jobs": jobs}, "with --sheet alone")
        said = write_from_sheet(sheet_file, out)
    elif jobs is not None:
        from coflash.calibrate.jobs import SCRIPT, write_pack

        check_effect({**given, "--sheet": sheet_file}, "with --jobs")
        write_pack(jobs)
        said = [f"read {jobs / SCRIPT}, then run it as root on a drive whose data may be lost"]
    elif results is None:
        raise CoflashError("RESULTS: a CSV or a folder of results is needed; --jobs DIR writes jobs that make one")
    else:
        said = write_fitted(results, out, capacity, sheet_file, lambda finds: say(f"fit · {finds}", errors()))
    for line in said:
        say(line)
