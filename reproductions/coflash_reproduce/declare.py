"""Papers and studies from their files: exhibits and hypotheses from the text, claims from TOML.

A block of code in a section of the text (`text`) is one of these:

- `sql` gives the table of an exhibit, `sql across` one whose rows are columns; a column whose name is blank has none,
  and NULL is an empty cell; `csv` is a table that is not computed;
- `sql tables` is run before all queries;
- `sql notes` gives sentences that follow the section, a row each;
- `sql holds` tests a hypothesis: rows of whether it holds, and of the numbers on which that rests;
- `sql numbers` gives a row with the numbers of the section "answer", by the names of the columns;
- `toml figure` describes a figure, `toml bars` bars beside or upon each other, `toml cells` a map.

`claims.toml` has the paper's numbers in the table `paper`; in the table `runs` the experiments that an exhibit and the
claims on it need, by names, patterns or constants; and a table `claims` for each statement: the fields of `Claim`, of
which `ours` is a query. `each` has lists of values for names in braces: a statement for each combination.
"""

from __future__ import annotations

import csv
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

from coflash.charts import Chart
from coflash.measures.measure import MEASURES, Measure
from coflash.quantity import show
from coflash.results.estimate import Estimate, estimate
from coflash_reproduce import drawing
from coflash_reproduce.claim import FALLS, RISES, Claim, Kind, Paper
from coflash_reproduce.data import toml, toml_beside
from coflash_reproduce.paper import Axis, Exhibit, Experiment, Figure, Grid, Line, Picture, Runs
from coflash_reproduce.queries import Queries, functions_of, literal, written
from coflash_reproduce.study import Finding, Study
from coflash_reproduce.text import Text

Table = Callable[[Runs], Grid]
Draw = Callable[[Runs], list[Chart]]
_WAYS = {"falls": FALLS, "rises": RISES}


def paper(
    module: str,
    workloads: ModuleType,
    functions: ModuleType,
    *,
    pictures: Mapping[str, Draw] = {},
) -> Paper:
    """Return the paper of a package: its text and its claims are files beside the module, its numbers are queries.

    Args:
        module: The file of the package's module.
        workloads: The module of its experiments, whose names are known to the text and to queries.
        functions: The module of what queries cannot compute; its public functions of runs are theirs.
        pictures: What draws an exhibit that is no measure over an axis.
    """
    stated = toml_beside(module, "claims.toml")
    constants = {**stated["paper"], **vars(workloads), **vars(functions)}
    queries = Queries(Text.beside(module, constants), constants, functions_of(vars(functions)))
    exhibits = _exhibits(queries, pictures)
    own = {one.name: one.experiments for one in exhibits if isinstance(one, Figure)}
    return Paper(
        name=Path(module).parent.name,
        text=queries.text,
        experiments=workloads.experiments,
        exhibits=exhibits,
        claims=tuple(_claims(queries, stated["claims"])),
        queries=queries,
        needs=own | {name: tuple(_names(queries, words)) for name, words in stated["runs"].items()},
    )


def study(names: Mapping[str, Any], *, pictures: Mapping[str, Draw] = {}) -> Study:
    """Return the study of a module, given by its names: the text beside it has its hypotheses and tables."""
    queries = Queries(Text.beside(names["__file__"], names), names, functions_of(names))
    answer = queries.text.blocks["answer"].get("sql numbers")
    return Study(
        name=Path(names["__file__"]).stem.replace("_", "-"),
        text=queries.text,
        experiments=names["experiments"],
        exhibits=_exhibits(queries, pictures),
        hypotheses={
            name: partial(_tested, queries, blocks["sql holds"])
            for name, blocks in queries.text.blocks.items()
            if "sql holds" in blocks
        },
        answer=lambda runs: queries.numbers(answer, runs) if answer else {},
        explanation=queries.notes("answer"),
        unsteady_too=names.get("UNSTEADY_TOO", ""),
        queries=queries,
    )


def _exhibits(queries: Queries, pictures: Mapping[str, Draw]) -> tuple[Exhibit | Figure | Picture, ...]:
    """Return the exhibits in the order of their sections."""
    exhibits: list[Exhibit | Figure | Picture] = []
    for name, blocks in queries.text.blocks.items():
        table, draw, notes = _table(queries, blocks), pictures.get(name), queries.notes(name)
        if "toml bars" in blocks:
            own, draw = _bars(queries, **toml(blocks["toml bars"]))
            table = table or own
        elif "toml cells" in blocks:
            draw = _cells(queries, **toml(blocks["toml cells"]))
        if "toml figure" in blocks:
            exhibits.append(_figure(queries, name, toml(blocks["toml figure"])))
        elif table and draw:
            exhibits.append(Picture(name, draw, table, notes, "shaded = true" in blocks.get("toml cells", "")))
        elif table:
            exhibits.append(Exhibit(name, table, notes))
    return tuple(exhibits)


def _table(queries: Queries, blocks: Mapping[str, str]) -> Table | None:
    if "csv" in blocks:
        columns, *rows = map(tuple, csv.reader(io.StringIO(blocks["csv"])))
        return lambda _: Grid(columns, tuple(rows))
    if "sql across" in blocks:
        return queries.grid(blocks["sql across"], across=True)
    return queries.grid(blocks["sql"]) if "sql" in blocks else None


def _figure(queries: Queries, name: str, values: dict[str, Any]) -> Figure:
    known: dict[str, Any] = {key: queries.constant(value) for key, value in values.items()}
    match known["measure"]:
        case str(path):
            known["measure"] = MEASURES[path]
        case dict(parts):
            known["measure"] = Measure(parts["label"], parts["unit"], lambda _: None)
    known["axis"] = Axis(**known["axis"])
    known |= {key: tuple(known[key]) for key in ("experiments", "only", "across") if key in known}
    known |= {key: partial(_lines, queries, known[key]) for key in ("lines", "beside") if key in known}
    return Figure(name, **known, notes=queries.notes(name))


