"""What is written over: an older result of the same run, and nothing else without a word."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

import coflash
from coflash import CoflashError, Scenario
from coflash._core import REVISION
from coflash.demo import find_trace
from coflash.report import Subject, write_report
from coflash.results.identity import Identity
from coflash.runs.inputs import inputs_of
from coflash.sweep.plan import Plan, named_revision
from processes import coflash as command_line
from processes import process
from sweeps import SMALL

LINE = "128166372003061629,usr,0,Write,0,4096,100\n"
DEVICE = Scenario.from_dict({"flash": SMALL.to_dict()["flash"]})
"""A scenario without a workload."""
DEMO_TRACE = find_trace().resolve()
FEW = ("--set", "workload.synthetic.requests=100")


@pytest.fixture(params=["folder", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder that does not exist yet, by its path and by a URL."""
    return f"{tmp_path}/out" if request.param == "folder" else f"local://{tmp_path}/out"


def held(place: str) -> bytes:
    """The document of the result that is there."""
    system, root = fsspec.core.url_to_fs(place)
    content: bytes = system.cat(f"{root}/result.json")
    return content


def test_the_result_of_another_run_is_not_replaced_without_a_word(place: str, tmp_path: Path) -> None:
    trace, copied = tmp_path / "trace.csv", tmp_path / "copied.csv"
    trace.write_text(LINE, encoding="utf-8")
    shutil.copy(trace, copied)
    first = ("run", "demo", "--trace", str(trace), "--out", place)
    assert command_line(*first).returncode == 0
    assert command_line(*first).returncode == 0, "the same run again"
    assert command_line("run", "demo", "--trace", str(copied), "--out", place).returncode == 0, "content is compared"
    before = held(place)
    trace.write_text(LINE.replace("4096", "8192"), encoding="utf-8")
    seed = ("--trace", str(copied), "--set", "seed=7")
    for other in (("demo", "--trace", str(trace)), ("demo", *seed), ("random-5g", *FEW)):
        refused = command_line("run", *other, "--out", place)
        assert refused.returncode == 2
        assert f'{place}: holds the result of another run, of scenario "demo"' in refused.stderr
        assert "--force to replace it" in refused.stderr
        assert "closed loop" not in refused.stderr, "it was refused before the run"
        assert held(place) == before
    assert command_line("run", "random-5g", *FEW, "--out", place, "--force").returncode == 0
    assert b"random-5g" in held(place)
    assert "--force: has no effect without --out" in command_line("run", "demo", *FEW, "--force").stderr


def test_a_trace_from_standard_input_is_compared_after_the_run(tmp_path: Path) -> None:
    first = ("run", "demo", "--trace", "-", "--out", str(tmp_path / "out"))
    assert process(*first, stdin=LINE).returncode == 0
    assert process(*first, stdin=LINE).returncode == 0, "the same run again"
    refused = process(*first, stdin=LINE.replace("4096", "8192"))
    assert refused.returncode == 2 and "holds the result of another run" in refused.stderr
    assert "WAF" in refused.stdout, "the measures of the run are shown"
    before = process("run", "random-5g", "--trace", "-", "--out", str(tmp_path / "out"), stdin="")
    assert "holds the result of another run" in before.stderr, "another scenario is refused before the run"


def test_python_replaces_no_other_result_either(place: str) -> None:
    result, other = coflash.run(SMALL), coflash.run(SMALL.with_(seed=9))
    result.save(place)
    result.with_document({**result.document, "coflash": "9.9.9"}).save(place)
    assert b"9.9.9" in held(place), "another version replaces its older result"
    with pytest.raises(CoflashError, match="holds the result of another run"):
        other.save(place)
    other.save(place, force=True)
    assert held(place) == other.to_json().encode()


def test_a_run_is_the_same_as_in_a_sweep(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(LINE, encoding="utf-8")
    jobs = tmp_path / "one.fio"
    jobs.write_text("[one]\nrw=write\nsize=1m\n", encoding="utf-8")
    for scenario, traces in (
        (SMALL, ()),
        (SMALL, [str(trace)]),
        (SMALL.replaying([str(trace)]), ()),
        (DEVICE.with_(workload__fio=str(jobs)), ()),
        (DEVICE.with_(workload__like=[str(trace)]), ()),
    ):
        ((job,),) = [point.jobs for point in Plan.of(scenario, inputs_of(scenario, traces), [()], 1).points]
        identity = Identity.of_result(coflash.run(scenario, traces).document)
        assert identity.inputs is not None
        parts = [identity.scenario, *identity.inputs, named_revision(REVISION)]
        assert hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] == job.key


