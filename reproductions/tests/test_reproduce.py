"""The frame of reproductions, on the CDM paper at a scale that takes seconds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from reproduced import alone, documents, rows, shown, tiny_scale

from coflash import CoflashError, Scenario, trace
from coflash.cli import main
from coflash.demo import find_trace
from coflash.quantity import show, show_change
from coflash.sweep.memory import flash_pages
from coflash_reproduce import command, drawing
from coflash_reproduce.cdm import PAPER, reading, workloads
from coflash_reproduce.cdm.workloads import LIVE, Scale
from coflash_reproduce.claim import COUNTED, FAILS, INPUT, READING, climb
from coflash_reproduce.paper import Case, Experiment, Figure
from coflash_reproduce.reproduction import PAPERS, Done, reproduce
from coflash_reproduce.runs import run_all
from processes import coflash
from sweeps import SMALL

TINY = Scale(
    64,
    capacities_gib=(32, 64),
    live_gib=(36, 64, 128),
    random_percent=(0, 20, 100),
    cache_gib=(1, 4, 8),
    more_gib=(1, 4, 8),
    seeds=2,
    small_divisor=64,
    parts_gib=(4,),
    buffer_gib=(1,),
    rounds=2,
)


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    recorded = tmp_path_factory.mktemp("trace") / "recorded.iolog"
    trace.slice(find_trace(), recorded, count=100_000)
    with tiny_scale(PAPER, workloads, TINY, recorded, drawing.FORMATS):
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return reproduce("cdm", "tiny", out=tmp_path_factory.mktemp("cdm") / "out")


@pytest.fixture(scope="module")
def stored(done: Done) -> dict[str, dict[str, Any]]:
    """What each run counted."""
    return {name: document["metrics"] for name, document in documents(done).items()}


def leaf(metrics: dict[str, Any], path: str) -> Any:
    for step in path.split("."):
        metrics = metrics[step]
    return metrics


MEASURED = {
    "figure-1": ("WAF, by host writes", "waf_host"),
    "figure-1-cd": ("WAF, by host writes", "waf_host"),
    "figure-2": ("WAF, by host writes", "waf_host"),
    "figure-6": ("pages copied by GC", "gc_copies_pages"),
    "figure-7": ("WAF, by host writes", "waf_host"),
}
NORMALISED = {
    "figure-8": ("mean response over NVM-basic", "response_ns.all.mean"),
    "figure-9": ("its std. deviation over NVM-basic", "response_ns.all.stddev"),
}


@pytest.mark.parametrize("name", MEASURED)
def test_every_figure_is_drawn_and_its_numbers_are_those_of_the_store(
    name: str, done: Done, stored: dict[str, dict[str, Any]]
) -> None:
    images = done.page.parent / "images"
    assert (images / f"cdm-{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (images / f"cdm-{name}.svg").read_bytes().startswith(b"<svg")

    figure = next(exhibit for exhibit in PAPER.exhibits if exhibit.name == name)
    assert isinstance(figure, Figure)
    experiments = workloads.experiments("tiny", ())
    of_figure = (case for name in figure.experiments for one in experiments if one.name == name for case in one.cases)
    cases = [case for case in of_figure if not figure.only or case.line in figure.only]
    found = [row for row in rows(done, name) if row["run"]]
    assert [(row["line"], float(row["at"])) for row in found] == [(case.line, case.at) for case in cases]

    page = done.page.read_text("utf-8")
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    text = next(part for part in section if part.lower().startswith(name.replace("-", " ") + ":"))
    label, path = MEASURED[name]
    for row in found:
        value = leaf(stored[row["run"]], path)
        assert float(row[label]) == value
        assert f"| {show(value, figure.measure.unit)} |" in text


@pytest.mark.parametrize("name", NORMALISED)
def test_responses_are_over_those_of_the_baseline_where_it_collects(name: str, done: Done) -> None:
    label, path = NORMALISED[name]
    found = [row for row in rows(done, name) if row["line"] == workloads.CDM]
    assert found
    expected = {}
    for experiment in ("jedec-uniform", "jedec", "oltp-zipf", "oltp-like", "pgbench"):
        bases = {base.case.at: base for base in done.runs.of(experiment, workloads.BASELINE)}
        for run in done.runs.of(experiment, workloads.CDM):
            base = bases[run.case.at]
            if base.metrics.gc_copies_pages:
                ratio = leaf(run.document["metrics"], path) / leaf(base.document["metrics"], path)
                expected[experiment, run.case.at] = ratio
    assert {(row["experiment"], float(row["at"])): float(row[label]) for row in found} == pytest.approx(expected)


def test_all_means_are_over_the_same_sizes_those_in_which_the_baseline_collects(done: Done) -> None:
    stated = rows(done, "claims")
    page, readings = (done.page.with_name(f"cdm{part}.md").read_text("utf-8") for part in ("", "-readings"))
    measures = {"figure-6": "gc_copies_pages", **{name: path for name, (_, path) in NORMALISED.items()}}
    for experiment in ("jedec-uniform", "oltp-zipf", "pgbench"):
        for figure, path in measures.items():
            of = {(run.case.line, run.case.at): run.document["metrics"] for run in done.runs.of(experiment)}
            bases = {at: leaf(of["NVM-basic", at], "gc_copies_pages") for line, at in of if line == "CDM"}
            sizes = [at for at, copies in bases.items() if copies]
            changes = [leaf(of["CDM", at], path) / leaf(of["NVM-basic", at], path) - 1 for at in sizes]
            about = (figure, experiment)
            claim = next(r for r in stated if (r["exhibit"], r["experiment"]) == about and "mean change" in r["what"])
            assert float(claim["here"]) == pytest.approx(mean(changes), rel=1e-9)
            beside = f"| {show_change(float(claim['paper']))} | {show_change(mean(changes))} |"
            shown = (beside in page, beside in readings)
            assert shown == ((False, True) if claim["verdict"] == READING else (True, False))
    assert {row["exhibit"] for row in stated} == {*MEASURED, *NORMALISED}
    assert all(len(row["verdict"]) > 0 for row in stated)


def section(done: Done, name: str) -> list[list[str]]:
    """The cells of the first table of a section of the page."""
    part = re.split(r"^## ", done.page.read_text("utf-8"), flags=re.MULTILINE)
    lines = next(one for one in part if one.startswith(name + ":")).splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]


@pytest.mark.parametrize("scale", ["tiny", "quick", "full"])
def test_all_workloads_have_the_same_caches(scale: str) -> None:
    of = {
        one.name: {case.at for case in one.cases if case.line == workloads.CDM}
        for one in workloads.experiments(scale, ())
        if one.name in (*workloads.CACHED, *workloads.SKEWS)
    }
    assert len(of) == len(workloads.CACHED) - 1 + len(workloads.SKEWED)  # without the user's trace
    assert set(map(frozenset, of.values())) == {frozenset(100 * gib / 64 for gib in workloads.SCALES[scale].cache_gib)}


def test_life_is_prolonged_as_erases_fall(done: Done) -> None:
    def programs(metrics: Any) -> int:
        return sum(metrics["programs_pages"].values())

    columns, _, *table = section(done, "Averages")
    (row,) = (row for row in table if row[0] == workloads.ZIPF_LIVE)
    found = []
    for line in (workloads.BASELINE, workloads.CDM):
        counted = {run.case.at: run.metrics for run in done.runs.of("oltp-zipf", line)}
        found.append({at: (one.erases_blocks, one.host_writes_pages / programs(one)) for at, one in counted.items()})
    base, cdm = found
    runs = done.runs.of("oltp-zipf", workloads.BASELINE)
    places = [run.case.at for run in runs if run.metrics.gc_copies_pages]
    erases = [cdm[at][0] / base[at][0] - 1 for at in places]
    assert row[columns.index("erases")] == show_change(mean(erases))
    life = [cdm[at][1] / base[at][1] - 1 for at in places]
    assert row[columns.index("life")] == show_change(mean(life))
    assert mean(erases) < 0 < mean(life)


def test_the_paper_is_drawn_into_each_figure_that_it_has_a_number_for(done: Done) -> None:
    for name in ("figure-1", "figure-1-cd", "figure-6", "figure-7", *NORMALISED):
        beside = [row for row in rows(done, name) if row["line"].startswith("the paper: ")]
        assert beside and all(not row["run"] for row in beside), name
    label, _ = NORMALISED["figure-8"]
    means = {float(row[label]) for row in rows(done, "figure-8") if row["line"] == "the paper: mean"}
    changes = PAPER.queries.constants["MEAN_CHANGE"]
    assert sorted(means) == pytest.approx(sorted(1 + change for change in changes.values()))


def test_numbers_of_the_main_set_ups_are_inputs_and_what_was_not_chosen_is_counted(done: Done) -> None:
    for row in rows(done, "claims"):
        if row["exhibit"] in ("figure-6", "figure-7", *NORMALISED):
            counted = row["what"].startswith("saving of") and row["experiment"] not in workloads.MAIN
            is_input = row["experiment"] in workloads.MAIN
            assert row["verdict"].startswith(INPUT) == is_input and (row["verdict"] in COUNTED) == counted, row


def test_workloads_are_held_against_random_writes_and_caches_against_the_next_larger_one(done: Done) -> None:
    stated = {
        (row["what"], row["experiment"]): float(row["here"]) for row in rows(done, "claims") if " … " not in row["here"]
    }
    waf: dict[str, dict[float, float]] = {}
    for name in ("figure-1", "figure-1-cd"):
        for row in rows(done, name):
            waf.setdefault(row["line"], {})[float(row["at"])] = float(row["WAF, by host writes"])
    random = waf[workloads.RANDOM]
    for line in LIVE:
        both = random.keys() & waf[line].keys()
        ours = stated[f"WAF over that of random writes, mean over the capacities of both: {line}", ""]
        assert both
        assert ours == pytest.approx(mean(waf[line][at] / random[at] for at in both))
    for name in ("jedec-uniform", "pgbench"):
        query = "select -waf from saved where experiment = $experiment and line = $CDM order by place"
        savings = [row[0] for row in PAPER.queries.rows(query, done.runs, experiment=name)[1]]
        assert stated["saving of WAF by cache size", name] == pytest.approx(climb(savings))


def test_every_statement_holds_in_its_direction(done: Done) -> None:
    """But for what depends on the capacities, which are not known, and on how full the device is."""
    fail = {one.claim.what for one in done.judged if one.verdict == FAILS}
    may = (
        "WAF of JEDEC and OLTP",
        "WAF over that of random writes",
        "saving of",
        "WAF with some random writes",
    )
    assert not [what for what in fail if not what.startswith(may)]
    of = [run for run in done.runs.of("live-capacity") if run.case.line in LIVE]
    means = [mean(run.metrics.waf_host or 0 for run in of if run.case.at == at) for at in TINY.live_gib]
    assert min(means) < PAPER.queries.constants["MEAN_WAF_LIVE"] < max(means)


def test_which_half_of_cdm_saves_what(done: Done) -> None:
    for name in ("zipf-variants", "pgbench"):
        waf = {run.case.line: run.metrics.waf_host or 0 for run in done.runs.of(name) if run.case.at == 100 * 4 / 64}
        halves = (waf[workloads.OVERWRITES], waf[workloads.REMOVABLE])
        assert waf[workloads.CDM] < min(halves) < max(halves) < waf[workloads.BASELINE], name
        assert halves[0] < halves[1], "nearly all is early invalidation"
        assert waf[workloads.ON_CACHE] > waf[workloads.BASELINE], "each eviction is a write"
        assert waf[workloads.CDM] < waf[workloads.CONSISTENT] < waf[workloads.BASELINE], "what consistency costs"
    recorded = {run.case.line: run.metrics.waf_host or 0 for run in done.runs.of("pgbench") if run.case.at == 6.25}
    assert recorded[workloads.WEIGHT_0] > recorded[workloads.BASELINE], "weight 0 is excluded by a real trace"


def test_the_page_shows_only_images_that_are_there(done: Done) -> None:
    first, *shown = re.findall(r"!\[[^]]*\]\(([^)]*)\)", done.page.read_text("utf-8"))
    assert first == "images/cdm-figure-6.svg", "what answers stands first, and among the others again"
    assert first in shown
    assert len(shown) == len(MEASURED) + len(NORMALISED) + len(("variants",))
    assert all((done.page.parent / image).is_file() for image in shown)


def test_again_runs_nothing_and_publishes_the_same_page(done: Done, tmp_path: Path) -> None:
    out = done.page.parent
    before = {file: file.stat().st_mtime_ns for file in (out / "store").rglob("*")}
    again = reproduce("cdm", "tiny", out=out, publish=tmp_path / "docs")
    assert {file: file.stat().st_mtime_ns for file in (out / "store").rglob("*")} == before
    for name in (readings := "cdm-readings.md", again.page.name):
        assert (tmp_path / "docs" / name).read_bytes() == (out / name).read_bytes()
    assert f"]({readings})" in again.page.read_text("utf-8")
    images = {file.name: file.read_bytes() for file in (tmp_path / "docs" / "images").iterdir()}
    assert images == {file.name: file.read_bytes() for file in (out / "images").glob("*.svg")}
    assert {file.name for file in (tmp_path / "docs").iterdir()} == {"cdm.md", readings, "images"}


def test_unrepeated_random_writes_follow_the_closed_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(workloads.SCALES, "steady", Scale(32, capacities_gib=(48,)))
    by_capacity = workloads.experiments("steady", ())[0]
    alone = tuple(case for case in by_capacity.cases if case.line == workloads.INDEPENDENT)
    (run,) = run_all((replace(by_capacity, cases=alone),), tmp_path, 1, None)
    assert run.late_waf(0.5) == pytest.approx(reading.closed_form(run), rel=0.02)


def test_scaling_keeps_the_papers_shares() -> None:
    full, small = (workloads.experiments(scale, ())[3] for scale in ("full", "quick"))
    assert full.name == small.name == "jedec-uniform"
    paper = Scenario.load("cdm-64g")
    assert full.scenario.to_dict()["flash"] == paper.to_dict()["flash"]
    for one, other in zip(full.cases, small.cases, strict=True):
        bytes_full, bytes_small = (int(case.changes["cache.size"].removesuffix("KiB")) for case in (one, other))
        assert bytes_full == 16 * bytes_small
    assert flash_pages(full.scenario) == 16 * flash_pages(small.scenario)
    assert small.footprint_bytes == full.footprint_bytes // 16


def test_a_trace_that_is_given_replaces_the_stand_ins(tmp_path: Path) -> None:
    trace = tmp_path / "mine.iolog"
    pages = "".join(f"{index * 100} d write {index * 4096} 4096\n" for index in range(100_000))
    trace.write_text(f"fio version 3 iolog\n0 d add\n0 d open\n{pages}", encoding="utf-8")
    *_, last = experiments = workloads.experiments("tiny", (str(trace),))
    assert [one.name for one in experiments if one.name in workloads.CACHED] == ["jedec-uniform", "jedec", "oltp"]
    assert last.trace == (str(trace),)
    assert last.footprint_bytes == 100_000 * 4096
    share = last.footprint_bytes / (flash_pages(last.scenario) * 4096)
    assert share == pytest.approx(30.7e9 / 2**36, rel=0.02)  # as near as whole blocks in each plane come
    whole = workloads.experiments("full", (str(trace),))[-1]
    assert whole.scenario.to_dict()["flash"] == Scenario.load("cdm-64g").to_dict()["flash"]


def test_a_trace_that_arrives_faster_than_the_device_answers_is_said(done: Done, tmp_path: Path) -> None:
    about_load = PAPER.queries.notes("figure-8")
    assert not about_load(done.runs), "the stand-ins can be served"
    of_disk = tmp_path / "fast.csv"
    of_disk.write_text("".join(f"{place},W,{place * 7919 % 50_000},4096\n" for place in range(60_000)))
    columns = {"workload.trace_options": {"columns": "time:us,op,offset:pages,size:bytes"}}
    (*_, given) = workloads.experiments("tiny", (str(find_trace()),))
    given = replace(given, scenario=given.scenario.with_(columns), trace=(str(of_disk),), cases=given.cases[:1])
    (note,) = about_load(run_all((given,), tmp_path / "out", 1, None))
    assert note.startswith("OLTP (given trace) arrives faster than this device answers")


def test_a_run_that_fails_is_named(tmp_path: Path) -> None:
    cases = (Case("good", 1, {"cache.size": "1MiB"}), Case("bad", 2, {"ftl.spare.share": "1%"}))
    with pytest.raises(CoflashError, match=r"1 of 2 runs failed: .*too small"):
        run_all((Experiment("x", "X", SMALL, cases),), tmp_path, 1, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cdn",), 'paper: "cdn" was given; did you mean "cdm"?'),
        (("cdm", "--scale", "ful"), 'scale: "ful" was given; did you mean "full"? (allowed: quick, full'),
        (("cdm", "--trace", "/nowhere"), "/nowhere"),
        (("cdm", "--out", "/proc/nothing"), "/proc/nothing/images: "),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line_and_exits_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = coflash("reproduce", *arguments)
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert message in line


def test_without_this_distribution_a_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    monkeypatch.setattr("sys.argv", ["coflash", "reproduce", "cdm", "--scale", "full"])
    with pytest.raises(SystemExit, match="2"):
        main()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("coflash-reproduce is not installed; in a checkout of coflash: pip install ./reproductions")


def test_every_paper_is_known_by_its_name() -> None:
    assert all(name == paper.name for name, paper in PAPERS.items())


@pytest.mark.parametrize(("ends_in", "status"), [(KeyboardInterrupt(), 130), (SystemExit(0), 0)])
def test_a_reproduction_that_is_stopped_ends_with_130(
    ends_in: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*_: Any, **__: Any) -> Done:
        raise ends_in

    monkeypatch.setattr("coflash_reproduce.reproduction.reproduce", stopped)
    for given in (["reproduce", "cdm"], ["study", "handles"]):
        monkeypatch.setattr("sys.argv", ["coflash", *given, "--out", str(tmp_path)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == status


@pytest.mark.parametrize("name", [exhibit.name for exhibit in PAPER.exhibits])
def test_an_exhibit_alone_is_the_one_of_all(name: str, done: Done) -> None:
    assert shown(PAPER, name, alone(PAPER, name, workloads, done.runs)) == shown(PAPER, name, done.runs)


def test_one_figure_has_the_runs_that_it_needs(done: Done, tmp_path: Path) -> None:
    out = done.page.parent
    before = (out / "tables" / "cdm-claims.csv").read_bytes()
    part = reproduce("cdm", "tiny", figure="figure-2", out=out)
    assert {run.experiment.name for run in part.runs} == {"random-share"}
    assert {one.claim.exhibit for one in part.judged} == {"figure-2"}
    page = part.page.read_text("utf-8")
    assert part.page.name == "cdm-figure-2.md"
    assert "`coflash reproduce cdm --scale tiny --figure figure-2` made this page" in page
    assert re.findall(r"^## (Figure \S+):", page, re.MULTILINE) == ["Figure 2"]
    assert "](cdm-figure-2-readings.md)" in page
    assert f"]({part.page.name})" in (out / "cdm-figure-2-readings.md").read_text("utf-8")
    alone = reproduce("cdm", "tiny", figure="variants", out=out).page
    assert "readings.md" not in alone.read_text("utf-8") and not (out / "cdm-variants-readings.md").exists()
    assert (out / "tables" / "cdm-claims.csv").read_bytes() == before, "the statements of all stay"
    with pytest.raises(CoflashError, match='figure: "figure-3" was given; did you mean'):
        reproduce("cdm", "tiny", figure="figure-3", out=tmp_path)


def test_the_list_names_every_exhibit_with_its_runs(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    command.reproduce("cdm", "tiny", figure="list")
    shown = capsys.readouterr().out
    for exhibit in PAPER.exhibits:
        assert f"{exhibit.name}: " in shown
    (line,) = [line for line in shown.splitlines() if line.strip().startswith("figure-2: ")]
    assert f" {len(done.runs.of('random-share'))} " in line and "random-share" in line