def _lines(queries: Queries, query: str, runs: Runs, experiment: Experiment | None = None) -> list[Line]:
    """Return lines: rows of the label, the place, and the value or those of all seeds, in order."""
    points: dict[str, list[tuple[tuple[float, float], float | None]]] = {}
    for label, place, value in queries.rows(query, runs, experiment=experiment.name if experiment else "")[1]:
        mean, half_width, *_ = estimate(value) if isinstance(value, list) else (value, None)
        if mean is not None:
            points.setdefault(label, []).append(((place, float(mean)), half_width))
    return [Line(label, *zip(*each, strict=True)) for label, each in points.items()]


def _bars(queries: Queries, values: str, label: str, form: str, stacked: bool = False) -> tuple[Table, Draw]:
    """Return bars: rows of their group, their line and a number, whose form is "share" or one of Python's.

    In place of a number there may be a list of those of all seeds: then a bar is their mean, with its interval.
    """

    def groups(runs: Runs) -> dict[str, dict[str, Estimate]]:
        numbers: dict[str, dict[str, Estimate]] = {}
        for group, line, number in queries.rows(values, runs)[1]:
            numbers.setdefault(group, {})[line] = estimate(number if isinstance(number, list) else [number])
        return numbers

    def table(runs: Runs) -> Grid:
        columns = dict.fromkeys(line for numbers in groups(runs).values() for line in numbers)
        write: Callable[[float], str] = partial(show, unit="share") if form == "share" else partial(written, form=form)

        def shown(found: Estimate) -> str:
            return write(found.mean or 0.0) + (f" ± {write(found.half_width)}" if found.half_width else "")

        rows = (
            (group, *(shown(numbers[line]) if line in numbers else "" for line in columns))
            for group, numbers in groups(runs).items()
        )
        return Grid(("", *columns), tuple(rows))

    def draw(runs: Runs) -> list[Chart]:
        factor = 100 if form == "share" else 1
        found = groups(runs)
        scaled = {
            group: {line: factor * (each.mean or 0.0) for line, each in of.items()} for group, of in found.items()
        }
        halves = {
            (group, line): factor * (each.half_width or 0.0) for group in found for line, each in found[group].items()
        }
        return [drawing.bars(scaled, label, stacked=stacked, halves=halves)]

    return table, draw


def _cells(queries: Queries, values: str, y: str, x: str = "", colours: str = "", shaded: bool = False) -> Draw:
    """Return a map: rows of the panel, the place on either axis, and the label and the text of the cell.

    A row may also have the label of the panel's lower axis, in place of `x`. Where cells are shaded a label is a change
    in percent.
    """

    def draw(runs: Runs) -> list[Chart]:
        panels: dict[str, dict[str, list[tuple[str, str]]]] = {}
        axes: dict[str, tuple[str, dict[str, None]]] = {}
        for panel, above, across, label, text, *own in queries.rows(values, runs)[1]:
            panels.setdefault(panel, {}).setdefault(above, []).append((label, text))
            axes.setdefault(panel, (own[0] if own else x, {}))[1][across] = None
        labels = [cell[0] for rows in panels.values() for row in rows.values() for cell in row]
        shown = (
            drawing.shades(labels) if shaded else queries.constant(colours) if colours else drawing.colours_of(labels)
        )
        return [
            drawing.cells(
                [*rows.values()], (axes[panel][0], [*axes[panel][1]]), (y, [*rows]), shown, panel, shaded=shaded
            )
            for panel, rows in panels.items()
        ]

    return draw


def _tested(queries: Queries, query: str, runs: Runs) -> Finding:
    rows = [row for row in queries.rows(query, runs)[1] if None not in row[:2]]
    return Finding(all(row[0] for row in rows) if rows else None, "; ".join(row[1] for row in rows))


def _names(queries: Queries, words: list[str]) -> Iterator[str]:
    """Yield names and patterns, and those that constants stand for."""
    for names in map(queries.constant, words):
        yield from [names] if isinstance(names, str) else names


def _claims(queries: Queries, stated: list[dict[str, Any]]) -> Iterator[Claim]:
    """Yield the claims; of those for several values one for each combination."""
    for claim in stated:
        for chosen in product(*claim.pop("each", [])):
            yield _claim(queries, claim | {key: value for values in chosen for key, value in values.items()})


def _claim(queries: Queries, values: dict[str, Any]) -> Claim:
    def filled(value: Any) -> Any:
        """Return a value with others in place of their names, and constants in place of theirs."""
        if isinstance(value, list):
            return tuple(map(filled, value))
        if not isinstance(value, str):
            return value
        text = re.sub(r"\{(\w+)\}", lambda name: _plain(queries.constant(values.get(name[1], name[0]))), value)
        return _WAYS.get(text, queries.constant(text))

    query = filled(values["ours"])

    def ours(runs: Runs, experiment: str) -> tuple[float, ...] | None:
        cells = [cell for row in queries.rows(query, runs, experiment=experiment)[1] for cell in row]
        numbers = tuple(each for cell in cells for each in (cell if isinstance(cell, list) else [cell]))
        return None if not numbers or None in numbers else numbers

    names = [name for name in inspect.signature(Claim).parameters if name in values]
    keys = {name: value for name in names if (value := filled(values[name])) != ""}
    return Claim(**{"experiments": (), **keys, "ours": ours, "kind": Kind(values.get("kind", "number"))})


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else literal(value)
