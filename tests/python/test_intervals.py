"""Intervals and tests of paired differences: over seeds, and over slices of the workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner
from typer.testing import Result as Invoked

import coflash
from coflash import CoflashError
from coflash.cli import app
from coflash.figures.publication import Point
from coflash.measures.catalogue import named
from coflash.measures.measure import MEASURES
from coflash.measures.metrics import Metrics
from coflash.quantity import signed
from coflash.results.differences import difference
from coflash.results.estimate import estimate, estimate_of, show_estimate
from coflash.results.notes import together
from coflash.results.slices import SLICES, sliced
from coflash.results.subject import Subject
from coflash.results.tables import shown_estimates
from coflash.table import Table
from sweeps import SMALL

SEEDS = 200


def invoke(*arguments: str) -> Invoked:
    done = CliRunner().invoke(app, arguments)
    if done.exception is not None:
        raise done.exception
    return done


def series(programs: np.ndarray, writes: np.ndarray | None = None, requests: np.ndarray | None = None) -> Table:
    """Time series with this many programs in each window."""
    windows = len(programs)
    ones = np.full(windows, 100.0)
    columns = {f"programs_{cause}_pages": np.zeros(windows) for cause in ("evict", "gc", "refresh", "wear_levelling")}
    columns |= {f"programs_{cause}_pages": np.zeros(windows) for cause in ("destage", "metadata")}
    writes, requests = (ones if one is None else one for one in (writes, requests))
    return Table({**columns, "programs_host_pages": programs, "host_writes_pages": writes, "requests": requests})


def test_an_interval_over_slices_holds_the_mean_of_a_process_whose_neighbours_are_alike() -> None:
    held = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        noise = rng.normal(0, 10, 512)
        alike = np.convolve(noise, np.ones(8) / 8, "same")  # one slice is eight windows
        found = sliced(series(150 + alike), "waf_host")
        assert found is not None
        low, high = np.quantile(found.resampled(), [0.025, 0.975])
        held += low <= 1.5 <= high
    assert 0.88 <= held / SEEDS <= 0.99, held / SEEDS


def test_slices_hold_equally_many_requests_and_give_the_measure_of_the_run() -> None:
    rng = np.random.default_rng(1)
    programs, writes, requests = (rng.integers(1, 90, 300).astype(float) for _ in range(3))
    found = sliced(series(programs, writes, requests), "waf_host")
    assert found is not None
    assert len(found.above) == SLICES
    assert found.above.sum() / found.below.sum() == pytest.approx(programs.sum() / writes.sum())
    copies = sliced(series(programs), "gc_copies_pages")
    assert copies is not None
    assert np.all(copies.resampled() == 0)
    assert sliced(series(programs), "response_ns.all.p99") is None
    assert sliced(series(programs[:20]), "waf_host") is None


def test_the_paired_t_test_is_that_of_the_textbook() -> None:
    rng = np.random.default_rng(3)
    differences = rng.normal(0.5, 1, 9)
    found = estimate(list(differences))
    assert found.p_of_zero == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert estimate([2.0]).p_of_zero == 1
    assert estimate([0.0, 0.0]).p_of_zero == 1


def test_the_interval_of_a_percentile_is_never_narrower_than_its_bin() -> None:
    p99, mean = named("response.p99"), named("response.mean")
    assert p99.bin_width == 1 / 1024
    assert {each.path for each in MEASURES.values() if each.bin_width} == {
        f"response_ns.{kind}.{percentile}"
        for kind in ("all", "read", "write")
        for percentile in ("p50", "p90", "p99", "p99_9", "p99_99")
    }
    runs = [Metrics({"response_ns": {"all": {"p99": 180_000, "mean": 90_000.0}}})] * 24
    assert estimate_of(mean, runs).half_width == 0
    assert estimate_of(p99, runs).bounds() == pytest.approx((180_000 * (1 - 1 / 1024), 180_000 * (1 + 1 / 1024)))
    assert show_estimate(estimate_of(p99, runs), "ns") == "180 µs ± 0.1\N{NO-BREAK SPACE}%"
    assert show_estimate(estimate([0.0637, 0.0645, 0.0632]), "share") == "6.4\N{NO-BREAK SPACE}% ± 0.2 points"
    assert show_estimate(estimate([5.3840, 5.3845, 5.3842]), "ratio") == "5.384 ± 0.01\N{NO-BREAK SPACE}%"
    assert signed(-0.00794, "share") == "−0.79 points"
    for means, shown in {
        (1440.0, 988.0, 0.0): ["1,440 ns", "988 ns", "0 ns"],
        (3e6, 988.0): ["3 ms", "988 ns"],
    }.items():
        assert shown_estimates(p99, [estimate([mean]) for mean in means]) == shown, "one unit, if they are near"
    assert estimate_of(p99, runs[:1]).half_width is None
    values = [180_000.0, 181_000.0, 179_000.0]
    spread = [Metrics({"response_ns": {"all": {"p99": value}}}) for value in values]
    expected = (estimate(values).half_width or 0) + 180_000 / 1024
    assert estimate_of(p99, spread).half_width == pytest.approx(expected)


def test_a_difference_within_a_bin_is_none_and_p_is_that_of_the_least_one(result: coflash.Result) -> None:
    def at(value: float) -> dict[str, Any]:
        return {**result.document["metrics"], "response_ns": {"all": {"p99": value, "mean": value}}}

    def runs(*values: float) -> list[coflash.Result]:
        seeds = enumerate(values)
        return [result.with_document({**result.document, "seed": seed, "metrics": at(value)}) for seed, value in seeds]

    base = runs(100_000.0, 100_000.0, 100_000.0)
    for other, of_mean, of_p99 in (((100_050.0,) * 3, 0.0, 1.0), ((100_150.0,) * 3, 0.0, 0.0)):
        exact, binned = (difference(named(path), base, runs(*other)) for path in ("response.mean", "response.p99"))
        assert exact is not None and exact.over_seeds is not None and exact.over_seeds.p == of_mean
        assert binned is not None and binned.over_seeds is not None and binned.over_seeds.p == of_p99
        assert binned.over_seeds.high - binned.over_seeds.low == pytest.approx(2 * other[0] / 1024)
    noisy = (100_400.0, 100_500.0, 100_600.0)
    found = difference(named("response.p99"), base, runs(*noisy))
    assert found is not None and found.over_seeds is not None
    least = [value - 100_000 - 100_500 / 1024 for value in noisy]
    assert found.over_seeds.p == pytest.approx(stats.ttest_1samp(least, 0).pvalue)


def test_values_that_are_all_the_same_have_that_mean_and_no_spread_however_it_rounds() -> None:
    for percent in range(1, 100):
        found = estimate([percent / 100] * 3)
        assert (found.mean, found.half_width) == (percent / 100, 0.0)


def test_the_interval_of_a_measure_begins_at_zero_at_the_least() -> None:
    wide = estimate([1e6, 5e6])
    assert wide.bounds()[0] < 0 == wide.bounds(least=0.0)[0]  # type: ignore[index]
    assert wide.bounds(least=0.0)[1] == wide.bounds()[1]  # type: ignore[index]
    assert show_estimate(wide, "ns") == "3 ms (0 … 28.4 ms)"
    assert show_estimate(estimate([3e6, 3e6]), "ns") == "3 ms ± 0.0\N{NO-BREAK SPACE}%"
    assert show_estimate(estimate([0.0, 0.0]), "ns") == "0 ns"
    same = frozenset([()])
    assert Point.of([1.0, 5.0], same).low == 0 < Point.of([1.0, 5.0], same).high
    assert Point.of([2.0, 2.0], same, 0.001) == Point(2.0, 1.998, 2.002, 2, same)
    assert Point.of([1.0, 5.0], frozenset([(1,), (2,)])).low == 1


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes and a scheme under another name, three seeds each."""
    out = tmp_path_factory.mktemp("runs")
    busy = SMALL.with_(workload__synthetic__requests=20_000)
    coflash.sweep(busy, {"cooperation.name": ["none", "cdm"], "controller.cores": [1, 2]}, seeds=3, out=out)
    return out


