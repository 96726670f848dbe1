"""Scenarios: a whole simulation as one value.

The core owns the type of a scenario, its defaults and its checks; this is its Python interface.
"""

from __future__ import annotations

import json
import numbers
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import NoneType
from typing import Any, TypeAlias, final

from coflash import _core, external
from coflash._core import CoflashError
from coflash.scaling import kept_capacity
from coflash.text_table import TextTable

LABELS = ("name", "description", "limits")
"""The keys that describe a scenario and do not influence its numbers."""
_WORKLOADS = ("trace", "like", "synthetic", "preset", "phases", "tenants", "fio", "disksim")
_GENERATE = "`coflash trace generate zipf --set generator.exponent=0.9 -o my.parquet` writes another trace"
_BARE_KEY = re.compile("[A-Za-z0-9_.-]+")


@final
class Scenario(_core.Scenario):
    """A simulation: the device, its caches, their cooperation, and the workload. Immutable.

    Two scenarios are equal if they simulate the same, however they were written.
    """

    __slots__ = ()

    @classmethod
    def of(cls, given: ScenarioLike) -> Scenario:
        """Return a scenario, given as an object, as nested dictionaries, or by its name or file.

        Raises:
            CoflashError: There is no such scenario or file, or its keys or values are not allowed.
        """
        match given:
            case Scenario():
                return given
            case Mapping():
                return cls.from_dict(given)
            case str() | os.PathLike():
                return cls.load(given)
        what = type(given).__name__
        msg = f"scenario: {what} was given; a scenario, its name, a TOML file, or a dictionary of its keys is allowed"
        raise CoflashError(msg)

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> Scenario:
        """Load a scenario by the name of a built-in one (see [`coflash.built_in_scenarios`][]), or from a TOML file.

        Raises:
            CoflashError: There is no such scenario or file, or the file is not a scenario; the message names the key.
        """
        return cls(super().load(os.fspath(name_or_path)))

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Read a scenario from TOML.

        Raises:
            CoflashError: The text is not a scenario; the message names the key and its allowed values.
        """
        return cls(super().from_toml(text))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scenario:
        """Make a scenario from nested dictionaries, such as those of `to_dict`; None stands for the default.

        A key may be a dotted path: `{"cache.size": "5%"}` is `{"cache": {"size": "5%"}}`.

        Raises:
            CoflashError: The values are not a scenario; the message names the key and its allowed values.
        """
        return cls.from_toml(_as_toml(values))

    @classmethod
    def of_result(cls, document: Mapping[str, Any]) -> Scenario:
        """Return the scenario of a result, also of one that an earlier version made.

        Raises:
            CoflashError: This version has no such keys or values.
        """
        return cls(cls.of_run(_as_toml(document["scenario"])))

    def replaying(self, trace: Sequence[str]) -> Scenario:
        """Return a copy that replays a trace in place of its own workload; without files, the scenario itself."""
        return Scenario(super().replaying(trace)) if trace else self

    def check_replay(self, keys: Iterable[str]) -> None:
        """Check that the requests of a trace, which take the place of others, leave keys their effect.

        Raises:
            CoflashError: One has none, such as `workload.synthetic.read_share`.
        """
        gone = flat(self.to_dict()).keys() - flat(self.replaying(["-"]).to_dict()).keys()
        for key in keys:
            if any(f"{leaf}.".startswith(f"{key}.") for leaf in gone):
                raise CoflashError(f"{key}: has no effect beside a trace or a workload by name; {_GENERATE}")

    def with_jobs(self, file: str) -> Scenario:
        """Return a copy that runs the jobs of this job file of fio in place of its own workload."""
        return Scenario(super().with_jobs(file))

    def with_(self, assignments: Mapping[str, Any] | None = None, /, **more: Any) -> Scenario:
        """Return a copy of this scenario with some keys changed.

        Args:
            assignments: Values by key path, such as `{"cache.size": "64MiB"}`; with None a key has its default.
            more: The same, with `__` for the dots: `cache__size="64MiB"`.

        Raises:
            CoflashError: A key does not exist or may not have that value.
        """
        changes = dict(assignments or {})
        changes.update((key.replace("__", "."), value) for key, value in more.items())
        return self.set([(key, "" if value is None else toml_value(value)) for key, value in changes.items()])

    def set(self, assignments: Sequence[tuple[str, str]]) -> Scenario:
        """Return a copy of this scenario with some keys changed, each value as TOML text; a bare word is a string.

        A key without a value has its default. A workload of another kind takes the place of the one that is there.
        Policies are set before their parameters, in whatever order both are given.

        Raises:
            CoflashError: A key does not exist or may not have that value.
        """
        return Scenario(super().set(sorted(assignments, key=lambda pair: pair[0].removesuffix(".name").count("."))))

    def scaled(self, scale: str | float | Fraction, *, measured: bool = True) -> Scenario:
        """Return the same drive with a fraction of its blocks, and its workload in that proportion.

        Write amplification, shares and response times stay what they were; its `limits`, which each result repeats, say
        what does not. Dies, planes, pages of a block, times, rates and queues are the same. The exported capacity with
        which write amplification stays is measured, which takes a second or two.

        Args:
            scale: The fraction, such as `"1/64"` or 0.25; above 1 for a larger drive.
            measured: Whether the exported capacity is measured; else it is in proportion, for a workload that is not
                the scenario's, such as a sample of a trace.

        Raises:
            CoflashError: Too few blocks would be left (the message has the nearest fraction that would do), or the
                scenario has a workload that cannot follow, such as a recorded trace.
        """
        try:
            part = scale if isinstance(scale, str) else "{0.numerator}/{0.denominator}".format(Fraction(str(scale)))
        except ValueError as error:
            raise CoflashError(f'scale: {scale!r} was given; a fraction such as "1/64" or 0.25 is allowed') from error
        small = super().scaled(part)
        if small.sizes()[1] >= self.sizes()[1] or not measured:
            return Scenario(small)
        pages, said = kept_capacity(super().set([("seed", "1")]), part)
        kept = Scenario(small.exporting(pages))
        return kept.with_(limits=[*kept.to_dict()["limits"], said])

    def with_digests(self) -> Scenario:
        """Return a copy that contains the digests of its policies from outside.

        Raises:
            CoflashError: A policy cannot be found, or its source has changed.
        """
        return Scenario(super().with_digests())

    @property
    def workload_key(self) -> str:
        """The key below `workload` that makes the requests, such as `preset`; empty for the default."""
        return next((key for key, value in self.to_dict()["workload"].items() if value and key in _WORKLOADS), "")

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Scenario.from_toml, (self.to_toml(),)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r} {self.hash}>"

    def _repr_html_(self) -> str:
        defaults = flat(Scenario.from_dict({}).to_dict())
        own = [(key, value) for key, value in flat(self.to_dict()).items() if value != defaults.get(key)]
        rows = ((key, str(as_text(value))) for key, value in own if key not in LABELS)
        title = f"Scenario {self.name} ({self.hash}): {self.description}. Keys that differ from their defaults:"
        return TextTable.of(["key", "value"], rows, "l", title=title).html()


ScenarioLike: TypeAlias = Scenario | Mapping[str, Any] | str | os.PathLike[str]
"""A scenario, nested dictionaries as for `Scenario.from_dict`, or the name or file of one."""


def built_in_scenarios() -> dict[str, str]:
    """Return the names of the built-in scenarios, each with its purpose."""
    return dict(_core.built_in_scenarios())


def scenario_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario, for editors and other tools."""
    return _core.scenario_schema()


