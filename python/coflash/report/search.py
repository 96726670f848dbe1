"""The charts of a search of `coflash tune`: its trade-off, its course, what matters to it, each key by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from coflash.charts import MARKERS
from coflash.quantity import counted, show
from coflash.results.varying_keys import Key, varied_keys
from coflash.sweep.goal import number

_TRIAL = {"color": "var(--series-1)", "shape": MARKERS[0]}
_BEST = {"color": "var(--series-2)"}
_FRONT = {"color": "var(--series-2)", "shape": MARKERS[1]}
_REFUSED = {"color": "var(--series-4)", "shape": MARKERS[2]}
_BOUNDS = "Grey diamonds do not meet the conditions."
_TRADE_OFF = "A trial is on the front if no other is better in one objective and as good in the others."
_ALLOWED, _NOT_ALLOWED = "trials", "beyond a condition"

Chart = dict[str, Any]


def search_charts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the charts of a search as the page draws them, and a sentence about it."""
    return _Search(document).page()


class _Search:
    """A search: its trials in their order, and what they found."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.trials = sorted(document["trials"], key=lambda trial: trial["number"])
        self.keys = varied_keys([trial["values"] for trial in self.trials])
        self.goals = [(number(each["metric"]).measure, each["minimised"]) for each in document["objectives"]]
        self.refused = not all(trial["allowed"] for trial in self.trials)
        paths = [*(key.path for key in self.keys), *(measure.path for measure, _ in self.goals)]
        self.fields = {
            "trial": "trial",
            **{path: path for path in paths},
            "meets conditions": "meets",
            "front": "front",
        }

    def page(self) -> dict[str, Any]:
        """Return what the page shows."""
        labels = [f"{'the least' if less else 'the most'} {measure.label}" for measure, less in self.goals]
        bounds = self.document["subject_to"]
        conditions = f", subject to {' and '.join(bounds)}" if bounds else ""
        failed = f", {self.document['failed']:,} more failed" if self.document["failed"] else ""
        charts = [self.front()] if len(self.goals) > 1 else []
        charts += [self.course(goal) for goal in range(len(self.goals))]
        charts += [self.importance()] if self.document["importance"] else []
        return {
            "about": f"A search for {' and '.join(labels)}{conditions}: {counted(len(self.trials), 'trial')}{failed}.",
            "charts": charts,
            "title": f"Each key against {self.goals[0][0].label}",
            "slices": [self.slice(key) for key in self.keys],
        }

    def axis(self, goal: int, *, named: bool = True) -> Chart:
        """Return the axis of an objective."""
        measure, less = self.goals[goal]
        label = f"{measure.label}, {'less' if less else 'more'} is better" if named else ""
        return {"label": label, "unit": measure.unit, "zero": False}

    def rows(self, x: Callable[[int], float], goal: int) -> list[Chart]:
        """Return a point for each trial, with all that it is."""
        rows = []
        for place, trial in enumerate(self.trials):
            values = {key.path: key.texts[key.codes[place]] for key in self.keys}
            means = {one.path: mean["mean"] for (one, _), mean in zip(self.goals, trial["found"], strict=True)}
            shown = " · ".join(show(means[one.path], one.unit) for one, _ in self.goals)
            settings = ", ".join(f"{key.label} {values[key.path]}" for key in self.keys)
            rows.append(
                {
                    "name": _ALLOWED if trial["allowed"] else _NOT_ALLOWED,
                    "x": x(place),
                    "y": trial["found"][goal]["mean"],
                    "part": place,
                    "text": f"{shown} ({settings})",
                    "trial": trial["number"],
                    **values,
                    **means,
                    "meets": "yes" if trial["allowed"] else "no",
                    "front": "yes" if trial["front"] else "no",
                }
            )
        return rows

    def chart(self, title: str, rows: Sequence[Chart], looks: Chart, x: Chart, y: Chart, note: str = "") -> Chart:
        """Return a chart of trials, and of what is drawn beside them."""
        trials = {_ALLOWED: _TRIAL} | ({_NOT_ALLOWED: _REFUSED} if self.refused else {})
        kind = {"title": title, "note": " ".join(filter(None, [note, _BOUNDS * self.refused])), "kind": "lines"}
        return {**kind, "rows": [*rows], "looks": looks | trials, "x": x, "y": y, "fields": self.fields}

    def front(self) -> Chart:
        """Return the chart of two objectives, with the Pareto front over the trials: it may be a single one."""
        rows = self.rows(lambda place: float(self.trials[place]["found"][0]["mean"]), 1)
        best = sorted((row for row in rows if row["front"] == "yes"), key=lambda row: row["x"])
        front = [{"name": "Pareto front", "x": row["x"], "y": row["y"], "text": row["text"]} for row in best]
        return self.chart(
            "Trade-off", [*rows, *front], {"Pareto front": _FRONT}, self.axis(0), self.axis(1), note=_TRADE_OFF
        )

    def course(self, goal: int) -> Chart:
        """Return the chart of an objective over the trials, and of the best so far."""
        measure, less = self.goals[goal]
        rows = self.rows(lambda place: float(self.trials[place]["number"]), goal)
        allowed = [row["y"] if row["meets"] == "yes" else None for row in rows]
        best = _best(allowed, min if less else max)
        steps = [{"name": "best so far", "x": row["x"], "y": value} for row, value in zip(rows, best, strict=True)]
        x = {"label": "trial", "nice": False}
        chart = self.chart(
            f"Course of the search: {measure.label}", [*steps, *rows], {"best so far": _BEST}, x, self.axis(goal)
        )
        return {**chart, "kind": "steps"}

    def slice(self, key: Key) -> Chart:
        """Return the chart of the first objective over a key."""
        rows = self.rows(lambda place: key.places[key.codes[place]], 0)
        ticks = [{"at": at, "text": text} for at, text in zip(key.places, key.texts, strict=True)]
        return self.chart(key.label, rows, {}, {"label": key.label, "ticks": ticks}, self.axis(0, named=False))

    def importance(self) -> Chart:
        """Return the chart of how much each key decides."""
        names = [measure.label for measure, _ in self.goals]
        shares = [
            (name, f"{name} · {key}" if len(names) > 1 else key, share)
            for name, found in zip(names, self.document["importance"], strict=True)
            for key, share in found.items()
        ]
        return {
            "title": "Which keys matter",
            "note": "PED-ANOVA: what the better trials have in common.",
            "kind": "bars",
            "rows": [
                {
                    "row": row,
                    "label": label,
                    "name": name,
                    "from": 0,
                    "to": share,
                    "value": share,
                    "text": show(share, "share"),
                }
                for row, (name, label, share) in enumerate(shares)
            ],
            "looks": {name: {"color": f"var(--series-{place})"} for place, name in enumerate(names)},
            "x": {"label": "share of the difference between trials", "unit": "share", "grid": True},
            "fields": {"key": "label", "share": "value"},
        }


def _best(values: Sequence[float | None], better: Callable[[float, float], float]) -> list[float | None]:
    """Return the best value until each place; None before the first."""

    def of(before: float | None, value: float | None) -> float | None:
        return better(before, value) if before is not None and value is not None else before if value is None else value

    return list(accumulate(values, of))
