"""Imported scenarios, with the parameters that have no counterpart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from coflash import CoflashError, Scenario


@cache
def table(system: str) -> tuple[list[list[str]], dict[str, str]]:
    """Return the parameters that a key stands for, as [name, key, kind, default], and why others have none."""
    text = Path(__file__).with_name("parameters.txt").read_text("utf-8")
    lines = text.partition(f"[{system}]\n")[2].partition("\n[")[0].splitlines()
    taken = [line.replace(" = ", " ").split() for line in lines if " = " in line]
    return taken, dict(line.split(": ", 1) for line in lines if ": " in line)


def another_device(place: Path | str, what: str, allowed: str) -> CoflashError:
    """Return the error of a drive of a kind that is not simulated."""
    return CoflashError(f"{place}: another device: {what}; a drive with an FTL of its own is simulated: {allowed}")


def no_counterpart(system: str) -> Mapping[str, str]:
    """Return the parameters of a system that no key stands for, each with the reason."""
    return table(system)[1]


@dataclass(frozen=True)
class Imported:
    """A scenario from the configuration of another simulator."""

    system: str
    """The name of the simulator."""
    values: Mapping[str, Any]
    """The keys that were set, by their dotted paths."""
    remarks: tuple[str, ...]
    """The differences of the two systems, in sentences."""
    missing: Mapping[str, str]
    """Parameters without a counterpart, with their values."""

    @property
    def scenario(self) -> Scenario:
        """The scenario.

        Raises:
            CoflashError: A value is not allowed.
        """
        return Scenario.from_dict(self.values)

    @property
    def problem(self) -> str | None:
        """Why the scenario cannot be run as it stands; None if it can."""
        try:
            self.scenario.check()
        except CoflashError as error:
            return str(error)
        return None

    def lost(self) -> list[str]:
        """Return a line for each parameter without a counterpart: its value, and why."""
        known, unknown = no_counterpart(self.system), f"{self.system}'s importer does not know it"
        plain = known.get("plain", "").split()
        bare = {name: name.rpartition(": ")[2] for name in self.missing}
        return [
            f"no counterpart: {name} = {value} ({known.get(bare[name], known.get(f'flow {bare[name]}', unknown))})"
            for name, value in self.missing.items()
            if not {f"{bare[name]}={said}" for said in (value, "")}.intersection(plain)
        ]

    def to_toml(self) -> str:
        """Return the scenario as TOML: the keys that were set, below comments on everything not imported."""
        remarks = [f"# {remark}" for remark in self.remarks]
        missing = [f"# {line}" for line in self.lost()]
        if problem := self.problem:
            remarks.append(f"# It cannot be run as it stands: {problem}")
        keys = [f"{key} = {toml(value)}" for key, value in self.values.items()]
        return "\n".join([f"# Imported from a configuration of {self.system}.", *remarks, *missing, *keys]) + "\n"


class Parameters:
    """The parameters of a configuration; those never read have no counterpart."""

    def __init__(self, place: str, values: Mapping[str, str]) -> None:
        self._place = place
        self._values = dict(values)
        self._asked: set[str] = set()
        self.remarks: list[str] = []
        """What was done about values that cannot be used."""

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str | None = None) -> str:
        """Return the text of a parameter.

        Raises:
            CoflashError: It is not there, and there is no default.
        """
        self._asked.add(name)
        found = self._values.get(name, default)
        if found is None:
            raise CoflashError(f"{self._place}: {name}: is missing")
        return found

    def one_of(self, name: str, known: Mapping[str, Any], default: str | None = None) -> Any:
        """Return what a parameter's text stands for.

        Raises:
            CoflashError: It is not there, or not among the known ones.
        """
        if (text := self.text(name, default)) not in known:
            raise CoflashError(f"{self._place}: {name}: '{text}' was given; {', '.join(known)} is allowed")
        return known[text]

    def number(self, name: str, default: float | None = None, *, least: float = 0) -> float:
        """Return a number, at least `least`.

        Raises:
            CoflashError: It is not there, no number, or less.
        """
        text = self.text(name, None if default is None else str(default))
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if default is not None and text.startswith(("$", "`")):  # the value of a script's argument, or of a command
            self.remarks.append(f"{name} = {text} is not known before the script runs: {default:g} was taken. Set it.")
            return default
        if not least <= number < 2**62:
            raise CoflashError(f"{self._place}: {name}: '{text}' was given; a number from {least:g} is allowed")
        return number

    def whole(self, name: str, default: float | None = None, *, least: int = 1) -> int:
        """Return a whole number, at least `least`.

        Raises:
            CoflashError: It is not there, no whole number, or less.
        """
        number = self.number(name, default, least=least)
        if number != int(number):
            raise CoflashError(f"{self._place}: {name}: '{number:g}' was given; a whole number is allowed")
        return int(number)

    def taken(self, system: str) -> dict[str, Any]:
        """Return the keys that stand for parameters of a system, with their values.

        Raises:
            CoflashError: A parameter without a default is missing, or has a value that cannot be used.
        """
        values: dict[str, Any] = {key: fixed for _, key, kind, fixed in table(system)[0] if kind == "fixed"}
        for name, key, kind, default in table(system)[0]:
            if kind == "fixed" or (default == "?" and name not in self):
                continue
            usual = None if default in "-?" else float(default)
            is_whole = kind in ("count", "whole", "bytes")
            found = self.whole(name, usual, least=kind != "whole") if is_whole else self.number(name, usual)
            if found or default != "?":
                values[key] = _WRITTEN[kind](found)
        return values

    def switch(self, name: str, *, default: bool = False) -> bool:
        """Return whether a parameter is `true`, `on` or 1."""
        return self.text(name, str(default)).lower() in ("true", "on", "yes", "1")

    def forget(self, name: str) -> None:
        """Take a parameter for one that was never read."""
        self._asked.discard(name)

    def not_asked(self) -> dict[str, str]:
        """Return the parameters that were never read."""
        return {name: value for name, value in self._values.items() if name not in self._asked}


def toml(value: Any) -> str:
    """Write a value as TOML, on one line."""
    match value:
        case dict():
            return f"{{ {', '.join(f'{key} = {toml(inner)}' for key, inner in value.items())} }}"
        case list():
            return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def percent(share: float) -> str:
    """Write a share, from 0 to 1, as a percentage."""
    return f"{round(share * 100, 7):.9g}%"


def time_ns(nanoseconds: float) -> str:
    """Write a time in whole nanoseconds."""
    return f"{round(nanoseconds)}ns"


_WRITTEN: Mapping[str, Callable[[float], Any]] = {
    "count": int,
    "whole": int,
    "bytes": lambda size: f"{int(size)}B",
    "mbytes": lambda size: f"{round(size * 10**6)}B",
    "gbytes": lambda size: f"{round(size * 10**9)}B",
    "ns": time_ns,
    "s": lambda seconds: f"{round(seconds)}s",
    "share": percent,
    "pcent": lambda share: percent(share / 100),
    "rest": lambda used: percent(1 - used / 100),
}
"""How a number is written as the value of a key, by its kind in the table."""
