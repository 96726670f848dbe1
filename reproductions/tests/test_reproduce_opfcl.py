"""The OP-FCL paper at a scale that takes seconds: what is on its page is what the runs counted."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from reproduced import documents, rows, tiny_scale

from coflash._core import quantity
from coflash.quantity import show, show_change
from coflash.scenario import Scenario
from coflash_reproduce.claim import FAILS, HOLDS, INPUT, NOTHING, READING, valley
from coflash_reproduce.drawing import lines_of
from coflash_reproduce.opfcl import PAPER, reading, workloads
from coflash_reproduce.opfcl.workloads import BY_PERIOD, BY_UNIT, FP, MEASURED, OP, OURS, RW, Scale
from coflash_reproduce.paper import Figure, Picture, Runs, flash_pages
from coflash_reproduce.reproduction import Done, reproduce

TINY = Scale(
    64,
    64,
    fp_percent=(50, 70, 90),
    rw_percent=(50, 90),
    rivals_percent=(90,),
    units_kib=(4, 128),
    periods_log2=(12, 16, 20),
    causes_percent=(50,),
    requests_max=50_000,
)


def trace_of(file: Path, pages: int) -> Path:
    """Writes of single pages, spread over all pages, then reads of them."""
    places = [(index * 7919) % pages for index in range(pages)]
    requests = [(op, page) for op in ("write", "read") for page in places]
    lines = [f"{at * 1000} d {op} {page * 4096} 4096" for at, (op, page) in enumerate(requests)]
    file.write_text("\n".join(["fio version 3 iolog", "0 d add", "0 d open", *lines, ""]), encoding="utf-8")
    return file


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    recorded = trace_of(tmp_path_factory.mktemp("trace") / "recorded.iolog", 30_000)
    with tiny_scale(PAPER, workloads, TINY, recorded):
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return reproduce("opfcl", "tiny", out=tmp_path_factory.mktemp("opfcl") / "out")


@pytest.fixture(scope="module")
def stored(done: Done) -> dict[str, dict[str, Any]]:
    """What each run counted."""
    return {name: document["metrics"] for name, document in documents(done).items()}


def section(done: Done, name: str) -> str:
    parts = re.split(r"^## ", done.page.read_text("utf-8"), flags=re.MULTILINE)
    return next(part for part in parts if part.lower().startswith(name.replace("-", " ") + ":"))


def test_every_figure_is_there(done: Done) -> None:
    images = done.page.parent / "images"
    figures = [exhibit for exhibit in PAPER.exhibits if isinstance(exhibit, Figure | Picture)]
    names = [figure.name.removeprefix("figure-") for figure in figures]
    assert names == ["3", "4", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15a", "15b"]
    for figure in figures:
        assert (images / f"opfcl-{figure.name}.svg").read_bytes().startswith(b"<svg")
        assert f"](images/opfcl-{figure.name}.svg)" in section(done, figure.name)


def hit_ratio(metrics: dict[str, Any]) -> float:
    """By counting what the disks had to give, and what was new to the write cache."""
    tier = metrics["hybrid"]
    writes = metrics["host_writes_pages"] - tier["bypassed_writes_pages"]
    write_hits = tier["write_hit_ratio"] * (writes + tier["read_hits_dirty_pages"]) if writes else 0
    pages = metrics["host_reads_pages"] + metrics["host_writes_pages"]
    return float((tier["read_hits_clean_pages"] + write_hits) / pages)


COUNTED = {
    "figure-6": ("response, mean", lambda m: m["response_ns"]["all"]["mean"]),
    "figure-7": ("GC time / request", lambda m: m["gc_time_ns"] / m["requests"]),
    "figure-8": ("hit rate", hit_ratio),
    "figure-10": ("response, mean", lambda m: m["response_ns"]["all"]["mean"]),
    "figure-14": ("erases of a block, mean", lambda m: m["erase_count"]["mean"]),
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_numbers_of_a_figure_are_those_of_the_store(
    name: str, done: Done, stored: dict[str, dict[str, Any]]
) -> None:
    label, measured = COUNTED[name]
    found = rows(done, name)
    assert found
    figure = next(one for one in PAPER.exhibits if one.name == name)
    assert isinstance(figure, Figure)
    for row in found:
        value = measured(stored[row["run"]])  # type: ignore[no-untyped-call]
        assert float(row[label]) == pytest.approx(value, rel=1e-12)
        assert f"| {show(float(row[label]), figure.measure.unit)} |" in section(done, name)


def test_a_line_across_is_one_run_at_all_places(done: Done) -> None:
    figure = next(one for one in PAPER.exhibits if one.name == "figure-6")
    assert isinstance(figure, Figure)
    (experiment,) = done.runs.experiments(["financial"])
    lines = {line.label: line.points for line in lines_of(done.runs, experiment, figure)}
    assert list(lines) == [FP, RW, *OURS]
    for label in OURS:
        (run,) = done.runs.of("financial", label)
        mean = run.metrics.response_ns.all.mean
        assert lines[label] == tuple((at, mean) for at in TINY.fp_percent)
    assert [at for at, _ in lines[FP]] == list(TINY.fp_percent)


@pytest.mark.parametrize(("name", "kind", "usual"), [("figure-15a", BY_UNIT, 128), ("figure-15b", BY_PERIOD, 64)])
def test_sensitivity_is_relative_to_the_usual_setting(name: str, kind: str, usual: float, done: Done) -> None:
    lines = {row["line"] for row in rows(done, name)}
    for of in ("financial", "home", "search", "exchange", "msn"):
        (one,) = done.runs.experiments([f"{of}-{kind}"])
        means = {run.case.at: run.metrics.response_ns.all.mean or 0.0 for run in done.runs.of(one.name)}
        of_line = (row for row in rows(done, name) if row["line"] == one.title)
        found = {float(row["at"]): float(row["response over the usual one"]) for row in of_line}
        assert found == pytest.approx({at: mean / means[usual] for at, mean in means.items()})
        assert one.title in lines


def test_op_fcl_is_held_against_the_best_fixed_share(done: Done) -> None:
    what = "mean response, OP-FCL against the best fixed share of FP-FCL"
    claims = [row for row in rows(done, "claims") if row["what"] == what]
    counted = {row["experiment"] for row in claims if row["verdict"] != READING}
    assert counted == {"financial", "home", "search", "pgbench", "exchange", "msn"}
    claims = [row for row in claims if row["experiment"] in counted]
    for row in claims:
        figure = "figure-10" if row["experiment"] in workloads.CONFIG_2 else "figure-6"
        of = [
            (r["line"], float(r["response, mean"])) for r in rows(done, figure) if r["experiment"] == row["experiment"]
        ]
        ours = next(value for line, value in of if line == OP)
        best = min(value for line, value in of if line == FP)
        assert float(row["here"]) == pytest.approx(ours / best - 1, abs=1e-12)
        assert row["verdict"] == (HOLDS if abs(ours / best - 1) <= 0.05 else FAILS), "from both sides"
        assert f"| {show_change(ours / best - 1)} |" in done.page.read_text("utf-8")


def at_shares(done: Done, figure: str, label: str) -> dict[tuple[str, str], dict[float, float]]:
    """The values of each experiment and line, by the share of the flash."""
    found: dict[tuple[str, str], dict[float, float]] = {}
    for row in rows(done, figure):
        found.setdefault((row["experiment"], row["line"]), {})[float(row["at"])] = float(row[label])
    return found


def test_what_is_said_of_whole_lines_is_computed_from_their_figures(done: Done) -> None:
    claims: dict[tuple[str, str], list[str]] = {}
    for row in rows(done, "claims"):  # a row for each number
        claims.setdefault((row["what"], row["experiment"]), []).append(row["here"])
    means = at_shares(done, "figure-6", "response, mean") | at_shares(done, "figure-10", "response, mean")
    for (name, line), values in means.items():
        if line in (FP, RW) and name != "search":
            legs = valley([values[at] for at in sorted(values)])
            found = [float(one) for one in claims[f"mean response, {line}, by caching space", name]]
            assert found == pytest.approx(legs)
    hits = at_shares(done, "figure-8", "hit rate") | at_shares(done, "figure-12", "hit rate")
    low, middle, high = (hits["search", FP][at] for at in (50, 70, 90))
    (bent,) = claims["hit rate, FP-FCL: the most by which it is off a straight line", "search"]
    assert float(bent) == pytest.approx(middle / ((low + high) / 2) - 1)
    apart = max((hits["msn", RW][at] / hits["msn", FP][at] - 1 for at in (50, 90)), key=abs)
    assert float(claims["hit rate, RW-FCL against FP-FCL, the most at any share", "msn"][0]) == pytest.approx(apart)
    erases = at_shares(done, "figure-14", "erases of a block, mean")
    for name in WRITERS:
        (ours, *_), fixed = erases[name, OP].values(), erases[name, FP][70]
        (said,) = claims["erases, OP-FCL over FP-FCL at 70 %", name]
        assert float(said) == pytest.approx(ours / fixed) if fixed else said == "None"


def test_the_largest_cache_of_search_falls_all_along_only_if_it_does(done: Done) -> None:
    for curve, fall in (([4, 2, 1], -0.75), ([4, 1, 2], 0.25), ([2, 2, 2], 0)):
        assert PAPER.queries.rows("select -climb(list_reverse($curve))", done.runs, curve=curve)[1] == [(fall,)], curve


def test_caches_settle_and_the_lists_of_the_tracker_are_counted(done: Done) -> None:
    claims = {(row["what"], row["experiment"]): row["here"] for row in rows(done, "claims")}
    for name in ("search", "exchange", "msn"):
        samples = done.runs.of(name, OP)[0].metrics.hybrid["sizes"]
        limits = [one["read_limit_pages"] + one["write_limit_pages"] for one in samples[len(samples) // 2 :]]
        what = "caching space of OP-FCL, second half, the most over the least"
        assert float(claims[what, name]) == pytest.approx(max(limits) / min(limits))
    (most,) = (float(here) for (what, _), here in claims.items() if what.startswith("memory of the lists"))
    # Two lists of as many entries of 17 bytes as there are pages of flash.
    assert most == pytest.approx(2 * 17 / 4096, rel=0.05)


def test_a_home_that_moves_leaves_the_share_it_was_chosen_for_uncounted(done: Done) -> None:
    what = "caching space that OP-FCL uses, second half, mean"
    verdicts = {row["experiment"]: row["verdict"] for row in rows(done, "claims") if row["what"] == what}
    assert verdicts == {"home": INPUT, "home-slow": READING, "home-still": READING}
    used = {name: mean(reading.settled(done.runs.of(name, OP)[0])) for name in verdicts}
    assert used["home"] < used["home-still"]


def test_the_detector_says_nothing_where_no_page_goes_past_the_cache(done: Done) -> None:
    what = "mean response, the most over the least, 16 to 512 KiB"
    found = {row["experiment"]: row["verdict"] for row in rows(done, "claims") if row["what"] == what}
    for name, verdict in found.items():
        of = [run for run in done.runs.of(name) if run.case.at >= 16]
        query = "select max(passed) from tiers where experiment = $experiment and place >= 16"
        ((passed,),) = PAPER.queries.rows(query, done.runs, experiment=name)[1]
        assert len(of) > 0
        nothing = passed < 0.01
        assert (verdict == NOTHING) == nothing, name


WRITERS = ("financial", "home", "exchange", "msn")
HELD = {
    "mean response, OP-FCL against the best fixed share of FP-FCL": ("search",),
    "hit rate, FP-FCL, by": ("financial", "home", "search"),
    "caching space after half a day of writes": workloads.DAYS,
    "flash beyond the caching space of OP-FCL": ("search",),
    "erases, FP-FCL at 80 % against those at the smallest share": ("search",),
    "mean response with a sequential unit of 128 KiB against that with 4 KiB": workloads.sensitivity(BY_UNIT)[:-1],
    "mean response with a period of 2^16 against that with 2^20": ("exchange-by-period", "msn-by-period"),
    "mean response, OP-FCL, write-back against write-through": tuple(f"{name}-rivals" for name in WRITERS),
}
"""Statements that hold at this scale as well, with the experiments."""


@pytest.mark.parametrize("what", HELD)
def test_what_the_paper_says_of_directions_holds_at_any_size(what: str, done: Done) -> None:
    verdicts = {row["experiment"]: row["verdict"] for row in rows(done, "claims") if row["what"].startswith(what)}
    assert {name: verdicts[name] for name in HELD[what]} == dict.fromkeys(HELD[what], HOLDS)


TITLES = ("Financial-like", "Home-like", "Search-like", "pgbench (recorded)", "Exchange-like", "MSN-like")


def of_title(title: str, done: Done) -> list[dict[str, Any]]:
    """What is stored of all runs with the workload of this title, on mechanical disks."""
    workload = next(run.document["scenario"]["workload"] for run in done.runs if run.experiment.title == title)
    found = documents(done).values()
    at = [one for one in found if one["scenario"]["hybrid"]["disks"]["scheduler"] == "elevator"]
    of = [one for one in at if one["scenario"]["workload"] == workload]
    return [one for one in of if not is_changed(one["scenario"])]


def is_changed(scenario: dict[str, Any]) -> bool:
    """Whether it has one of the changes whose effect on OP-FCL is shown: a paper's device has none of them."""
    paper = Scenario.load("opfcl-config1").to_dict()
    now = (
        scenario["replay"].get("time_scale", 1),
        scenario["ftl"]["shared_streams"],
        scenario["hybrid"]["resize_pages"],
    )
    return now != (1, paper["ftl"]["shared_streams"], 2)


