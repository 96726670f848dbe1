"""The queries of a paper or a study: the tables of its page, and what decides its statements, in SQL over its runs.

The table `runs` has a row for each run, in their order: `n`, its number; `experiment`, `title`, `line`, `place` and
`seed`; `run`, its key in the store; `programs`, all pages that were programmed; and the columns of `coflash results
sql`, such as `"response_ns.all.mean"`; a measure that no run has is NULL. `$NAME` is a constant of the module. Beside
DuckDB's functions there are those of `SHARED`, and those of the module, whose argument of the type `Run` is a run's
number.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import wraps
from statistics import mean
from typing import TYPE_CHECKING, Any

from coflash._core import quantity
from coflash.measures.measure import MEASURES, WAF_HOST
from coflash.quantity import show, show_change
from coflash.results.database import Results
from coflash.results.differences import difference
from coflash.results.estimate import estimate
from coflash_reproduce.claim import climb, valley
from coflash_reproduce.paper import Grid, Run, Runs, spread
from coflash_reproduce.text import Text

if TYPE_CHECKING:
    import duckdb


def _measured(values: list[float], path: str) -> str:
    measure, mean_value = MEASURES[path], estimate(values)
    return spread(mean_value.widened(measure.bin_width * (mean_value.mean or 0.0)), measure.unit)


def written(number: float, form: str) -> str:
    """Write a number in a form of Python's, with a minus sign in place of a hyphen."""
    return format(number, form).replace("-", "−")


def _over_slices(base: Run, run: Run) -> list[float]:
    found = difference(WAF_HOST, (base.result(),), (run.result(),))
    between = found.over_slices if found else None
    return [each / base.read(WAF_HOST) for each in (between.low, between.high)] if between else []


Function = tuple[Callable[..., Any], str, str]
"""A function of queries: the types of its arguments, and that of its result."""

SHARED: Mapping[str, Function] = {
    "shown": (lambda value, unit: show(value, unit), "float | None, str", "str"),
    "show_change": (show_change, "float | None", "str"),
    "spread": (lambda values, unit: spread(estimate(values), unit), "list[float], str", "str"),
    "measured": (_measured, "list[float], str", "str"),
    "mean_of": (mean, "list[float]", "float"),
    "climb": (lambda values: climb(values), "list[float]", "float"),
    "valley": (lambda values: list(valley(values)), "list[float]", "list[float]"),
    "written": (written, "float, str", "str"),
    "number_of": (lambda text: float(quantity(text)[0]), "str", "float"),
    "is_open": (lambda run: run.experiment.issued == "at their times", "Run", "bool"),
    "issued": (lambda run: run.experiment.issued, "Run", "str"),
    "unsteady": (lambda run: run.unsteady, "Run", "str"),
    "half_width": (lambda values: estimate(values).half_width or 0.0, "list[float]", "float"),
    "over_slices": (_over_slices, "Run, Run", "list[float]"),
    "late_ns": (lambda run: run.late_ns, "Run", "float"),
    "late_waf": (Run.late_waf, "Run, float", "float"),
}
"""Functions of all queries.

Numbers as pages show them: `shown` with a unit, `spread` as a mean with its interval, `measured` the same of a measure,
`written` in a form. `mean_of` is the mean of a list without an error of rounding, `climb` and `valley` are shapes of a
curve, and `number_of` reads a value of a scenario. `issued` says how the requests of a run are issued, and `is_open`
whether that is at their times. `unsteady` has the notes by which a run says nothing of a steady state. `half_width` is
that of the interval of a mean, 0 if it has none; `over_slices` has the ends of the interval of the change of programs
a host write from one run to another, over slices of their requests. `late_ns` is the mean response in the second half
of the simulated time, and `late_waf` the write amplification from a share of that time on.
"""
_MACROS = """
create macro change(number, base) as number / nullif(base, 0) - 1;
create macro shown_change(number, base) as show_change(change(number, base));
create macro whole(number) as written(number, ',.0f');
create macro signed(numbers) as case when mean_of(numbers) > 0 then '+' else '' end || spread(numbers, 'share');
create macro share(place) as written(place, '.3g') || ' %';
"""
_TYPES = {"str": "VARCHAR", "float": "DOUBLE", "int": "BIGINT", "bool": "BOOLEAN", "Run": "INTEGER"}
_NAMED = re.compile(r"\$(\w+)")


