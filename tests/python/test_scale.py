"""A drive with a fraction of its blocks."""

from __future__ import annotations

import json
import re
import statistics
from functools import reduce
from operator import attrgetter
from pathlib import Path

import pytest

import coflash
import scaling
from coflash import CoflashError, Scenario, _core, keys, trace
from processes import coflash as command

WHOLE = Scenario.load("random-5g").with_({"flash.blocks_per_plane": 512, "gc.low_mark": 4, "workload.synthetic": None})
"""A pool keeps 5 blocks free: 507 hold data."""

KEPT = {
    "dies, channels and blocks, so that times stay": (
        "flash.channels flash.chips_per_channel flash.dies_per_chip flash.planes_per_die flash.pages_per_block "
        "flash.page_size flash.sector_size ftl.reclaim_unit ftl.indirection_unit timing.pages_per_type "
        "timing.one_shot_pages timing.read_priority.overtaken_max"
    ),
    "it follows from the data that pools hold": "flash.blocks_per_plane flash.exported",
    "free blocks that GC needs at any size: they are added": "gc.low_mark",
    "counted for each operation, or under way at the same time": (
        "gc.mode.steps_max gc.copy_buffer replay.queue_depth controller.cores controller.write_buffer "
        "controller.drain_per_s link.lanes link.lane_rate host.notice_size host.notices.max host.notices.bytes_max "
        "cache.policy.block_pages"
    ),
    "erases of a block, and years": "endurance.rated_cycles endurance.warranty_years ftl.wear_levelling.gap",
    "measurements of the drive": "measured.reads_per_s measured.writes_per_s measured.request_size",
    "draws, groups and multiples": (
        "seed gc.victim.d cache.policy.sample ftl.placement.regions ftl.placement.groups ftl.placement.classes "
        "ftl.placement.gc_classes ftl.placement.sampling ftl.placement.epoch ftl.placement.handles "
        "workload.phases[].placement workload.repeat "
        "workload.synthetic.generator.windows"
    ),
    "sizes and places of requests": (
        "workload.synthetic.align workload.synthetic.size.size workload.synthetic.size.mean "
        "workload.synthetic.size.max workload.synthetic.generator.scatter_block workload.synthetic.generator.page "
        "workload.synthetic.generator.object workload.preset.align workload.preset.scatter_block "
        "workload.disksim.block workload.disksim.size_mean"
    ),
    "a recorded trace, which is refused": (
        "workload.trace_options.device_stride workload.trace_options.header_lines workload.trace_options.object_stride "
        "workload.trace_options.units.address workload.trace_options.units.size"
    ),
}
"""Keys that count or measure, and stay, each with the reason. A flash cache before disks (`hybrid`) is refused."""


def test_every_size_and_number_is_scaled_or_known_to_stay() -> None:
    counted = set()
    for key in keys():
        plain = re.search("size|whole number|number of blocks", key.type)
        # Of the parameters of policies only defaults and meanings tell.
        counts = re.fullmatch(r'\d+|"\d+\w*B"', key.default) or (
            not key.default and re.search("size|bytes|number|granularity", key.meaning, re.IGNORECASE)
        )
        is_size = plain or (key.type.startswith("with ") and counts)
        if is_size and not key.path.startswith("hybrid"):
            counted.add(re.sub(r"(phases|tenants)\[\]\.(?!placement)", "", key.path))
    kept = {key for listed in KEPT.values() for key in listed.split()}
    scaled = set(_core.scaled_keys())
    assert not kept & scaled
    assert counted - kept - scaled == set(), "add it to SCALED_KEYS in scale.rs, or to KEPT with a reason"
    assert kept - counted == set(), "no such key"


def test_a_drive_scaled_by_one_is_the_drive() -> None:
    for name in coflash.built_in_scenarios():
        scenario = Scenario.load(name)
        assert scenario.scaled("1").to_toml() == scenario.to_toml()


def test_a_drive_scaled_twice_is_scaled_by_the_product() -> None:
    whole = WHOLE.with_(
        {
            "flash.blocks_per_plane": 5 * 7 * 73 + 5,
            "flash.channels": 1,
            "cache.size": "16MiB",
            "workload.synthetic.generator": {"name": "zipf", "exponent": 1.1},
            "workload.synthetic.requests": 1_000_000,
            "workload.synthetic.space": "256MiB",
        }
    )
    orders = (("1/35",), ("1/5", "1/7"), ("1/7", "1/5"))
    once, *others = (reduce(Scenario.scaled, scales, whole).to_dict() for scales in orders)
    for twice in others:
        assert twice["flash"]["blocks_per_plane"] == once["flash"]["blocks_per_plane"]
        assert twice["workload"] == once["workload"]
        assert twice["cache"] == once["cache"]


