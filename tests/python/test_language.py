"""The language of the command line: keys, a scenario to start from, completion, and misspelt names."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer

from coflash import CoflashError, Scenario, built_in_scenarios, keys
from coflash.cli import app, imported
from coflash.commented import commented
from coflash.demo import find_trace
from coflash.scenario import flat
from processes import coflash


def test_every_key_of_a_scenario_has_a_type_and_a_meaning() -> None:
    known = {key.path: key for key in keys()}
    for key in known.values():
        assert key.type and key.meaning, key
    named = {path.removesuffix(".name") for path in flat(Scenario.load("demo").to_dict())}
    assert named <= known.keys()


def test_keys_show_types_defaults_units_and_meanings() -> None:
    shown = coflash("keys", "cache").stdout
    for text in (
        "cache.policy",
        '"lru"',
        "pt-lru",
        "cache.page_read",
        '"1us"',
        "a duration such as",
        "The eviction policy",
    ):
        assert text in shown
    assert "flash.channels" not in shown
    assert [key["path"] for key in json.loads(coflash("keys", "cache.size", "--json").stdout)] == ["cache.size"]
    assert "with cdm-consistent" in coflash("keys", "cooperation").stdout


@pytest.mark.parametrize(
    ("given", "meant"), [("cach", "cache"), ("cache.siz", "cache.size"), ("workload.sinthetic", "workload.synthetic")]
)
def test_a_misspelt_key_is_suggested(given: str, meant: str) -> None:
    with pytest.raises(CoflashError, match=f'did you mean "{meant}"'):
        keys(given)


@pytest.mark.parametrize("name", built_in_scenarios())
def test_a_commented_scenario_is_that_scenario(name: str) -> None:
    scenario = Scenario.load(name)
    text = commented(scenario)
    assert Scenario.from_toml(text) == scenario
    assert Scenario.from_toml(text).description == scenario.description
    # A comment has the default: uncommented, it changes nothing.
    lines = [line.removeprefix("# ") if " = " in line and line[2:3].islower() else line for line in text.splitlines()]
    uncommented = [line for line in lines if not line.endswith("…") and not line.startswith("blocks_per_plane")]
    assert len(uncommented) > 20
    defaults = [line for line in uncommented if line.startswith(("page_size", "copy_back", "time_scale"))]
    assert defaults
    for line in defaults:
        assert Scenario.from_toml(text.replace(f"# {line}\n", f"{line}\n")) == scenario


def test_init_writes_a_scenario_that_runs_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert coflash("init").returncode == 0
    assert Scenario.load("scenario.toml").name == "scenario"
    assert coflash("scenario", "check", "scenario.toml").returncode == 0
    before = Path("scenario.toml").read_bytes()
    again = coflash("init")
    assert (again.returncode, Path("scenario.toml").read_bytes()) == (2, before)
    assert "is there already" in again.stderr
    assert coflash("init", "mine.toml", "cdm-64g").returncode == 0
    assert Scenario.load("mine.toml") == Scenario.load("cdm-64g")
    assert "mine.toml" in coflash("init", "mine").stderr
    assert 'did you mean "demo"' in coflash("init", "other.toml", "demmo").stderr


def completed(*words: str) -> list[str]:
    """The completions that bash gets for the last word, by the function that `--install-completion` installs."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is missing")
    function = coflash("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout
    typed = " ".join(shlex.quote(word) for word in ("coflash", *words))
    asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _coflash_completion coflash"
    ask = f"{asked}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [bash, "--norc"],
        input=f"{function}\n{ask}\n",
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("run", "sha"), ["shadowgc-1t", "shadowgc-64g"]),
        (("run", "demo", "--set", "cache.pol"), ["cache.policy=", "cache.policy=lru", "cache.policy=pt-lru"]),
        # As bash splits words.
        (("run", "demo", "--set", "cooperation", "=", "cdm-h"), ["cdm-hgc"]),
        (("run", "demo", "--set", "cooperation", "="), ["none", "cdm", "sgc"]),
        (("keys", "host_buffer.re"), ["host_buffer.read_allocate"]),
        (("sweep", "demo", "--measure", "waf"), ["waf_host", "waf_ftl"]),
        (("sweep", "demo", "--vary", "link.la"), ["link.lanes=", "link.lane_rate="]),
        (("trace", "generate", "zi"), ["zipf"]),
    ],
)
def test_the_shell_is_offered_names(words: tuple[str, ...], offered: list[str]) -> None:
    found = completed(*words)
    assert set(offered) <= set(found)
    last = "" if words[-1] == "=" else words[-1]
    assert all(each.startswith(last) for each in found)