RUN, GENERATE = ("run", "demo", "--trace", "source.csv", "--quiet"), ("trace", "generate", "zipf", "--requests", "100")
WRITERS = {
    "result.json": (*RUN, "--json"),
    "fio.json": (*RUN, "--output-format", "fio-json", "--json"),
    "sweep.json": ("sweep", "small.toml", "--vary", "seed=1", "--out", "results", "--quiet", "--json"),
    "operations.parquet": (*RUN, "--operations"),
    "decisions.parquet": (*RUN, "--decisions"),
    "warm": ("warm", "demo", "--out"),
    "page.html": ("report", "results", "--out"),
    "runs.csv": ("results", "list", "--in", "results", "--out"),
    "runs.json": ("results", "list", "--in", "results", "--out"),
    "runs.parquet": ("results", "sql", "select run from runs", "--in", "results", "--out"),
    "like.toml": ("trace", "like", "source.csv", "--out"),
    "figure.png": ("trace", "info", "source.csv", "--plot"),
    "figure.svg": ("trace", "info", "source.csv", "--plot"),
    "figure.pdf": ("trace", "info", "source.csv", "--plot"),
    "trace.parquet": (*GENERATE, "--out"),
    "trace.arrow": (*GENERATE, "--out"),
    "trace.iolog": (*GENERATE, "--out"),
    "trace.iolog.zst": (*GENERATE, "--out"),
}
"""The commands that write a file, by its name, which they take at their end."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with what the commands read."""
    monkeypatch.chdir(tmp_path)
    Path("source.csv").write_text(LINE, encoding="utf-8")
    Path("small.toml").write_text(SMALL.to_toml(), encoding="utf-8")
    coflash.run(SMALL).save("results/a")
    return tmp_path


@pytest.mark.parametrize("name", WRITERS)
def test_a_command_writes_over_its_own_file_and_no_other(name: str, here: Path) -> None:
    command, file = (*WRITERS[name], name), here / name
    for _ in range(2):
        written = command_line(*command)
        assert written.returncode == 0, written.stderr
    for content in (LINE.encode(), b"\x28\xb5\x2f\xfd\0 no frame", DEMO_TRACE.read_bytes()):
        file.write_bytes(content)
        refused = command_line(*command)
        assert refused.returncode == 2
        assert f"{file}: exists and is not a" in refused.stderr
        assert "delete it or name another" in refused.stderr
        assert file.read_bytes() == content
    file.write_bytes(b"")
    assert command_line(*command).returncode == 0, "an empty file is nobody's"


def test_tables_of_another_kind_are_not_written_over(here: Path) -> None:
    assert command_line(*WRITERS["operations.parquet"], "operations.parquet").returncode == 0
    assert command_line(*WRITERS["trace.parquet"], "trace.parquet").returncode == 0
    for name, other in (("operations.parquet", "trace.parquet"), ("trace.parquet", "operations.parquet")):
        before = (here / other).read_bytes()
        assert "exists and is not" in command_line(*WRITERS[name], other).stderr
        assert (here / other).read_bytes() == before


def test_an_input_is_never_written_over(here: Path) -> None:
    assert command_line(*GENERATE, "--out", "own.parquet").returncode == 0
    Path("link.parquet").symlink_to("own.parquet")
    Path("own.toml").write_text('workload.trace = ["own.parquet"]\n', encoding="utf-8")
    before = (here / "own.parquet").read_bytes()
    for command in (
        ("trace", "convert", "own.parquet", "--out", "own.parquet"),
        ("trace", "slice", "own.parquet", "--requests", "1", "--out", "link.parquet"),
        ("trace", "merge", "source.csv", "own.parquet", "--out", "./own.parquet"),
        ("trace", "like", "own.parquet", "--out", "own.parquet"),
        ("trace", "generate", "own.toml", "--out", "own.parquet"),
        ("run", "demo", "--trace", "own.parquet", "--operations", "own.parquet"),
    ):
        refused = command_line(*command)
        assert refused.returncode == 2
        assert "own.parquet: is an input of the same command; name another file" in refused.stderr
        assert (here / "own.parquet").read_bytes() == before


