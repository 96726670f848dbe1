"""Generated workloads: written as traces, fitted to traces, named by scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import coflash
from coflash import trace
from coflash.cli import app
from coflash.demo import find_trace

RECORDED = find_trace()
DEVICE = {"flash.blocks_per_plane": 256, "flash.pages_per_block": 32, "flash.channels": 2}
PUT_TOGETHER = """
[flash]
blocks_per_plane = 256
pages_per_block = 32
channels = 2

[[workload.phases]]
name = "fill"
synthetic = { generator = "sequential", requests = 2000 }

[[workload.phases]]
[[workload.phases.tenants]]
synthetic = { generator = "zipf", requests = 3000, read_share = "40%", arrival = "poisson" }
[[workload.phases.tenants]]
preset = { name = "jesd219-enterprise", requests = 1000 }
"""


def cli(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["trace", *arguments], env={"COLUMNS": "200"})
    if isinstance(done.exception, coflash.CoflashError):
        return 2, done.stdout, str(done.exception)
    return done.exit_code, done.stdout, done.stderr


def described(scenario: coflash.Scenario, files: list[str] | None = None) -> dict[str, object]:
    """The counts of a run, which are the same for the same requests."""
    return dict(coflash.run(scenario, files or ()).document["metrics"])


@pytest.mark.parametrize(
    "workload",
    [
        "",
        '[workload.synthetic]\ngenerator = "zipf"\nrequests = 5000\narrival = "poisson"\n',
        '[workload]\nrequests_max = 3000\npreset = "jesd219-enterprise"\n',
        "[workload.disksim]\nrequests = 3000\nspace = '8MiB'\n",
        PUT_TOGETHER,
    ],
)
def test_what_is_written_is_what_a_run_is_given(workload: str, tmp_path: Path) -> None:
    changes = {**DEVICE, "workload.requests_max": 20_000, "replay.mode": "open"}  # a trace has times, if all are zero
    scenario = coflash.Scenario.from_toml(workload).with_(changes).with_(seed=7)
    out = tmp_path / "t.parquet"
    written = trace.generate(scenario, out)
    assert described(scenario) == described(scenario, [str(out)])
    other = tmp_path / "other.parquet"
    trace.generate(scenario, other, seed=8)
    # The reference simulator's generator has seeds of its own.
    assert (trace.head(out, 20_000) == trace.head(other, 20_000)) == ("disksim" in workload)
    assert written["requests"] == coflash.run(scenario).metrics.requests


@pytest.mark.parametrize(
    "name", ["uniform", "sequential", "mixed", "zipf", "hot-cold", "runs", "reuse-flows", "kv-cache", "disksim"]
)
def test_any_generator_is_written(name: str, tmp_path: Path) -> None:
    out = tmp_path / "t.iolog.zst"
    assert trace.generate(name, out, requests=100)["requests"] == 100
    assert trace.info(out)["requests"] == 100


def test_every_ready_made_workload_is_written_and_a_substitute_says_so_to_the_end(tmp_path: Path) -> None:
    family = next(family for family in coflash.policies() if family.key == "workload.preset")
    for policy in family.policies:
        out = tmp_path / f"{policy.name}.parquet"
        written = trace.generate(policy.name, out, requests=1000)
        is_substitute = policy.name == "jedec-client"
        assert any("substitute" in remark for remark in written["remarks"]) == is_substitute
        # Also when the trace is replayed, converted, or read from the file alone.
        replayed = coflash.run(coflash.Scenario.load("demo").with_(workload__remap="dense"), out)
        assert any("substitute" in remark for remark in replayed.workload["remarks"]) == is_substitute
        again = trace.convert(out, tmp_path / "again.parquet")
        assert again["remarks"] == written["remarks"] == trace.info(tmp_path / "again.parquet")["remarks"]
    scenario = coflash.Scenario.load("demo").with_(
        {"workload.preset": {"name": "jedec-client", "space": "1GiB", "requests": 1000}, "workload.trace": []}
    )
    assert "substitute" in coflash.run(scenario).workload["description"]


def test_settings_requests_seed_and_space_are_obeyed(tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    settings = {"generator.exponent": 0.9, "read_share": "100%", "size": {"name": "fixed", "size": "8KiB"}}
    trace.generate("zipf", out, settings, requests=500, space="1GiB")
    found = trace.info(out)
    assert (found["requests"], found["read"]["requests"], found["read"]["bytes"]) == (500, 500, 500 * 8192)
    assert found["address_end"] <= 2**30
    first = trace.head(out, 500)
    trace.generate("zipf", out, settings, requests=500, space="1GiB", seed=1)
    assert not np.array_equal(first["offset_bytes"], trace.head(out, 500)["offset_bytes"])
    code, said, _ = cli(
        "generate",
        "uniform",
        "--set",
        "read_share=30%",
        "--set",
        "generator.name=zipf",
        "--requests",
        "100",
        "-o",
        str(out),
    )
    assert code == 0
    assert "parquet, 100 requests" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("zpf",), 'no workload "zpf"; did you mean "zipf"?'),
        (
            ("zipf", "--set", "generator.exponnt=1"),
            'workload.synthetic.generator.exponnt: no such key; did you mean "exp',
        ),
        (("zipf", "--set", "read_share"), "write KEY=VALUE"),
        (("demo", "--set", "workload.trace=['t']"), "workload: it is a trace already: coflash trace convert"),
        (("jedec-client", "--space", "1GiB"), "preset.space: "),
        (("uniform", "--space", "1GB1"), "space: "),
        (("uniform", "--space", "0B"), "space: 0B was given; at least 1B is allowed"),
        (("nowhere.toml",), "nowhere.toml: "),
    ],
)
def test_a_workload_that_cannot_be_is_named(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    code, said, problem = cli("generate", *arguments, "-o", str(tmp_path / "t.parquet"))
    assert (code, said) == (2, "")
    assert message in problem
    assert list(tmp_path.iterdir()) == []


def test_a_workload_like_a_trace_is_the_same_wherever_it_is_named(tmp_path: Path) -> None:
    part = tmp_path / "part.parquet"
    trace.slice(RECORDED, part, count=20_000)
    as_trace, as_scenario = tmp_path / "like.parquet", tmp_path / "like.toml"
    found = trace.like(part, as_trace, seed=3)
    assert found["original"]["requests"] == 20_000 <= found["written"]["requests"] == found["fitted"]["requests"]
    for op in ("read", "write"):
        assert found["fitted"][op]["bytes"] == pytest.approx(found["original"][op]["bytes"], rel=0.1)
    assert found["fitted"]["footprint_pages"] == pytest.approx(found["original"]["footprint_pages"], rel=0.1)
    for cache in ("without_cache", "cache_of_1_percent", "cache_of_10_percent"):
        original, fitted = found["original"][cache], found["fitted"][cache]
        assert fitted["waf_host"] == pytest.approx(original["waf_host"], rel=0.5)
        assert fitted["read_hits_share"] == pytest.approx(original["read_hits_share"], abs=0.1)
    trace.like(part, as_scenario, seed=3)
    device = {"flash.blocks_per_plane": 3000, "precondition.fill": "none", "precondition.random_passes": 0.0}
    of_file = coflash.Scenario.load(as_scenario).with_(device)
    assert of_file.to_dict()["workload"]["synthetic"] == found["workload"]
    named = coflash.Scenario.from_toml("seed = 3").with_({**device, "workload.like": [str(part)]})
    result = coflash.run(named)
    assert dict(result.document["metrics"]) == described(of_file) == described(of_file, [str(as_trace)])
    assert result.workload["inputs"][0]["bytes"] == part.stat().st_size
    assert f"like the trace {part}" in result.workload["description"]


def test_the_comparison_is_shown(tmp_path: Path) -> None:
    small = tmp_path / "t.iolog"
    small.write_text("fio version 3 iolog\n" + "".join(f"{i} d write {i % 7 * 4096} 4096\n" for i in range(100)))
    out = tmp_path / "more.parquet"
    code, said, _ = cli("like", str(small), "-o", str(out), "--requests", "250")
    assert code == 0
    rows = {line.split("  ")[0]: line.split() for line in said.splitlines()}
    assert rows["requests"][1] == "100"
    assert 95 <= int(rows["requests"][2]) <= 100
    assert rows["write size p50"][3:7] == ["4", "KiB", "4", "KiB"]
    assert "more.parquet: 250 requests" in said
    assert trace.info(out)["requests"] == 250
    code, said, _ = cli("like", str(small), "--json")
    assert set(json.loads(said)) == {"workload", "original", "fitted", "remarks"}


def test_a_sweep_over_a_workload_like_a_trace_knows_it_by_its_content(tmp_path: Path) -> None:
    part, moved = tmp_path / "part.parquet", tmp_path / "moved.parquet"
    trace.slice(RECORDED, part, count=3000)
    moved.write_bytes(part.read_bytes())
    scenario = coflash.Scenario.from_toml('[flash]\nblocks_per_plane = 3000\n[precondition]\nfill = "none"\n')
    keys = []
    for file in (part, moved):
        found = coflash.sweep(
            scenario.with_({"workload.like": [str(file)]}), {"cache.size": ["0B", "1MiB"]}, out=tmp_path / "runs"
        )
        keys.append([job.key for point in found.points for job in point.jobs])
        assert not found.failures
    assert keys[0] == keys[1]
    assert found.from_before == 2
    with pytest.raises(coflash.CoflashError, match="there only once"):
        coflash.sweep(scenario, {"cache.size": ["0B"]}, "-", out=tmp_path / "runs")
