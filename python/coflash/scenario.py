"""Scenarios: what is simulated, as one value.

The core owns the scenario's type, its defaults and its checks; this is its Python face.
"""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Iterator, Mapping
from typing import Any, final

from coflash import _core


@final
class Scenario:
    """What is simulated: the device, its caches, how they cooperate, and the workload. Never changes.

    Two scenarios are equal if they simulate the same thing, however they were written.
    """

    __slots__ = ("core",)

    def __init__(self, core: _core.Scenario) -> None:
        self.core = core

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> Scenario:
        """The preset of that name (see [`presets`][coflash.presets]), or the scenario in that TOML file.

        Raises:
            CoflashError: There is no such preset or file, or the file is no scenario; the message names the key.
        """
        return cls(_core.Scenario.load(os.fspath(name_or_path)))

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """The scenario that `text` describes.

        Raises:
            CoflashError: It is no scenario; the message names the key and what it may be.
        """
        return cls(_core.Scenario.from_toml(text))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scenario:
        """The scenario that nested dictionaries describe, such as those of `to_dict`; None stands for the default.

        Raises:
            CoflashError: They describe none; the message names the key and what it may be.
        """
        return cls.from_toml(
            "".join(f"{json.dumps(k)} = {toml_value(v)}\n" for k, v in values.items() if v is not None)
        )

    def with_(self, assignments: Mapping[str, Any] | None = None, /, **more: Any) -> Scenario:
        """This scenario with some keys changed; the scenario itself stays as it is.

        Args:
            assignments: Values by key path, such as `{"cache.size": "64MiB"}`.
            more: The same, with `__` for the dots: `cache__size="64MiB"`.

        Raises:
            CoflashError: A key does not exist or may not have that value.
        """
        changes = dict(assignments or {})
        changes.update((key.replace("__", "."), value) for key, value in more.items())
        return self.set([(key, toml_value(value)) for key, value in changes.items()]) if changes else self

    def set(self, assignments: list[tuple[str, str]]) -> Scenario:
        """This scenario with some keys changed, each value as its TOML text; a bare word is a string.

        A policy is chosen before its parameters are set, in whichever order they are given.

        Raises:
            CoflashError: A key does not exist or may not have that value.
        """
        return Scenario(self.core.set(sorted(assignments, key=lambda pair: pair[0].removesuffix(".name").count("."))))

    def to_toml(self) -> str:
        """The whole scenario, every default written out."""
        return self.core.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The whole scenario as nested dictionaries; sizes, times and shares are texts with their unit."""
        return _object(self.core.to_json())

    def check(self) -> list[str]:
        """What is allowed but probably not meant, in sentences; empty where there is nothing to say."""
        return self.core.check()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.core.name

    @property
    def description(self) -> str:
        """What it is for."""
        return self.core.description

    @property
    def hash(self) -> str:
        """A fingerprint of all that changes results; equal for equal scenarios."""
        return self.core.hash

    @property
    def warm_key(self) -> str:
        """A fingerprint of all that determines the device before the workload; see [`Warm`][coflash.Warm]."""
        return self.core.warm_key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.core == other.core

    def __hash__(self) -> int:
        return hash(self.core)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Scenario.from_toml, (self.to_toml(),)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r} {self.hash}>"


def presets() -> dict[str, str]:
    """The scenarios that ship, and what each is for."""
    return dict(_core.presets())


def scenario_schema() -> dict[str, Any]:
    """The JSON schema of a scenario, for editors and for checks elsewhere."""
    return _object(_core.scenario_schema_json())


def toml_value(value: Any) -> str:
    """`value` as it stands in TOML, on one line.

    Raises:
        TypeError: TOML has no such value.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case numbers.Integral():
            return str(int(value))
        case numbers.Real():
            return repr(float(value))
        case Mapping():
            pairs = (f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items() if v is not None)
            return "{ " + ", ".join(pairs) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml_value, value)) + "]"
    msg = f"a scenario has no values such as {value!r} ({type(value).__name__})"
    raise TypeError(msg)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested dictionaries by their dotted path; a list is a leaf, as JSON."""
    for key, value in values.items():
        match value:
            case Mapping():
                yield from flat(value, f"{prefix}{key}.")
            case list():
                yield prefix + key, json.dumps(value, ensure_ascii=False)
            case _:
                yield prefix + key, value


def _object(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed
