from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from coflash import CoflashError, Result
from coflash.cli.summary import comparison_table, run_table
from coflash.measures.measure import COPIED, DROPPED
from coflash.results.comparison import REPORT, Comparison
from coflash.results.subject import Subject

MIB = 2**20


def test_schemes_and_sizes_come_from_the_cases(comparison: Comparison) -> None:
    assert comparison.schemes == ("no cache", "none", "cdm")
    assert comparison.cache_sizes_bytes == (16 * MIB, 64 * MIB)
    assert comparison.rivals == ("cdm",)
    assert [case.label for case in comparison.cases][:2] == ["no cache", "none 16 MiB"]


def test_changes_are_those_from_the_baseline_at_the_same_size(comparison: Comparison) -> None:
    assert list(comparison.changes("cdm", COPIED)) == pytest.approx([-0.3, -0.5])
    assert list(comparison.changes("cdm", DROPPED)) == []


def test_a_saved_comparison_is_the_same_comparison(comparison: Comparison, tmp_path: Path) -> None:
    comparison.write_files(tmp_path)
    again = Comparison.load(tmp_path)
    assert (again.title, again.baseline, again.schemes) == (comparison.title, "none", comparison.schemes)
    assert [case.result.document for case in again.cases] == [case.result.document for case in comparison.cases]
    assert not (tmp_path / REPORT).exists()
    (tmp_path / "comparison.json").write_text("{}")
    with pytest.raises(CoflashError, match=r"comparison\.json"):
        Comparison.load(tmp_path)


def test_a_mixture_of_revisions_is_told(comparison: Comparison) -> None:
    assert "revisions" not in comparison._repr_html_()
    first, *others = comparison.cases
    newer = first.result.with_document({**first.result.document, "revision": 9})
    mixed = replace(comparison, cases=(replace(first, result=newer), *others))
    assert "4 of revision 0 (coflash 0.1.0), 1 of revision 9 (coflash 0.1.0)" in mixed._repr_html_()
    assert "different revisions" in Subject.of(mixed).remarks[0]


def test_the_table_has_a_row_for_each_run(comparison: Comparison) -> None:
    table = comparison.table()
    assert list(table["scheme"]) == ["no cache", "none", "cdm", "none", "cdm"]
    assert list(table["gc_copies_pages"]) == [1200, 1000, 700, 800, 400]
    assert "response_ns.all.p99_9" in table


def printed(what: object) -> str:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(what)
    return captured.get().replace("\N{NO-BREAK SPACE}", " ")


def test_the_terminal_shows_each_scheme_beside_the_baseline(comparison: Comparison) -> None:
    text = printed(comparison_table(comparison))
    assert "pages copied by GC" in text
    row = next(line for line in text.splitlines() if "copied" in line)
    assert row.split()[-5:] == ["1,200", "1,000", "700", "−30.0", "%"]
    assert max(map(len, text.splitlines())) <= 80


def test_the_terminal_shows_causes_that_occurred(result: Result) -> None:
    text = printed(run_table(result))
    assert "GC copies" in text
    assert "refresh" not in text
