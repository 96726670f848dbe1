"""The HTML report: one file that opens anywhere, offline, in light and dark, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path

from coflash import whole
from coflash.comparison import Comparison
from coflash.report.page import report_html

__all__ = ["report_html", "write_report"]


def write_report(comparison: Comparison, file: Path) -> None:
    """Writes the report of a comparison.

    Raises:
        CoflashError: The file cannot be written.
    """
    whole.write_file(file, report_html(comparison))