def test_a_difference_is_paired_by_seed_and_none_is_found_where_there_is_none(place: Path) -> None:
    runs = coflash.results(place)

    def of(scheme: str, cores: int) -> list[coflash.Result]:
        rows = [row for row in runs.rows() if (row["cooperation.name"], row["controller.cores"]) == (scheme, cores)]
        return [runs[row["run"]] for row in rows]

    waf = named("waf_host")
    plain, other, alike = of("none", 1), of("cdm", 1), of("none", 2)
    found = difference(waf, plain, other[::-1])
    assert found is not None and found.over_seeds is not None and found.over_slices is not None
    by_seed = [{result.seed: result.metrics.waf_host for result in results} for results in (plain, other)]
    pairs = [(by_seed[0][seed], by_seed[1][seed]) for seed in sorted(by_seed[0])]
    textbook = stats.ttest_rel(*zip(*[(b, a) for a, b in pairs], strict=True))
    assert found.over_seeds.p == pytest.approx(textbook.pvalue)
    low, high = textbook.confidence_interval(0.95)
    assert (found.over_seeds.low, found.over_seeds.high) == pytest.approx((low, high))
    assert found.over_slices.low < found.mean < found.over_slices.high < 0
    assert found.over_slices.p < 0.01
    same = difference(waf, plain, alike)  # cores have no effect without a time of the firmware
    assert same is not None and same.over_slices is not None and same.over_seeds is not None
    assert (same.mean, same.over_slices.low, same.over_slices.p, same.over_seeds.p) == (0, 0, 1, 1)
    percentile = difference(named("response.p99"), plain, other)
    assert percentile is not None and percentile.over_slices is None
    single = difference(waf, plain[:1], other[:1])
    assert single is not None and single.over_seeds is None and single.over_slices is not None


