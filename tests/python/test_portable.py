"""What keeps coflash on Windows and in browsers, found without compilers for these (`scripts/portable` compiles)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coflash import CoflashError, _core, device
from coflash.cli import app
from coflash.evaluation import evaluate

ROOT = Path(__file__).parents[2]
ON_UNIX = {"store", "nbd", "device"}
OF_ONE_SYSTEM = re.compile(r"\bstd::os::(?!raw\b)|\b(?:rustix|libc)::")
OF_ITS_OWN_SYSTEM = re.compile(r"#\[cfg\(target_os = .*?\n}\n", re.DOTALL)
"""An item that is for a named system alone, to its end."""
CRATES = sorted(file.parent for file in ROOT.glob("crates/**/Cargo.toml"))
DEVICES = {name for name in dir(_core) if name == "ServedDevice" or name.startswith("device_")}


@pytest.mark.parametrize(
    "crate", sorted(file.parent for file in ROOT.glob("crates/**/Cargo.toml")), ids=lambda c: c.name
)
def test_only_the_crates_of_the_device_name_the_interfaces_of_one_system(crate: Path) -> None:
    sources = {file: OF_ITS_OWN_SYSTEM.sub("", file.read_text("utf-8")) for file in crate.glob("src/**/*.rs")}
    if crate.name in ON_UNIX:
        assert "\n#![cfg(unix)]\n" in sources[crate / "src/lib.rs"]
    else:
        assert [str(file) for file, text in sources.items() if OF_ONE_SYSTEM.search(text)] == []


def test_in_a_browser_nothing_is_asked_of_a_system() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is missing")
    tree = [cargo, "tree", "--offline", "--locked", "--prefix=none", "--edges=normal,no-proc-macro", "--format={lib}"]
    what = ["--target=wasm32-unknown-unknown", "--workspace", "--exclude=coflash-python", "--exclude=coflash-bench"]
    done = subprocess.run([*tree, *what], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    crates = set(done.stdout.split())
    assert {"coflash_sim", "coflash_trace", "liblzma"} <= crates
    assert crates & {"getrandom", "rustix", "nix", "tempfile"} == set()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core as it is where there are no devices."""
    for name in DEVICES:
        monkeypatch.delattr(_core, name)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    "call",
    [
        lambda: device.serve("demo", "folder"),
        lambda: device.cut("folder"),
        lambda: device.explore("demo", "folder", "true", "true"),
        lambda: device.info("folder"),
        lambda: device.check("folder"),
        lambda: device.twin("folder"),
    ],
)
def test_where_there_are_no_devices_every_function_of_them_says_so(call: Callable[[], object]) -> None:
    with pytest.raises(CoflashError, match=r"^the served device needs Unix \(Linux or macOS\), and this is \w+: "):
        call()


@pytest.mark.usefixtures("elsewhere")
def test_where_there_are_no_devices_the_command_line_says_so_and_simulates() -> None:
    assert CliRunner().invoke(app, ["scenario", "list"]).exit_code == 0
    failed = CliRunner().invoke(app, ["device", "check", "folder"])
    assert isinstance(failed.exception, CoflashError)
    assert "the served device needs Unix" in str(failed.exception)


def test_where_a_process_has_no_limits_the_code_of_a_policy_is_not_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    policy = tmp_path / "policy.py"
    policy.touch()
    with pytest.raises(CoflashError, match=r"policy\.py: .* which need Unix \(Linux or macOS\)"):
        evaluate(policy)
