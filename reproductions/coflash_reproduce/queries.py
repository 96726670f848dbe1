"""The queries of a paper or a study: the tables of its page, and what decides its statements, in SQL over its runs.

The table `runs` has a row for each run, in their order: `n`, its number; `experiment`, `title`, `line`, `place` and
`seed`; `run`, its key in the store; `programs`, all pages that were programmed; and the columns of `coflash results
sql`, such as `"response_ns.all.mean"`. `$NAME` is a constant of the module. Beside DuckDB's functions there are
those of `SHARED`, and those of the module; an argument of the type `Run` is a run's number. Blocks of a section:

- `sql` gives the table of an exhibit, `sql across` one whose rows are columns; a column whose name is blank has none,
  and NULL is an empty cell; `csv` is a table that is not computed;
- `sql views` is run before all queries;
- `sql notes` gives sentences that follow the section, a row each;
- `sql holds` tests a hypothesis: rows of whether it holds, and of the numbers on which that rests;
- `sql numbers` gives a row with the numbers of the section "answer", by the names of the columns, `sql notes` there
  what follows it;
- `toml figure` describes a figure, `toml bars` bars beside or upon each other, `toml cells` a map.
"""

from __future__ import annotations

import csv
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from itertools import product
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import TYPE_CHECKING, Any

from coflash._core import quantity
from coflash.charts import Chart
from coflash.measures.measure import MEASURES, Measure
from coflash.quantity import show, show_change
from coflash.results.database import Results
from coflash.results.estimate import estimate
from coflash_reproduce import drawing
from coflash_reproduce.claim import FALLS, RISES, Claim, Kind, Paper, climb, valley
from coflash_reproduce.data import toml, toml_beside
from coflash_reproduce.paper import Axis, Exhibit, Experiment, Figure, Grid, Line, Picture, Runs, spread
from coflash_reproduce.study import Finding, Hypothesis, Study
from coflash_reproduce.text import Text

if TYPE_CHECKING:
    import duckdb


def _shown(value: float | None, unit: str) -> str:
    return show(value, unit)  # type: ignore[arg-type]


def _shown_change(relative: float | None) -> str:
    return show_change(relative)


def _spread(values: list[float], unit: str) -> str:
    return spread(estimate(values), unit)  # type: ignore[arg-type]


def _measured(values: list[float], path: str) -> str:
    measure = MEASURES[path]
    mean_of = estimate(values)
    return spread(mean_of.widened(measure.bin_width * (mean_of.mean or 0.0)), measure.unit)


def _mean(values: list[float]) -> float:
    return mean(values)


def _climb(values: list[float]) -> float:
    return climb(values)


def _valley(values: list[float]) -> list[float]:
    return list(valley(values))


def _number_of(text: str) -> float:
    return float(quantity(text)[0])


def _text(number: float, form: str) -> str:
    return format(number, form).replace("-", "−")