def test_the_shell_is_offered_scenarios_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text("")
    assert completed("run", "sm") == ["small.toml"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("run", "smal.toml"), ("did you mean small.toml?",)),
        (("run", "demo", "--trace", "smal.csv"), ("did you mean small.csv?",)),
        (("report", "--format", "pdff", "x"), ("did you mean 'pdf'?",)),
        (("run", "demo", "--trace", "small.csv"), ("--read", "header_lines", "when,what")),
        # Options that would have no effect.
        (("run", "demo", "--read", "format=msr"), ("--read: has no effect", "--trace")),
        (("run", "demo", "--read", "columns=time:us,op,offset:bytes,size:bytes"), ("--read: has no effect",)),
        (("report", "x", "--measure", "waf_host"), ("--measure: has no effect",)),
        (("results", "list", "--format", "json", "--measure", "waf_host"), ("--measure: has no effect",)),
        (("results", "list", "--format", "json", "--seeds"), ("--seeds: has no effect",)),
        (("results", "sql", "select 1", "--format", "json", "-o", "x.csv"), ("--format: has no effect",)),
    ],
)
def test_what_is_almost_right_is_told_what_is(
    arguments: tuple[str, ...], parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text("")
    Path("small.csv").write_text("when,what\n1,2\n")
    done = coflash(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert all(part in line for part in parts), line
    assert len(line) < 400


def test_a_run_says_what_it_ran(tmp_path: Path) -> None:
    trace = tmp_path / "small.iolog"
    trace.write_text("fio version 3 iolog\n10 d read 4096 8192\n20 d write 1048576 4096\n")
    done = coflash("run", "demo", "--trace", str(trace), "--set", "cooperation=none", "--set", "cache.size=1MiB")
    lines = {label: rest.strip() for label, _, rest in (line.partition(" ") for line in done.stdout.splitlines()[:4])}
    assert lines["scenario"] == "demo"
    assert lines["scheme"] == "none"
    assert lines["cache"] == "1MiB, lru, in the device"
    assert "small.iolog" in lines["workload"]
    assert find_trace().name not in done.stdout
    speed = done.stdout.splitlines()[-1]
    assert re.fullmatch(r"The simulation itself took .*, at .* requests per second\.", speed), speed


def test_the_help_lists_each_command_in_one_of_five_panels() -> None:
    shown = coflash("--help").stdout
    titles = re.findall(r"╭─ (\w+) ─", shown)
    assert titles == ["Options", "Simulate", "Study", "Traces", "Devices", "Help"]
    names = re.findall(r"^│ ([a-z]+)  ", shown, re.MULTILINE)
    assert sorted(names) == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "new"),
    [
        (("run", "demo", "--format", "msr"), "--read format=NAME"),
        (("trace", "info", "x", "--columns=auto"), "--read columns="),
        (("sweep", "demo", "--vary", "seed=1", "--engine", "dask"), "--on tcp://HOST:PORT"),
        (("size", "x", "--workers", "2"), "--on N"),
        (("run", "demo", "--until-steady"), "--set precondition.until_steady=true"),
        (("trace", "slice", "x", "--from", "1s"), "--time FROM..UNTIL"),
        (("results", "compare", "x"), "did you mean coflash compare?"),
    ],
)
def test_a_name_of_an_earlier_version_leads_to_the_new_one(arguments: tuple[str, ...], new: str) -> None:
    done = coflash(*arguments)
    assert done.returncode == 2
    assert new in done.stderr


def test_what_compare_does_is_said_once() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")
    (ways,) = [argument.help for argument in imported("compare").params if argument.name == "runs"]
    for way in ways.split("; "):
        given, _, compared = way.partition(": ")
        assert f"| {given} | {compared} |" in page


def test_no_more_options_than_two_hundred() -> None:
    ours = [names for names in _options() if names[0].startswith("-") and "--help" not in names]
    commands = [command.load() for command in entry_points(group="coflash.commands")]
    apps = [typer.main.get_command(app) if isinstance(app, typer.Typer) else app for app in commands]
    theirs = [option for app in apps for option in app.params if option.opts[0].startswith("-")]
    assert len(ours) + len([option for option in theirs if "--help" not in option.opts]) <= 200


def test_each_option_says_what_it_means() -> None:
    assert [parameter.opts for parameter in _parameters() if not parameter.help] == []


def test_names_of_two_versions_ago_are_gone() -> None:
    assert coflash("grade", "--help").returncode == 2
    assert coflash("report", "--metric=waf_host", "--help").returncode == 2


def test_a_short_name_of_two_measures_is_refused_with_both() -> None:
    refused = coflash("sweep", "demo", "--vary", "seed=1..2", "--measure", "host_writes")
    assert refused.returncode == 2
    assert '"host_writes" is short for 2 measures (allowed: host_writes_pages, host_writes_bytes)' in refused.stderr


@pytest.mark.parametrize("name", ["reproduce", "study", "truth"])
def test_a_command_of_another_distribution_is_as_the_others_and_installs_no_completion_of_its_own(name: str) -> None:
    done = coflash(name, "--help")
    assert "--quiet" in done.stdout
    assert "--on" in done.stdout
    assert "completion" not in done.stdout


def test_a_run_without_a_cache_and_one_with_two_say_so() -> None:
    of = ("--set", "workload.synthetic.requests=10", "--set", "precondition.fill=none")
    small = ("run", "demo", *of, "--set", "precondition.random_passes=0")
    assert "cache     none" in coflash(*small, "--set", "cache.size=0B", "--set", "cooperation=none").stdout
    both = coflash(*small, "--set", "host_buffer.size=1MiB", "--set", "cache.volatile=true", "--set", "cooperation=sgc")
    assert "1MiB, lru, write buffer in the host; 5%, lru, volatile, in the device" in both.stdout, both.stderr


def _options() -> list[list[str]]:
    """Return the names of every option of every command."""
    return [parameter.opts for parameter in _parameters()]


def _parameters() -> list[Any]:
    """Return every option and argument of every command."""

    def of(command: Any) -> Iterator[Any]:
        yield from command.params
        for inner in getattr(command, "commands", {}).values():
            yield from of(inner)

    return [given for command in typer.main.get_command(app).commands for given in of(imported(command))]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("names", "fewest"), [(["--out", "-o"], 15), (["--requests", "-n"], 5), (["--measure"], 4)])
def test_one_thing_has_the_same_names_in_every_command(names: list[str], fewest: int) -> None:
    places = [given for given in _options() if {*names, "--output"} & set(given)]
    assert len(places) >= fewest
    assert all(given == names for given in places), places