def test_python_writes_over_no_file_of_a_user_either(here: Path) -> None:
    device = coflash.warm(SMALL)
    writers: tuple[Callable[[], object], ...] = (
        lambda: device.save("source.csv"),
        lambda: coflash.warm(SMALL, "source.csv"),
        lambda: coflash.run(SMALL, operations="source.csv"),
        lambda: coflash.trace.generate("zipf", "source.csv", format="parquet"),
        lambda: coflash.results("results").export(here / "source.csv"),
    )
    for write in writers:
        with pytest.raises(CoflashError, match=r"source\.csv: exists and is not a"):
            write()
        assert Path("source.csv").read_text(encoding="utf-8") == LINE
    page = here / "page.html"
    page.write_text(LINE, encoding="utf-8")
    with pytest.raises(CoflashError, match=r"page\.html: exists and is not a"):
        write_report(Subject.read([here / "results"]), page)
    assert page.read_text(encoding="utf-8") == LINE


def test_json_does_not_replace_the_document_of_a_saved_result(here: Path) -> None:
    before = (here / "results/a/result.json").read_bytes()
    refused = command_line(*RUN, "--json", "results/a/result.json")
    assert "results/a/result.json: belongs to the saved result in " in refused.stderr
    assert (here / "results/a/result.json").read_bytes() == before


def test_no_output_replaces_a_table_of_a_saved_result(here: Path) -> None:
    table = here / "results/a/series.parquet"
    before = table.read_bytes()
    with pytest.raises(CoflashError, match=r"series\.parquet: belongs to the saved result in "):
        coflash.run(SMALL, operations=table)
    assert table.read_bytes() == before


def test_two_outputs_are_two_files(here: Path) -> None:
    for options in (("--operations", "one", "--decisions", "./one"), ("--json", "one", "--operations", "one")):
        refused = command_line(*RUN, *options)
        assert refused.returncode == 2
        assert "one: is named for 2 outputs; each needs a file of its own" in refused.stderr
        assert not (here / "one").exists()


def test_a_table_of_a_user_is_none_of_coflash(here: Path) -> None:
    (here / "measured.csv").write_text("load,p99_us\n1,2\n", encoding="utf-8")
    refused = command_line("results", "list", "--out", "measured.csv", "--in", "results")
    assert refused.returncode == 2
    assert "measured.csv: exists and has other columns; delete it or name another" in refused.stderr
    assert (here / "measured.csv").read_text(encoding="utf-8") == "load,p99_us\n1,2\n"


def test_a_result_that_is_not_whole_is_made_whole(here: Path) -> None:
    result, document = coflash.run(SMALL), here / "results/a/result.json"
    document.unlink()
    result.save("results/a")
    assert document.exists()
    document.write_text("{", encoding="utf-8")
    with pytest.raises(CoflashError, match="is no result of coflash"):
        result.save("results/a")
    result.save("results/a", force=True)
    assert coflash.Result.load("results/a").document["scenario_hash"] == SMALL.hash


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT TESTED: this system has no pipes with names")
def test_a_pipe_is_written_to_and_its_reader_lives(here: Path) -> None:
    pipe = here / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([shutil.which("cat") or "cat", pipe], stdout=subprocess.PIPE) as reader:
        assert command_line(*RUN, "--json", "pipe").returncode == 0
        read, _ = reader.communicate()
    assert b'"scenario_hash"' in read


@pytest.mark.parametrize("revision", [None, -1, 1.5, True])
def test_a_revision_that_is_none_hides_no_other_result(revision: object, here: Path) -> None:
    coflash.run(SMALL.with_(seed=9)).save("results/b")
    document = json.loads((here / "results/b/result.json").read_text(encoding="utf-8"))
    (here / "results/b/result.json").write_text(json.dumps(document | {"revision": revision}), encoding="utf-8")
    found = coflash.results("results")
    assert len(found) == 1
    assert "its revision is" in " ".join(found.remarks)
