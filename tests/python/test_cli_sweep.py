"""The commands for many runs, as users run them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from processes import coflash
from sweeps import SMALL


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("scenario") / "small.toml"
    file.write_text(SMALL.to_toml(), encoding="utf-8")
    return str(file)


def test_sweep_then_look_compare_query_and_export(scenario: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    vary = ("--vary", "cache.size=1MiB..2MiB*2", "--vary", "cooperation.name=none,cdm", "--seeds", "2")
    done = coflash("sweep", scenario, *vary, "--out", out, "--json", "-", "--measure", "response.p99")
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]
    assert [point["values"]["cache.size"] for point in points] == ["1MiB", "1MiB", "2MiB", "2MiB"]
    assert points[0]["measures"]["response_ns.all.p99"]["runs"] == 2
    assert "±" in done.stderr
    assert "8/8" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    again = coflash("sweep", scenario, *vary, "--out", out)
    assert "8 runs, 8 of them from before" in again.stdout
    one, other = (point["runs"][0] for point in points[:2])
    listed = coflash("results", "list", "--in", out)
    assert one[:8] in listed.stdout
    assert one not in listed.stdout
    assert "cooperation.name" in listed.stdout
    every = ("results", "sql", "select * from runs", "--in", out)
    shown = coflash("results", "list", "--in", out, COLUMNS="40"), coflash(*every, COLUMNS="80")
    for narrow, row in zip(shown, (["cache.size", "1MiB"], ["cache.size_bytes", "1048576"]), strict=True):
        lines = narrow.stdout.splitlines()  # rows became columns, and nothing is left out
        assert all(word in narrow.stdout for word in (one[:8], "cooperation.name", *row, "p99"))
        assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == row for line in lines)
    assert "none" not in coflash("results", "list", "--in", out, "--where", "cooperation=cdm").stdout
    ones = ("--where", "cache.size=1024KiB", "--where", "seed=1")
    chosen = coflash("results", "list", "--in", out, *ones, "--format", "json")
    assert {(run["cache.size"], run["seed"]) for run in json.loads(chosen.stdout)} <= {("1MiB", 1)}
    for where, message in {
        "cache.siz=1MiB": "where: cache.siz: no run has this key; did you mean cache.size?",
        "cooperation=cdn": 'did you mean "cdm"?',
        "cache.size": "KEY=VALUE is allowed",
    }.items():
        refused = coflash("results", "list", "--in", out, "--where", where)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr
    means = coflash("results", "list", "--in", out, "--seeds", COLUMNS="80").stdout
    assert means.count("±") == 12  # none is cut off
    beside = coflash("compare", "--in", out, "--where", "cache.size=1MiB", "--seeds", COLUMNS="60")
    assert max(map(len, beside.stdout.splitlines())) <= 60
    assert "cooperation.name" in beside.stdout
    # The baseline comes first, here as in the table of all runs.
    choice = ("compare", "--in", out, "--where", "cache.size=1MiB")
    (schemes,) = (line for line in coflash(*choice).stdout.splitlines() if "cooperation.name" in line)
    assert schemes.split() == ["cooperation.name", "none", "none", "cdm", "cdm"]
    apart = coflash(*choice, "--intervals", "--measure", "waf_host").stdout.splitlines()
    assert "from none" in apart[0]
    assert apart[2].split()[0] == "cdm"
    assert coflash("compare", "--in", out).returncode == 2
    whole = coflash("compare", out, "--where", "cache.size=1MiB", COLUMNS="200").stdout
    assert whole == coflash(*choice, COLUMNS="200").stdout, "a folder of many is compared as a whole"
    lines = coflash("compare", out, COLUMNS="400").stdout.splitlines()
    (schemes,) = (line for line in lines if "cooperation.name" in line)
    assert schemes.count("none") == schemes.count("cdm") == 4
    page = coflash("report", out, "-o", str(tmp_path / "page.html"), "--where", "cooperation=cdm")
    assert page.returncode == 0, page.stderr
    assert "Only runs with cooperation=cdm." in (tmp_path / "page.html").read_text("utf-8")
    assert "--over: has no effect on a page" in coflash("report", out, "--over", "cache.size").stderr
    assert len(json.loads(coflash("results", "list", "--in", out, "--format", "json").stdout)) == 8
    assert "WAF" in coflash("results", "show", one[:8], "--in", out).stdout
    compared = coflash("compare", one, other, "--in", out)
    assert "change" in compared.stdout
    assert "cdm" in compared.stdout
    # Over the seeds, as in the table of the sweep.
    intervals = re.compile(r"[0-9.]+ \w+ ± [0-9.]+\s%")
    p99 = intervals.findall(done.stderr)
    assert len(p99) == 4
    together = coflash("results", "list", "--seeds", "--measure", "response.p99", "--in", out)
    assert sorted(intervals.findall(together.stdout)) == sorted(p99)
    beside = coflash("compare", one, other, "--seeds", "--measure", "response.p99", "--in", out)
    assert intervals.findall(beside.stdout) == p99[:2]
    queried = coflash("results", "sql", 'select "cache.size", count(*) from runs group by 1', "--in", out)
    assert "1MiB" in queried.stdout
    # A user's text is never markup and no picture, not even if JSON had no number for it.
    asked = ("results", "sql", "select '[/red] :x: [b]bold[/b]' as \":x:\", 'nan'::double as gap", "--in", out)
    assert all(word in coflash(*asked).stdout for word in ("[/red] :x: [b]bold[/b]", ":x:"))
    assert json.loads(coflash(*asked, "--format", "json").stdout) == [{":x:": "[/red] :x: [b]bold[/b]", "gap": None}]
    assert coflash("results", "list", "--out", str(tmp_path / "all.csv"), "--in", out).returncode == 0
    assert (tmp_path / "all.csv").read_text("utf-8").count("\n") == 9


def test_runs_that_fail_give_exit_status_1_and_the_others_their_results(scenario: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    done = coflash("sweep", scenario, "--vary", "ftl.spare.share=1%,20%", "--out", out)
    assert done.returncode == 1
    assert "failed: ftl.spare.share=1%" in done.stderr and done.stderr.endswith("1 run failed, see above\n")
    quiet = coflash("sweep", scenario, "--vary", "ftl.spare.share=1%,20%", "--out", out, "-q")
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert "\n1 run failed; the first: ftl.spare.share=1%: " in quiet.stderr
    assert quiet.stderr.startswith("note: Write amplification was not steady: "), "what numbers mean is no progress"
    assert "too small" in coflash("results", "list", "--in", out).stderr


def test_tune_says_what_is_best(scenario: str, tmp_path: Path) -> None:
    arguments = ("--over", "cache.size=1MiB..8MiB", "--minimise", "response.p99", "--trials", "4")
    done = coflash("tune", scenario, *arguments, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "best:    --set cache.size=" in done.stdout
    assert "4 trials, 0 failed" in done.stdout
    never = coflash("tune", scenario, *arguments, "--subject-to", "waf_host<0.001", "--out", str(tmp_path / "out"))
    assert never.returncode == 0, never.stderr
    assert "0 with waf_host<0.001; 4 break waf_host<0.001, by " in never.stdout
    assert "\nclosest: --set cache.size=" in never.stdout
    assert " ✗ +" in never.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "demo", "--vary", "cache.size"), "KEY=VALUES"),
        (("sweep", "demo", "--vary", "cache.siz=1MiB"), "cache.siz"),
        (("sweep", "demo", "--vary", "cache.size=64MiB..1GiB"), "add a step"),
        (("sweep", "demo", "--vary", "seed=1..2", "--measure", "p99"), 'no measure "p99"'),
        (("sweep", "demo", "--vary", "seed=1..2", "--trace", "/nowhere"), "/nowhere: no such file"),
        (("tune", "demo", "--over", "seed=1..2"), "minimise"),
        (("results", "list", "--in", "/nowhere"), "/nowhere"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line_and_exits_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = coflash(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_one_scenario_runs_with_several_seeds_and_no_axis(scenario: str, tmp_path: Path) -> None:
    done = coflash("sweep", scenario, "--seeds", "3", "--out", str(tmp_path / "out"), "--measure", "waf_host")
    assert done.returncode == 0, done.stderr
    assert "±" in done.stdout and "3 runs" in done.stderr + done.stdout
    refused = coflash("sweep", scenario, "--out", str(tmp_path / "none"))
    assert refused.returncode == 2 and "or --seeds N for one scenario" in refused.stderr


READ_SHARE = "workload.synthetic.read_share"


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("run", f"--set {READ_SHARE}=30%"),
        ("sweep", f"--seeds 2 --set {READ_SHARE}=30%"),
        ("sweep", f"--vary {READ_SHARE}=30%,20%"),
        ("tune", f"--minimise waf_host --over {READ_SHARE}=30%,20%"),
        ("advise", f"--set {READ_SHARE}=30%"),
        ("size", f"--goal waf_host<2 --set {READ_SHARE}=30%"),
    ],
)
def test_a_key_that_a_trace_takes_the_place_of_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("time_ns,op,offset_bytes,size_bytes\n0,W,0,4096\n9,W,4096,4096\n", encoding="utf-8")
    given = ["one.csv"] if command == "size" else ["demo", "--trace", "one.csv"]
    done = coflash(command, *given, *option.split())
    assert done.returncode != 0
    said = f"{READ_SHARE}: has no effect beside a trace or a workload by name; `coflash trace generate "
    assert said in done.stdout + done.stderr
    assert not [*tmp_path.rglob("result.json")]
