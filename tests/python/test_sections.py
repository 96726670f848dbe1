"""The display of measures of some systems only: hybrids, write buffers, shadows."""

from __future__ import annotations

import pytest
from rich.console import Console

import coflash
import systems
from coflash.cli.run_tables import keys_left_out
from coflash.measures.catalogue import measure, metric_names
from coflash.measures.measure import CAUSES, Measure, causes
from coflash.measures.sections import SECTIONS, Section, can_act, sections
from coflash.report import Subject
from coflash.report.payload import divided, payload
from coflash.results.tables import run_table, runs_beside, runs_table
from coflash.scenario import flat

CACHE, HOST_BUFFER, HYBRID, SHADOWS = (SECTIONS[path] for path in ("cache", "host_buffer", "hybrid", "shadows"))


@pytest.fixture(scope="module")
def hybrid() -> coflash.Result:
    return coflash.run(systems.HYBRID)


@pytest.fixture(scope="module")
def shadow() -> coflash.Result:
    return coflash.run(systems.SHADOW)


def printed(what: object, width: int = 100) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(what)
    return captured.get().replace("\N{NO-BREAK SPACE}", " ")


def value(section: Section, label: str, result: coflash.Result) -> float:
    found: Measure = next(one for one in section.measures if one.short == label)
    number = found.read(result.metrics)
    assert number is not None
    return number


def test_sections_are_those_of_the_system(
    hybrid: coflash.Result, shadow: coflash.Result, result: coflash.Result
) -> None:
    throughput, endurance = (SECTIONS[path] for path in ("throughput", "endurance"))
    assert sections([hybrid.metrics]) == [throughput, HYBRID, endurance]
    paths = [section.path for section in sections([shadow.metrics])]
    assert paths == ["throughput", "cache", "host_buffer", "shadows", "host", "host.to_device", "endurance"]
    assert sections([result.metrics]) == []
    assert sections([result.metrics, hybrid.metrics]) == [throughput, HYBRID, endurance]
    assert "Flash cache before disks" in printed(run_table(hybrid))
    assert "Flash cache before disks" not in printed(run_table(shadow))
    assert max(map(len, printed(run_table(hybrid), 80).splitlines())) <= 80


def test_a_key_can_act_where_its_part_is(hybrid: coflash.Result, shadow: coflash.Result) -> None:
    bare = coflash.run({"flash": {"blocks_per_plane": 64}, "workload": {"synthetic": {"requests": 10}}}).metrics
    for key, expected in {
        "cooperation.name": (False, False, True),
        "cache.policy.name": (False, False, True),
        "host_buffer.size": (False, False, True),
        "hybrid.scheme.name": (False, True, False),
        "gc.victim.name": (True, True, True),
        "seed": (True, True, True),
    }.items():
        assert tuple(can_act(key, metrics) for metrics in (bare, hybrid.metrics, shadow.metrics)) == expected, key


def test_what_a_section_reads_is_measured() -> None:
    paths = [each.path for section in SECTIONS.values() for each in section.measures if each.path]
    assert set(paths) <= set(metric_names())
    assert all(measure(path).label for path in paths)


def test_no_metric_has_the_path_of_a_key() -> None:
    """Tables of results have a column for each of both."""
    for scenario in (*map(coflash.Scenario.load, coflash.built_in_scenarios()), systems.HYBRID, systems.SHADOW):
        assert not flat(scenario.to_dict()).keys() & set(metric_names())


def test_a_hybrid_accounts_for_its_pages(hybrid: coflash.Result) -> None:
    metrics, cache = hybrid.metrics, hybrid.metrics.cache
    through = metrics.host_reads_pages - metrics.hybrid.bypassed_reads_pages
    assert value(HYBRID, "read hits", hybrid) == cache.read_hits / through
    assert 0 < value(HYBRID, "disk utilisation", hybrid) <= 1
    transfers = metrics.hybrid.disk_read_transfers + metrics.hybrid.disk_write_transfers
    assert value(HYBRID, "disk service, mean", hybrid) == pytest.approx(metrics.hybrid.disk_time_ns / transfers)
    for shares in zip(*HYBRID.courses(metrics).values(), strict=True):
        assert sum(shares) == pytest.approx(1)
        assert all(0 <= share <= 1 for share in shares)
    at_ns, clean, dirty, allowed = divided(metrics, 48)
    assert len(at_ns) <= 49
    assert at_ns[-1] == pytest.approx(metrics.hybrid["sizes"][-1]["at_ns"])
    assert clean[-1] == pytest.approx(HYBRID.courses(metrics)["read cache"][-1])
    assert ((clean + dirty <= 1) & (allowed <= 1)).all()


