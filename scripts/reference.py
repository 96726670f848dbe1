"""Write the files generated from definitions in the Rust source: pages of docs/reference, and the types of metrics.

With --check, write nothing and fail if a file is stale.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import coflash
from coflash import _core
from coflash.keys import default, described, element, is_policy, kind, nested, parameters, tables

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
TYPES = ROOT / "python" / "coflash" / "measures" / "metrics.py"
NOTE = "<!-- Written by `make generate`; edit the definition in the Rust source instead. -->\n"


def scenario_page(schema: dict[str, Any]) -> str:
    """List every key of a scenario, a table for each of its tables."""
    text = [
        "# Scenario keys\n",
        NOTE,
        "A scenario is a TOML file. Every key may be left out and then has its default; an unknown key is an error.",
        "`coflash scenario show demo` prints a whole one, `--set cache.size=64MiB` changes a key for one run.\n",
    ]
    # Tables in lists may contain lists of themselves: each kind is described once, with all its places.
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
            if element(value, schema):
                lists.setdefault(definition(value["items"]), []).append(f"{dotted}{key}")
            text.append(
                row(f"`{dotted}{key}`", kind(value, schema), shown(default(value, schema)), described(value, schema))
            )
            for name, inside, names in () if is_policy(value, schema) else parameters(value, schema):
                meaning = f"With `{'`, `'.join(names)}`: {described(inside, schema)}"
                text.append(
                    row(f"`{dotted}{key}.{name}`", kind(inside, schema), shown(default(inside, schema)), meaning)
                )
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
            text.append(row(f"`{key}`", what, shown(default(value, schema)), described(value, schema)))
        text.append("")
    return "\n".join(text)


def definition(node: dict[str, Any]) -> str:
    """Return the name of the definition that `node` or one of its alternatives refers to; may be empty."""
    for option in [node, *node.get("anyOf", []), *node.get("allOf", [])]:
        if "$ref" in option:
            name: str = option["$ref"].rsplit("/", 1)[1]
            return name
    return ""


def policies_page(families: Iterable[coflash.PolicyFamily]) -> str:
    """List every policy, a table for each family."""
    text = [
        "# Policies\n",
        NOTE,
        'A policy is chosen by its name, `victim = "greedy"`, or by a table of its name and its parameters,',
        '`victim = { name = "d-choices", d = 10 }`. The first of a family is its default.\n',
    ]
    for family in families:
        text += [f"## `{family.key}`\n", f"{family.decides.capitalize()}.\n"]
        with_needs = any(policy.needs for policy in family.policies)
        needs = ("memory",) if with_needs else ()
        text += [row("name", "description", "parameters", *needs, "source"), "|---" * (4 + len(needs)) + "|"]
        for policy in family.policies:
            parameters = "<br>".join(f"`{p.name}` = `{p.default}`: {p.meaning}" for p in policy.parameters)
            needs = (policy.needs,) if with_needs else ()
            text.append(row(f"`{policy.name}`", policy.summary, parameters or "–", *needs, policy.source))
        text.append("")
    return "\n".join(text)


def drives_page() -> str:
    """List the calibrated drives: what was fitted, and how far to trust it, as the heads of their files say."""
    text = [
        "# Calibrated drives\n",
        "<!-- Written by `make generate` from the heads of `scenarios/drives`. -->\n",
        "Seven drives were fitted to published measurements, and are there by their names: `coflash run pm9a3`,",
        "`coflash scenario show pm9a3`. Where a drive has only a part of its dies here, its rates are that part of the",
        "real ones. *Fitted* points the search saw; *held out* are predictions. [How accurate coflash is](truth.md)",
        "has every point; [calibrating](calibrate.md) tells how to add a drive. Results repeat the limits in their",
        "notes.\n",
    ]
    for file in sorted((ROOT / "scenarios" / "drives").glob("*.toml")):
        lines = file.read_text("utf-8").partition("\n#\n")[0].splitlines()
        head = re.sub(r"\n {2,}", " ", "\n".join(line.removeprefix("# ") for line in lines)).split("\n")
        scenario = coflash.Scenario.load(file.stem)
        fitted = [line.removeprefix("Fitted: ").rstrip(".") for line in head if line.startswith("Fitted: ")]
        points = [line.partition(": ") for line in head if " point" in line and "error" in line]
        others = [line for line in head[1:] if not line.startswith("Fitted: ") and " point" not in line]
        text += [f"## `{file.stem}`: {scenario.name}\n", *others, "", f"Fitted: {'; '.join(fitted)}.\n"]
        text += ["| measure | points and their errors |", "|---|---|"]
        text += [row(measure, errors.rstrip(".")) for measure, _, errors in points]
        text += ["", f"Its workload: {scenario.description.partition('; ')[2]}.", *scenario.to_dict()["limits"], ""]
    return "\n".join(text)


def measures_page(sections: list[dict[str, Any]], lists: list[dict[str, Any]]) -> str:
    """List every measure of a result, a table for each section."""
    text = [
        "# Measures\n",
        NOTE,
        "The numbers of a result, by their paths in its `metrics`. A result has a section if its system has that part.",
        "Where a command asks for a measure, its name may be short: `--measure response.p99` is `response_ns.all.p99`.",
        "A short name of two measures is refused: `host_writes` could be `host_writes_pages` or `host_writes_bytes`.",
        "Measures with a column are in the time series, too.\n",
    ]
    for path, title, meaning, measures in by_path(sections):
        text.append(f"## {f'`{path}`' if path else 'Top level'}: {title}\n")
        text += [meaning + "\n", "| name | unit | better | meaning | column |", "|---|---|---|---|---|"]
        for each in measures:
            unit = "" if each["unit"] == "count" else each["unit"]
            better = "" if each["better"] == "neither" else each["better"]
            column = f"`{each['column']}`" if each["column"] else ""
            text.append(row(f"`{each['name']}`", unit, better, " ".join(each["meaning"].split()), column))
        text.append("")
    for section in lists:
        text += [f"## `{section['path']}`, a list: {section['title']}\n", " ".join(section["meaning"].split()) + "\n"]
        text += ["| name | unit | meaning |", "|---|---|---|"]
        text += [row(f"`{m['name']}`", m["unit"], " ".join(m["meaning"].split())) for m in section["measures"]]
        text.append("")
    return "\n".join(text)


def by_path(sections: list[dict[str, Any]]) -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    """Yield path, title, meaning and measures of each part of the metrics; sections of one path are merged."""
    for path in dict.fromkeys(section["path"] for section in sections):
        own = [section for section in sections if section["path"] == path]
        meaning = " ".join(own[0]["meaning"].split()) if path else "What every run counts."
        measures = [measure for section in own for measure in section["measures"]]
        yield path, own[0]["title"] if path else "every run", meaning, measures


def metrics_module(sections: list[dict[str, Any]]) -> str:
    """Write the types of metrics: a class for each part of them."""
    text = [
        '"""What a run counted, typed. Written by `make generate` from the measures that the core declares."""\n',
        "from __future__ import annotations\n",
        "from coflash.measures.record import Record",
    ]
    found = {path: (meaning, measures) for path, _, meaning, measures in by_path(sections)}
    groups = [path.rpartition(".")[0] for path in found]
    paths = [path for path in dict.fromkeys([*found, *groups]) if path]
    written: dict[str, list[str]] = {}
    for path in [*sorted(paths, key=lambda path: -path.count(".")), ""]:
        meaning, measures = found.get(path, ("", []))
        fields = list(map(field, measures))
        bases = (name for name, those in written.items() if those and those == fields[: len(those)])
        base = next(bases, "Record")  # what begins with the same measures adds the rest to them
        written[class_name(path)] = fields
        text.append(f"\n\nclass {class_name(path)}({base}):")
        text.append(docstring(meaning if path else METRICS))
        text += fields[len(written.get(base, [])) :]
        inner = [each.rpartition(".") for each in paths]
        text += [
            f"    {name}: {class_name(f'{outer}.{name}'.lstrip('.'))}" for outer, _, name in inner if outer == path
        ]
    return re.sub(r"\n{3,}class", "\n\n\nclass", "\n".join(text)) + "\n"


def field(measure: dict[str, Any]) -> str:
    """Write a measure as a field of its class."""
    kind = "int" if measure["is_whole"] else "float"
    optional = " | None" if measure["is_optional"] else ""
    return f"    {measure['name']}: {kind}{optional}\n{docstring(measure['meaning'])}"


METRICS = """What a run counted. Names end in their unit. The two write amplifications divide all flash programs by \
the pages that the host wrote (`waf_host`) and by the pages that arrived at the FTL (`waf_ftl`); a cache that absorbs \
writes lowers the first and not the second. Parts that only some systems have are in the metrics of those systems: \
`"host" in metrics` tells."""


def class_name(path: str) -> str:
    """Return the name of the class of a part of the metrics."""
    return "".join(word.capitalize() for word in path.replace(".", "_").split("_")) or "Metrics"


def docstring(meaning: str) -> str:
    """Write a docstring: the first sentence on a line of its own, if it is not all."""
    first, _, rest = (" ".join(meaning.split()) or "See its parts.").partition(". ")
    if len(first) > 109:
        first, _, rest = (f"{first}. {rest}" if rest else first).partition("; ")
    if not rest:
        return f'    """{first}"""\n'
    lines = [first.rstrip(".") + ".", "", *textwrap.wrap(rest[0].upper() + rest[1:], 112)]
    return "\n".join([f'    """{lines[0]}', *(f"    {line}".rstrip() for line in lines[1:]), '    """\n'])


def row(*cells: str) -> str:
    """Write a line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def shown(value: Any) -> str:
    """Write a default; a dash stands for none."""
    return "–" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a page is stale")
    check = parser.parse_args().check
    sections, lists = _core.measures()
    files = {
        REFERENCE / "scenario.md": scenario_page(coflash.scenario_schema()),
        REFERENCE / "policies.md": policies_page(coflash.policies()),
        REFERENCE / "measures.md": measures_page(sections, lists),
        ROOT / "docs" / "drives.md": drives_page(),
        TYPES: metrics_module(sections),
    }
    stale = [file for file, text in files.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    if check and stale:
        names = ", ".join(str(file.relative_to(ROOT)) for file in stale)
        print(f"stale: {names}; run make generate", file=sys.stderr)
        return 1
    for file in stale:
        file.write_text(files[file], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
