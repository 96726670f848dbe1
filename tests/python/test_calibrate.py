"""Calibration: tables, fitted and held-out points, refused input."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coflash import CoflashError
from coflash.analytic import greedy
from coflash.calibrate import Fit, Measured, Point, Prediction, fit, read_csv
from coflash.calibrate import latency as latency_module
from coflash.calibrate import model as model_module
from coflash.calibrate.drive import drive_scenario, drive_toml
from coflash.calibrate.fit import _Search
from coflash.calibrate.measured import CONDITIONS
from coflash.calibrate.model import Device, Model, Parameters, slowdown, waf_between
from coflash.calibrate.page import latency_limit, markdown
from coflash.calibrate.pattern import Pattern
from coflash.calibrate.sheet import Link, Sheet
from coflash.cli import app
from coflash.measures.metrics import Throughput
from coflash.runs.run import run
from coflash.scenario import Scenario

KNOWN = Parameters(spare=0.31, floor=1.06, sequential_mib_per_s=1500.0, read_cost=0.4)


def points(**changes: object) -> tuple[Point, ...]:
    """Return points of a drive with known parameters: three are fitted, three are held out."""
    model = Model(KNOWN)
    made = [Point(m, 1, Pattern("sequential")) for m in ("waf", "write_mib_per_s")]
    made += [Point(m, 1, used=used, held_out=used < 1) for used in (1.0, 0.8, 0.6) for m in ("waf", "write_mib_per_s")]
    return tuple(replace(point, value=model.predict(point), **changes) for point in made)  # type: ignore[arg-type]


def test_known_parameters_are_found_again() -> None:
    found = fit(Measured("known", points())).model.parameters
    assert found.floor == pytest.approx(KNOWN.floor)
    assert found.spare == pytest.approx(KNOWN.spare, rel=1e-3)
    assert found.read_cost == pytest.approx(KNOWN.read_cost, rel=1e-2)


def test_points_held_out_take_no_part() -> None:
    honest = fit(Measured("a", points()))
    bent = fit(Measured("b", tuple(replace(p, value=3 * p.value) if p.held_out else p for p in points())))
    assert bent.model == honest.model
    assert not honest.misfits
    assert all(one.within for one in honest.predictions)
    assert not any(one.within for one in bent.predictions if one.point.held_out)


def test_a_point_that_no_stage_used_counts_as_held_out() -> None:
    early = Point("write_mib_per_s", 700, from_pass=0, passes=0.5)
    predicted = {one.point: one for one in fit(Measured("early", (*points(), early))).predictions}
    assert early not in predicted
    assert replace(early, held_out=True) in predicted
    assert set(points()) <= set(predicted)


def test_a_drive_that_is_none_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "odd.csv"
    table.write_text("pattern,used,waf\nuniform,1,1.2\nuniform,0.5,4\nuniform,0.8,1.5\n")
    done = CliRunner().invoke(app, ["calibrate", str(table), "-o", str(tmp_path / "odd.toml")])
    assert isinstance(done.exception, CoflashError)
    assert "does not fit" in str(done.exception)
    assert [line.partition(" = ")[0] for line in done.stderr.splitlines()] == [
        "fit · spare",
        "fit · predicting 3 points",
    ]
    assert not (tmp_path / "odd.toml").exists()
    assert "does not fit this drive" in (tmp_path / "odd.md").read_text()


@pytest.mark.parametrize(
    ("kept", "needed"),
    [
        ([0], 'of "uniform" one waf'),
        ([1, 3], "or write_mib_per_s at two values of used"),
        ([3], 'needed at least: one write_mib_per_s of "sequential"; of "uniform" one waf, or'),
    ],
)
def test_too_few_points_name_the_smallest_set(kept: list[int], needed: str) -> None:
    all_points = points()
    with pytest.raises(CoflashError, match="too few points") as refused:
        fit(Measured("few", tuple(all_points[index] for index in kept)))
    assert needed in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "needed"),
    [
        # What one point needs may be held out or not.
        (
            "uniform,2,,,,,no|uniform,,500,,,,yes",
            ['one write_mib_per_s of "sequential"', 'one write_mib_per_s of "uniform"'],
        ),
        ("uniform,2,,,,,no|uniform,,,80,10,1000,no", ['of "sequential"', 'of "uniform"', "read_p50_us at two values"]),
        ("sequential,,900,,,,no|uniform,2,500,,,,no|uniform,,,80,10,1000,yes", ["read_p50_us at two values"]),
        ("sequential,,900,,,,no|uniform,2,500,,,,no|uniform,,,80,10,1000,no|uniform,,,81,10,1000,no", ["two values"]),
    ],
)
def test_all_that_is_needed_is_named_at_once_and_before_the_fit(tmp_path: Path, rows: str, needed: list[str]) -> None:
    table = tmp_path / "few.csv"
    header = "pattern,waf,write_mib_per_s,read_p50_us,write_p50_us,writes_per_s,held_out"
    table.write_text("\n".join([header, *rows.split("|")]) + "\n")
    with pytest.raises(CoflashError, match="needed at least") as refused:
        fit(read_csv(table))
    said = str(refused.value).partition("needed at least: ")[2].split("; ")
    assert len(said) == len(needed)
    assert all(part in text for part, text in zip(needed, said, strict=True)), said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no points"),
        ("used,waf,waf\n1,2,3\n", "line 1: column 'waf' is there more than once"),
        ("waf,read_p50_us\n2,80\n", "line 2: read_p50_us: writes_per_s is needed"),
        ("pattern,used\nuniform,1\n", "no column is a measure"),
        ("patern,waf\nuniform,2\n", "line 1: column 'patern'"),
        ("used,waf\n1\n", "line 2: 1 cell; the header has 2"),
        ("used,waf\n1,\n", "line 2: no measure"),
        ("used,waf\n1,-2\n", "line 2: waf: '-2' was given; 0.5 to 1000 is allowed"),
        ("used,waf\n1,nan\n", "line 2: waf: 'nan' was given"),
        ("used,waf\n1.5,2\n", "line 2: used: '1.5' was given"),
        ("pattern,waf\nzipff 0.8,2\n", "line 2: pattern: 'zipff 0.8'"),
        ("pattern,waf\nzipf 9,2\n", "a number between 0 and 3 follows 'zipf'"),
        ("pattern,waf\nzones 4 x 8,2\n", "line 2: pattern: 'zones 4 x 8'"),
        ("initial,waf\nsequentail,2\n", "line 2: initial: 'sequentail' was given; did you mean \"sequential\"?"),
        ("held_out,waf\nmaybe,2\n", "line 2: held_out: 'maybe' was given"),
        ("from_pass,passes,waf\n4,3,2\n", "line 2: from_pass: 4 was given; less than passes is allowed"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(CoflashError) as refused:
        read_csv(file)
    assert problem in str(refused.value)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_empty_cell_of_any_condition_is_its_default(tmp_path: Path, condition: str) -> None:
    file = tmp_path / "empty.csv"
    file.write_text(f"waf, {condition}\n2, \n")
    assert read_csv(file).points == (Point("waf", 2.0),)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_table_may_have_the_separators_of_a_trace(tmp_path: Path, separator: str) -> None:
    rows = "# a drive\npattern,used,waf\nuniform,1,2\nuniform,0.8,1.5\n"
    (tmp_path / "a.csv").write_text(rows)
    (tmp_path / "b.csv").write_text(rows.replace(",", separator))
    assert read_csv(tmp_path / "b.csv").points == read_csv(tmp_path / "a.csv").points


def test_a_table_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(
        "# measured\npattern, used, waf, write_mib_per_s, held_out\nuniform, 50%, 1.2, , yes\nzipf 0.8, 1, 3, 500, no\n"
    )
    read = read_csv(file, 1e12)
    assert read.name == "mine"
    assert [(p.measure, p.value, str(p.pattern), p.used, p.held_out) for p in read.points] == [
        ("waf", 1.2, "uniform", 0.5, True),
        ("waf", 3, "zipf 0.8", 1, False),
        ("write_mib_per_s", 500, "zipf 0.8", 1, False),
    ]


@pytest.mark.parametrize(
    "text", ["uniform", "permuted", "zipf 0.8 contiguous", "two-zone 0.9", "zones 4 x 8GiB", "zones 4 x 8GiB trimmed"]
)
def test_a_pattern_is_its_text(text: str) -> None:
    assert str(Pattern.read(text)) == text


def test_permuted_writes_every_page_once_in_each_pass() -> None:
    addresses = Pattern("permuted").addresses(100, 250, 1.0, seed=1)
    for begin in (0, 100):
        assert sorted(addresses[begin : begin + 100]) == list(range(100))
    assert len(set(addresses[200:])) == 50


def test_zones_are_written_in_order_and_as_many_are_open() -> None:
    zone, count = 16, 3
    addresses = Pattern("zones", count, zone).addresses(20 * zone, 4000, 1.0, seed=1)
    at: dict[int, int] = {}
    for address in addresses:
        number, offset = divmod(int(address), zone)
        assert offset == at.get(number, 0)
        at[number] = offset + 1
        if offset + 1 == zone:
            del at[number]
        assert len(at) <= count


def test_a_trimmed_zone_is_trimmed_before_its_first_write() -> None:
    zone = 16
    pattern = Pattern("zones", 3, zone, trimmed=True)
    requests = pattern.requests(20 * zone, 4000, 1.0, seed=1)
    op, page = requests["op"], requests["offset"] // 4096
    trims = np.flatnonzero(op == 2)
    assert (page[op == 1] == pattern.addresses(20 * zone, 4000, 1.0, seed=1)).all()
    assert (requests["length"][trims] == zone * 4096).all()
    assert (page[trims + 1] == page[trims]).all()
    assert len(trims) == np.count_nonzero(page[op == 1] % zone == 0) > 200
    untouched = pattern._replace(trimmed=False).requests(20 * zone, 4000, 1.0, seed=1)
    assert len(untouched) == 4000


ZONES = Point("write_mib_per_s", 1, Pattern("zones", 4, 8 * 2**30, trimmed=True), one_at_a_time=True, passes=3)


def few_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "SIMULATED_PAGES", 2**15)
    monkeypatch.setattr(model_module, "BLOCKS", 192)


def test_flash_waits_between_writes_one_at_a_time() -> None:
    known = Model(replace(KNOWN, host_gap=0.7), 800e9)
    rate = known.predict(replace(ZONES, one_at_a_time=False))
    assert 1 / known.predict(ZONES) == pytest.approx(1 / rate + 0.7 / KNOWN.sequential_mib_per_s)
    large = replace(ZONES, pattern=Pattern("zones", 1, 16 * 2**30, trimmed=True))
    search = _Search(Measured("gap", (replace(large, value=known.predict(large)), replace(ZONES, value=1.0)), 800e9))
    search.model = Model(KNOWN, 800e9)
    search.host_gap()
    assert search.model.parameters.host_gap == pytest.approx(0.7)


@pytest.mark.parametrize("host_gap", [0.0, 0.3])
def test_gc_runs_ahead_as_far_as_zones_say_while_flash_waits(monkeypatch: pytest.MonkeyPatch, host_gap: float) -> None:
    few_pages(monkeypatch)
    most = 1 - 1 / Model(KNOWN).alpha(1)
    start = Model(replace(KNOWN, host_gap=host_gap), 800e9)
    known = start.with_(ahead=round(most / 2, 4))
    zones = [replace(ZONES, pattern=Pattern("zones", number, 8 * 2**30)) for number in (2.0, 8.0)]
    measured = Measured("ahead", tuple(replace(point, value=known.predict(point)) for point in zones), 800e9)
    search = _Search(measured)
    search.model = start
    assert (search.model.predict(zones[1]) > 1.1 * known.predict(zones[1])) is (host_gap > 0)
    search.zones()
    assert search.model.parameters.ahead == pytest.approx(known.parameters.ahead if host_gap else 0, rel=0.1)


def test_gc_runs_ahead_as_far_as_reads_say_where_flash_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency_module, "_REQUESTS", 20_000)
    parameters = replace(KNOWN, spare=0.2, program_us=150.0, read_us=80.0, write_us=10.0, sequential_mib_per_s=400.0)
    known = Model(replace(parameters, ahead=0.08))
    most = known.predict(Point("writes_max_per_s", 1))
    measures = [(0.1, "read_p50_us"), (0.1, "write_p50_us"), (0.5, "read_p50_us"), (0.9, "read_p50_us")]
    points = [Point(name, 1, writes_per_s=part * most, reads_per_s=5000.0) for part, name in measures]
    search = _Search(Measured("reads", tuple(replace(point, value=known.predict(point)) for point in points)))
    search.model = Model(parameters)
    half = points[2]
    assert search.model.predict(half) < 0.9 * known.predict(half)
    search.latency()
    assert search.model.parameters.ahead == pytest.approx(0.08, abs=0.02)


def test_a_drive_may_keep_trimmed_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    few_pages(monkeypatch)
    known = Model(replace(KNOWN, frees_trimmed=False), 800e9)
    many = replace(ZONES, pattern=ZONES.pattern._replace(number=16.0))
    search = _Search(Measured("keeps", (replace(many, value=known.predict(many)),), 800e9))
    search.model = Model(KNOWN, 800e9)
    assert search.model.predict(many) > 1.1 * known.predict(many)
    search.zones()
    assert search.model == known


@pytest.mark.parametrize(("gap", "bent"), [(None, 1), (4, 1), (4, 2)])
def test_wear_is_levelled_where_that_explains_cold_data(
    monkeypatch: pytest.MonkeyPatch, gap: int | None, bent: float
) -> None:
    few_pages(monkeypatch)
    known = Model(replace(KNOWN, wear_gap=gap))
    cold = [Point("waf", 1, Pattern.read(text), passes=4, from_pass=2) for text in ("zipf 1", "read-only 0.9")]
    search = _Search(Measured("worn", tuple(replace(point, value=bent * known.predict(point)) for point in cold)))
    search.model = Model(KNOWN)
    assert (search.model.predict(cold[0]) < 0.9 * known.predict(cold[0])) is (gap is not None)
    search.wear()
    assert search.model == (known if bent == 1 else Model(KNOWN))
    assert [stage.finds for stage in search.stages] == ["wear_gap = 4"] * (gap is not None and bent == 1)


def test_zones_need_the_capacity() -> None:
    with pytest.raises(CoflashError, match="the capacity is needed"):
        fit(Measured("zones", (*points(), replace(ZONES, held_out=True))))


def test_reads_meet_gc_that_runs_ahead() -> None:
    parameters = replace(KNOWN, spare=0.2, program_us=150.0, read_us=80.0, write_us=10.0, sequential_mib_per_s=400.0)
    half = 0.5 * Model(parameters).predict(Point("writes_max_per_s", 1))
    read = Point("read_p50_us", 1, writes_per_s=half, reads_per_s=1000.0)
    assert Model(replace(parameters, ahead=0.12)).predict(read) > 1.15 * Model(parameters).predict(read)


def test_the_hot_pages_of_a_scaled_zipf_have_the_share_of_the_real_ones() -> None:
    pages, drive_pages = 2**14, 2.0**28
    zones = Pattern("zipf", 1.0).generator(pages, drive_pages, 0)["zones"]
    traffic, space = (np.array([float(zone[of][:-1]) for zone in zones]) / 100 for of in ("traffic", "space"))
    assert traffic.sum() == pytest.approx(1)
    hottest = traffic[np.cumsum(space) <= 0.01].sum()
    harmonic = [math.log(n) + 0.5772 for n in (0.01 * drive_pages, drive_pages)]
    assert hottest == pytest.approx(harmonic[0] / harmonic[1], abs=0.02)


def test_a_buffer_absorbs_what_its_definition_says() -> None:
    share = np.arange(1, 4097) ** -1.0
    share /= share.sum()
    expected = (share - share / (1 + 64 * share)).sum()
    assert Pattern("zipf", 1.0).absorbed(4096, 64) == pytest.approx(expected, rel=0.01)
    assert Pattern("uniform").absorbed(4096, 64) == 0


@pytest.mark.parametrize("alpha", [1.15, 1.6])
def test_the_simulated_device_writes_as_the_closed_form_says(alpha: float) -> None:
    device = Device(alpha, "greedy")
    result, pages = device.run(Pattern("uniform"), "sequential", 5)
    assert waf_between(result, pages, 3, 5) == pytest.approx(greedy(alpha, device.pages_per_block), rel=0.015)


def test_gc_reads_whole_flash_pages() -> None:
    assert slowdown(1.0, 0.5, scattered=True) == 1
    assert slowdown(2.0, 0.5, scattered=False) == 2 * (1 + 0.5 * 0.5)
    assert slowdown(2.0, 0.5, scattered=True) == 2 * (1 + 0.5 * (1 - 0.5**4))


def test_the_scenario_of_a_drive_runs_and_has_its_write_amplification() -> None:
    found = fit(Measured("known", points()))
    text = drive_toml(found)
    assert Scenario.from_toml(text) == drive_scenario(found)
    assert "3 points held out" not in text.splitlines()[0]
    assert "multiply write amplification by 1.060" in text and "divide rates" not in text
    assert "write amplification: 2 points held out, error 0.0% on average, 0.0% at worst" in text


@pytest.mark.parametrize("program_us", [150.0, math.nan])
def test_the_scenario_of_a_drive_has_its_streams_and_its_wear_levelling(program_us: float) -> None:
    parameters = replace(KNOWN, streams="shared", wear_gap=8, program_us=program_us, read_us=80.0, write_us=10.0)
    keys = drive_scenario(Fit(Measured("worn", ()), Model(parameters), (), ()))
    expected = {"ftl.wear_levelling": {"name": "static", "gap": 8}, "ftl.shared_streams": [["host", "gc"]]}
    expected["flash.cell"] = "tlc"  # on which the endurance depends
    assert keys.with_(expected) == keys


def test_a_drive_with_latencies_writes_and_reads_as_fast_as_it_should() -> None:
    parameters = replace(KNOWN, program_us=150.0, read_us=80.0, write_us=10.0, sequential_mib_per_s=400.0)
    model = Model(parameters)
    made = Fit(Measured("timed", ()), model, (), ())
    metrics = run(drive_scenario(made).with_({"workload.synthetic.requests": 300_000})).metrics
    assert metrics.throughput.iops == pytest.approx(model.predict(Point("writes_max_per_s", 1)), rel=0.05)
    slow = Point("read_p50_us", 1, writes_per_s=1000.0, reads_per_s=1000.0)
    assert model.predict(slow) == pytest.approx(80, rel=0.02)
    assert model.predict(replace(slow, measure="write_p50_us")) == pytest.approx(10, rel=0.02)
    busy = replace(slow, writes_per_s=0.9 * model.predict(Point("writes_max_per_s", 1)))
    assert 100 < model.predict(busy) < 80 + 150
    zipf = Pattern("zipf", 0.8)
    hot = {"workload.synthetic.generator": zipf.generator(20_000, 2.0**28, 0), "workload.synthetic.requests": 300_000}
    expected = model.predict(Point("writes_max_per_s", 1, zipf))
    assert run(drive_scenario(made).with_(hot)).metrics.throughput.iops == pytest.approx(expected, rel=0.1)
    # Reads wait longer than x with the probability ρ exp(−x / τ): two percentiles tell τ.
    tails = [model.predict(replace(busy, measure=f"read_{p}_us", reads_per_s=20_000.0)) for p in ("p99", "p999")]
    assert tails[1] - tails[0] == pytest.approx(150 * math.log(10), rel=0.2)


def test_each_result_of_a_drive_says_how_far_its_latencies_hold() -> None:
    parameters = replace(KNOWN, program_us=150.0, read_us=80.0, write_us=10.0, sequential_mib_per_s=400.0)
    predictions = [
        Prediction(Point("read_p99_us", 100, writes_per_s=rate, reads_per_s=1000, held_out=rate > 2000), value)
        for rate, value in ((2000, 100), (5000, 90), (9000, 150))
    ]
    most = Prediction(Point("writes_max_per_s", 10_000, held_out=True), 13_620)
    made = Fit(Measured("timed", ()), Model(parameters), (), (*predictions, most))
    limit = latency_limit(made)
    assert limit == (
        "Response times were calibrated at 2,000 to 9,000 writes/s. Measurements of the drive that were held out are "
        "missed: read latency p99 by −10.0% to +50.0%, most writes of 4 KiB per second (the knee) by +36.2%."
    )
    assert limit in markdown(made, "a.png")
    scenario = Scenario.from_toml(drive_toml(made)).with_({"workload.synthetic.requests": 1000})
    assert limit in run(scenario).notes
    assert "No latency was held out" in latency_limit(replace(made, predictions=tuple(predictions[:1])))
    untimed = replace(made, model=Model(KNOWN))
    assert latency_limit(untimed) in drive_scenario(untimed).to_dict()["limits"]
    assert "not those of the drive" in latency_limit(untimed)


SHEET = Sheet(Link.pcie(4, 4), 6.5e9, 580e3)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("PCIe 4.0 x4", 7.877e9),
        ("pcie3x2", 1.969e9),
        ("PCIe 5 x8", 31.51e9),
        ("PCIe 1.1 x1", 250e6),
        ("SATA 6Gb/s", 600e6),
    ],
)
def test_a_link_is_read_as_data_sheets_write_it(text: str, rate: float) -> None:
    assert Link.read(text).bytes_per_s == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize("text", ["PCIe 4.0", "PCIe 6.0 x4", "PCIe 4.0 x3", "SAS 12Gb/s", ""])
def test_another_link_is_refused(text: str) -> None:
    with pytest.raises(CoflashError, match=f"link: '{text}' was given; PCIe of generation 1 to 5 .* 'PCIe 4.0 x4'"):
        Link.read(text)


def with_sheet(sheet: Sheet, program_us: float = 150.0) -> tuple[Scenario, float]:
    parameters = replace(KNOWN, read_cost=0.05, sequential_mib_per_s=1400.0)
    parameters = replace(parameters, program_us=program_us, read_us=80.0, write_us=10.0)
    made = Fit(Measured("timed", (), sheet=sheet), Model(parameters), (), ())
    return drive_scenario(made), 1.0 if math.isnan(program_us) else made.model.service().part


@pytest.mark.parametrize("program_us", [150.0, math.nan])
@pytest.mark.parametrize("sheet", [SHEET, replace(SHEET, link=None), Sheet(Link.pcie(3, 4)), Sheet(reads_per_s=20e3)])
def test_no_result_exceeds_what_link_and_reads_of_a_drive_can_carry(sheet: Sheet, program_us: float) -> None:
    scenario, part = with_sheet(sheet, program_us)

    def reads(of: Scenario, size: str) -> Throughput:
        keys = {"requests": 20_000, "read_share": "100%", "size": {"name": "fixed", "size": size}}
        return run(of.with_({f"workload.synthetic.{key}": value for key, value in keys.items()})).metrics.throughput

    unlimited, _ = with_sheet(Sheet(), program_us)
    small, large = reads(scenario, "4KiB"), reads(scenario, "128KiB")
    if most := sheet.reads_per_s:
        assert 0.85 * most * part < (small.read_iops or 0) <= most * part
        assert (reads(unlimited, "4KiB").read_iops or 0) > 1.2 * most * part
    if rate := sheet.bytes_per_s:
        assert max(small.read_bandwidth or 0, large.read_bandwidth or 0) <= rate * part
        assert (reads(unlimited, "128KiB").read_bandwidth or 0) > 1.2 * rate * part
        writes = scenario.with_({"workload.synthetic.generator": "sequential", "workload.synthetic.requests": 20_000})
        assert (run(writes).metrics.throughput.write_bandwidth or 0) <= rate * part


def test_the_limits_of_a_drive_change_no_latency_below_them() -> None:
    def measured(sheet: Sheet) -> tuple[float, ...]:
        scenario, part = with_sheet(sheet)
        arrival = {"name": "poisson", "mean": f"{round(1e9 / (4000 * part))}ns"}
        synthetic = {"requests": 20_000, "read_share": "50%", "arrival": arrival}
        # The depth of the drive's closed loop is of no use in an open one.
        open_loop = scenario.with_({"workload.synthetic": synthetic, "replay.queue_depth": 32})
        response = run(open_loop).metrics.response_ns
        return response.read.p50 or 0, response.read.p99 or 0, response.write.p50 or 0

    assert measured(SHEET) == pytest.approx(measured(Sheet()), rel=0.01)


def test_a_drive_tells_its_data_sheet_and_what_it_does_not_limit() -> None:
    made = Fit(Measured("timed", (), sheet=SHEET), Model(replace(KNOWN, sequential_mib_per_s=400.0)), (), ())
    assert "# Data sheet: PCIe 4.0 x4, reads of at most 6.50 GB/s, at most 580,000 reads per second." in drive_toml(
        made
    )
    scenario, _ = with_sheet(SHEET)
    assert not any("not limited" in text for text in scenario.to_dict()["limits"])
    for sheet, missing in {
        Sheet(): "the bandwidth of the link or of reads and the rate of reads",
        Sheet(Link.pcie(4, 4)): "the rate of reads",
        Sheet(reads_per_s=1e5): "the bandwidth of the link or of reads",
    }.items():
        scenario, _ = with_sheet(sheet)
        said = f"Not stated, and not limited: {missing}. Reads may be faster than the drive's."
        assert scenario.to_dict()["limits"][-1] == said
        assert said in run(scenario.with_({"workload.synthetic.requests": 100})).notes


def test_a_result_beyond_the_measurements_of_a_drive_says_so() -> None:
    parameters = replace(KNOWN, program_us=150.0, read_us=80.0, write_us=10.0, sequential_mib_per_s=400.0)
    rated = Point("read_p50_us", 80, writes_per_s=20_000, reads_per_s=5_000, used=0.8)
    measured = Measured("timed", (rated, Point("write_mib_per_s", 400, Pattern("sequential"))))
    made = Fit(measured, Model(parameters), (), ())
    part = made.model.service().part
    assert drive_scenario(made).to_dict()["measured"] == {
        "reads_per_s": math.ceil(5_000 * part),
        "writes_per_s": math.ceil(102_400 * part),
        "read_share": "20%",
        "request_size": "4KiB",
        "used": "80%",
    }

    def notes(**synthetic: object) -> list[str]:
        keys = {"requests": 20_000, **synthetic}
        found = run(drive_scenario(made).with_({f"workload.synthetic.{key}": value for key, value in keys.items()}))
        return [note for note in found.notes if "(measured)" in note]

    assert notes() == []
    (reads,) = notes(read_share="100%")
    assert "reads per second, where at most" in reads and "100% reads, where at most 20% were measured" in reads
    (large,) = notes(size={"name": "fixed", "size": "16KiB"})
    assert "writes of 16384 bytes on average, where those measured have 4KiB" in large


def test_names_are_no_markup() -> None:
    page = markdown(fit(Measured("a|b <script>", points(), source="*x*")), "a.png")
    assert "<script>" not in page
    assert r"a\|b" in page
