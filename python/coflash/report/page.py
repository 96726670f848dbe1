"""The page: one HTML text with its style, its script and its data."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template

from coflash._core import CoflashError, __version__
from coflash.report.payload import payload
from coflash.results.study import Study

SCRIPTS = (
    "data.js",
    "plot.js",
    "figure.js",
    "filter.js",
    "findings.js",
    "explore.js",
    "address.js",
    "run_details.js",
    "sections.js",
    "compare.js",
    "main.js",
)
"""The scripts in their order on the page; each uses those above it."""


def report_html(study: Study) -> str:
    """Write the whole report as one HTML text that needs no other file.

    Raises:
        CoflashError: There is no result.
    """
    if not study.results:
        msg = "a report needs a result; there is none"
        raise CoflashError(msg)
    data, details = payload(study)
    notes = [*(f"Only runs with {condition}." for condition in study.where), *study.remarks]
    background = f'<details class="background"><summary>Background</summary><p>{escape(study.background)}</p></details>'
    return Template(asset("page.html")).substitute(
        title=escape(study.heading),
        question=f'<p class="question">{escape(study.question)}</p>' if study.question else "",
        background=background if study.background else "",
        notes=f'<ul class="remarks">{"".join(f"<li>{escape(note)}</li>" for note in notes)}</ul>' if notes else "",
        style=asset("report.css"),
        # Without a `<` the data can neither end its script element nor, by `<!--<script`, swallow what follows it.
        data=json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        details=details,
        script="\n".join(asset(name) for name in SCRIPTS),
        version=escape(__version__),
    )


def asset(name: str) -> str:
    """Read a file of the page's parts."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