@pytest.mark.parametrize(
    "row",
    [
        scaling.Row("7%", "Zipf 0.9", "two", "none"),
        scaling.Row("28%", "hot-cold", "two", "cdm, 4%"),
        scaling.Row("15%", "uniform", "one", "none"),
    ],
)
def test_write_amplification_stays_as_the_page_says(row: scaling.Row) -> None:
    """With GC's own open block, an exported capacity in proportion is off by a tenth at 1/16."""
    whole, small = (scaling.measured(row, scale)[0] for scale in ("1", "1/16"))
    by, _ = scaling.deviation(small, whole)
    assert abs(by) < 2
    (line,) = (line for line in scaling.PAGE.read_text().splitlines() if line.startswith(f"| {' | '.join(row)} |"))
    waf, *shown = (cell.strip().replace("−", "-") for cell in line.split("|")[5:8])
    assert waf == f"{statistics.mean(whole):.3f}"
    assert float(shown[0].split()[0]) == pytest.approx(by, abs=0.051)
    assert all(abs(float(cell.split()[0])) < most for cell, most in zip(shown, (2, 3), strict=True))


def test_a_result_says_how_well_the_whole_was_met() -> None:
    (said,) = (one for one in WHOLE.scaled("1/13").to_dict()["limits"] if "exported capacity keeps" in one)
    found = re.search(r"have ([\d.]+) programs .* and ([\d.]+) scaled \((\S+) %\)", said)
    assert found is not None
    whole, small, off = map(float, found.groups())
    assert small / whole - 1 == pytest.approx(off / 100, abs=2e-3)
    assert abs(off) < 1


def test_a_scaled_cache_of_few_pages_is_told() -> None:
    for pages, is_told in ((255, True), (256, False)):
        limits = WHOLE.with_({"cache.size": f"{13 * pages * 4}KiB"}).scaled("1/13").to_dict()["limits"]
        assert (f"The cache has {pages} pages" in " ".join(limits)) == is_told


def test_blocks_that_a_pool_keeps_free_are_not_fewer() -> None:
    small = WHOLE.scaled("1/13").to_dict()
    assert small["flash"]["blocks_per_plane"] == 507 // 13 + 5
    assert small["gc"]["low_mark"] == 4
    assert small["flash"]["channels"] == 8


def test_a_part_of_a_workload_is_scaled_as_the_whole() -> None:
    parts = [
        {"space": "256MiB", "requests_max": 1300, "delay": "13s", "synthetic": {"requests": 2600}},
        {"synthetic": {}},
    ]
    small = WHOLE.with_({"workload.tenants": parts}).scaled("1/13").to_dict()["workload"]["tenants"][0]
    assert (small["requests_max"], small["delay"], small["synthetic"]["requests"]) == (100, "1s", 200)


def test_marks_in_blocks_keep_their_distance_from_the_low_mark_in_proportion() -> None:
    marked = WHOLE.with_({"gc.mode": {"name": "background", "mark": 43}, "precondition.until_free": 30})
    small = marked.scaled("1/13").to_dict()
    assert (small["gc"]["mode"]["mark"], small["precondition"]["until_free"]) == (4 + 39 // 13, 4 + 26 // 13)


@pytest.mark.parametrize("generator", ["uniform", {"name": "zipf", "exponent": 1.1}])
def test_write_amplification_and_response_times_stay(generator: object) -> None:
    whole = WHOLE.with_(
        {
            "workload.synthetic.generator": generator,
            "workload.synthetic.requests": 300_000,
            "workload.synthetic.arrival": {"name": "poisson", "mean": "2ms"},
            "precondition.random_passes": 1,
            "ftl.chips": "round-robin",  # else chance puts the hottest pages on one die or another
        }
    )
    found = [coflash.run(whole.scaled(scale)).metrics for scale in ("1", "1/8")]
    for measure in ("waf_host", "response_ns.all.mean"):
        before, after = map(attrgetter(measure), found)
        assert after == pytest.approx(before, rel=0.03), measure


def test_too_few_blocks_are_refused_with_the_smallest_fraction_that_is_allowed() -> None:
    with pytest.raises(CoflashError, match=r"^scale: 1/64 was given.* the nearest that does is 1/\d+$"):
        WHOLE.scaled("1/64")
    assert WHOLE.scaled("1/33").to_dict()["flash"]["blocks_per_plane"] == 16 + 5
    with pytest.raises(CoflashError, match="leaves 15 of 512 blocks of a pool for data, fewer than"):
        WHOLE.scaled("1/34")
    tight = Scenario.load("pm9a3")
    with pytest.raises(CoflashError, match=r"the nearest that does is 1/\d+") as refused:
        tight.scaled("1/4")
    assert tight.scaled(str(refused.value).split()[-1]).check()
    with pytest.raises(CoflashError, match="too few for any scale"):
        WHOLE.with_({"flash.blocks_per_plane": 32}).scaled("1/2")


def test_a_fraction_that_is_far_too_fine_is_refused_at_once_with_the_finest_that_works() -> None:
    """Fractions one after another would be half a million drives."""
    drive = WHOLE.with_({"flash.blocks_per_plane": 2**22})
    with pytest.raises(CoflashError, match=r"leaves 4 of 4194304 .* the nearest that does is 1/\d+$") as refused:
        drive.scaled("1/1048575")
    _, _, nearest = str(refused.value).rpartition("/")
    assert int(nearest) < 2**20 - 1 and drive.scaled(f"1/{nearest}").check()
    with pytest.raises(CoflashError, match="leaves 15 of"):
        drive.scaled(f"1/{int(nearest) + 1}")


def test_a_skew_that_depends_on_the_space_is_told() -> None:
    told = WHOLE.with_({"workload.synthetic.generator": "kv-cache"}).scaled("1/3").to_dict()["limits"]
    assert 'The skew of "kv-cache" is that of the small space' in " ".join(told)


@pytest.mark.parametrize("text", ["0", "1/0", "-1/2", "a", "1/2/3", "", "64", "2000"])
def test_what_is_no_fraction_is_refused(text: str) -> None:
    with pytest.raises(CoflashError, match="fraction"):
        WHOLE.scaled(text)


def test_a_fraction_may_be_a_number() -> None:
    assert WHOLE.scaled(0.1) == WHOLE.scaled("1/10")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hybrid": {}, "precondition.fill": "none"}, "the seeks of its disks"),
        ({"workload.trace": ["a.csv"]}, "coflash trace slice --sample N writes a part of them"),
        ({"workload.like": ["a.csv"]}, "the reuse distances of a trace"),
        ({"workload.fio": "a.fio"}, "the sizes in a job file"),
        ({"workload.tenants": [{"synthetic": {"generator": "reuse-flows"}}]}, "its reuse distances"),
    ],
)
def test_what_has_places_of_its_own_is_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(CoflashError, match=reason):
        WHOLE.with_(changes).scaled("1/2")


