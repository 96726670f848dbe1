"""The command line: its output streams, its files, and its exit status."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from coflash import demo
from coflash.demo import find_trace
from coflash.results.result import Result
from processes import COFLASH_TELLING, await_line, begin, coflash, interrupt, process

TRACE = str(find_trace())
SMALL = "fio version 3 iolog\n10 d read 4096 8192\n20 d write 1048576 4096\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "demoo"), "demoo"),
        (("run", "demo", "--set", "cache.siz=1MiB"), "cache.siz"),
        (("run", "demo", "--set", "cache.size"), "KEY=VALUE"),
        (("run", "demo", "--trace", "/nowhere/trace"), "/nowhere/trace"),
        (("run", "demo", "--trace", TRACE, "--json", "/nowhere/result.json"), "there is no folder /nowhere"),
        (("run", "demo", "--trace", TRACE, "--out", "/dev/null/results"), "cannot be written"),
        (("scenario", "check", "demoo"), "demoo"),
        (("trace", "info", "/nowhere/trace"), "/nowhere/trace"),
        (("report", "/nowhere", "-o", "/nowhere/report.html"), "there is no folder /nowhere"),
        (("demo", "--out", "/dev/null/results"), "cannot be written"),
        (("sweep", "demo", "--vary", "seed=1", "--seeds", "0"), "--seeds: '0' was given; at least 1 is allowed"),
        (
            ("sweep", "demo", "--vary", "seed=1", "--seeds", "two"),
            "--seeds: 'two' was given; a whole number is allowed",
        ),
        (("tune", "demo", "--over", "a=1..2", "--trials", "-4"), "--trials: '-4' was given; at least 1 is allowed"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line_and_exits_2(arguments: tuple[str, ...], message: str) -> None:
    done = coflash(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line


def test_a_run_writes_its_result_and_json_alone_to_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = str(Path(TRACE).resolve())
    monkeypatch.chdir(tmp_path)
    done = process("run", "demo", "--trace", trace, "--out", str(tmp_path / "run"), "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == Result.load(tmp_path / "run").document
    assert "WAF" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    report = tmp_path / "report.html"
    assert coflash("report", str(tmp_path / "run"), "-o", str(report)).returncode == 0
    assert "waf_host" in report.read_text(encoding="utf-8")
    for command, made in (
        (("report", "run"), "run/report.html"),
        (("report", "run", "--format", "svg"), "run/figures"),
    ):
        assert coflash(*command).stdout.startswith(made), "beside the results that it shows"
        assert (tmp_path / made).exists()


def test_quiet_is_quiet(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = process("run", "demo", "--trace", TRACE, "--json", str(file), "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(file.read_text(encoding="utf-8"))["metrics"]["requests"] == 400_000


def test_quiet_runs_tell_what_of_the_input_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ns,op,offset,size\n0,write,0,4096\n1,writ,x,y\n2,write,8192,4096\n", "utf-8")
    read = ("--read", "columns=auto", "--read", "on_error=skip")
    told = process("run", "demo", "--trace", str(tmp_path / "t.csv"), *read).stderr
    done = process("run", "demo", "--trace", str(tmp_path / "t.csv"), *read, "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    skipped = [line for line in told.splitlines() if "skipped" in line]
    assert skipped and all(line in done.stderr for line in skipped)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ((), "closed loop, 8 outstanding: the times of the trace are ignored"),
        (("replay.mode=open", "replay.time_scale=0.5"), "open loop: at the times of the trace × 0.5"),
    ],
)
def test_how_time_is_replayed_is_said_first_and_beside_the_result(
    settings: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    (tmp_path / "small.iolog").write_text(SMALL, encoding="utf-8")
    options = [option for setting in settings for option in ("--set", setting)]
    trace, file = str(tmp_path / "small.iolog"), str(tmp_path / "result.json")
    done = process("run", "demo", "--trace", trace, "--json", file, *options)
    assert done.stderr.splitlines()[0] == f"demo: {told}"
    assert f"replay    {told}" in done.stdout
    assert json.loads(Path(file).read_text(encoding="utf-8"))["workload"]["replay"] == told
    shown = coflash("scenario", "check", "demo", "--set", f"workload.trace=['{trace}']", *options)
    assert f"; {told}\n" in shown.stdout


def test_a_run_that_is_not_steady_says_so_and_how_to_begin_steady(tmp_path: Path) -> None:
    scenario = tmp_path / "young.toml"
    scenario.write_text(
        "flash = { channels = 1, blocks_per_plane = 256 }\n"
        "workload.synthetic = { requests = 20_000 }\nreplay.mode = 'closed'\n",
        encoding="utf-8",
    )
    young = coflash("run", str(scenario))
    assert "Write amplification was not steady: " in young.stderr
    assert "precondition.until_steady=true" in young.stderr
    steady = coflash("run", str(scenario), "--set", "precondition.until_steady=true", "--json", "-")
    assert "not steady" not in steady.stderr
    assert "the workload's own writes went to flash past the cache, in " in steady.stderr
    document = json.loads(steady.stdout)
    assert document["scenario"]["precondition"]["until_steady"] is True


def test_control_c_ends_a_run_without_a_word_of_python(tmp_path: Path) -> None:
    with begin(*COFLASH_TELLING, "run", "demo", "--trace", TRACE, "--json", str(tmp_path / "r.json")) as running:
        await_line(running.stderr, " replay ")
        _, errors, _ = interrupt(running)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


# Runs a program and sends it Control-C when it is to import a given number of modules after its first one.
INTERRUPTED = """\
import os, runpy, signal, sys
imports = iter(range(int(sys.argv.pop(1))))