class _Unknown:
    """A number that no run gives."""

    def __format__(self, _: str) -> str:
        return "(no run tells)"


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of a text over the runs of its experiments."""

    text: Text
    constants: Mapping[str, Any]
    functions: Mapping[str, Function] = field(default_factory=dict)

    def rows(self, query: str, runs: Runs, **values: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names of the columns, and the rows; a query that was asked before is not run again."""
        asked, answered = self._with_constants(query, values), runs.opened(self._answered)
        if asked not in answered:
            cursor = runs.opened(self._open).execute(asked)
            answered[asked] = [column[0].strip() for column in cursor.description or ()], cursor.fetchall()
        return answered[asked]

    def _answered(self, _: Runs) -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
        return {}

    def _with_constants(self, query: str, values: Mapping[str, Any]) -> str:
        return _NAMED.sub(lambda name: literal({**self.constants, **values}[name[1]]), query)

    def _open(self, runs: Runs) -> duckdb.DuckDBPyConnection:
        import duckdb  # slow to import

        connection = duckdb.connect()
        for name, function in {**SHARED, **self.functions}.items():
            _register(connection, name, *function, runs)
        connection.execute(_MACROS)
        different = {run.key: run for run in runs}
        results = Results("", ((key, run.files, run.document) for key, run in different.items()))
        table = results.table(text=True)
        connection.register("results", table)
        cases = [(n, r.experiment.name, r.experiment.title, r.case.line, r.case.at, r.key) for n, r in enumerate(runs)]
        columns = "n integer, experiment text, title text, line text, place double, run text"
        connection.execute(f"create table cases ({columns})")
        if cases:
            connection.executemany("insert into cases values (?, ?, ?, ?, ?, ?)", cases)
        causes = " + ".join(f'coalesce("{path}", 0)' for path in MEASURES if path.startswith("programs_pages."))
        lacking = "".join(f', null::double as "{path}"' for path in MEASURES if path not in table.column_names)
        connection.execute(
            f"create table runs as select *, {causes} as programs from "  # noqa: S608 - names of measures
            f"(select *{lacking} from cases join results using (run))"
        )
        connection.unregister("results")
        # Without runs there is no column of theirs, and no table of it.
        lenient = nullcontext() if cases else suppress(duckdb.ProgrammingError)
        for blocks in self.text.blocks.values():
            for statement in connection.extract_statements(self._with_constants(blocks.get("sql tables", ""), {})):
                with lenient:
                    connection.execute(statement)
        return connection

    def grid(self, query: str, *, across: bool = False) -> Callable[[Runs], Grid]:
        """Return what makes a table; `across` makes its rows columns."""

        def grid(runs: Runs) -> Grid:
            names, rows = self.rows(query, runs)
            texts = [names, *(["" if cell is None else str(cell) for cell in row] for row in rows)]
            columns, *others = zip(*texts, strict=True) if across else map(tuple, texts)
            return Grid(columns, tuple(others))

        return grid

    def notes(self, name: str) -> Callable[[Runs], list[str]]:
        """Return what makes the sentences that follow a section."""
        query = self.text.blocks[name].get("sql notes", "")
        return lambda runs: [row[0] for row in self.rows(query, runs)[1] if row[0]] if query else []

    def numbers(self, query: str, runs: Runs) -> dict[str, Any]:
        """Return the numbers of a row by the names of its columns; of NULL a text whatever its form is."""
        names, (row,) = self.rows(query, runs)
        return {name: _Unknown() if cell is None else cell for name, cell in zip(names, row, strict=True)}

    def constant(self, value: Any) -> Any:
        """Return the constant that `$NAME` or `$NAME.KEY` stands for; of a list those of its items."""
        if isinstance(value, list):
            return tuple(map(self.constant, value))
        named = re.fullmatch(r"\$(\w+)((?:\.\w+)*)", value) if isinstance(value, str) else None
        if named is None:
            return value
        constant = self.constants[named[1]]
        for key in named[2].split(".")[1:]:
            constant = constant[int(key) if key.isdigit() else key]
        return tuple(constant) if isinstance(constant, list) else constant


def literal(value: Any) -> str:
    """Write a constant in SQL."""
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case dict():
            return f"map({literal([*value])}, {literal([*value.values()])})"
    return repr(value)


def _register(
    connection: duckdb.DuckDBPyConnection, name: str, function: Callable[..., Any], given: str, result: str, runs: Runs
) -> None:
    """Make a function known to queries, by the types of its arguments."""
    kinds = given.split(", ") if given else []

    @wraps(function)  # its number of arguments is looked at
    def called(*values: Any) -> Any:
        pairs = zip(kinds, values, strict=True)
        return function(*(runs.runs[value] if kind == "Run" else value for kind, value in pairs))

    nulls: Any = "special" if any("None" in kind for kind in kinds) else "default"
    connection.create_function(name, called, [_type(kind) for kind in kinds], _type(result), null_handling=nulls)


def _type(annotation: str) -> str:
    """Return the type of queries for one of Python; empty if there is none."""
    kind = annotation.removesuffix(" | None")
    if kind.startswith("list["):
        item = _type(kind[5:-1])
        return item and f"{item}[]"
    return _TYPES.get(kind, "")


def functions_of(names: Mapping[str, Any]) -> dict[str, Function]:
    """Return the public functions of a module, given by its names, that queries can call."""
    public: dict[str, Function] = {}
    for name, function in names.items():
        if inspect.isfunction(function) and function.__module__ == names["__name__"] and not name.startswith("_"):
            signature = inspect.signature(function)
            kinds = [str(parameter.annotation) for parameter in signature.parameters.values()]
            result = str(signature.return_annotation)
            if all(map(_type, [*kinds, result])):
                public[name] = function, ", ".join(kinds), result
    return public
