"""A scenario as a file to start from: the keys that it sets, and as comments the other keys of the same tables."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from typing import Any

from coflash._core import CoflashError, scenario_schema
from coflash.keys import keys, tables
from coflash.scenario import Scenario, leaf, toml_value

_WIDTH = 110
_HEAD = """\
# A scenario: `coflash scenario check FILE` checks it, `coflash run FILE` simulates it.
# A key in a comment has its default, or … if it has none; remove its # to set it.
# `coflash keys cache` lists the keys of a table, `coflash policies` the algorithms.
# Editors complete and check keys with the schema: `coflash scenario schema > coflash.schema.json` writes it, and with
# this line at the top of the file they find it: #:schema ./coflash.schema.json
"""


def commented(scenario: Scenario) -> str:
    """Write a scenario as TOML: each key that it sets with its meaning, and the other keys of the same tables."""
    own, defaults = _own(scenario), _values(Scenario.from_dict({}))
    text, others = [_HEAD], []
    schema = scenario_schema()
    for path, table in tables(schema, schema, ""):
        prefix = f"{path}." if path else ""
        known = {key.path: key for key in keys() if key.path.removeprefix(prefix) in table["properties"]}
        here = [known[prefix + name] for name in table["properties"] if prefix + name in known]
        if path and not any(key.path in own for key in here):
            others.append(path)
            continue
        text += [f"[{path}]"] if path else []
        for key in here:
            choices = [choice for choice in key.choices if f'"{choice}"' not in key.meaning]
            about = f"{key.meaning} One of {', '.join(choices)}." if choices else key.meaning
            text += textwrap.wrap(about, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
            name, default = key.path.removeprefix(prefix), defaults.get(key.path)
            if key.path in own:
                text.append(f"{name} = {toml_value(own[key.path])}")
            else:
                text.append(f"# {name} = {'…' if default is None else toml_value(default)}")
        text.append("")
    return "\n".join([*text, f"# Further tables: {', '.join(others)}."]) + "\n"


def _own(scenario: Scenario) -> dict[str, Any]:
    """Find the keys that differ from their defaults and follow from no others; and the scenario's name."""
    values, defaults = _values(scenario), _values(Scenario.from_dict({}))
    own = {path: value for path, value in values.items() if value != defaults.get(path)}
    for path in list(own):
        less = {other: value for other, value in own.items() if other != path}
        with suppress(CoflashError):  # the other keys depend on this one
            own = less if Scenario.from_dict({}).with_(less) == scenario else own
    return {path: values[path] for path in ("name", "description")} | own


def _values(scenario: Scenario) -> dict[str, Any]:
    """Return the value of each key, that of a policy as a table with its parameters."""
    whole, found = scenario.to_dict(), dict[str, Any]()
    for key in keys():
        if key.path.rpartition(".")[0] in found:  # a parameter
            continue
        if (value := leaf(whole, key.path.split("."))) is not None:
            found[key.path] = value
    return found
