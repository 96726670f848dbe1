"""Writes the part of docs/reference that the core knows best: the scenario's keys, and the policies.

With --check, writes nothing and fails where a file is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import coflash

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Written by `make generate`; edit the definition in the Rust source instead. -->\n"


def scenario_page(schema: dict[str, Any]) -> str:
    """Every key of a scenario, a table for each of its tables."""
    text = [
        "# Scenario keys\n",
        NOTE,
        "A scenario is a TOML file. Every key may be left out and then has its default; an unknown key is an error.",
        "`coflash scenario show demo` prints a whole one, `--set cache.size=64MiB` changes a key for one run.\n",
    ]
    # Tables that are listed may hold lists of themselves: each kind is told once, with all its places.
    lists: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    for path, table in tables(schema, schema, ""):
        text.append(f"## {f'`[{path}]`' if path else 'Top level'}\n")
        if path and described(table, schema):
            text.append(described(table, schema) + "\n")
        dotted = f"{path}." if path else ""
        text += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, value in table["properties"].items():
            if nested(value, schema):
                places.setdefault(definition(value), f"{dotted}{key}")
                continue
            if value.get("type") == "array" and "properties" in referred(value["items"], schema):
                lists.setdefault(definition(value["items"]), []).append(f"{dotted}{key}")
            text.append(row(f"`{dotted}{key}`", kind(value, schema), default(value, schema), described(value, schema)))
        text.append("")
    for name, found in lists.items():
        table = schema["$defs"][name]
        text += [f"## {', '.join(f'`[[{path}]]`' for path in found)}\n", described(table, schema) + "\n"]
        text += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, value in table["properties"].items():
            what = kind(value, schema)
            if nested(value, schema):
                what = f"table, as `[{places[definition(value)]}]`"
            elif value.get("type") == "array" and definition(value["items"]) == name:
                what = "list of such tables"
            text.append(row(f"`{key}`", what, default(value, schema), described(value, schema)))
        text.append("")
    return "\n".join(text)


def definition(node: dict[str, Any]) -> str:
    """The name of the definition that `node` refers to, itself or among its alternatives; empty where there is none."""
    for option in [node, *node.get("anyOf", []), *node.get("allOf", [])]:
        if "$ref" in option:
            name: str = option["$ref"].rsplit("/", 1)[1]
            return name
    return ""


def policies_page(families: Iterable[coflash.PolicyFamily]) -> str:
    """Every policy, a table for each family."""
    text = [
        "# Policies\n",
        NOTE,
        'A policy is chosen by its name, `victim = "greedy"`, or by a table of its name and its parameters,',
        '`victim = { name = "d-choices", d = 10 }`. The first of a family is its default.\n',
    ]
    for family in families:
        text += [f"## `{family.key}`\n", f"{family.decides.capitalize()}.\n"]
        text += ["| name | what it does | parameters | source |", "|---|---|---|---|"]
        for policy in family.policies:
            parameters = "<br>".join(f"`{p.name}` = `{p.default}`: {p.meaning}" for p in policy.parameters)
            text.append(row(f"`{policy.name}`", policy.summary, parameters or "–", policy.source))
        text.append("")
    return "\n".join(text)


def row(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def tables(node: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A table of the scenario and all tables below it, each with its key path."""
    if any(not nested(value, schema) for value in node["properties"].values()):
        yield path, node
    for key, value in node["properties"].items():
        if below := nested(value, schema):
            # What is said where the table is used says more than what its type says.
            described_here = {
                **below,
                **({"description": value["description"]} if "description" in value else {}),
            }
            yield from tables(described_here, schema, f"{path}.{key}" if path else key)


def nested(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    """The table that `node` is, if it is one with keys of its own and nothing else beside."""
    options = [option for option in alternatives(node, schema) if option.get("type") != "null"]
    return options[0] if len(options) == 1 and "properties" in options[0] else None


def alternatives(node: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """What `node` may be, references followed."""
    if "$ref" in node:
        return alternatives(referred(node, schema), schema)
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in node:
            return [found for option in node[choice] for found in alternatives(option, schema)]
    return [node]


def referred(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The definition that `node` refers to; empty where it refers to none."""
    definition: dict[str, Any] = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else {}
    return definition


def kind(node: dict[str, Any], schema: dict[str, Any]) -> str:
    """What values a key takes, in words."""
    words: list[str] = []
    for option in alternatives(node, schema):
        if "enum" in option:
            words += [f"`{json.dumps(value)}`" for value in option["enum"]]
        elif "const" in option:
            words.append(f"`{json.dumps(option['const'])}`")
        elif option.get("type") == "array":
            words.append(f"list of {kind(option.get('items', {}), schema)}")
        elif "type" in option:
            types = option["type"] if isinstance(option["type"], list) else [option["type"]]
            words += [NAMES.get(name, str(name)) for name in types if name != "null"]
    return ", ".join(dict.fromkeys(words)) or "any"


NAMES = {"object": "table", "string": "text", "integer": "whole number", "boolean": "`true`, `false`"}


def default(node: dict[str, Any], schema: dict[str, Any]) -> str:
    """The default as TOML has it; a dash where the key is needed or there is none."""
    value = node.get("default", referred(node, schema).get("default"))
    if isinstance(value, dict) and value.keys() == {"name"}:
        value = value["name"]  # a policy without parameters
    return "–" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def described(node: dict[str, Any], schema: dict[str, Any]) -> str:
    """What is said about `node`, or else about its type, in one line; choices that are explained follow."""
    own: str = node.get("description", referred(node, schema).get("description", ""))
    choices = [
        f"`{json.dumps(option['const'])}`: {option['description']}"
        for option in alternatives(node, schema)
        if "const" in option and "description" in option
    ]
    return "<br>".join(" ".join(part.split()) for part in [own, *choices] if part)


def main() -> int:
    """Writes the pages, or checks them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a page is stale")
    check = parser.parse_args().check
    pages = {
        "scenario.md": scenario_page(coflash.scenario_schema()),
        "policies.md": policies_page(coflash.policies()),
    }
    stale = []
    for name, text in pages.items():
        page = REFERENCE / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(page.relative_to(REFERENCE.parents[1]))
            if not check:
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"stale: {', '.join(map(str, stale))}; run make generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
