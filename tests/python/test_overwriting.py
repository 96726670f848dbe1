"""What is written over: an older result of the same run, and nothing else without a word."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

import coflash
from coflash import CoflashError, Scenario, __version__, demo
from coflash.demo import find_trace
from coflash.results.comparison import Case, Comparison
from coflash.results.identity import Identity
from coflash.runs.inputs import inputs_of
from coflash.sweep.plan import Plan
from processes import coflash as command_line
from processes import process
from sweeps import SMALL

LINE = "128166372003061629,usr,0,Write,0,4096,100\n"
DEVICE = Scenario.from_dict({"flash": SMALL.to_dict()["flash"]})
"""A scenario without a workload."""
FEW = ("--set", "workload.synthetic.requests=100")


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A folder that does not exist yet, by its path and by a URL."""
    yield f"{tmp_path}/out" if request.param == "folder" else f"memory://{tmp_path}/out"
    fsspec.filesystem("memory").store.clear()


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
        (SMALL.with_(workload__trace=[str(trace)]), ()),
        (DEVICE.with_(workload__fio=str(jobs)), ()),
        (DEVICE.with_(workload__like=[str(trace)]), ()),
    ):
        ((job,),) = [point.jobs for point in Plan.of(scenario, inputs_of(scenario, traces), [()], 1).points]
        identity = Identity.of_result(coflash.run(scenario, traces).document)
        assert identity.inputs is not None
        parts = [identity.scenario, *identity.inputs, __version__]
        assert hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16] == job.key


def test_a_demo_replaces_only_runs_that_it_makes_again(tmp_path: Path) -> None:
    trace = find_trace()
    scenario = Scenario.load(demo.SCENARIO)

    def kept(sizes: tuple[int, ...]) -> None:
        """Leaves a demo of these sizes, whose measures nobody reads."""
        document = coflash.run(SMALL).document
        workload = {**document["workload"], "inputs": [{"sha256": inputs_of(SMALL, str(trace))[0].sha256}]}
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / "out").mkdir()
        cases = tuple(
            Case(
                scheme,
                size,
                coflash.run(SMALL).with_document(
                    {**document, "workload": workload, "scenario": scenario.with_(changes).to_dict()}
                ),
            )
            for scheme, size, changes in demo.cases(sizes)
        )
        Comparison("title", "question", cases).write_files(tmp_path / "out")

    kept(demo.QUICK_CACHE_SIZES_BYTES)
    demo.check_place(tmp_path / "out", trace, demo.QUICK_CACHE_SIZES_BYTES)
    demo.check_place(tmp_path / "out", trace, demo.CACHE_SIZES_BYTES)
    kept(demo.CACHE_SIZES_BYTES)
    with pytest.raises(CoflashError, match=r"holds the result of another run.*this is the demo of 5 runs"):
        demo.check_place(tmp_path / "out", trace, demo.QUICK_CACHE_SIZES_BYTES)


def written_by_coflash(folder: Path) -> dict[str, tuple[str, ...]]:
    """The commands that write a file, by the name of the file."""
    source, results = folder / "source.csv", folder / "results"
    source.write_text(LINE, encoding="utf-8")
    coflash.run(SMALL).save(results / "a")
    config = folder / "ssd_config.h"
    run = ("run", "demo", "--trace", str(source), "--quiet")
    generate = ("trace", "generate", "zipf", "--requests", "100", "--out")
    commands = {
        "result.json": (*run, "--json"),
        "fio.json": (*run, "--output-format", "fio-json", "--json"),
        "operations.parquet": (*run, "--operations"),
        "decisions.parquet": (*run, "--decisions"),
        "warm": ("warm", "demo", "--quiet", "--out"),
        "page.html": ("report", str(results), "--out"),
        "runs.csv": ("results", "export", "--in", str(results)),
        "runs.json": ("results", "export", "--in", str(results)),
        "runs.parquet": ("results", "sql", "select run from runs", "--in", str(results), "--out"),
        "like.toml": ("trace", "like", str(source), "--out"),
        "figure.png": ("trace", "info", str(source), "--plot"),
        "figure.svg": ("trace", "info", str(source), "--plot"),
        "figure.pdf": ("trace", "info", str(source), "--plot"),
    }
    assert not config.exists()
    traces = ("trace.parquet", "trace.arrow", "trace.iolog", "trace.iolog.zst")
    return {name: (*command, str(folder / name)) for name, command in commands.items()} | {
        name: (*generate, str(folder / name)) for name in traces
    }