def scheme_of(scenario: dict[str, Any]) -> tuple[str, bool, bool]:
    """Its scheme, whether its costs are measured, and whether resizing yields."""
    hybrid = scenario["hybrid"]
    return (
        hybrid["scheme"]["name"],
        hybrid["scheme"].get("costs") == "measured",
        hybrid["resizing"] == "yielding",
    )


SCHEMES = {OP: ("op-fcl", False, True), MEASURED: ("op-fcl", True, True)}


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize(("exhibit", "destaging"), [("best-partitions", "foreground"), ("further", "background")])
def test_the_best_partitions_are_found_again_in_the_store(title: str, exhibit: str, destaging: str, done: Done) -> None:
    usual: dict[str, Any] = {"destaging": destaging, "active_blocks": "mixed", "write_policy": "write-back"}
    if not title.startswith("pgbench"):  # its device is as large as its trace needs
        usual |= {"period_requests": 2**16 // TINY.parts, "segment": "4MiB", "sequential_unit": "128KiB"}
    of_this = [
        one
        for one in of_title(title, done)
        if all(one["scenario"]["hybrid"][key] == value for key, value in usual.items())
    ]
    means: dict[tuple[str, bool, bool], list[float]] = {}
    for one in of_this:
        means.setdefault(scheme_of(one["scenario"]), []).append(one["metrics"]["response_ns"]["all"]["mean"])
    found = [row for row in rows(done, exhibit) if row[""] == title]
    if destaging == "background" and title == "pgbench (recorded)":
        assert not found
        return
    assert [row["line"] for row in found] == list(OURS)
    best_fp = min(means["fp-fcl", False, True])
    for row in found:
        ours = means[SCHEMES[row["line"]]]
        # Of columns of one name the last counts, which is that of the line.
        shown = (row["response"], row["over best FP-FCL"])
        assert shown in {(show(one, "ns"), show_change(one / best_fp - 1)) for one in ours}
        best_rw = min(means["rw-fcl", False, True])
        if destaging == "background":
            assert f"| {show(best_rw, 'ns')} | {OP} |" in done.page.read_text("utf-8")
        else:
            assert row["over best RW-FCL"] in {show_change(one / best_rw - 1) for one in ours}


@pytest.mark.parametrize("title", [title for title in TITLES if not title.startswith("pgbench")])
def test_rivals_are_held_against_the_same_without_them(title: str, done: Done) -> None:
    """Each at the share that it was run at; of OP-FCL the paper's."""
    counted: dict[tuple[str, str, str | None, str], set[float]] = {}
    for document in of_title(title, done):
        hybrid = document["scenario"]["hybrid"]
        scheme = hybrid["scheme"]
        key = (scheme["name"], hybrid["active_blocks"], scheme.get("caching"), hybrid["write_policy"])
        counted.setdefault(key, set()).add(document["metrics"]["erases_blocks"])
    found = [row for row in rows(done, "rivals") if row[""] == title]
    assert [row["over"] for row in found] == [FP, FP, OP]
    back, through = "write-back", "write-through"
    ours = [
        ("silent-eviction", "mixed", "90%", back),
        ("fp-fcl", "mixed", "90%", through),
        ("op-fcl", "mixed", None, through),
    ]
    for row, key in zip(found, ours, strict=True):
        (erases,) = counted[key]
        name = row["over"].lower()
        over = counted[name, "mixed", "90%" if name == "fp-fcl" else None, back]
        assert row["erases, change"] in {show_change(erases / one - 1) if one else "" for one in over}


def test_workloads_within_the_bound_are_counted(done: Done) -> None:
    found = rows(done, "best-partitions")
    for row in found[-len(OURS) :]:
        of = [one for one in found[: -len(OURS)] if one["line"] == row["line"]]
        assert len(of) == len(TITLES)
        for column in ("over best FP-FCL", "over best RW-FCL", "over best FP-FCL, second half"):
            near = sum(float(one[column].replace("−", "-").split()[0].rstrip("%")) <= 5 for one in of)
            assert row[column] == f"{near} of {len(TITLES)}"


def test_disks_that_do_not_keep_up_are_pointed_out(done: Done) -> None:
    assert "faster than the disks" not in done.page.read_text("utf-8")
    runs = done.runs.of("financial")
    busy = [replace(run, document=json.loads(json.dumps(run.document))) for run in runs]
    for run in busy:
        run.document["metrics"]["hybrid"]["disk_utilisation"] = 0.991
    warned = next(iter(PAPER.queries.notes("figure-6")(Runs(tuple(busy)))))
    assert "requests come faster than the disks can serve them" in warned
    assert "99.1%" in warned


def test_the_model_is_the_papers_and_the_sizes_sum_to_the_flash(done: Done) -> None:
    model = {row["what"]: float(row["here"]) for row in rows(done, "claims") if row["experiment"] == ""}
    assert model["u of least cost, reads only"] == pytest.approx(0.92, abs=0.02)
    assert model["u of least cost, reads and writes"] == pytest.approx(0.64, abs=0.02)
    for name in ("figure-9", "figure-13"):
        for row in rows(done, name):
            keys = ("caching space", "read cache", "write cache", "over-provisioned")
            caching, *shares = (float(row[key].split()[0]) for key in keys)
            assert caching == pytest.approx(shares[0] + shares[1], abs=0.2)
            assert sum(shares) == pytest.approx(100, abs=0.2)
            assert shares[2] > 0


def test_less_room_for_garbage_collection_costs_erases(done: Done) -> None:
    for name in ("financial", "home"):
        by_share = {run.case.at: run for run in done.runs.of(name, FP)}
        roomy, tight = by_share[50], by_share[90]
        assert tight.metrics.erases_blocks > 1.2 * roomy.metrics.erases_blocks
        assert reading.HITS.read(tight.metrics) > reading.HITS.read(roomy.metrics)  # type: ignore[operator]


def test_scaling_keeps_the_papers_shares() -> None:
    full, quick = (workloads.experiments(scale, ()) for scale in ("full", "quick"))
    for one, other in zip(full, quick, strict=True):
        if one.trace:
            continue
        config = 2 if one.name.split("-")[0] in (*workloads.CONFIG_2, "server") else 1
        whole = Scenario.load(f"opfcl-config{config}")
        divisors = [flash_pages(whole) / flash_pages(of.scenario) for of in (one, other)]
        assert divisors[0] <= divisors[1]
        if one.name in ("financial", "search"):
            assert divisors == [1, 32]
        for of, divisor in zip((one, other), divisors, strict=True):
            hybrid = of.scenario.to_dict()["hybrid"]
            assert hybrid["period_requests"] == pytest.approx(2**16 / divisor, abs=1)
            assert quantity(hybrid["segment"])[0] == pytest.approx(2**28 / divisor, rel=0.001)


def test_a_trace_that_is_given_replaces_the_stand_ins_of_configuration_1(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "mine.iolog", 100_000)
    tiny = workloads.experiments("tiny", (str(trace),))
    assert all(one.trace == (str(trace),) * one.name.startswith("given") for one in tiny), "in every experiment on it"
    assert [one.name for one in tiny] == [
        "given",
        "exchange",
        "msn",
        "days",
        "server-days",
        *(f"{name}-{kind}" for kind in (BY_UNIT, BY_PERIOD) for name in ("given", "exchange", "msn")),
        *(f"{name}-{BY_PERIOD}" for name in ("home-still", *workloads.DAYS)),
        *(f"{name}-background" for name in ("given", "exchange", "msn")),
        "given-rivals",
        "exchange-rivals",
        "msn-rivals",
    ]
    assert flash_pages(tiny[0].scenario) == pytest.approx(100_000 / 2, rel=0.01)
    whole = workloads.experiments("full", (str(trace),))[0]
    assert flash_pages(whole.scenario) == workloads.GIB // 1024