SHARED: Mapping[str, Callable[..., Any]] = {
    "shown": _shown,
    "show_change": _shown_change,
    "spread": _spread,
    "measured": _measured,
    "mean_of": _mean,
    "climb": _climb,
    "valley": _valley,
    "written": _text,
    "number_of": _number_of,
}
"""Functions of all queries: numbers as the pages show them, means as Python computes them, and shapes of curves."""
_MACROS = """
create macro change(number, base) as number / nullif(base, 0) - 1;
create macro shown_change(number, base) as show_change(change(number, base));
create macro whole(number) as written(number, ',.0f');
create macro share(place) as written(place, '.3g') || ' %';
"""
_TYPES = {"str": "VARCHAR", "float": "DOUBLE", "int": "BIGINT", "bool": "BOOLEAN", "Run": "INTEGER"}
_NAMED = re.compile(r"\$(\w+)")
_WAYS = {"falls": FALLS, "rises": RISES}


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of a text over the runs of its experiments."""

    text: Text
    constants: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def rows(self, query: str, runs: Runs, **values: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names of the columns, and the rows."""
        cursor = runs.opened(self._open)
        cursor.execute(self._written(query, values))
        names = [column[0].strip() for column in cursor.description or ()]
        return names, cursor.fetchall()

    def _written(self, query: str, values: Mapping[str, Any]) -> str:
        return _NAMED.sub(lambda name: _literal({**self.constants, **values}[name[1]]), query)

    def _open(self, runs: Runs) -> duckdb.DuckDBPyConnection:
        import duckdb  # slow to import

        connection = duckdb.connect()
        for name, function in {**SHARED, **self.functions}.items():
            _register(connection, name, function, runs)
        connection.execute(_MACROS)
        different = {run.key: run for run in runs}
        results = Results("", ((key, run.files, run.document) for key, run in different.items()))  # type: ignore[misc]
        table = results.table(text=True)
        connection.register("results", table)
        cases = [(n, r.experiment.name, r.experiment.title, r.case.line, r.case.at, r.key) for n, r in enumerate(runs)]
        connection.execute(
            "create table cases (n integer, experiment text, title text, line text, place double, run text)"
        )
        if cases:
            connection.executemany("insert into cases values (?, ?, ?, ?, ?, ?)", cases)
        causes = " + ".join(f'coalesce("{path}", 0)' for path in MEASURES if path.startswith("programs_pages."))
        lacking = "".join(f', null::double as "{path}"' for path in MEASURES if path not in table.column_names)
        connection.execute(
            f"create table runs as select *, {causes} as programs from "  # noqa: S608 - names of measures
            f"(select *{lacking} from cases join results using (run))"
        )
        connection.unregister("results")
        for blocks in self.text.blocks.values():
            if "sql views" in blocks:
                connection.execute(self._written(blocks["sql views"], {}))
        return connection

    def grid(self, query: str) -> Callable[[Runs], Grid]:
        """Return what makes the table of an exhibit."""

        def grid(runs: Runs) -> Grid:
            names, rows = self.rows(query, runs)
            return Grid(tuple(names), tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows))

        return grid

    @staticmethod
    def _across(grid: Callable[[Runs], Grid]) -> Callable[[Runs], Grid]:
        """Return what makes the table with its rows as columns."""

        def across(runs: Runs) -> Grid:
            found = grid(runs)
            columns, *rows = zip(found.columns, *found.rows, strict=True)
            return Grid(columns, tuple(rows))

        return across

    def notes(self, name: str) -> Callable[[Runs], list[str]]:
        """Return what makes the sentences that follow a section."""
        query = self.text.blocks[name].get("sql notes", "")
        return lambda runs: [row[0] for row in self.rows(query, runs)[1] if row[0]] if query else []

    def exhibits(
        self, pictures: Mapping[str, Callable[[Runs], list[Chart]]], tables: Mapping[str, Callable[[Runs], Grid]]
    ) -> tuple[Exhibit | Figure | Picture, ...]:
        """Return the exhibits in the order of their sections; pictures and tables are those that the module makes."""
        found: list[Exhibit | Figure | Picture] = []
        for name, blocks in self.text.blocks.items():
            grid = self.grid(blocks["sql"]) if "sql" in blocks else tables.get(name)
            if "csv" in blocks:
                columns, *rows = map(tuple, csv.reader(io.StringIO(blocks["csv"])))
                grid = partial(_constant_grid, Grid(columns, tuple(rows)))
            if "sql across" in blocks:
                grid = self._across(self.grid(blocks["sql across"]))
            if "toml bars" in blocks:
                found.append(self._bars(name, grid, **toml(blocks["toml bars"])))
            elif "toml cells" in blocks and grid:
                found.append(self._cells(name, grid, **toml(blocks["toml cells"])))
            elif name in pictures and grid:
                found.append(Picture(name, pictures[name], grid, self.notes(name)))
            elif grid:
                found.append(Exhibit(name, grid, self.notes(name)))
            elif "toml figure" in blocks:
                found.append(self._figure(name, toml(blocks["toml figure"])))
        return tuple(found)

    def _figure(self, name: str, values: dict[str, Any]) -> Figure:
        def lines(query: str) -> Callable[..., list[Line]]:
            def found(runs: Runs, experiment: Experiment | None = None) -> list[Line]:
                _, rows = self.rows(query, runs, experiment=experiment.name if experiment else "")
                return [
                    Line(label, tuple((row[1], row[2]) for row in of), tuple(row[3] for row in of if len(row) > 3))
                    for label in dict.fromkeys(row[0] for row in rows)
                    for of in [[row for row in rows if row[0] == label and row[2] is not None]]
                    if of
                ]

            return found

        known: dict[str, Any] = {key: self.constant(value) for key, value in values.items()}
        match known["measure"]:
            case str(path):
                known["measure"] = MEASURES[path]
            case dict(parts):
                known["measure"] = Measure(parts["label"], parts["unit"], lambda _: None)
        known["axis"] = Axis(**known["axis"])
        known |= {key: tuple(known[key]) for key in ("experiments", "only", "across") if key in known}
        known |= {key: lines(known[key]) for key in ("lines", "beside") if key in known}
        return Figure(name, **known, notes=self.notes(name))

    def _bars(
        self, name: str, table: Callable[[Runs], Grid] | None, values: str, label: str, form: str, stacked: bool = False
    ) -> Picture:
        """Return bars: rows of their group, their line and a number, whose form is "share" or one of Python's."""

        def groups(runs: Runs) -> dict[str, dict[str, float]]:
            found: dict[str, dict[str, float]] = {}
            for group, line, number in self.rows(values, runs)[1]:
                found.setdefault(group, {})[line] = number
            return found

        def grid(runs: Runs) -> Grid:
            found = groups(runs)
            columns = dict.fromkeys(line for of in found.values() for line in of)
            shown: Callable[[float], str] = (
                partial(show, unit="share") if form == "share" else partial(_text, form=form)
            )
            rows = ((group, *(shown(of[line]) for line in columns if line in of)) for group, of in found.items())
            return Grid(("", *columns), tuple(rows))

        def draw(runs: Runs) -> list[Chart]:
            factor = 100 if form == "share" else 1
            found = {group: {line: factor * one for line, one in of.items()} for group, of in groups(runs).items()}
            return [drawing.bars(found, label, stacked=stacked)]

        return Picture(name, draw, table or grid, self.notes(name))

    def _cells(self, name: str, grid: Callable[[Runs], Grid], values: str, x: str, y: str) -> Picture:
        """Return a map: rows of the panel, the place on either axis, and the label and the text of the cell."""

        def draw(runs: Runs) -> list[Chart]:
            panels: dict[str, dict[str, list[tuple[str, str]]]] = {}
            places: dict[str, None] = {}
            for panel, above, across, label, text in self.rows(values, runs)[1]:
                panels.setdefault(panel, {}).setdefault(above, []).append((label, text))
                places[across] = None
            colours = drawing.colours_of(
                [label for rows in panels.values() for row in rows.values() for label, _ in row]
            )
            return [
                drawing.cells([*rows.values()], (x, [*places]), (y, [*rows]), colours, panel)
                for panel, rows in panels.items()
            ]

        return Picture(name, draw, grid, self.notes(name))

    def constant(self, value: Any) -> Any:
        """Return the constant that `$NAME` or `$NAME.KEY` stands for; of a list those of its items."""
        if isinstance(value, list):
            return tuple(map(self.constant, value))
        found = re.fullmatch(r"\$(\w+)((?:\.\w+)*)", value) if isinstance(value, str) else None
        if found is None:
            return value
        constant = self.constants[found[1]]
        for key in found[2].split(".")[1:]:
            constant = constant[int(key) if key.isdigit() else key]
        return tuple(constant) if isinstance(constant, list) else constant

    def hypotheses(self) -> Iterator[Hypothesis]:
        """Yield the test of each hypothesis, named as its section."""
        for name, blocks in self.text.blocks.items():
            if "sql holds" in blocks:
                test = partial(self._test, blocks["sql holds"])
                test.__name__ = name  # type: ignore[attr-defined]
                yield test

    def _test(self, query: str, runs: Runs) -> Finding:
        rows = self.rows(query, runs)[1]
        return Finding(all(row[0] for row in rows), "; ".join(row[1] for row in rows))

    def numbers(self, query: str, runs: Runs) -> dict[str, Any]:
        """Return the numbers of a row by the names of its columns."""
        names, (row,) = self.rows(query, runs)
        return dict(zip(names, row, strict=True))

    def claims(self, module: str) -> Iterator[Claim]:
        """Yield the claims of the file beside a module; of those for several values one for each combination."""
        for claim in toml_beside(module, "claims.toml")["claims"]:
            for chosen in product(*claim.pop("each", [])):
                yield self._claim(claim | {key: value for one in chosen for key, value in one.items()})

    def _claim(self, values: dict[str, Any]) -> Claim:
        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return tuple(map(filled, value))
            if not isinstance(value, str):
                return value
            found = re.sub(r"\{(\w+)\}", lambda name: _plain(self.constant(values.get(name[1], name[0]))), value)
            return _WAYS.get(found, self.constant(found))

        query = filled(values["ours"])

        def ours(runs: Runs, experiment: str) -> tuple[float, ...] | None:
            _, rows = self.rows(query, runs, experiment=experiment)
            numbers = tuple(
                cell for row in rows for each in row for cell in (each if isinstance(each, list) else [each])
            )
            return None if not numbers or None in numbers else numbers

        names = [name for name in inspect.signature(Claim).parameters if name in values]
        keys = {name: found for name in names if (found := filled(values[name])) != ""} | {
            "ours": ours,
            "kind": Kind(values.get("kind", "number")),
        }
        return Claim(**({"experiments": ()} | keys))


