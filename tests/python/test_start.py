"""The cost of starting, in imported modules; and names that are imported late."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable

import pytest
import typer

import coflash
from coflash.cli import app, imported

COMMANDS = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def modules(code: str, *arguments: str) -> set[str]:
    """The modules that are loaded after the code has run in another process."""
    show = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    command = [sys.executable, "-c", f"{show}\n{code}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(done.stderr.splitlines()[-1].split())


def ours(found: set[str]) -> set[str]:
    return {name for name in found if name.startswith("coflash")}


def test_the_package_imports_nothing_of_its_own() -> None:
    found = modules("import coflash")
    assert ours(found) == {"coflash"}
    assert found.isdisjoint({"numpy", "typer", "rich", "json", "inspect", "subprocess"})


@pytest.mark.parametrize("command", [["--help"], ["--version"], ["scenrio"]])
def test_the_list_of_commands_imports_no_command(command: list[str]) -> None:
    found = modules("from coflash_command import main\nmain()", *command)
    expected = {"coflash", "coflash._core", "coflash_command", "coflash.cli", "coflash.cli.usage"}
    assert ours(found) - {"coflash.terminal"} == expected | (
        {"coflash.cli.version"} if "--version" in command else set()
    )
    assert "numpy" not in found


def test_a_command_imports_no_other() -> None:
    found = modules("from coflash_command import main\nmain()", "policies")
    assert "coflash.cli.keys" in found
    assert found.isdisjoint({"coflash.cli.sweep", "coflash.sweep", "coflash.report", "numpy", "pydantic"})


HEAVY = {"matplotlib", "numpy", "pandas", "polars", "pyarrow", "pydantic", "scipy"}
"""Each takes about as long to import as the help to show."""


@pytest.mark.parametrize("command", [["--help"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_no_help_imports_what_is_heavy(command: list[str]) -> None:
    found = modules("from coflash_command import main\nmain()", *command)
    assert "typer.rich_utils" in found
    assert found.isdisjoint(HEAVY)


SMALL = {"flash__blocks_per_plane": 64, "workload__synthetic__requests": 1}
RUN = f"import coflash; result = coflash.run(coflash.Scenario.load('random-5g').with_(**{SMALL}))"


def test_a_quiet_run_imports_nothing_that_draws() -> None:
    changes = [word for key, value in SMALL.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    quiet = modules("from coflash_command import main\nmain()", "run", "random-5g", *changes, "--quiet", "--json", "-")
    assert "coflash.runs.run" in quiet
    assert not {name for name in quiet if name.split(".")[0] in {"rich", *HEAVY}}


def test_a_run_imports_numpy_for_its_arrays_alone() -> None:
    assert modules(f"{RUN}; print(result.metrics.requests)").isdisjoint(HEAVY)
    assert "numpy" in modules(f"{RUN}; result.erase_counts()")


# Copied as it is sent to another process.
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_result_has_its_arrays(copied: Callable[[coflash.Result], coflash.Result]) -> None:
    result = coflash.run(coflash.Scenario.load("random-5g").with_(**SMALL))
    other = copied(result)
    assert other.document == result.document
    assert other.erase_counts().tolist() == result.erase_counts().tolist()
    assert other.histogram().counts.tolist() == result.histogram().counts.tolist() == [1]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_a_command_what_its_own_help_begins_with(name: str) -> None:
    listed = typer.main.get_command(app).commands[name].help  # type: ignore[attr-defined]
    assert imported(name).help.split("\n\n")[0].replace("\n", " ") == listed
    assert imported(name).name == name


@pytest.mark.parametrize("name", dir(coflash))
def test_a_name_of_the_package_is_found_where_its_stub_says(name: str) -> None:
    assert hasattr(coflash, name)


def test_a_function_hides_the_module_of_its_name() -> None:
    code = "import coflash, coflash.sweep.design, coflash.keys; print(coflash.sweep, coflash.keys, coflash.results)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("<function") == 3, done.stdout