def test_write_buffers_account_for_their_pages(shadow: coflash.Result) -> None:
    metrics = shadow.metrics
    for section in (HOST_BUFFER, CACHE):
        reasons = ("cache full", "dirty for long", "too much dirty", "flushed")
        parts = sum(value(section, f"written back, {reason}", shadow) for reason in reasons)
        assert parts == value(section, "pages written back", shadow) > 0
        assert value(section, "written back, flushed", shadow) > 0
    labels = ("writes absorbed", "pages written back", "still dirty at the end")
    assert sum(value(HOST_BUFFER, label, shadow) for label in labels) == metrics.host_writes_pages
    # The fate of each dirty page.
    became = sum(value(CACHE, label, shadow) for label in labels)
    became += value(SHADOWS, "pages moved from the buffer", shadow)
    became += value(SHADOWS, "twins let go without a program", shadow)
    assert became == metrics.host_buffer.written_pages
    moved = value(SHADOWS, "pages moved", shadow)
    assert moved == metrics.programs_pages.gc + metrics.programs_pages.refresh > 0
    shares = [each.share(metrics) for each in SHADOWS.measures if each.label.startswith("pages moved, ")]
    assert sum(share or 0 for share in shares) == pytest.approx(1)


def test_what_enters_a_hybrid_is_no_eviction(hybrid: coflash.Result, result: coflash.Result) -> None:
    assert causes([result.metrics]) == CAUSES
    assert causes([hybrid.metrics])["evict"] == "fills from disk"
    assert causes([hybrid.metrics, result.metrics])["evict"] == "cache evictions, fills from disk"
    assert "fills from disk" in printed(run_table(hybrid))
    assert "cache evictions" not in printed(run_table(hybrid))


def test_runs_beside_each_other_have_the_sections_of_any(
    hybrid: coflash.Result, shadow: coflash.Result, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("runs")
    hybrid.save(place / "hybrid")
    shadow.save(place / "shadow")
    found = coflash.results(place)
    text = printed(runs_beside(found, ["hybrid", "shadow"]), 120)
    for title in (HYBRID.title, SHADOWS.title):
        assert title in text
    assert "waf_host" not in text
    few = printed(runs_beside(found, ["hybrid", "shadow"], [measure("host.to_device.posted")]), 120)
    row = next(line for line in few.splitlines() if "notices, notices to the device" in line)
    assert row.split()[-2:] == ["–", f"{shadow.metrics.host.to_device.posted:,}"]
    assert HYBRID.title not in few
    cells = next(line for line in text.splitlines() if line.strip().startswith("write hits")).split()
    assert cells[-1] == "–", "a write buffer's cache is no hybrid's"
    # Their names tell them apart; the number of other keys that differ is said, and the keys are not shown.
    (row,) = (line for line in printed(runs_table(found, [measure("waf_host")])).splitlines() if line[:6] == "shadow")
    assert row.split()[:2] == ["shadow", "shadowgc-64g"]
    assert keys_left_out(found).endswith("differ with name (coflash compare shows all)")
    assert measure("programs_pages.refresh").read(hybrid.metrics) == 0


def test_the_report_and_the_notebook_have_them(
    hybrid: coflash.Result, shadow: coflash.Result, result: coflash.Result
) -> None:
    data = payload(Subject([result, hybrid, shadow]))
    assert [section["title"] for section in data["sections"]] == [
        one.title for one in sections([hybrid.metrics, shadow.metrics])
    ]
    measures = next(part["measures"] for part in data["sections"] if part["title"] == HYBRID.title)
    hits = next(row for row in measures if row["label"] == "read hits")
    assert hits["values"][0] is None and hits["values"][2] is None
    assert 0 < hits["values"][1] < 1
    assert "sections" in data and not payload(Subject([result]))["sections"]
    for run, title in ((hybrid, HYBRID.title), (shadow, SHADOWS.title)):
        assert title in run._repr_html_()
    assert "read cache, at the end" in hybrid._repr_html_()
    assert "read cache, at the end" not in shadow._repr_html_()
