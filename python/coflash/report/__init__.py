"""The HTML report: one file that opens anywhere, offline, in light and dark, on a desk and on a phone.

Its input is results, in any number: what varied among them is found out from their scenarios. Charts are drawn by a
few hundred lines of script on the page rather than by a plotting library: a page of nine runs is a tenth of a megabyte,
not five, its charts are SVG that can be read aloud, walked through with the arrow keys and saved as they are, and a
thousand runs open within two seconds.
"""

from __future__ import annotations

from pathlib import Path

from coflash import whole
from coflash.report.page import report_html
from coflash.report.study import Study

__all__ = ["Study", "report_html", "write_report"]


def write_report(study: Study, file: Path) -> None:
    """Writes the report.

    Raises:
        CoflashError: The file cannot be written.
    """
    whole.write_file(file, report_html(study))
