"""The page around the charts: what was asked, what came out, how it was run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from statistics import fmean
from string import Template

from plotly.offline import get_plotlyjs

from coflash._core import __version__
from coflash.comparison import Comparison
from coflash.measures import CAUSES, COPIED, HEADLINE, MEAN, STDDEV, WAF_HOST, Measure
from coflash.quantity import Unit, change, show, show_change
from coflash.report.charts import Chart, Section, scheme_colour, sections

_FINDINGS = (COPIED, WAF_HOST, MEAN, STDDEV)


def report_html(comparison: Comparison) -> str:
    """The whole report as one HTML text; whatever it needs is in it."""
    charts: list[Chart] = []
    body = "".join(_section(comparison, section, charts) for section in sections(comparison))
    page = Template(_file("page.html"))
    return page.substitute(
        title=escape(comparison.title),
        question=escape(comparison.question),
        background=f"<p>{escape(comparison.background)}</p>" if comparison.background else "",
        findings=_findings(comparison),
        table=_comparison_tables(comparison) if comparison.baseline else _plain_table(comparison),
        sections=body,
        provenance=_provenance(comparison),
        style=_file("report.css"),
        plotly=get_plotlyjs(),
        # Inside a script element, only `</` could end the data.
        charts=json.dumps([chart.to_dict() for chart in charts], separators=(",", ":")).replace("</", "<\\/"),
        script=_file("report.js"),
        version=escape(__version__),
    )


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _findings(comparison: Comparison) -> str:
    """The mean change over the cache sizes, in large type."""
    cards = []
    for rival in comparison.rivals if comparison.baseline else ():
        for measure in _FINDINGS:
            changes = list(comparison.changes(rival, measure))
            if changes:
                mean = fmean(changes)
                cards.append(
                    f'<div class="card"><dt>{escape(measure.label)}</dt>'
                    f'<dd class="{measure.verdict(mean)}">{show_change(mean)}</dd>'
                    f"<dd>{show_change(max(changes))} … {show_change(min(changes))}</dd></div>"
                )
    if not cards:
        return ""
    rivals, sizes = ", ".join(comparison.rivals), len(comparison.cache_sizes_bytes)
    note = f"{rivals} against {comparison.baseline}: mean over {sizes} cache sizes, and the range."
    return f'<dl class="cards">{"".join(cards)}</dl><p class="note">{escape(note)}</p>'


def _comparison_tables(comparison: Comparison) -> str:
    return "".join(_comparison_table(comparison, rival) for rival in comparison.rivals)


def _comparison_table(comparison: Comparison, rival: str) -> str:
    sizes = comparison.cache_sizes_bytes
    head = "".join(f'<th scope="col">{escape(case.scheme)}</th>' for case in comparison.without_cache)
    head += "".join(f'<th scope="col">{show(size, "bytes")}</th>' for size in sizes)
    rows = []
    for measure in HEADLINE:
        cells = [f"<td>{measure.shown(case.result.metrics)}</td>" for case in comparison.without_cache]
        cells += [f"<td>{_beside(comparison, rival, size, measure)}</td>" for size in sizes]
        rows.append(f'<tr><th scope="row">{escape(measure.label)}</th>{"".join(cells)}</tr>')
    caption = f"<strong>{escape(rival)}</strong>; below it {escape(comparison.baseline)}, and the change from that"
    return _scrolling(
        f"<caption>{caption}</caption><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    )


def _beside(comparison: Comparison, rival: str, size_bytes: int, measure: Measure) -> str:
    ours, theirs = comparison.at(rival, size_bytes), comparison.at(comparison.baseline, size_bytes)
    if ours is None or theirs is None:
        return "–"
    relative = change(measure.read(ours.metrics), measure.read(theirs.metrics))
    verdict = f'<b class="{measure.verdict(relative)}">{show_change(relative)}</b>' if relative is not None else ""
    return f"<strong>{measure.shown(ours.metrics)}</strong><small>{measure.shown(theirs.metrics)} {verdict}</small>"


def _plain_table(comparison: Comparison) -> str:
    head = "".join(f'<th scope="col">{escape(case.label)}</th>' for case in comparison.cases)
    rows = "".join(
        f'<tr><th scope="row">{escape(measure.label)}</th>'
        + "".join(f"<td>{measure.shown(case.result.metrics)}</td>" for case in comparison.cases)
        + "</tr>"
        for measure in HEADLINE
    )
    return _scrolling(f"<thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody>")


def _scrolling(table: str) -> str:
    return f'<div class="scroll" tabindex="0"><table>{table}</table></div>'


def _section(comparison: Comparison, section: Section, charts: list[Chart]) -> str:
    figures = []
    for chart in section.charts:
        caption = f"<p>{escape(chart.caption)}</p>" if chart.caption else ""
        figures.append(
            f"<figure><figcaption><h3>{escape(chart.title)}</h3>{caption}</figcaption>"
            f'<div class="plot" data-chart="{len(charts)}" style="height:{chart.height_px}px"></div></figure>'
        )
        charts.append(chart)
    wide = " wide" if len(figures) % 2 else ""
    legend = "".join(
        f'<li><i style="background:{colour}"></i>{escape(name)}</li>' for name, colour in _legend(comparison, section)
    )
    return (
        f"<section><h2>{escape(section.title)}</h2><p>{escape(section.text)}</p>"
        f'<div class="keys"><ul>{legend}</ul><div class="controls"></div></div>'
        f'<div class="figures{wide}">{"".join(figures)}</div></section>'
    )


def _legend(comparison: Comparison, section: Section) -> Iterator[tuple[str, str]]:
    if section.legend == "schemes":
        for scheme in comparison.schemes:
            yield scheme, scheme_colour(comparison, scheme)
    else:
        shown = {trace["name"] for chart in section.charts for trace in chart.data}
        for cause, name in CAUSES.items():
            if name in shown:
                yield name, f"var(--cause-{cause.replace('_', '-')})"


def _provenance(comparison: Comparison) -> str:
    """What it takes to run all of it again, and what the simulator did."""
    last = comparison.cases[-1].result
    simulators = [case.result.simulator for case in comparison.cases]
    facts = {
        "Workload": last.workload["description"],
        "Requests": show(last.metrics.requests, "requests"),
        "Seed": str(last.seed),
        "Simulated time": _range([case.result.metrics.simulated_ns for case in comparison.cases], "ns"),
        "Requests simulated per second": _range([s["requests_per_second"] for s in simulators], "requests"),
        "Peak memory": show(max(s["peak_rss_bytes"] or 0 for s in simulators) or None, "bytes"),
    }
    for given in last.workload["inputs"]:
        facts[f"SHA-256 of {given['file']}"] = given["sha256"]
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in last.workload["remarks"])
    runs = "".join(
        f"<tr><th scope='row'>{escape(case.label)}</th><td><code>{escape(case.result.scenario_hash)}</code></td></tr>"
        for case in comparison.cases
    )
    return (
        f'<dl class="facts">{rows}</dl>'
        + (f"<ul>{remarks}</ul>" if remarks else "")
        + f"<details><summary>Scenario of “{escape(comparison.cases[-1].label)}”</summary>"
        f"<pre>{escape(last.scenario.to_toml())}</pre></details>"
        f"<details><summary>Fingerprints of the scenarios</summary>{_scrolling(runs)}</details>"
    )


def _range(values: Sequence[float], unit: Unit) -> str:
    low, high = show(min(values), unit), show(max(values), unit)
    return low if low == high else f"{low} – {high}"
