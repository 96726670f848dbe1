"""What the terminal shows of one run."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from coflash.quantity import show
from coflash.results.result import Result
from coflash.results.tables import run_table
from coflash.text_table import Cell, TextTable

_MUCH = 0.3
"""The share of a run's time from which it is told that hooks took it."""


def summary(result: Result) -> Group:
    """Show one run: its scenario, its table, and the speed of the simulation."""
    told = ((label, Cell(text, "bold")) for label, text in result.setting.items() if text)
    setting = TextTable.of(["", ""], told, "l", wraps=True)
    return Group(setting, "", run_table(result), "", Text(simulator_line(result), style="dim"))


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
