"""The page: one HTML text with its style, its script and its data."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

from coflash._core import CoflashError, __version__
from coflash.report.library import library
from coflash.report.payload import payload
from coflash.results.subject import Subject
from coflash.results.varying_keys import Key

_NAMES = "data figure filter waterfall findings explore address run_details sections compare main"
SCRIPTS = [f"{name}.js" for name in _NAMES.split()]
"""The scripts in their order on the page; each uses those above it."""
_VALUES_MAX, _ALONG_MAX = 6, 4
_OF_TYPES = re.compile(r"^/\*\*.*?\*/\n", re.DOTALL | re.MULTILINE)
"""What is said of types is for those who write the script."""


def report_html(subject: Subject) -> str:
    """Write the whole report as one HTML text that needs no other file.

    Args:
        subject: The results.

    Raises:
        CoflashError: There is no result.
    """
    if not subject.results:
        raise CoflashError("a report needs a result, and there is none; `coflash run demo --out results` makes one")
    notes = [*(f"Only runs with {condition}." for condition in subject.where), *subject.limits, *subject.remarks]
    return Template(asset("page.html")).substitute(
        title=escape(subject.heading),
        question=f'<p class="question">{escape(subject.question)}</p>' if subject.question else "",
        tables="".join(table.html() for table in subject.tables),
        notes=_limits(notes) if notes else "",
        varied=_varied(subject.varied),
        style="".join(asset(f"{name}.css") for name in ("colours", "base", "report")),
        # Without a `<` the data can neither end its script element nor, by `<!--<script`, swallow the text after it.
        data=json.dumps(payload(subject), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        library=base64.b64encode(library()).decode("ascii"),
        script=_OF_TYPES.sub("", "\n".join(map(asset, SCRIPTS))),
        version=escape(__version__),
    )


def _limits(notes: Sequence[str]) -> str:
    """Write what limits the answer: how it begins in one line, and the whole on demand."""
    rest = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    summary = f"<summary>What limits this{rest}: {escape(notes[0])}</summary>"
    return f'<details class="remarks">{summary}<ul>{items}</ul></details>'


def _varied(keys: Sequence[Key]) -> str:
    """Write the keys that varied, and their values."""
    parts = []
    for key in keys:
        texts = key.texts
        values = ", ".join(texts) if len(texts) <= _VALUES_MAX else f"{len(texts)} values, {texts[0]} … {texts[-1]}"
        along = f"with {', '.join(key.along[:_ALONG_MAX])}{', …' if len(key.along) > _ALONG_MAX else ''}"
        with_others = f'<dd class="along">{escape(along)}</dd>' if key.along else ""
        parts.append(f"<div><dt><code>{escape(key.path)}</code></dt><dd>{escape(values)}</dd>{with_others}</div>")
    return f'<dl class="varied">{"".join(parts)}</dl>' if parts else ""


def asset(name: str) -> str:
    """Read an asset of the page."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
