"""JSON objects whose keys are attributes as well: typed where a class declares them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from coflash._core import hint
from coflash.lookup import no_such
from coflash.scenario import flat, leaf


class Record(Mapping[str, Any]):
    """A JSON object whose keys are attributes as well."""

    __slots__ = ("_fields",)

    def __init_subclass__(cls) -> None:
        fields = "\n".join(f"    {name}: {kind}" for name, kind in cls.__annotations__.items())
        cls.__doc__ = f"{cls.__doc__}\n\nFields, whose names end in their unit:\n{fields}" if fields else cls.__doc__

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        try:
            value = self._fields[key]
        except (KeyError, TypeError):
            raise no_such(f"{type(self).__name__}: nothing called", key, self) from None
        return kinds(type(self)).get(key, Record)(value) if isinstance(value, dict) else value

    # Without the search for similar names of a failing `[key]`.
    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default`."""
        return self[key] if key in self._fields else default

    def at(self, steps: Iterable[str]) -> Any:
        """Return the leaf below some keys, or None."""
        return leaf(self._fields, steps)

    # Hidden from the type checker, so that it knows the declared attributes and no others.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # copying and unpickling look these up before `_fields` exists
                raise AttributeError(name)
            if name not in self._fields:
                raise AttributeError(f"{type(self).__name__} has no {name!r}{hint(name, list(self))}")
            return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self._fields)})"

    def to_dict(self) -> dict[str, Any]:
        """The plain JSON object."""
        return dict(self._fields)

    def flat(self) -> dict[str, Any]:
        """Return the leaves by their dotted paths: `response_ns.read.p99`."""
        return flat(self._fields)


@cache
def kinds(record: type[Record]) -> dict[str, type[Record]]:
    """The fields that are records, where they are not None."""
    found = [(name, kind) for name, hint in get_type_hints(record).items() for kind in get_args(hint) or (hint,)]
    return {name: kind for name, kind in found if isinstance(kind, type) and issubclass(kind, Record)}


@cache
def paths_of_numbers(record: type[Record]) -> dict[str, type]:
    """The dotted paths of the numbers that a record may have, without lists, and whether they are `int` or `float`."""
    found = dict[str, type]()
    for name, kind in get_type_hints(record).items():
        if (inner := kinds(record).get(name)) is not None:
            found |= {f"{name}.{path}": number for path, number in paths_of_numbers(inner).items()}
        elif numbers := {int, float}.intersection(get_args(kind) if isinstance(kind, UnionType) else (kind,)):
            found[name] = float if float in numbers else int
    return found
