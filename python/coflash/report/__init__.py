"""The HTML report: one file that opens anywhere, offline, in light and dark mode, on a desktop and on a phone.

Its input is any number of results; the keys that vary are found from their scenarios. A script on the page draws the
charts instead of a plotting library, so that a page of nine runs has a tenth of a megabyte instead of five. The charts
are SVG: screen readers read them, arrow keys walk through their values, and they are saved as they are. A thousand runs
open within two seconds.
"""

from __future__ import annotations

from pathlib import Path

from coflash.files import atomic_write, kinds
from coflash.report.page import report_html
from coflash.results.subject import Subject

__all__ = ["Subject", "report_html", "write_report"]


def write_report(subject: Subject, file: Path) -> None:
    """Write the report.

    Raises:
        CoflashError: The file cannot be written.
    """
    atomic_write.check_file(file, kinds.REPORT)
    atomic_write.write_file(file, report_html(subject))
