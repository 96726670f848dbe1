"""`coflash demo`."""

from __future__ import annotations

from pathlib import Path

from coflash import demo as job
from coflash.cli.console import output, say, show_table
from coflash.files import atomic_write, kinds


def demo(out: Path = Path("results/demo"), quick: bool = False) -> None:
    """Compare no cache, a cache that flash knows nothing of, and cooperative data management, on an OLTP trace.

    Options:
        out: `--out -o DIR` The folder of results.
        quick: `--quick` Fewer cache sizes.
    """
    from coflash.report import write_report  # slow to import; no other command needs it

    page = out / "report.html"
    if out.exists():
        atomic_write.check_file(page, kinds.REPORT)
    sizes_bytes = job.QUICK_CACHE_SIZES_BYTES if quick else job.CACHE_SIZES_BYTES
    found = job.compare(out, job.find_trace(), sizes_bytes)
    write_report(job.subject(found), page)
    for table in job.tables(found):
        show_table(table)
        output().print()
    say(f"results: {out}\nreport:  {page}")
