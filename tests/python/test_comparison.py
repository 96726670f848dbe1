from __future__ import annotations

from rich.console import Console

from coflash import Result, compare
from coflash.measures.measure import HEADLINE, applying
from coflash.report import Subject
from coflash.results.tables import beside_table, run_table
from coflash.text_table import TextTable


def test_a_mixture_of_revisions_is_told(comparison: Subject) -> None:
    assert "revisions" not in compare(*comparison.results)._repr_html_()
    first, *others = comparison.results
    newer = first.with_document({**first.document, "revision": 9})
    told = "4 of revision 0 (coflash 0.1.0), 1 of revision 9 (coflash 0.1.0)"
    assert told in compare(newer, *others)._repr_html_()
    assert "different revisions" in Subject((newer, *others)).remarks[0]


def printed(what: object) -> str:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(what)
    return captured.get().replace("\N{NO-BREAK SPACE}", " ")


def test_the_terminal_shows_each_scheme_beside_the_baseline(comparison: Subject) -> None:
    bare, none, cdm = ([result.document] for result in comparison.results[:3])
    measures = applying(HEADLINE, [result.metrics for result in comparison.results])
    text = printed(beside_table(["none", "cdm", "no cache"], (), [none, cdm, bare], measures, "cache of 16 MiB"))
    assert text.startswith("cache of 16 MiB\n")
    row = next(line for line in text.splitlines() if "copied" in line)
    assert row.split() == ["pages", "copied", "by", "GC", "1,000", "700", "−30.0", "%", "1,200", "+20.0", "%"]
    assert max(map(len, text.splitlines())) <= 80


def test_the_terminal_shows_causes_that_occurred(result: Result) -> None:
    text = printed(run_table(result))
    assert "GC copies" in text
    assert "refresh" not in text


def a_table(**more: bool) -> TextTable:
    table = TextTable(["name", "what it is\nfor"], title="A title", **more)  # type: ignore[arg-type]
    table.add("one", "words " * 20)
    table.begin("a section")
    table.add("<two>", "|")
    return table


def test_a_table_that_is_too_wide_is_wrapped_or_turned() -> None:
    assert max(map(len, printed(a_table(wraps=True)).splitlines())) <= 80
    turned = printed(a_table()).splitlines()
    assert [line.split()[:1] for line in turned if line.startswith(("name", "what"))] == [["name"], ["what"]] * 2


def test_a_table_for_a_document_has_its_signs_escaped() -> None:
    assert a_table().document("markdown").splitlines()[-1] == r"| \<two\> | \| |"
    assert r"\textless{}two\textgreater{} & | \\" in a_table().document("latex")
    assert "&lt;two&gt;" in a_table().html() and "<two>" not in a_table().html()
