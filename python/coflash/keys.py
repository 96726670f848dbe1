"""The keys of a scenario: types, defaults and meanings, from the schema that the core writes."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from coflash._core import CoflashError, hint, scenario_schema
from coflash.policies import policies

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
    # The message names keys that end with the word, allow it, or have it in their meaning; or all of the table.
    meant = [path for path in paths if path.endswith(f".{of}")]
    meant += [key.path for key in known if of in key.choices or f" {of} " in key.meaning]
    beside = [path for path in paths if path.split(".")[:-1] == above]
    if not meant and not beside:
        meant = difflib.get_close_matches(of, paths, 1)
    near = f"; did you mean {' or '.join([*dict.fromkeys(meant)][:6])}?"
    told = near if meant else hint(of, beside or [path for path in paths if "." not in path])
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
        f"`{json.dumps(name)}`: {option['description']}"
        for option in alternatives(node, schema)
        if (name := option.get("const", chosen(option))) and option.get("description", f"`{name}`") != f"`{name}`"
    ]
    return "<br>".join(" ".join(part.split()) for part in [own, *choices] if part)


def chosen(option: Node) -> str:
    """Return the name of a choice with parameters; empty if `option` is none."""
    name: str = option.get("properties", {}).get("name", {}).get("const", "")
    return name


def parameters(node: Node, schema: Node) -> Iterator[tuple[str, Node, list[str]]]:
    """Yield the keys that only some names of a choice take; twice where two mean or default to something else."""
    names: dict[str, list[str]] = {}
    for option in alternatives(node, schema):
        if (name := chosen(option)) not in ("", "external"):
            for key, value in option["properties"].items():
                if key != "name":
                    names.setdefault(json.dumps((key, value)), []).append(name)
    keys = list(dict.fromkeys(json.loads(each)[0] for each in names))
    for each in sorted(names, key=lambda each: keys.index(json.loads(each)[0])):
        yield *json.loads(each), names[each]


def is_policy(node: Node, schema: Node) -> bool:
    """Return whether a key chooses a policy, whose names the page of policies describes."""
    return any(option.get("description") == f"`{chosen(option)}`" for option in alternatives(node, schema))


@cache
def _all() -> tuple[ScenarioKey, ...]:
    schema = scenario_schema()
    return tuple(_below(schema, schema, "", set()))


def _below(table: Node, schema: Node, prefix: str, listed: set[str]) -> Iterator[ScenarioKey]:
    """Yield the keys of a table and of those below it; those of a table in a list where its kind comes first."""
    families = {family.key for family in policies()}
    for path, node in [("", table)] if prefix else tables(table, schema, ""):
        for name, value in node["properties"].items():
            if not prefix and nested(value, schema):
                continue
            whole = prefix + (f"{path}.{name}" if path else name)
            yield _key(whole, value, schema)
            if whole in families or not is_policy(value, schema):
                for parameter, inside, names in parameters(value, schema):
                    key = _key(f"{whole}.{parameter}", inside, schema)
                    yield replace(key, type=f"with {', '.join(names)}", choices=())
            inner, of = element(value, schema), value.get("items", {}).get("$ref", "")
            if inner is not None and of not in listed:
                listed.add(of)
                yield from _below(inner, schema, f"{whole}[].", listed)


def _key(path: str, node: Node, schema: Node) -> ScenarioKey:
    options = alternatives(node, schema)
    values = [value for option in options for value in [*option.get("enum", ()), option.get("const")]]
    choices = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    standard = default(node, schema)
    shown = "" if standard is None else json.dumps(standard, ensure_ascii=False)
    meaning = described(node, schema).replace("<br>", " ").replace("`", "")
    return ScenarioKey(path, kind(node, schema).replace("`", ""), shown, meaning, choices)
