"""The company of a number: another definition of it where both differ, and what it takes for granted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import coflash
from coflash.evaluation import _SUITES
from coflash.measures.measure import HEADLINE, MEASURES, WAF_HOST, WAF_MEDIA, applying
from coflash.report import Subject
from coflash.report.payload import payload
from coflash.results.assumptions import assumptions_of, texts_of
from coflash.results.differences import differences_table
from coflash.results.tables import run_table, runs_beside, runs_table
from processes import coflash as command

DEVICE = {
    "flash": {"page_size": "16KiB", "channels": 1, "blocks_per_plane": 64, "pages_per_block": 32},
    "ftl": {"spare": {"share": "15%"}},
    "gc": {"low_mark": 2},
    "precondition": {"fill": "sequential"},
}


def wrote(size: str, **more: Any) -> coflash.Scenario:
    synthetic = {"generator": "uniform", "requests": 3000, "size": {"name": "fixed", "size": size}, "align": size}
    return coflash.Scenario.from_dict({**DEVICE, "workload": {"synthetic": synthetic}, **more})


@pytest.fixture(scope="module")
def parts() -> coflash.Result:
    return coflash.run(wrote("4KiB"))


@pytest.fixture(scope="module")
def pages() -> coflash.Result:
    return coflash.run(wrote("16KiB"))


def printed(what: object) -> str:
    console = Console(width=160, no_color=True)
    with console.capture() as captured:
        console.print(what, soft_wrap=True)
    return " ".join(captured.get().split())


def test_both_wafs_of_a_run_are_shown_where_they_differ(parts: coflash.Result, pages: coflash.Result) -> None:
    host, media = parts.metrics.waf_host, parts.metrics.waf_media
    assert host is not None
    assert media == pytest.approx(4 * host), "a quarter of each page was written by the host"
    shown = f"{WAF_HOST.label} {WAF_HOST.shown(parts.metrics)} {WAF_MEDIA.label} {WAF_MEDIA.shown(parts.metrics)}"
    assert shown in printed(run_table(parts))
    assert pages.metrics.waf_media == pages.metrics.waf_host
    for result, is_shown in ((parts, True), (pages, False)):
        assert (WAF_MEDIA.label in printed(run_table(result))) is is_shown
        assert (WAF_MEDIA.label in result._repr_html_()) is is_shown


def test_tables_of_many_runs_have_both_wafs_where_any_run_differs(parts: coflash.Result, pages: coflash.Result) -> None:
    def of(*results: coflash.Result) -> list[bool]:
        columns = {metric["path"]: metric for metric in payload(Subject(results))["metrics"]}
        side_by_side = coflash.compare(*results)
        return [
            WAF_MEDIA.label in side_by_side._repr_html_(),
            WAF_MEDIA.path in side_by_side.table()["measure"],
            columns[WAF_MEDIA.path]["headline"],
        ]

    assert all(of(parts, pages))
    assert not any(of(pages, pages))
    assert applying(HEADLINE, [pages.metrics, parts.metrics])[:2] == [WAF_HOST, WAF_MEDIA]


@pytest.mark.parametrize("size", ["4KiB", "16KiB"])
def test_tables_of_sweeps_have_both_wafs_where_they_differ(size: str, tmp_path: Path) -> None:
    swept = coflash.sweep(wrote(size), {"gc.victim": ["greedy", "fifo"]}, out=tmp_path, on=1)
    results, is_shown = swept.results, size == "4KiB"
    measures, runs = results.applying(HEADLINE), results.in_order()
    for table in (
        swept.tables(*(measure.path for measure in measures))[0],
        runs_table(results, measures),
        runs_beside(results, runs),
        differences_table(results, runs, measures),
        results._repr_html_(),
        swept._repr_html_(),
    ):
        assert ("by bytes" in printed(table)) is is_shown
    assert (WAF_MEDIA.path in swept.table()) is is_shown


@pytest.mark.parametrize("suite", [name for name, suite in _SUITES.items() if suite.measure == "waf_host"])
def test_the_wafs_of_a_grade_are_the_same(suite: Any) -> None:
    for scenario in _SUITES[suite].scenarios().values():
        metrics = coflash.run(scenario).metrics
        assert metrics.waf_media == metrics.waf_host


RATED, YEARS, LIFE = "rated erases of a block", "years of warranty", "life at this rate"
SAID, NO_RATE = "– no host asked for it: closed loop", "– (no host asked for it: closed loop)"
DEFAULTS = {RATED: "100,000 (default of SLC, itself a default)", YEARS: "5 (default)", LIFE: NO_RATE}


@pytest.fixture(scope="module")
def qlc() -> coflash.Result:
    return coflash.run(wrote("4KiB").with_({"flash.cell": "qlc", "endurance.warranty_years": 3}))


def test_a_run_tells_what_its_life_takes_for_granted(parts: coflash.Result, qlc: coflash.Result) -> None:
    assert {label: str(one) for label, one in assumptions_of(parts.document, "endurance").items()} == DEFAULTS
    (_, shown) = printed(run_table(qlc)).split("Endurance")
    assert shown.startswith(
        f" {RATED} 1,000 default of QLC {YEARS} 3 given {LIFE} – no host asked for it: closed loop written to end "
    )
    assert shown.count(LIFE) == 1
    timed = wrote("4KiB").with_(workload__synthetic__arrival="poisson")
    (_, shown) = printed(run_table(coflash.run(timed))).split("Endurance")
    assert SAID not in shown and f"{LIFE} " in shown and " years" in shown
    shown = parts._repr_html_()
    for label, text in DEFAULTS.items():
        number, origin = text.rstrip(")").split(" (")
        assert f"{label}</td>" in shown and f">{number}</td>" in shown and f">{origin}</td>" in shown


def test_runs_side_by_side_tell_what_each_takes_for_granted(parts: coflash.Result, qlc: coflash.Result) -> None:
    page = coflash.compare(parts, qlc)._repr_html_()
    assert all(text in page for text in (*DEFAULTS, *DEFAULTS.values(), "1,000 (default of QLC)", "3 (given)"))
    data = payload(Subject((parts, qlc)))
    (section,) = (one for one in data["sections"] if one["path"] == "endurance")
    assert section["assumed"] == [
        {"label": RATED, "texts": [DEFAULTS[RATED], "1,000 (default of QLC)"]},
        {"label": YEARS, "texts": ["5 (default)", "3 (given)"]},
        {"label": LIFE, "texts": [NO_RATE, NO_RATE]},
    ]
    for metric in data["metrics"]:
        assert (DEFAULTS[RATED] in metric["about"]) is metric["path"].startswith("endurance."), metric["path"]


def test_tables_of_many_runs_tell_what_their_measures_take_for_granted(tmp_path: Path) -> None:
    coflash.sweep(wrote("16KiB"), {"flash.cell": ["slc", "tlc"]}, out=tmp_path, on=1)
    stored = coflash.results(str(tmp_path))
    slc, tlc = (
        f"{RATED} {text}, {YEARS} 5 (default), {LIFE} {NO_RATE}" for text in (DEFAULTS[RATED], "3,000 (default of TLC)")
    )
    found = stored.assumed([MEASURES["endurance.tbw_bytes"]])
    assert {note.split(" (In 1 of 2 runs: ")[0] for note in found} == {f"Endurance: {slc}", f"Endurance: {tlc}"}
    assert stored.assumed(HEADLINE) == []
    assert {row["assumed.endurance"] for row in stored.rows()} == {slc, tlc}
    first, second = (texts_of(stored.document(run))["endurance"].split(", years")[0] for run in stored.runs)
    beside = printed(runs_beside(stored, stored.runs))
    assert f"{first} {second.removeprefix(f'{RATED} ')} {YEARS} 5 (default) 5 (default)" in beside
    folder = ("--in", str(tmp_path), "--measure", "endurance.life_years")
    for words in (("results", "list"), ("compare", *stored.in_order())):
        assert f"note: Endurance: {tlc}" in command(*words, *folder).stderr


def test_a_measure_that_repeats_another_names_it() -> None:
    assert [each.path for each in MEASURES.values() if each.unlike] == ["waf_media"]


def test_a_result_that_says_nothing_says_so() -> None:
    young = {"generator": "uniform", "requests": 40}
    idle = coflash.run(wrote("16KiB", workload={"synthetic": young}))
    assert [note for note in idle.notes if note.startswith("GC erased no block")] and idle.metrics.erases_blocks == 0
    cached: dict[str, Any] = {"cache": {"size": "90%"}, "cooperation": "none"}
    taken = coflash.run(wrote("16KiB", **cached, workload={"synthetic": young}))
    assert taken.metrics.waf_host == 0 and any(note.startswith("The caches took every write") for note in taken.notes)
    part = coflash.run(wrote("16KiB", workload={"synthetic": {**young, "requests": 1200}}))
    (said,) = [note for note in part.notes if "% of what the device holds" in note]
    assert part.metrics.erases_blocks > 0 and said in Subject([part]).remarks
    whole = coflash.run(wrote("16KiB"))
    begins = ("The caches took", "GC erased no", "The host wrote ", "No workload was given")
    assert whole.metrics.erases_blocks and not any(note.startswith(begins) for note in whole.notes)
    nothing = coflash.run(whole.scenario.with_(workload={"requests_max": 40}))
    assert [note for note in nothing.notes if note.startswith("No workload was given: the numbers are of uniform ran")]
