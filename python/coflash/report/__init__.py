"""The HTML report: one file that opens anywhere, offline, in light and dark mode, on a desktop and on a phone.

Its input is any number of results; the keys that vary are found from their scenarios. The page brings the library that
draws its charts (`library.py`), packed in 0.4 MB, and fills specifications of `coflash.charts` with the runs that the
filter leaves. The charts are SVG, and are saved as they are; arrow keys read their values aloud. A thousand runs open
within two seconds.
"""

from __future__ import annotations

from pathlib import Path

from coflash._core import CoflashError
from coflash.files import atomic_write, kinds
from coflash.report.page import report_html
from coflash.results.subject import Subject

__all__ = ["Subject", "check_page", "report_html", "write_report"]


def check_page(file: Path) -> None:
    """Check that a file can be the page.

    Raises:
        CoflashError: It cannot be written, or its name is that of no page.
    """
    if file.suffix.lower() not in (".html", ".htm"):
        raise CoflashError(
            f"{file}: a report is a page, whose name ends in .html; --format pdf, svg or png writes figures to a folder"
        )
    atomic_write.check_file(file, kinds.REPORT)


def write_report(subject: Subject, file: Path) -> None:
    """Write the report.

    Raises:
        CoflashError: The file cannot be written, or its name is that of no page.
    """
    check_page(file)
    atomic_write.write_file(file, report_html(subject))
