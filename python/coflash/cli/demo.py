"""`coflash demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import demo as job
from coflash.cli.console import errors, output
from coflash.cli.options import Force, out_option
from coflash.cli.summary import comparison_table
from coflash.files import atomic_write
from coflash.results import comparison
from coflash.runs.progress import Display


def demo(
    out: Annotated[Path, out_option("DIR", "The folder of results.")] = Path("results/demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cache sizes.")] = False,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Another trace than the demo's own.")
    ] = None,
    force: Force = False,
) -> None:
    """Compare no cache, a cache that flash knows nothing of, and cooperative data management, on an OLTP trace."""
    from coflash.report import Subject, write_report  # slow to import; no other command needs it

    sizes_bytes = job.QUICK_CACHE_SIZES_BYTES if quick else job.CACHE_SIZES_BYTES
    trace = trace or job.find_trace()
    atomic_write.check_folder(out, comparison.FILES)
    if not force:
        job.check_place(out, trace, sizes_bytes)
    with Display(errors(), runs=len(list(job.cases(sizes_bytes)))) as display:
        found = job.compare(display, trace, sizes_bytes)
    with atomic_write.folder(out, comparison.FILES) as new:
        found.write_files(new)
        write_report(Subject.of(found), new / comparison.REPORT)
    console = output()
    console.print(comparison_table(found))
    console.print(f"results: {out}", highlight=False, soft_wrap=True)
    console.print(f"report:  {out / comparison.REPORT}", highlight=False, soft_wrap=True)
