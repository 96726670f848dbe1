from __future__ import annotations

import json
import re
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from coflash.comparison import Case, Comparison
from coflash.report import report_html
from coflash.report.charts import sections


def charts_in(page: str) -> list[dict[str, Any]]:
    (text,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', page, re.S)
    charts: list[dict[str, Any]] = json.loads(text)
    return charts


def test_the_report_fetches_nothing(comparison: Comparison) -> None:
    ours = report_html(comparison).replace(get_plotlyjs(), "")
    assert "default-src 'none'" in ours
    assert not re.search(r"https?://|//cdn|@import|url\(|<link|\ssrc=", ours)


def test_text_cannot_become_markup(comparison: Comparison) -> None:
    page = report_html(comparison).replace(get_plotlyjs(), "")
    assert "Which is &lt;better&gt;?" in page
    assert "made &lt;by&gt; hand" in page
    assert "<by>" not in page


def test_a_scheme_cannot_end_the_script_that_holds_the_charts(comparison: Comparison) -> None:
    case = comparison.cases[0]
    evil = Comparison("t", "q", (Case("</script><b>", 0, case.result), *comparison.cases[1:]), "none")
    names = {trace["name"] for chart in charts_in(report_html(evil)) for trace in chart["data"]}
    assert "</script><b>" in names


def test_plotly_knows_every_trace_and_axis(comparison: Comparison) -> None:
    def coloured(value: Any) -> Any:
        if isinstance(value, str):
            return re.sub(r"^var\(--[\w-]+\)$", "#123456", value)
        if isinstance(value, list):
            return [coloured(item) for item in value]
        return {key: coloured(item) for key, item in value.items()} if isinstance(value, dict) else value

    charts = charts_in(report_html(comparison))
    assert len(charts) == 13
    for chart in charts:
        go.Figure(coloured(chart["data"]), coloured(chart["layout"]))


def test_every_colour_is_in_both_colour_schemes(comparison: Comparison) -> None:
    page = report_html(comparison)
    used = set(re.findall(r'"var\((--[\w-]+)\)"|background:var\((--[\w-]+)\)', page.replace(get_plotlyjs(), "")))
    names = {a or b for a, b in used}
    assert {"--scheme-0", "--scheme-1", "--scheme-2", "--cause-gc"} <= names
    for name in names:
        assert len(re.findall(rf"{name}: #[0-9a-f]{{6}};", page)) == 2, name


def test_a_single_run_has_what_needs_no_comparison(comparison: Comparison) -> None:
    one = Comparison.of_one(comparison.cases[0].result)
    assert one.schemes == ("by hand",)
    assert [section.title for section in sections(one)] == ["Where programs come from", "The tail", "Over time"]
    assert "In numbers" in report_html(one)


def test_a_window_without_writes_is_a_gap(comparison: Comparison) -> None:
    (course,) = [section for section in sections(comparison) if section.title == "Over time"]
    amplification = course.charts[1].data[0]["y"]
    assert amplification == [1.0, None, 1.0, 1.0]