def test_compare_says_what_its_intervals_cover_and_writes_tables_for_documents(place: Path) -> None:
    shown = invoke("compare", "--in", str(place), "--where", "controller.cores=1", "--intervals")
    text = " ".join((shown.stdout + shown.stderr).split())
    for words in ("95 % over seeds", "95 % over slices", "n = 3, p ", "paired t-test", "circular block bootstrap"):
        assert words in text, text
    assert "preconditioning and random choices only" in text
    chosen = ("--where", "controller.cores=1", "--seeds")
    markdown = invoke("compare", "--in", str(place), *chosen, "--format", "markdown").stdout.splitlines()
    assert {line.count(" | ") for line in markdown if not line.startswith("|-")} == {3}
    assert markdown[1].startswith("|---|---:|")
    latex = invoke("compare", "--in", str(place), *chosen, "--format", "latex").stdout
    assert latex.startswith(r"\begin{tabular}{lrrr}") and latex.rstrip().endswith(r"\end{tabular}")
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert all(line.count(" & ") == 3 for line in rows)
    assert r"~$\pm$" not in latex and r" $\pm$ " in latex and r"~\%" in latex
    assert not set("−–±µ\N{NO-BREAK SPACE}") & set(latex)
    with pytest.raises(CoflashError, match="at least 2"):
        invoke("compare", "--in", str(place), coflash.results(place).runs[0], "--intervals")


def test_seeds_of_a_replayed_trace_are_told_from_those_of_a_generated_workload(place: Path, tmp_path: Path) -> None:
    said = "cover preconditioning and random choices of the simulator only"
    assert said not in invoke("results", "list", "--in", str(place), "--seeds").stderr
    trace = tmp_path / "t.csv"
    trace.write_text("".join(f"0,W,{4096 * (at * 7 % 900)},4096,{10 * at}\n" for at in range(2000)), encoding="utf-8")
    replay, vary = (
        SMALL.with_({"workload": {"remap": "dense"}, "cache.size": "64KiB"}),
        {"cooperation": ["none", "cdm"]},
    )
    coflash.sweep(replay, vary, str(trace), seeds=2, out=tmp_path / "runs")
    for arguments in (("results", "list"), ("compare", "--where", "cooperation.name=cdm")):
        shown = invoke(*arguments, "--in", str(tmp_path / "runs"), "--seeds").stderr
        assert said in " ".join(shown.split()), arguments
    assert Subject.read([tmp_path / "runs"]).is_replayed
    alike = coflash.sweep(replay.with_({"cache.size": "5%"}), vary, str(trace), seeds=2, out=tmp_path / "alike")
    assert any("Seeds change nothing here" in note for note in alike.notes()), "the cache takes all writes"


def test_notes_that_differ_in_their_numbers_are_told_once() -> None:
    behind = "It fell behind by {} s; it holds {} requests/s."
    runs = [("a", [behind.format("1.5", 10)]), ("b", [behind.format(2, 7), "Other."]), ("c", ["Other."])]
    assert together(runs) == [
        f"{behind.format('1.5', 10)} (In 2 of 3 runs: a, b; the numbers are those of a.)",
        "Other. (In 2 of 3 runs: b, c.)",
    ]
    assert together([("a", ["Same."]), ("b", ["Same."])]) == ["Same."]
    many = together([(name, ["Same."]) for name in "abcde"] + [("f", [])])
    assert many == ["Same. (In 5 of 6 runs: a, b, c, and 2 more.)"]
    # The seeds of one point have one name.
    assert together([("a", ["Same."]), ("a", ["Same."]), ("b", [])]) == ["Same. (In 2 of 3 runs: a.)"]
