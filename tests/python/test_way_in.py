"""The way in, as people walk it: every command of README, where only what `make demo` installs is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from importlib.metadata import requires
from pathlib import Path

import pytest

import way_in

ROOT = Path(__file__).parents[2]
_EVIDENCE = [["reproduce", "cdm"], ["study", "frozen-spare"]]
"""What `make demo` installs beside the package."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An environment with what the package and the reproductions require, without extras; and a folder with a trace."""
    place = tmp_path_factory.mktemp("way_in")
    venv.create(place / "env", with_pip=True)
    python = str(place / "env/bin/python")
    required = [line for name in ("coflash", "coflash-reproduce") for line in requires(name) or ()]
    needed = [line for line in required if "extra ==" not in line and not line.startswith("coflash")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], check=True)
    ours, theirs = Path(sysconfig.get_path("purelib")), next((place / "env/lib").glob("python*/site-packages"))
    for installed in [*ours.glob("coflash*.dist-info"), *ours.glob("coflash*.pth")]:
        copy = shutil.copytree if installed.is_dir() else shutil.copy
        copy(installed, theirs / installed.name)
    way_in.cut_trace(python, place, _bare(place))
    return python, place


def _bare(place: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(place), "COLUMNS": "100", "BROWSER": "true"}


@pytest.mark.parametrize("words", [*way_in.commands(), *_EVIDENCE], ids=" ".join)
def test_a_command_of_the_front_page_runs(words: list[str], environment: tuple[str, Path]) -> None:
    python, place = environment
    error = way_in.walk([python, "-m", "coflash"], words, place, _bare(place))
    if "make lab builds it" in error:
        pytest.skip("the page is not built: there is no compiler for browsers")
    assert error == ""


def test_a_command_that_lacks_a_part_is_found(environment: tuple[str, Path]) -> None:
    python, place = environment
    without = [python, "-c", "import sys; sys.modules['vl_convert'] = None; from coflash_command import main; main()"]
    error = way_in.walk(without, ["trace", "info", "TRACE", "--plot", "lacking.svg"], place, _bare(place))
    assert "vl" in error


def test_the_front_page_has_commands() -> None:
    assert len(way_in.commands()) > 10
