"""The tables that sum up runs."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from coflash.comparison import Comparison
from coflash.measures import CAUSES, HEADLINE, Measure
from coflash.quantity import change, show, show_change
from coflash.result import Result

_STYLES = {"better": "green", "worse": "red", "": ""}


def run_table(result: Result) -> Table:
    """What one run counted."""
    metrics = result.metrics
    table = Table(
        title=result.workload["description"],
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=False,
    )
    table.add_column("measure")
    table.add_column("value", justify="right")
    for measure in HEADLINE:
        table.add_row(measure.label, measure.shown(metrics))
    table.add_section()
    for cause, pages in metrics.programs_pages.items():
        if pages:
            table.add_row(f"pages programmed, {CAUSES[cause]}", show(pages, "pages"))
    table.add_section()
    table.add_row("requests", show(metrics.requests, "requests"))
    table.add_row("pages written by the host", show(metrics.host_writes_pages, "pages"))
    table.add_row("cache hits", show(metrics.cache.hit_ratio, "share"))
    if "host" in metrics:
        link = metrics.host
        table.add_section()
        table.add_row("commands across the link", show(link.commands, "requests"))
        table.add_row("messages between cache and flash", show(link.messages, "requests"))
        table.add_row("bytes between cache and flash", show(link.bytes, "bytes"))
        table.add_row("delay of notices to the device, mean", show(link.to_device.delay_mean_ns, "ns"))
        table.add_row("delay of notices to the device, longest", show(link.to_device.delay_max_ns, "ns"))
        table.add_row("answers waited for these", show(link.waited_ns, "ns"))
        table.add_section()
    table.add_row("simulated time", show(metrics.simulated_ns, "ns"))
    table.add_row("simulated requests per second", show(result.simulator["requests_per_second"], "requests"))
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Every scheme beside the baseline, cache size by cache size; a change for the better is green."""
    table = Table(title=comparison.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for case in comparison.without_cache:
        table.add_column(case.scheme, justify="right", style="dim", no_wrap=True)
    table.add_column(comparison.baseline, justify="right", no_wrap=True)
    for rival in comparison.rivals:
        table.add_column(rival, justify="right", no_wrap=True)
        table.add_column("change", justify="right", no_wrap=True)
    for size_bytes in comparison.cache_sizes_bytes:
        table.add_row(f"cache of {show(size_bytes, 'bytes')}", style="bold")
        for measure in HEADLINE:
            table.add_row(f"  {measure.label}", *_cells(comparison, size_bytes, measure))
        table.add_section()
    return table


def _cells(comparison: Comparison, size_bytes: int, measure: Measure) -> list[str | Text]:
    cells: list[str | Text] = [measure.shown(case.result.metrics) for case in comparison.without_cache]
    reference = comparison.at(comparison.baseline, size_bytes)
    cells.append("–" if reference is None else measure.shown(reference.metrics))
    for rival in comparison.rivals:
        result = comparison.at(rival, size_bytes)
        cells.append("–" if result is None else measure.shown(result.metrics))
        relative = None
        if result is not None and reference is not None:
            relative = change(measure.read(result.metrics), measure.read(reference.metrics))
        cells.append(Text(show_change(relative), style=_STYLES[measure.verdict(relative)]))
    return cells
