"""Policies: the algorithms that a scenario chooses by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coflash import _core


@dataclass(frozen=True)
class Parameter:
    """A parameter of a policy."""

    name: str
    default: str
    """The default value, as JSON."""
    meaning: str


@dataclass(frozen=True)
class Policy:
    """One algorithm."""

    name: str
    """Its name in a scenario."""
    summary: str
    source: str
    """The publication, or "folklore"."""
    parameters: tuple[Parameter, ...]
    needs: str = ""
    """The memory that it takes; empty where its family does not say."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Policy:
        """Read one of the core's."""
        return cls(**{**fields, "parameters": tuple(Parameter(**each) for each in fields["parameters"])})


@dataclass(frozen=True)
class PolicyFamily:
    """Interchangeable algorithms; the first is the default."""

    key: str
    """The key of a scenario that chooses one of them."""
    decides: str
    """The decision that these algorithms make."""
    policies: tuple[Policy, ...]


def policies() -> tuple[PolicyFamily, ...]:
    """List every algorithm that a scenario can choose by name, family by family."""
    return tuple(
        PolicyFamily(family["family"], family["decides"], tuple(map(Policy.of, family["policies"])))
        for family in _core.policies()
    )
