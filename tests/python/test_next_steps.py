"""Errors end in the next step: in the command to run, the file that is meant, or what is allowed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from coflash.cli import imported, main

MAKES, SERVES = "`coflash run demo --out emptydir` makes one", "`coflash serve demo --device {}` makes one"

STEPS: list[tuple[str, str]] = [
    # what is not there, is a folder, or is a file of another kind
    ("run absent.toml", "absent.toml: no such file; `coflash init` writes one"),
    ("run mine.tom", "the name of a file ends in .toml"),
    ("run mien.toml", "did you mean mine.toml?"),
    ("run file.csv", "`coflash run demo --trace file.csv` replays a file that is a trace"),
    ("run ./file.csv", "`coflash run demo --trace ./file.csv` replays a file that is a trace"),
    ("run ./binary", "`coflash run demo --trace ./binary` replays a file that is a trace"),
    ("sweep own --vary seed=1", "did you mean own/scenario.toml?"),
    ("run demo --trace folder", "folder: is a folder; give a file, such as folder/thesis.tex"),
    ("run demo --trace emptydir", "emptydir: is an empty folder; give a file"),
    ("run demo --trace file.cs", "no such file; did you mean file.csv?"),
    ("run demo --trace file.csv", "columns=auto takes"),
    ("run demo --set workload.fio=emptydir", "is an empty folder; give a file"),
    ("run demo --set workload.fio=binary", "binary: is no text in UTF-8"),
    ("run demo --set workload.fio=file.cs", "did you mean file.csv?"),
    ("run demo --warm absent", "absent: no such file; `coflash warm SCENARIO -o FILE` makes one"),
    ("run demo --warm file.csv", "is not a warm device of coflash; `coflash warm SCENARIO -o FILE` makes one"),
    ("run demo --out file.csv", "file.csv: is a file; give a folder"),
    ("sweep demo --vary seed=1 --out file.csv", "file.csv is a file; give a folder"),
    ("warm demo -o absent/w", "there is no folder absent"),
    ("advise demo --trace file.csv", "columns=auto takes"),
    ("size emptydir --goal waf_host<2", "emptydir: is a folder; give a file"),
    ("size zipff --goal waf_host<2", 'did you mean "zipf"?'),
    ("size --fio jobs.fio --goal waf_host<2", "the job file where the trace would be"),
    ("tune demo --fio jobs.fio --over seed=1..2", "--trace FILE; or --set workload.fio=FILE"),
    ("trace convert --fio jobs.fio -o new.parquet", "the job file where the trace would be"),
    ("fleet emptydir --vary cooperation=none", "`coflash trace split TRACE --out emptydir` writes some"),
    ("fleet folder --vary cooperation=none", "`coflash fleet folder --by file` takes each file as a volume"),
    ("fleet file.csv --vary cooperation=none --vary cooperation.name=cdm", "cooperation is varied twice"),
    ("size file.csv --goal waf_host<2 --over gc.victim=fifo --over gc.victim=greedy", "gc.victim is varied twice"),
    ("sweep demo --vary cooperation=none --vary cooperation.name=cdm", "give all its values at once"),
    ("explore --device own --run a --check b --junit folder", "folder: is a folder; give the name of a file"),
    ("results sql select --out t.xyz --in emptydir", "t.xyz: a name that ends in .parquet, .csv, .json"),
    ("compare many own", "many: has runs in folders below it; `coflash results list --in many` names them"),
    (
        "fleet file.csv --read columns=auto --vary cooperation=none",
        "`coflash fleet --by file` takes each file as a volume",
    ),
    ("trace split file.csv --read columns=auto -o out", "calls it device"),
    ("trace split file.csv --read columns=auto -o memory://out", "memory ends with this command; a folder is allowed"),
    ("trace split file.csv --read columns=auto -o local://", "as in local://results"),
    ("trace split file.csv --read columns=auto -o file://", "a path follows"),
    ("trace convert file.csv --read columns=auto -o new.xyz", "as in trace.parquet"),
    ("trace info emptydir", "is an empty folder; give a file"),
    ("results list --in emptydir", MAKES),
    ("results list --in file.csv", "file.csv: is a file; give a folder of results; `coflash run demo --out DIR` makes"),
    ("results list --in emptydi", "there is no such folder; did you mean emptydir?"),
    ("report emptydir", MAKES),
    ("report file.csv", "give a folder of results"),
    ("compare emptydir emptydir", MAKES),
    ("compare emptydir absent", MAKES),
    ("compare absent absent", "absent: there is no such folder; `coflash run demo --out absent` makes one"),
    ("compare emptydi", "emptydi: there is no such folder; did you mean emptydir?"),
    ("reproduce warp --trace file.csv", "warp: takes no trace: leave out --trace file.csv"),
    ("calibrate emptydir", "`coflash calibrate --jobs emptydir` writes it"),
    ("calibrate --jobs file.csv", "is a file; give a folder"),
    ("device info emptydir", SERVES.format("emptydir")),
    ("device check absent", SERVES.format("absent")),
    ("device cut absent", SERVES.format("absent")),
    ("device twin emptydir", SERVES.format("emptydir")),
    ("serve --device absent", SERVES.format("absent")),
    ("serve demo --device file.csv", "file.csv: is a file; the device takes a folder of its own"),
    # words that are nearly right
    ("keys rewrite_stream", "did you mean cooperation.rewrite_stream?"),
    ("keys cach.size", "did you mean cache.size?"),
    ("keys move-in", "did you mean cooperation?"),
    ("run demo --set removable_weight=0.5", "did you mean cooperation.removable_weight?"),
    ("run demo --set cach.size=1MiB", 'did you mean "cache"?'),
    ("run demo --set cooperation=cdn", 'did you mean "cdm"?'),
    ("sweep demo --vary seed=1 --measure wafhost", 'did you mean "waf_host"?'),
    ("tune demo --over seed=1..2", "such as --minimise response.p99"),
    ("size file.csv --goal waf<2", 'did you mean "waf_host"'),
    ("tune demo --over seed=1..2 --minimise WAF", 'did you mean "waf_host"'),
    ("size file.csv --goal waf_host>2", "of waf_host less is better; waf_host<2 is allowed"),
    ("tune demo --over seed=1..2 --minimise waf_host --subject-to cache.hit_ratio<9%", "cache.hit_ratio>9% is allowed"),
    ("size file.csv --goal waf_host", "such as response.p99<5ms"),
    ("size file.csv --goal waf_host<2 --goal waf_host<3", "give the narrower one"),
    ("size file.csv --goal waff<2", 'did you mean "waf_host"'),
    ("size file.csv --goal response.p98<2ms", 'did you mean "response.p90"'),
    ("tune demo --over seed=1..2 --goal waf_host<2", "in its place: --subject-to 'MEASURE<VALUE' of coflash tune"),
    ("size file.csv --subject-to waf_host<2", "in its place: --goal 'MEASURE<VALUE' of coflash size"),
    ("run mine", "did you mean mine.toml?"),
    ("run ./folde", "did you mean ./folde.toml?"),
    ("run ./own", "did you mean ./own/scenario.toml?"),
    ("run ./many", "did you mean ./many.toml?"),
    ("run many/", "did you mean many.toml?"),
    ("run ./folder", "is a folder; give a file, such as ./folder/thesis.tex"),
    ("run demo --set cache.policy=mine:Clean", 'did you mean { name = "external", code = "mine:Clean" }?'),
    ("sweep demo --vary gc.victim=greedy,mine:Own", 'did you mean { name = "external", code = "mine:Own" }?'),
    ("sweep demo --vary ftl.spare.share=7% 14% 28%", "commas: --vary ftl.spare.share=7%,14%,28% ("),
    ("sweep demo --vary gc.victim=fifo,{ name = score }", "}); a table is in single quotes, such as 'gc.victim={"),
    ("sweep demo --vary gc.victim=name=external gc.victim=code=mine:Own", "a table is in single quotes, such as"),
    ("run demo --set gc.victim=name=external gc.victim=code=mine:Own", "a table is in single quotes, such as"),
    ("run demo --set gc.victim={ name = fifo }", "a table is in single quotes, such as"),
    ("run demo gc.victim.score=(u>=1)", "did you mean --set gc.victim.score=(u>=1)?"),
    ("sweep demo --vary seed=1 file.csv", "did you mean --trace file.csv?"),
    ("sweep demo --vary seed=1 cache.size=1MiB", "did you mean --set cache.size=1MiB?"),
    ("run qlc-122t", "coflash run with --scale 1/32"),
    ("evaluate greeedy", 'did you mean "greedy"?'),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with a folder of nothing, one of something else, a trace, and files that are none."""
    for folder in ("emptydir", "folder", "own", "many/runs/1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "many/runs/1/result.json").touch()
    (tmp_path / "folder" / "thesis.tex").touch()
    (tmp_path / "file.csv").write_text("time,op,offset,size\n0.1,W,0,4096\n", "utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\0\xfe" * 99)
    for file in ("mine.toml", "own/scenario.toml", "many.toml", "folde.toml"):
        (tmp_path / file).write_text('name = "mine"', "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("line", "step"), STEPS, ids=[line for line, _ in STEPS])
@pytest.mark.usefixtures("here")
def test_an_error_ends_in_the_next_step(
    line: str, step: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["coflash", *line.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    output, told = capfd.readouterr()
    assert (ended.value.code, output) == (2, ""), told
    last = told.splitlines()[-1]
    assert last.startswith("error: ")
    assert step in last
    assert "os error" not in last
    for command, inner in re.findall(r"`coflash ([a-z]+)(?: ([a-z]+))?", last):
        group = imported(command)
        assert not hasattr(group, "commands") or inner in group.commands, "there is such a command"


JOBS = "[global]\nbs=4k\nsize=4m\n[one]\nrw=randwrite\nnumber_ios=64\n"

PROPOSED = [
    "trace convert jobs.fio -o new.parquet",
    "trace info jobs.fio",
    "run jobs.fio",
    "advise jobs.fio",
    "run plain.csv",
]


@pytest.mark.parametrize("line", PROPOSED)
@pytest.mark.usefixtures("here")
def test_the_command_that_an_error_proposes_works(
    line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("jobs.fio").write_text(JOBS, "utf-8")
    Path("plain.csv").write_text("time_us,op,offset,size\n0,write,0,4096\n", "utf-8")

    def types(words: list[str]) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capfd.readouterr()[1]

    code, told = types(["coflash", *line.split()])
    assert code == 2
    (proposed,) = re.findall(r"`(coflash [^`]+)`", told.splitlines()[-1])
    code, told = types(shlex.split(proposed.replace("FILE", "jobs.fio")))
    assert code == 0, told