def test_a_drive_too_large_to_be_simulated_names_the_scale_that_does() -> None:
    large = Scenario.from_dict({"flash": {"channels": 32, "exported": "128TiB", "page_size": "16KiB"}})
    with pytest.raises(CoflashError, match="too many: at most 2147483647; coflash run with --scale 1/64 simulates"):
        coflash.run(large)
    with pytest.raises(CoflashError, match="--scale 1/64"):
        large.check()
    assert "--scale" not in " ".join(large.scaled("1/4096").check())


def test_a_result_says_that_its_drive_was_scaled() -> None:
    result = coflash.run(WHOLE.with_({"workload.synthetic.requests": 26}).scaled("1/13"))
    assert result.metrics.requests == 2
    assert any("Scaled to 1/13 of its blocks (44 a pool in place of 512" in note for note in result.notes)


def test_the_values_of_a_sweep_are_those_of_the_whole_drive(tmp_path: Path) -> None:
    base = WHOLE.with_({"workload.synthetic.requests": 1300})
    found = coflash.sweep(base, {"cache.size": ["13MiB", "26MiB"]}, out=tmp_path, scale="1/13")
    assert [point.values["cache.size"] for point in found.points] == ["13MiB", "26MiB"]
    assert [job.scenario.to_dict()["cache"]["size"] for point in found.points for job in point.jobs] == ["1MiB", "2MiB"]


def test_a_sample_of_a_trace_is_a_part_of_its_space_in_order(tmp_path: Path) -> None:
    """A scan in steps that fit no chunk stays a scan, over a fourth of the space."""
    whole, step, space = tmp_path / "whole.csv", 100 << 10, 400 << 20
    steps = range(0, space, step)
    whole.write_text(
        "time_ns,op,offset,length\n" + "".join(f"{index},W,{offset},{step}\n" for index, offset in enumerate(steps))
    )
    trace.slice(whole, tmp_path / "sample.parquet", sample=4)
    kept = trace.head(tmp_path / "sample.parquet", len(steps))
    offsets, lengths = (kept[name].astype(int) for name in ("offset_bytes", "length_bytes"))
    assert offsets[0] == 0
    assert (offsets[1:] == offsets[:-1] + lengths[:-1]).all()
    assert lengths.sum() == space // 4
    assert len(lengths) < len(steps) / 2
    trace.slice(whole, tmp_path / "all.parquet", sample=1)
    assert trace.head(tmp_path / "all.parquet", len(steps))["offset_bytes"].tolist() == list(steps)


def test_the_commands_take_a_scale_and_name_the_one_that_is_needed(tmp_path: Path) -> None:
    whole = command("run", "qlc-122t")
    assert whole.returncode == 2
    assert re.fullmatch(r"error: flash\.blocks_per_plane: .* --scale 1/32 simulates .*\n", whole.stderr)
    cut = ("--set", "workload.synthetic.requests=1300", "--set", "flash.blocks_per_plane=512")
    ran = command("run", "random-5g", *cut, "--scale", "1/13", "--out", str(tmp_path / "run"))
    assert "note: Scaled to 1/13 of its blocks" in ran.stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["metrics"]["requests"] < 200
    file = tmp_path / "small.toml"
    file.write_text(command("scenario", "show", "random-5g", *cut, "--scale", "1/13").stdout)
    keys_set = {"workload.synthetic.requests": 1300, "flash.blocks_per_plane": 512}
    assert Scenario.load(file) == Scenario.load("random-5g").with_(keys_set).scaled("1/13")
    traced = command("run", "demo", "--trace", str(file), "--scale", "1/4")
    assert "coflash trace slice --sample N" in traced.stderr
