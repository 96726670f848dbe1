"""The page: one HTML text with its style, its script and its data."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template

from coflash._core import CoflashError, __version__
from coflash.quantity import counted
from coflash.report.payload import payload
from coflash.results.subject import Subject

SCRIPTS = (
    "data.js",
    "plot.js",
    "figure.js",
    "filter.js",
    "waterfall.js",
    "findings.js",
    "explore.js",
    "search.js",
    "address.js",
    "run_details.js",
    "sections.js",
    "compare.js",
    "main.js",
)
"""The scripts in their order on the page; each uses those above it."""


LIVE = Template("""
setInterval(async () => {
  const found = await fetch("/state").then((answer) => answer.text(), () => "$state");
  if (found !== "$state") location.reload();
}, 1000);
""")
"""The script that reloads a page when the results of its server change. The address keeps the view."""


def report_html(subject: Subject, live: str = "") -> str:
    """Write the whole report as one HTML text that needs no other file.

    Args:
        subject: The results.
        live: The state of the results, for a served page, which reloads when it changes; empty for a file.

    Raises:
        CoflashError: There is no result.
    """
    if not subject.results:
        raise CoflashError("a report needs a result, and there is none; `coflash run demo --out results` makes one")
    data, details = payload(subject)
    so_far = [f"{counted(len(subject.results), 'result')} so far; this page updates."] if live else []
    notes = [*so_far, *(f"Only runs with {condition}." for condition in subject.where), *subject.remarks]
    background = (
        f'<details class="background"><summary>Background</summary><p>{escape(subject.background)}</p></details>'
    )
    return Template(asset("page.html")).substitute(
        title=escape(subject.heading),
        question=f'<p class="question">{escape(subject.question)}</p>' if subject.question else "",
        background=background if subject.background else "",
        notes=f'<ul class="remarks">{"".join(f"<li>{escape(note)}</li>" for note in notes)}</ul>' if notes else "",
        style=asset("report.css"),
        # Without a `<` the data can neither end its script element nor, by `<!--<script`, swallow the text after it.
        data=json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        details=details,
        script="\n".join([*(asset(name) for name in SCRIPTS), *([LIVE.substitute(state=live)] if live else [])]),
        connect="'self'" if live else "'none'",
        version=escape(__version__),
    )


def asset(name: str) -> str:
    """Read an asset of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