def toml_value(value: Any) -> str:
    """Write a value as TOML, on one line.

    Raises:
        TypeError: TOML has no such value.
    """
    if external.is_policy(value):
        value = external.described(value)
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
            pairs = (f"{_toml_key(k)} = {toml_value(v)}" for k, v in value.items() if v is not None)
            return "{ " + ", ".join(pairs) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml_value, value)) + "]"
    of_class = "give the class itself" if external.is_policy(type(value)) else "a class needs @coflash.policy"
    raise TypeError(f"a scenario has no value {value!r} ({type(value).__name__}); {of_class}")


def _as_toml(values: Mapping[str, Any]) -> str:
    return "".join(f"{_toml_key(k)} = {toml_value(v)}\n" for k, v in values.items() if v is not None)


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves of nested dictionaries by their dotted paths; a list is a leaf."""
    leaves: dict[str, Any] = {}
    _add_leaves(values, "", leaves)
    return leaves


_PLAIN = frozenset({str, int, float, bool, list, NoneType})


def _add_leaves(values: Mapping[str, Any], prefix: str, leaves: dict[str, Any]) -> None:
    for key, value in values.items():
        # The test for a mapping takes longer than all the rest, and hardly any value needs it.
        kind = type(value)
        if kind is dict or (kind not in _PLAIN and isinstance(value, Mapping)):
            _add_leaves(value, f"{prefix}{key}.", leaves)
        else:
            leaves[prefix + key] = value


def leaf(values: Any, steps: Iterable[str]) -> Any:
    """Return the leaf of nested dictionaries below some keys, or None."""
    for step in steps:
        values = values.get(step) if isinstance(values, Mapping) else None
    return values


def text_of(value: Any) -> str:
    """Return a value as a scenario shows it."""
    return str(value).lower() if type(value) is bool else str(as_text(value))


def as_text(value: Any) -> Any:
    """Return a list as JSON, and any other value unchanged."""
    return json.dumps(value, ensure_ascii=False) if type(value) is list else value
