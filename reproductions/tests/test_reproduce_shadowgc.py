"""The reproduction of the ShadowGC paper, at a scale that takes seconds."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from reproduced import documents, rows, tiny_scale

from coflash import CoflashError, Scenario, trace
from coflash.quantity import show, show_change
from coflash_reproduce.reproduction import Done, reproduce
from coflash_reproduce.runs import run_all
from coflash_reproduce.shadowgc import PAPER, reading, workloads
from coflash_reproduce.shadowgc.workloads import SCHEMES, Scale

HOST_MIB = (256, 1024, 32768)
PERCENT = (100, 10, 1, 0.1)
TINY = Scale(
    6_000,
    1,
    HOST_MIB,
    device_percent=(1,),
    footprint_percent=PERCENT,
    unlimited_mib=(32768,),
    passes=(0.2, 1),
    restart_hours=(0.2, 0.3),
    blocks_per_plane=800,
    pages_per_block=8,
    paper_sized=False,
)


def iolog(file: Path, seed: int, pause_us: int = 100, count: int = 3_000) -> Path:
    """Writes of 16 KiB, most of them to a few pages."""
    draw = random.Random(seed)
    pages = (draw.randrange(40) if draw.random() < 0.8 else draw.randrange(1600) for _ in range(count))
    lines = "".join(f"{index * pause_us} d write {page * 16384} 16384\n" for index, page in enumerate(pages))
    file.write_text(f"fio version 3 iolog\n0 d add\n0 d open\n{lines}", encoding="utf-8")
    return file


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    recorded = iolog(tmp_path_factory.mktemp("recorded") / "pgbench.iolog", 1)
    with tiny_scale(PAPER, workloads, TINY, recorded):
        yield recorded


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return reproduce("shadowgc", "tiny", out=tmp_path_factory.mktemp("shadowgc") / "out")


@pytest.fixture(scope="module")
def stored(done: Done) -> dict[str, dict[str, Any]]:
    return documents(done)


def to_the_device(metrics: dict[str, Any]) -> int:
    buffer = metrics.get("host_buffer")
    return int(buffer["written_pages"] if buffer else metrics["host_writes_pages"])


MEASURED = {
    "figure-6": ("WAF, by pages to the device", "ratio"),
    "figure-7": ("GC time per page to the device", "ns"),
    "device-buffer": ("WAF, by pages to the device", "ratio"),
    "prefill": ("WAF, by pages to the device", "ratio"),
}
SHOWN = {
    "figure-6": ("GGC", "ZGC", "HGC", "DGC", "SGC"),
    "figure-7": ("GGC", "ZGC", "HGC", "DGC", "SGC"),
    "device-buffer": ("GGC", "DGC", "SGC"),
    "prefill": ("GGC", "SGC"),
}
PANELS = {"figure-6": (6, len(HOST_MIB)), "figure-7": (6, len(HOST_MIB)), "device-buffer": (3, 1), "prefill": (2, 2)}
"""The panels of a figure, and the places on its axis."""


@pytest.mark.parametrize("name", MEASURED)
def test_a_figures_numbers_are_those_of_the_runs_that_it_is_of(
    name: str, done: Done, stored: dict[str, dict[str, Any]]
) -> None:
    images = done.page.parent / "images"
    assert (images / f"shadowgc-{name}.png").read_bytes().startswith(b"\x89PNG")
    found = rows(done, name)
    panels, places = PANELS[name]
    assert len(found) == panels * len(SHOWN[name]) * places
    label, unit = MEASURED[name]
    page = done.page.read_text("utf-8")
    for row in found:
        run = stored[row["run"]]
        metrics, scheme = run["metrics"], run["scenario"]["cooperation"]["name"]
        assert row["line"] in SHOWN[name]
        assert scheme == SCHEMES[row["line"]]
        total = metrics["gc_time_ns"] if unit == "ns" else sum(metrics["programs_pages"].values())
        assert float(row[label]) == total / to_the_device(metrics)
        assert f"| {show(float(row[label]), unit)} |" in page  # type: ignore[arg-type]


def test_buffers_have_the_papers_shares_of_the_flash() -> None:
    for name in ("quick", "full"):
        for one in workloads.experiments(name, ()):
            flash = workloads.raw_bytes(one.scenario)
            for case in one.cases:
                host, device = (int(str(case.changes[key]).rstrip("KiB")) * 1024 for key in _BUFFERS)
                if one.name.endswith("-alone"):
                    assert host == 0
                else:
                    name = one.name.removesuffix("-three")
                    mib = 64.0 if name in workloads.ROOMS else 256.0
                    if name in (*workloads.WORKLOADS, *workloads.AGE_LIMITS):
                        mib = case.at
                    assert host == pytest.approx(flash * mib / 2**20, abs=8192)
                percent = case.at if one.name.endswith(("-device", "-alone")) else 100 * 128 / 2**20
                assert device == pytest.approx(flash * percent / 100, abs=8192)
    full = {one.name: one.scenario.to_dict() for one in workloads.experiments("full", ())}
    paper = Scenario.load("shadowgc-1t").to_dict()
    # A plane is as large as the paper's: a block for shadows is one of as many spare ones.
    for size in ("blocks_per_plane", "pages_per_block", "page_size"):
        assert full["zipf"]["flash"][size] == paper["flash"][size]


def test_the_papers_active_blocks_are_the_default_and_three_a_variant() -> None:
    for one in workloads.experiments("full", ()):
        three = "-three" in one.name
        shared = [["host", "evict"]] if three else [["host", "evict", "gc"]]
        assert one.scenario.to_dict()["ftl"]["shared_streams"] == shared, one.name
    for size in ("64g", "1t"):
        assert Scenario.load(f"shadowgc-{size}").to_dict()["ftl"]["shared_streams"] == [["host", "evict", "gc"]]


_BUFFERS = ("host_buffer.size", "cache.size")


def test_the_averages_beside_the_papers_leave_out_buffers_larger_than_its(done: Done) -> None:
    page = done.page.read_text("utf-8")
    found = rows(done, "figure-6")
    claims = {row["what"]: row for row in rows(done, "claims")}
    for suffix, layout in (("", workloads.TWO), ("-three", workloads.THREE)):
        changes = []
        for name in workloads.VOLUMES:
            of = [row for row in found if row["experiment"] == name + suffix]
            waf = {(row["line"], float(row["at"])): float(row["WAF, by pages to the device"]) for row in of}
            changes.append(mean(waf["SGC", at] / waf["GGC", at] - 1 for at in (256, 1024)))
        claim = claims[f"WAF under SGC, mean change, 0.1 to 10 % of the flash, {layout}"]
        assert float(claim["here"]) == pytest.approx(mean(changes), rel=1e-12)
        assert f"| {show_change(-0.162)} | {show_change(mean(changes))} |" in page


def test_sgc_is_held_against_the_best_other_scheme_and_shadows_against_what_they_save(done: Done) -> None:
    claims = {row["what"]: float(row["here"]) for row in rows(done, "claims")}
    shares: dict[tuple[str, float], float] = {}
    for row in rows(done, "figure-8"):
        key = row["experiment"], float(row["at"])
        shares[key] = shares.get(key, 0) + float(row["of the pages moved"])
    labels = {
        "figure-6": ("WAF", "WAF, by pages to the device"),
        "figure-7": ("GC time", "GC time per page to the device"),
    }
    for figure, (short, label) in labels.items():
        of = {(row["experiment"], row["line"], float(row["at"])): float(row[label]) for row in rows(done, figure)}
        for suffix, layout in (("", workloads.TWO), ("-three", workloads.THREE)):
            names = [name + suffix for name in workloads.VOLUMES]
            change = {key: of[key] / of[key[0], "GGC", key[2]] - 1 for key in of if key[0] in names and key[2] < 32768}
            points = [(shares[name, at], value) for (name, line, at), value in change.items() if line == "SGC"]
            agree = [
                (one[0] > other[0]) == (one[1] < other[1])
                for one, other in itertools.combinations(points, 2)
                if one[0] != other[0]
            ]
            what = f"pairs of runs in which more shadows go with a larger fall of {short}, {layout}"
            assert claims[what] == pytest.approx(sum(agree) / len(agree))
            if figure == "figure-6":
                means = {
                    (name, line): mean(change[name, line, at] for at in (256, 1024))
                    for name in names
                    for line in ("ZGC", "HGC", "DGC", "SGC")
                }
                over = [
                    (1 + means[name, "SGC"]) / (1 + min(0, *(means[name, line] for line in ("ZGC", "HGC", "DGC")))) - 1
                    for name in names
                ]
                what = f"WAF under SGC over the best of the others, at most, 0.1 to 10 % of the flash, {layout}"
                assert claims[what] == pytest.approx(max(over))


def test_what_buffers_absorb_is_beside_each_workload(done: Done) -> None:
    found = {row[""]: row for row in rows(done, "sizes")}
    share = {title: float(row["absorbed in the host"].split()[0]) for title, row in found.items()}
    assert share["sequential"] == 0.0 < share["Zipf"] < share["Zipf, 1 GiB"]


def test_the_statements_go_the_papers_way(done: Done) -> None:
    """Where the device is tiny, those that do not depend on how many pages a buffer holds."""
    verdicts = {(row["exhibit"], row["what"], row["experiment"]): row["verdict"] for row in rows(done, "claims")}
    fails = {key for key, verdict in verdicts.items() if verdict == "does not hold"}
    holds = {key for key in verdicts if key[0] in {"figure-1", "restart"}}
    for group in ("0.1 to 10 % of the flash", "all workloads"):
        for layout in workloads.LAYOUTS:
            holds.add(("figure-6", f"WAF under SGC, mean change, {group}, {layout}", ""))
            holds.add(("figure-7", f"GC time under SGC, mean change, {group}, {layout}", ""))
        holds |= {
            ("figure-6", f"WAF under {line}, mean change, {group}, {workloads.THREE}", "") for line in ("ZGC", "HGC")
        }
    assert holds <= set(verdicts)
    assert not holds & fails


def test_the_shares_of_shadows_are_those_that_gc_counted(done: Done, stored: dict[str, dict[str, Any]]) -> None:
    kinds = {"dirty in the host": "host", "dirty in the device": "device", "dirty in both": "twin"}
    runs = {row["run"]: row for row in rows(done, "figure-6") if row["line"] == "SGC"}
    expected = {}
    for key, row in runs.items():
        counted = stored[key]["metrics"]["shadows"]
        moved = sum(counted[f"moved_{state}_pages"] for state in ("valid", "host", "device", "twin"))
        for label, kind in kinds.items():
            expected[row["experiment"], label, row["at"]] = counted[f"moved_{kind}_pages"] / moved
    found = {(row["experiment"], row["line"], row["at"]): row["of the pages moved"] for row in rows(done, "figure-8")}
    assert {key: float(value) for key, value in found.items()} == expected
    assert max(expected.values()) > 0.01


def test_the_footprint_is_that_of_the_trace(done: Done, tiny: Path) -> None:
    info = trace.info((tiny,), page="16KiB")
    found = [row for row in rows(done, "figure-1") if row["experiment"] == "pgbench"]
    assert (found[0]["at"], found[0]["written footprint"]) == ("0.0", "0.0")
    assert float(found[-1]["written footprint"]) == info["footprint_pages"] * 16384
    assert float(found[-1]["at"]) == round(3_000 * 16384 / 2**30, 2)


def test_double_caching_sets_the_device_alone_beside_the_device_behind_a_host_buffer(
    done: Done, stored: dict[str, dict[str, Any]]
) -> None:
    found = {row[""]: row for row in rows(done, "double-caching")}
    assert len(found) == 3
    waf, written = {}, {}
    for run in stored.values():
        values, metrics = run["scenario"], run["metrics"]
        made_up = values["workload"].get("synthetic") or {}
        if made_up and values["cooperation"]["name"] == "ggc" and values["cache"]["size"] == "1MiB":
            if made_up.get("space"):
                continue
            off = values.get("host_buffer", {}).get("size", "0B") == "0B"
            assert off == (metrics.get("host_buffer") is None)
            written[off] = to_the_device(metrics)
            waf[off] = sum(metrics["programs_pages"].values()) / written[off]
    zipf = found["Zipf"]
    assert (zipf["GGC, off"], zipf["GGC, on"]) == (f"{waf[True]:.3f}", f"{waf[False]:.3f}")
    assert zipf["absorbed by it"] == show(1 - written[False] / written[True], "share")
    assert written[False] < written[True]


def test_the_page_shows_every_figure_with_its_lines_alone(done: Done) -> None:
    page = done.page.read_text("utf-8")
    images = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)
    assert len(images) == 10
    assert all((done.page.parent / image).is_file() for image in images)
    for name in ("figure-6", "figure-7"):
        _, *others = SHOWN[name]
        assert f"| host buffer, on 1 TiB | GGC | {' | change | '.join(others)} | change |" in page


def test_figure_2_is_of_its_schemes_where_the_footprint_is_a_volumes(
    done: Done, stored: dict[str, dict[str, Any]]
) -> None:
    for name, label in (("figure-2a", "WAF, by pages to the device"), ("figure-2b", "GC time per page to the device")):
        found = rows(done, name)
        assert len(found) == 2 * 4 * len(workloads.VOLUMES)
        assert {row["line"] for row in found} == {"GGC", "+ delay", "+ separation", "ZGC"}
        runs = [run["metrics"] for run in stored.values()]
        if name == "figure-2b":
            measured = {metrics["gc_time_ns"] / to_the_device(metrics) for metrics in runs}
        else:
            measured = {sum(metrics["programs_pages"].values()) / to_the_device(metrics) for metrics in runs}
        assert {float(row[label]) for row in found} <= measured


def test_victims_by_age_are_set_beside_greedy_ones(done: Done, stored: dict[str, dict[str, Any]]) -> None:
    found = rows(done, "victims")
    assert [(row[""], row["victims"]) for row in found] == [
        (layout, victim) for layout in workloads.LAYOUTS for victim in ("greedy", "cost-benefit")
    ]
    by_age = [run for run in stored.values() if run["scenario"]["gc"]["victim"]["name"] == "cost-benefit"]
    waf = {f"{sum(of['programs_pages'].values()) / to_the_device(of):.3f}" for of in (run["metrics"] for run in by_age)}
    assert {row["WAF, GGC"] for row in found if row["victims"] == "cost-benefit"} <= waf


def test_a_restart_is_set_beside_the_run_without_one(done: Done, stored: dict[str, dict[str, Any]]) -> None:
    found = rows(done, "restart")
    assert [(row[""], row["restart"]) for row in found] == [
        (f"{title}, {layout}", kind)
        for title in ("Zipf, 100 GiB", "Zipf, 10 GiB")
        for layout in workloads.LAYOUTS
        for kind in ("sudden", "orderly")
    ]
    counted = [run["metrics"]["restart"] for run in stored.values() if "restart" in run["metrics"]]
    assert len(counted) == 8
    for row in found:
        assert row["restarts"] == "2"
        lost = int(row["lost by one in the host"]) + int(row["in the device"])
        assert (lost > 0) == (row["restart"] == "sudden")


def test_what_shadowgc_costs_is_counted_in_its_runs(done: Done) -> None:
    claims = {row["what"]: row for row in rows(done, "claims") if row["exhibit"] == "overheads"}
    for layout in workloads.LAYOUTS:
        sgc = [
            run.metrics
            for name in workloads.WORKLOADS
            for run in done.runs.of(workloads.in_layout(name, layout), "SGC")
        ]
        blocks, valid = (sum(of["fast_blocks"][f"victims_{what}"] for of in sgc) for what in ("blocks", "valid_pages"))
        claim = claims[f"valid pages, of those of the blocks for shadows that GC chose, {layout}"]
        assert blocks > 0
        assert float(claim["here"]) == pytest.approx(valid / (8 * blocks))
    # Two bits for each of 2^23 pages, and in blocks of 8 pages a word for either bit, and four bytes.
    memory = float(claims["memory for the states of shadows, 128 GB in pages of 16 KiB, MB"]["here"])
    assert memory == (2**23 / 8 * (3 * 8 + 4) - 2**23 / 8) / 2**20
    assert claims["messages for notices alone, the most of any run"]["verdict"] == "holds"
    short = claims["WAF under SGC with 5 bytes for notices in a command, over that with 64, at most"]
    assert short["verdict"] == "holds"
    for one in done.runs.experiments(reading.NOTICED):
        usual, five, ten = done.runs.of(one.name)
        sent, more = (run.metrics["host"]["to_device"] for run in (five, ten))
        assert sent["bytes"] == 5 * sent["sent"] == 5 * sent["carrying_commands"]
        assert more["bytes"] == 5 * more["sent"]
        assert more["delay_mean_ns"] <= sent["delay_mean_ns"]
        assert usual.metrics["host"]["to_device"]["bytes"] == 8 * usual.metrics["host"]["to_device"]["sent"]


def test_each_trace_that_is_given_is_a_workload_on_a_device_that_fits_it(tmp_path: Path) -> None:
    files = [str(iolog(tmp_path / f"volume{number}.iolog", number)) for number in range(2)]
    found = {one.name: one for one in workloads.experiments("tiny", tuple(files))}
    assert [found[f"trace-{number + 1}"].title for number in range(2)] == ["volume0", "volume1"]
    assert [found[f"trace-{number + 1}"].trace for number in range(2)] == [(file,) for file in files]
    assert set(found) >= {"pgbench", *workloads.GENERATED}
    footprint = trace.info((files[0],), page="16KiB")["footprint_pages"] * 16384
    flash = workloads.raw_bytes(found["trace-1"].scenario)
    assert flash >= 4 * footprint
    assert flash == workloads.raw_bytes(found["zipf"].scenario) or flash < 4 * footprint + 32 * 16384


def test_a_generators_growth_is_that_of_its_requests(done: Done) -> None:
    for name, percent in {"zipf": None, "volume-10g": 1, "volume-1g": 0.1}.items():
        found = [row for row in rows(done, "figure-1") if row["experiment"] == name]
        assert float(found[-1]["at"]) == round(6_000 * 16384 / 2**30, 2)
        distinct = float(found[-1]["written footprint"])
        assert distinct <= 6_000 * 16384
        if percent is not None:  # written so often that next to no page is left out
            assert distinct == round(6400 * percent / 100) * 16384


def test_the_change_by_footprint_is_that_of_the_runs(done: Done, stored: dict[str, dict[str, Any]]) -> None:
    waf = {}
    usual = next(one for one in workloads.experiments("tiny", ()) if one.name == "zipf").scenario.to_dict()
    for run in stored.values():
        values, metrics = run["scenario"], run["metrics"]
        made_up = values["workload"].get("synthetic") or {}
        same = all(values.get(part) == usual.get(part) for part in ("precondition", "restart", "gc"))
        buffers = values.get("host_buffer", {})
        sizes = buffers.get("size"), buffers.get("dirty_age_max"), values["cache"]["size"]
        if made_up.get("generator", {}).get("name") == "zipf" and sizes == ("32KiB", "30s", "16KiB") and same:
            key = made_up.get("space"), str(values["ftl"]["shared_streams"]), values["cooperation"]["name"]
            waf[key] = sum(metrics["programs_pages"].values()) / to_the_device(metrics)
    spaces = {100: None, 10: "10MiB", 1: "1MiB", 0.1: "96KiB"}
    layouts = {"footprint": "[['host', 'evict', 'gc']]", "footprint-three": "[['host', 'evict']]"}
    compared = 0
    for row in rows(done, "footprint"):
        scheme = SCHEMES.get(row["line"])
        if scheme is None:
            assert (row["line"], row["change of WAF against GGC"]) == ("SGC, paper's mean", "-0.162")
            continue
        space, layout = spaces[float(row["at"])], layouts[row["experiment"]]
        found = waf[space, layout, scheme] / waf[space, layout, "ggc"] - 1
        assert float(row["change of WAF against GGC"]) == pytest.approx(found, rel=1e-12)
        compared += 1
    assert compared == 2 * len(PERCENT) * 4


def test_what_two_experiments_have_in_common_is_run_once(done: Done, stored: dict[str, dict[str, Any]]) -> None:
    keys = [run.key for run in done.runs]
    assert len(set(keys)) == len(stored) < len(keys)


def test_a_block_for_shadows_is_one_of_as_many_spare_blocks_as_the_device_has(done: Done) -> None:
    found = rows(done, "rooms")
    assert [row["spare blocks of a pool"] for row in found] == ["13", "26", "52"]
    for row in found:
        change = float(row["WAF, + separation"]) / float(row["WAF, GGC"]) - 1
        assert show_change(change)[0] == row["change"][0] or abs(change) < 0.002


def test_a_trace_is_replayed_on_a_device_as_large_as_the_papers(tmp_path: Path) -> None:
    file = str(iolog(tmp_path / "volume.iolog", 1))
    found = {one.name: one for one in workloads.experiments("quick", (file,))}["trace-1"]
    assert found.scenario.to_dict()["flash"] == Scenario.load("shadowgc-1t").to_dict()["flash"]
    assert {case.changes["cache.size"] for case in found.cases} == {"131072KiB"}
    assert {case.changes["host_buffer.size"] for case in found.cases} == {"65536KiB", "262144KiB", "1048576KiB"}


def test_a_trace_that_comes_too_fast_or_is_too_short_is_pointed_out(tmp_path: Path) -> None:
    files = [
        iolog(tmp_path / "fast.iolog", 1, pause_us=10),
        iolog(tmp_path / "slow.iolog", 1, pause_us=100_000),
        iolog(tmp_path / "short.iolog", 1, pause_us=100_000, count=60),
    ]
    wanted = [one for one in workloads.experiments("tiny", tuple(map(str, files))) if one.name in workloads.GIVEN]
    warned = reading.about_given(run_all(wanted, tmp_path / "store", 1, None))
    assert [text.split("**")[1] for text in warned] == [
        "fast: its requests come faster than the device serves them.",
        "short is short.",
    ]


def test_the_device_is_the_papers_and_the_small_one_a_sixteenth_of_it() -> None:
    paper, small = (Scenario.load(f"shadowgc-{size}") for size in ("1t", "64g"))
    values = paper.to_dict()
    assert workloads.raw_bytes(paper) == 2**40 == 16 * workloads.raw_bytes(small)
    assert (values["flash"]["page_size"], values["flash"]["pages_per_block"]) == ("16KiB", 512)
    times = [values["timing"][f"page_{name}"] for name in ("read", "program", "program_fast")]
    assert times == ["120us", "600us", "300us"]
    assert values["ftl"]["spare"] == {"share": "7%", "definition": "over_provisioning"}
    assert values["ftl"]["refresh"] == {"fast_retention": "240h", "power_off": "72h", "retention": "8760h"}
    assert values["gc"]["victim"]["name"] == "greedy"
    assert (values["cache"]["size"], values["cache"]["volatile"]) == ("128MiB", True)
    assert values["cache"]["page_read"] == values["cache"]["page_write"] == "20ns"
    assert values["precondition"]["fill"] == "random"
    for part in ("timing", "ftl", "gc", "cooperation"):
        assert small.to_dict()[part] == values[part]


def test_more_traces_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(CoflashError, match="17 traces were given; at most 16 are allowed"):
        workloads.experiments("tiny", ("x",) * 17)