def _constant_grid(grid: Grid, _: Runs) -> Grid:
    return grid


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _literal(value)


def _literal(value: Any) -> str:
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case list() | tuple():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            return f"map({_literal([*value])}, {_literal([*value.values()])})"
    return repr(value)


def _register(connection: duckdb.DuckDBPyConnection, name: str, function: Callable[..., Any], runs: Runs) -> None:
    """Make a function known to queries, by the types of its arguments."""
    signature = inspect.signature(function)
    kinds = [str(parameter.annotation) for parameter in signature.parameters.values()]

    @wraps(function)
    def called(*given: Any) -> Any:
        pairs = zip(kinds, given, strict=True)
        return function(*(runs.runs[value] if kind == "Run" else value for kind, value in pairs))

    nulls: Any = "special" if any("None" in kind for kind in kinds) else "default"
    result = _type(str(signature.return_annotation))
    connection.create_function(name, called, [_type(kind) for kind in kinds], result, null_handling=nulls)


def _type(annotation: str) -> str:
    """Return the type of queries for one of Python; empty if there is none."""
    kind = annotation.removesuffix(" | None")
    if kind.startswith("list["):
        item = _type(kind[5:-1])
        return item and f"{item}[]"
    return _TYPES.get(kind, "")


def paper(
    module: str,
    workloads: ModuleType,
    functions: ModuleType,
    *,
    pictures: Mapping[str, Callable[[Runs], list[Chart]]] = {},
    tables: Mapping[str, Callable[[Runs], Grid]] = {},
) -> Paper:
    """Return the paper of a package: its text and its claims are files beside the module, its numbers are queries.

    Args:
        module: The file of the package's module.
        workloads: The module of its experiments, whose names are known to the text and to queries.
        functions: The module of what queries cannot compute; its public functions of runs are theirs.
        pictures: What draws an exhibit that is no measure over an axis.
        tables: What makes a table that is no query.
    """
    constants = {**toml_beside(module, "claims.toml")["paper"], **vars(workloads), **vars(functions)}
    queries = Queries(Text.beside(module, constants), constants, _of_runs(vars(functions)))
    return Paper(
        name=Path(module).parent.name,
        text=queries.text,
        experiments=workloads.experiments,
        exhibits=queries.exhibits(pictures, tables),
        claims=tuple(queries.claims(module)),
        queries=queries,
    )


