"""The tables of one run."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from coflash.cli.live_display import sparkline
from coflash.measures.measure import HEADLINE, OVERALL, applying, causes
from coflash.measures.sections import sections
from coflash.quantity import show
from coflash.results.assumptions import assumptions_of
from coflash.results.result import Result
from coflash.text_table import Cell, TextTable

_MUCH = 0.3
"""The share of a run's time from which it is told that hooks took it."""
_COURSE_WIDTH = 24


def run_table(result: Result) -> Group:
    """Make the tables of one run: scenario, common measures, then a section for each part that only some runs have."""
    setting = TextTable(["", ""], wraps=True)
    for label, text in result.setting.items():
        if text:
            setting.add(label, Cell(text, "bold"))
    metrics = result.metrics
    table = TextTable(["", "", ""], "lrl")

    def add(label: str, text: str, share: float | None = None) -> None:
        table.add(label, text, Cell("" if share is None else show(share, "share").rjust(7), "dim"))

    for measure in applying(HEADLINE, [metrics]):
        add(measure.label, measure.shown(metrics))
    table.begin()
    programs = sum(metrics.programs_pages.values())
    for cause, name in causes([metrics]).items():
        if pages := metrics.programs_pages.get(cause):
            add(f"pages programmed, {name}", show(pages, "pages"), pages / programs)
    table.begin()
    for measure in applying(OVERALL, [metrics]):
        add(measure.short, measure.shown(metrics), measure.share(metrics))
    for section in sections([metrics]):
        table.begin(section.title)
        for label, one in assumptions_of(result.document, section.path).items():
            table.add(f"  {label}", one.shown, Cell(one.origin, "dim"))
        for measure in applying(section.measures, [metrics]):
            add(f"  {measure.short}", measure.shown(metrics), measure.share(metrics))
        for course in section.courses(metrics):
            if course.shares:
                drawn = Cell(sparkline(course.shares, _COURSE_WIDTH, 0.0, 1.0), "dim")
                table.add(f"  {course.label}, at the end", show(course.shares[-1], "share"), drawn)
    table.begin()
    add("simulated time", show(metrics.simulated_ns, "ns"))
    return Group(setting, "", table, "", Text(simulator_line(result), style="dim"))


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
