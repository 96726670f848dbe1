"""The keys of a scenario: types, defaults and meanings, from the schema that the core writes."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from coflash._core import CoflashError, hint, scenario_schema
from coflash.policies import Parameter, PolicyFamily, policies

_NAMES = {"object": "table", "string": "text", "integer": "whole number", "boolean": "`true`, `false`"}

Node = dict[str, Any]
"""A part of the schema."""


@dataclass(frozen=True)
class ScenarioKey:
    """A key of a scenario."""

    path: str
    """Its dotted path, such as `cache.size`; `[]` stands for each table of a list, as in `workload.phases[].name`."""
    type: str
    """The allowed values, in words, with their unit."""
    default: str
    """The default, as JSON; empty if there is none."""
    meaning: str
    choices: tuple[str, ...]
    """The texts among its allowed values, such as the names of policies."""


def keys(of: str = "") -> tuple[ScenarioKey, ...]:
    """List the keys of a scenario.

    Args:
        of: A table, such as `cache`, or one key; all keys if empty.

    Raises:
        CoflashError: There is no such table or key.
    """
    known = _all()
    found = tuple(key for key in known if not of or f"{key.path}.".startswith((f"{of}.", f"{of}[].")))
    if found:
        return found
    steps = [key.path.replace("[]", "").split(".") for key in known]
    paths = dict.fromkeys(".".join(path[: end + 1]) for path in steps for end in range(len(path)))
    *above, _ = of.split(".")
    # The message names the longer keys that are meant, or all keys of the table, or else the uppermost ones.
    meant = [path for path in paths if path.endswith(f".{of}")] or [key.path for key in known if of in key.choices]
    beside = [path for path in paths if path.split(".")[:-1] == above]
    if not meant and not beside:
        meant = difflib.get_close_matches(of, paths, 1)
    told = hint(of, beside or [path for path in paths if "." not in path])
    if meant:
        told = f"; did you mean {' or '.join(dict.fromkeys(meant))}?"
    raise CoflashError(f'keys: no table or key "{of}"{told}')


def check_key(path: str) -> None:
    """Check a key, apart from the parameters that a policy of one's own may have.

    Raises:
        CoflashError: There is no such key.
    """
    if not any(path.startswith(f"{key.path}.") for key in _all()):
        keys(path)


def tables(node: Node, schema: Node, path: str) -> Iterator[tuple[str, Node]]:
    """Yield a table of the scenario and all tables below it, each with its key path."""
    if any(not nested(value, schema) for value in node["properties"].values()):
        yield path, node
    for key, value in node["properties"].items():
        if below := nested(value, schema):
            # The description at the place of use says more than that of the type.
            described_here = {**below, **({"description": value["description"]} if "description" in value else {})}
            yield from tables(described_here, schema, f"{path}.{key}" if path else key)


def nested(node: Node, schema: Node) -> Node | None:
    """Return the table that `node` describes, if it is a plain table with keys of its own."""
    options = [option for option in alternatives(node, schema) if option.get("type") != "null"]
    return options[0] if len(options) == 1 and "properties" in options[0] else None


def element(node: Node, schema: Node) -> Node | None:
    """Return the table of the elements if `node` is a list of tables."""
    found = referred(node["items"], schema) if node.get("type") == "array" else {}
    return found if "properties" in found else None


def alternatives(node: Node, schema: Node) -> list[Node]:
    """List the alternatives of `node`, with references resolved."""
    if "$ref" in node:
        return alternatives(referred(node, schema), schema)
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in node:
            return [found for option in node[choice] for found in alternatives(option, schema)]
    return [node]


def referred(node: Node, schema: Node) -> Node:
    """Return the definition that `node` refers to; may be empty."""
    definition: Node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else {}
    return definition


def kind(node: Node, schema: Node) -> str:
    """Describe the values of a key in words, as Markdown."""
    words: list[str] = []
    for option in alternatives(node, schema):
        if "enum" in option:
            words += [f"`{json.dumps(value)}`" for value in option["enum"]]
        elif "const" in option:
            words.append(f"`{json.dumps(option['const'])}`")
        elif option.get("type") == "array":
            words.append(f"list of {kind(option.get('items', {}), schema)}")
        elif "examples" in option:  # a quantity: its description names its unit
            words.append(option["description"])
        elif "type" in option:
            types = option["type"] if isinstance(option["type"], list) else [option["type"]]
            words += [_NAMES.get(name, str(name)) for name in types if name != "null"]
    return ", ".join(dict.fromkeys(words)) or "any"


def default(node: Node, schema: Node) -> Any:
    """Return the default; None if the key is required or has none."""
    value = node.get("default", referred(node, schema).get("default"))
    return value["name"] if isinstance(value, dict) and value.keys() == {"name"} else value  # a policy alone


def described(node: Node, schema: Node) -> str:
    """Return the description of `node`, or else of its type, in one line, then those of its choices."""
    own = node.get("description", referred(node, schema).get("description", ""))
    choices = [
        f"`{json.dumps(option['const'])}`: {option['description']}"
        for option in alternatives(node, schema)
        if "const" in option and "description" in option
    ]
    return "<br>".join(" ".join(part.split()) for part in [own, *choices] if part)


@cache
def _all() -> tuple[ScenarioKey, ...]:
    schema, families = scenario_schema(), {family.key: family for family in policies()}
    found = [[key, *_parameters(key.path, families)] for key in _below(schema, schema, "", ())]
    return tuple(key for group in found for key in group)


def _below(table: Node, schema: Node, prefix: str, within: tuple[str, ...]) -> Iterator[ScenarioKey]:
    for path, node in tables(table, schema, ""):
        for name, value in node["properties"].items():
            if nested(value, schema):
                continue
            whole = prefix + (f"{path}.{name}" if path else name)
            yield _key(whole, value, schema)
            inner, of = element(value, schema), value.get("items", {}).get("$ref", "")
            if inner is not None and of not in within:  # such tables may hold lists of themselves
                yield from _below(inner, schema, f"{whole}[].", (*within, of))


def _key(path: str, node: Node, schema: Node) -> ScenarioKey:
    options = alternatives(node, schema)
    values = [value for option in options for value in [*option.get("enum", ()), option.get("const")]]
    choices = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    standard = default(node, schema)
    shown = "" if standard is None else json.dumps(standard, ensure_ascii=False)
    meaning = described(node, schema).replace("<br>", " ").replace("`", "")
    return ScenarioKey(path, kind(node, schema).replace("`", ""), shown, meaning, choices)


def _parameters(path: str, families: dict[str, PolicyFamily]) -> Iterator[ScenarioKey]:
    """Yield the keys that only some policies of a family have; twice where two mean or default to something else."""
    of: dict[Parameter, list[str]] = {}
    for policy in families[path].policies if path in families else ():
        for each in policy.parameters:
            of.setdefault(each, []).append(policy.name)
    for each, names in sorted(of.items(), key=lambda pair: [known.name for known in of].index(pair[0].name)):
        default = "" if each.default == "null" else each.default
        yield ScenarioKey(f"{path}.{each.name}", f"with {', '.join(names)}", default, each.meaning, ())
