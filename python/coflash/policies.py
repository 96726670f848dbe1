"""The algorithms that a scenario chooses by name."""

from __future__ import annotations

import json
from dataclasses import dataclass

from coflash import _core


@dataclass(frozen=True)
class Parameter:
    """A parameter of a policy."""

    name: str
    default: str
    """As JSON."""
    meaning: str


@dataclass(frozen=True)
class Policy:
    """One algorithm."""

    name: str
    """Its name in a scenario."""
    summary: str
    source: str
    """Where it was published, or "folklore"."""
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class PolicyFamily:
    """Algorithms that can stand for each other; the first is the default."""

    key: str
    """The key of a scenario that chooses among them."""
    decides: str
    """What they decide."""
    policies: tuple[Policy, ...]


def policies() -> tuple[PolicyFamily, ...]:
    """Every algorithm that a scenario can choose by name, family by family."""
    return tuple(
        PolicyFamily(
            family["family"],
            family["decides"],
            tuple(
                Policy(p["name"], p["summary"], p["source"], tuple(Parameter(**each) for each in p["parameters"]))
                for p in family["policies"]
            ),
        )
        for family in json.loads(_core.policies_json())
    )