def count(event, arguments):
    if event == "import" and hasattr(sys.modules.get("coflash_command"), "main") and next(imports, None) is None:
        print(arguments[0])
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(count)
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("modules", [0, 50, 150, 240])
def test_control_c_while_python_loads_the_package_is_as_quiet(modules: int, tmp_path: Path) -> None:
    installed = str(Path(sys.executable).parent / "coflash")
    command = [sys.executable, "-c", INTERRUPTED, str(modules), installed, "demo", "--out", str(tmp_path / "demo")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout.count("\n") == 1, "it ended at once"
    assert list(tmp_path.iterdir()) == []


def test_the_demo_leaves_a_folder_of_results_and_a_report(tmp_path: Path) -> None:
    done = process("demo", "--quick", "--out", str(tmp_path / "demo"))
    assert done.returncode == 0, done.stderr
    for text in ("no cache", "none", "cdm", "change", "pages copied by GC", "response, p99.9"):
        assert text in done.stdout
    assert {"runs", "report.html"} <= {entry.name for entry in (tmp_path / "demo").iterdir()}
    assert "not steady" not in done.stderr
    assert 'class="remarks"' not in (tmp_path / "demo/report.html").read_text("utf-8"), "nothing limits its answer"
    runs = {place: place.stat().st_mtime_ns for place in (tmp_path / "demo" / "runs").iterdir()}
    assert len(runs) == 9
    again = process("demo", "--quick", "--out", str(tmp_path / "demo"))
    assert again.returncode == 0, again.stderr
    assert {place: place.stat().st_mtime_ns for place in (tmp_path / "demo" / "runs").iterdir()} == runs


def test_the_trace_of_the_demo_is_in_the_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    monkeypatch.setattr(demo, "TRACE", Path("nowhere") / demo.TRACE.name)  # as outside a checkout
    kept = demo.find_trace()
    assert kept.parent == tmp_path
    assert kept.read_bytes() == Path(TRACE).read_bytes()
    assert demo.find_trace() == kept


def test_lists_and_facts_are_there_for_people_and_for_programs() -> None:
    assert "demo" in coflash("scenario", "list").stdout
    assert "demo" in json.loads(coflash("scenario", "list", "--json").stdout)
    assert "size" in coflash("scenario", "show", "demo").stdout
    assert "cdm" in coflash("policies").stdout
    assert json.loads(coflash("policies", "--json").stdout)
    assert json.loads(coflash("scenario", "schema").stdout)["properties"]
    assert "ok" in coflash("scenario", "check", "demo").stdout
    assert "400,000" in coflash("trace", "info", TRACE).stdout
    assert json.loads(coflash("trace", "info", TRACE, "--json").stdout)["requests"] == 400_000


def test_no_command_needs_what_only_extras_bring(tmp_path: Path) -> None:
    """Packages installed for the tests alone are hidden: pyarrow, SciPy, and those for figures, tuning and frames."""
    extras = ["dask", "distributed", "fsspec", "matplotlib", "optuna", "pandas", "polars", "pyarrow", "scipy"]
    without = f"import sys; sys.modules.update(dict.fromkeys({extras})); from coflash.cli import main; main()"
    small = ("--set", "workload.synthetic.requests=200", "--set", "flash.exported=512MiB")
    for command in (
        ("run", "demo", *small, "--out", "runs/one"),
        ("sweep", "demo", *small, "--vary", "cooperation=none,cdm", "--seeds", "2", "--out", "runs/swept"),
        ("results", "list", "--in", "runs"),
        ("results", "sql", "select run, count(*) from series join runs using (run) group by run", "--in", "runs"),
        ("results", "list", "--out", "runs.csv", "--in", "runs"),
        ("results", "list", "--out", "runs.parquet", "--in", "runs"),
        ("report", "runs", "-o", "report.html"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", without, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    rows = list(csv.DictReader((tmp_path / "runs.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 4, "one of them twice"
    assert {row["cooperation.name"] for row in rows} == {"none", "cdm"}
