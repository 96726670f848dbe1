"""Tables that summarise runs."""

from __future__ import annotations

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from coflash.cli.console import plain_table
from coflash.cli.live_display import sparkline
from coflash.measures.measure import HEADLINE, OVERALL, Measure, applying, causes
from coflash.measures.sections import Section, sections
from coflash.quantity import change, show, show_change
from coflash.results.assumptions import assumptions_of
from coflash.results.comparison import Comparison
from coflash.results.result import Result

_STYLES = {"better": "green", "worse": "red", "": ""}
_MUCH = 0.3
"""The share of a run's time from which it is told that hooks took it."""
_SHARE_WIDTH, _COURSE_WIDTH = 7, 24


def run_table(result: Result) -> Group:
    """Make the tables of one run: scenario, common measures, then a section for each part that only some runs have."""
    metrics = result.metrics
    setting = plain_table("", "")
    setting.show_header = False
    for label, text in result.setting.items():
        if text:
            setting.add_row(label, Text(text, style="bold"))
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    table.add_column("measure")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("share or course", style="dim", no_wrap=True)
    for measure in applying(HEADLINE, [metrics]):
        table.add_row(measure.label, measure.shown(metrics))
    table.add_section()
    programs = sum(metrics.programs_pages.values())
    for cause, name in causes([metrics]).items():
        if pages := metrics.programs_pages.get(cause):
            table.add_row(
                f"pages programmed, {name}", show(pages, "pages"), show(pages / programs, "share").rjust(_SHARE_WIDTH)
            )
    table.add_section()
    for measure in applying(OVERALL, [metrics]):
        table.add_row(measure.short, measure.shown(metrics), _share(measure.share(metrics)))
    for section in sections([metrics]):
        _add(table, section, result)
    table.add_section()
    table.add_row("simulated time", show(metrics.simulated_ns, "ns"))
    return Group(setting, table, Text(simulator_line(result), style="dim"))


def simulator_line(result: Result) -> str:
    """State the speed of the simulator itself, which is no property of the device."""
    speed = result.simulator
    took, pace = show(speed["wall_seconds"] * 1e9, "ns"), show(speed["requests_per_second"], "requests")
    hooks = speed.get("hook_seconds", 0.0)
    line = f"The simulation itself took {took}, at {pace} requests per second."
    if hooks <= _MUCH * speed["wall_seconds"]:
        return line
    took = show(hooks * 1e9, "ns")
    return f"{line} Hooks of a policy in Python took {took}, preconditioning included (docs/own_policies.md)."


def _add(table: Table, section: Section, result: Result) -> None:
    metrics = result.metrics
    table.add_section()
    table.add_row(section.title, style="bold")
    for label, one in assumptions_of(result.document, section.path).items():
        table.add_row(f"  {label}", one.shown, one.origin)
    for measure in applying(section.measures, [metrics]):
        table.add_row(f"  {measure.short}", measure.shown(metrics), _share(measure.share(metrics)))
    for course in section.courses(metrics):
        if course.shares:
            drawn = sparkline(course.shares, _COURSE_WIDTH, 0.0, 1.0)
            table.add_row(f"  {course.label}, at the end", show(course.shares[-1], "share"), drawn)


def _share(share: float | None) -> str:
    return "" if share is None else show(share, "share").rjust(_SHARE_WIDTH)


def comparison_table(comparison: Comparison) -> Table:
    """Make the table of a comparison: every scheme beside the baseline, for each cache size; improvements are green."""
    table = Table(title=comparison.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for case in comparison.without_cache:
        table.add_column(case.scheme, justify="right", style="dim", no_wrap=True)
    table.add_column(comparison.baseline, justify="right", no_wrap=True)
    for rival in comparison.rivals:
        table.add_column(rival, justify="right", no_wrap=True)
        table.add_column("change", justify="right", no_wrap=True)
    measures = applying(HEADLINE, (case.result.metrics for case in comparison.cases))
    for size_bytes in comparison.cache_sizes_bytes:
        table.add_row(f"cache of {show(size_bytes, 'bytes')}", style="bold")
        for measure in measures:
            table.add_row(f"  {measure.short}", *_cells(comparison, size_bytes, measure))
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