def study(
    names: Mapping[str, Any],
    *,
    pictures: Mapping[str, Callable[[Runs], list[Chart]]] = {},
    tables: Mapping[str, Callable[[Runs], Grid]] = {},
) -> Study:
    """Return the study of a module, given by its names: the text beside it has its hypotheses and tables."""
    queries = Queries(Text.beside(names["__file__"], names), names, _of_runs(names))
    answer = queries.text.blocks["answer"].get("sql numbers")
    return Study(
        name=Path(names["__file__"]).stem.replace("_", "-"),
        text=queries.text,
        experiments=names["experiments"],
        exhibits=queries.exhibits(pictures, tables),
        hypotheses=tuple(queries.hypotheses()),
        answer=lambda runs: queries.numbers(answer, runs) if answer else {},
        explanation=queries.notes("answer"),
        queries=queries,
    )


def _of_runs(names: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the public functions of a module whose arguments and result have types of queries."""
    found: dict[str, Callable[..., Any]] = {}
    for name, function in names.items():
        if inspect.isfunction(function) and function.__module__ == names["__name__"] and not name.startswith("_"):
            signature = inspect.signature(function)
            kinds = [one.annotation for one in signature.parameters.values()]
            if all(_type(str(kind)) for kind in (*kinds, signature.return_annotation)):
                found[name] = function
    return found
