"""The charts of a search of `coflash tune`: its trade-off, its course, what matters to it, each key by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coflash.charts import MARKERS
from coflash.quantity import counted, show
from coflash.results.varying_keys import Key, varied_keys
from coflash.sweep.goal import number

_TRIAL = {"color": "var(--series-1)", "shape": MARKERS[0]}
_BEST = {"color": "var(--series-2)"}
_FRONT, _ANSWER = "Pareto front", "the answer"
_MARKED = {_FRONT: {**_BEST, "shape": MARKERS[1]}, _ANSWER: {"color": "var(--series-3)", "shape": MARKERS[3]}}
_REFUSED = {"color": "var(--series-4)", "shape": MARKERS[2]}
_BOUNDS = "Grey diamonds do not meet the conditions."
_TRADE_OFF = "A trial is on the front if no other is better in one objective and as good in the others."
_ALLOWED, _NOT_ALLOWED = "trials", "beyond a condition"
_FAR = 5
"""A value is far off that is this many times the least one."""
_DRAWN = ("name", "part", "text")
"""What a chart needs of a trial beside its data."""

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
        self.measured = [[trial["found"][goal]["mean"] for trial in self.trials] for goal in range(len(self.goals))]
        self.points = [self.point(place) for place in range(len(self.trials))]
        self.refused = not all(trial["allowed"] for trial in self.trials)

    def point(self, place: int) -> Chart:
        """Return what is said of a trial."""
        trial = self.trials[place]
        settings = {key.path: key.texts[key.codes[place]] for key in self.keys}
        means = {goal[0].path: values[place] for goal, values in zip(self.goals, self.measured, strict=True)}
        shown = " · ".join(show(means[measure.path], measure.unit) for measure, _ in self.goals)
        text = ", ".join(f"{key.label} {settings[key.path]}" for key in self.keys)
        meets, front = ("yes" if trial[name] else "no" for name in ("allowed", "front"))
        fields = {"trial": trial["number"], **settings, **means, "meets conditions": meets, "front": front}
        name = _ALLOWED if trial["allowed"] else _NOT_ALLOWED
        return {**fields, "name": name, "part": place, "text": f"{shown} ({text})"}

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
        """Return the axis of an objective: logarithmic where one trial far off would press the others together."""
        measure, less = self.goals[goal]
        values = self.measured[goal]
        far = {"log": True, "labelled": [1, 2, 5], "nice": False} if 0 < _FAR * min(values) < max(values) else {}
        label = f"{measure.label}, {'less' if less else 'more'} is better" if named else ""
        return {"label": label, "unit": measure.unit, "zero": False, **far}

    def rows(self, x: Iterable[float], goal: int) -> list[Chart]:
        """Return the trials as points: an objective over something."""
        places = zip(self.points, x, self.measured[goal], strict=True)
        return [{**point, "x": at, "y": value} for point, at, value in places]

    def chart(self, title: str, rows: Sequence[Chart], looks: Chart, **more: Any) -> Chart:
        """Return a chart of trials, and of what is drawn beside them."""
        trials = {_ALLOWED: _TRIAL} | ({_NOT_ALLOWED: _REFUSED} if self.refused else {})
        fields = {name: name for name in self.points[0] if name not in _DRAWN}
        chart = {"title": title, "kind": "lines", "rows": rows, "looks": looks | trials, "fields": fields, **more}
        return {**chart, "note": " ".join(filter(None, [more.get("note"), _BOUNDS * self.refused]))}

    def front(self) -> Chart:
        """Return the chart of two objectives, with the Pareto front over the trials: it may be a single one."""
        rows = self.rows(self.measured[0], 1)
        best = sorted((row for row in rows if row["front"] == "yes"), key=lambda row: row["x"])
        chosen = rows[self.trials.index(self.document["trials"][0])]
        beside = [*((_FRONT, row) for row in best), (_ANSWER, chosen)]
        marks = [{"name": name, "x": row["x"], "y": row["y"], "text": row["text"]} for name, row in beside]
        return self.chart("Trade-off", [*rows, *marks], _MARKED, x=self.axis(0), y=self.axis(1), note=_TRADE_OFF)

    def course(self, goal: int) -> Chart:
        """Return the chart of an objective over the trials, and of the best so far."""
        measure, less = self.goals[goal]
        rows = self.rows((trial["number"] for trial in self.trials), goal)
        allowed = [row["y"] if row["name"] == _ALLOWED else math.nan for row in rows]
        best = (np.fmin if less else np.fmax).accumulate(allowed, dtype=float).tolist()
        steps = [
            {"name": "best so far", "x": row["x"], "y": y}
            for row, y in zip(rows, best, strict=True)
            if not math.isnan(y)
        ]
        axes = {"x": {"label": "trial", "nice": False}, "y": self.axis(goal)}
        title = f"Course of the search: {measure.label}"
        return self.chart(title, [*steps, *rows], {"best so far": _BEST}, **axes, kind="steps")

    def slice(self, key: Key) -> Chart:
        """Return the chart of the first objective over a key."""
        rows = self.rows((key.places[code] for code in key.codes), 0)
        ticks = [{"at": at, "text": text} for at, text in zip(key.places, key.texts, strict=True)]
        return self.chart(key.label, rows, {}, x={"label": key.label, "ticks": ticks}, y=self.axis(0, named=False))

    def importance(self) -> Chart:
        """Return the chart of how much each key decides."""
        rows: list[Chart] = []
        labels = [measure.label for measure, _ in self.goals]
        for name, shares in zip(labels, self.document["importance"], strict=True):
            for key, share in shares.items():
                label = f"{name} · {key}" if len(labels) > 1 else key
                bar = {"from": 0, "to": share, "value": share, "text": show(share, "share")}
                rows.append({"row": len(rows), "label": label, "name": name, **bar})
        return {
            "title": "Which keys matter",
            "note": "PED-ANOVA: what the better trials have in common.",
            "kind": "bars",
            "rows": rows,
            "looks": {name: {"color": f"var(--series-{place})"} for place, name in enumerate(labels)},
            "x": {"label": "share of the difference between trials", "unit": "share", "grid": True},
            "fields": {"key": "label", "share": "value"},
        }
