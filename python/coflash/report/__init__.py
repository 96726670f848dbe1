"""The HTML report: one file that opens anywhere, offline, in light and dark mode, on a desktop and on a phone.

Its input is any number of results; the keys that vary are found from their scenarios. The page brings the library that
draws its charts (`library.py`), packed in 0.4 MB, and fills specifications of `coflash.charts` with the runs that the
filter leaves. The charts are SVG, and are saved as they are; arrow keys read their values aloud. A thousand runs open
within two seconds.
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
