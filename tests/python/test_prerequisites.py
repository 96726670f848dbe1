from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"
# Knows one package that is not there, and refuses all of a list that has it.
APT_GET = """#!/bin/sh
echo "$*" >>{place}/asked
read -r line && echo "a question: $line" >>{place}/asked
case " $* " in *" chromium-driver "*) exit 100 ;; *" fio "*) cp {place}/id {place}/fio ;; esac
"""


def run(path: Path, script: str = "prerequisites") -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh")
    assert shell is not None
    command, typed = [shell, str(SCRIPTS / script)], "yes\n" * 100
    environment = {"PATH": str(path)}
    return subprocess.run(command, input=typed, env=environment, capture_output=True, text=True, check=False)


def test_an_empty_machine_is_told_everything_it_lacks(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    for tool in ("git", "cc, a C compiler", "cargo and rustc 1.89", "Python 3.10"):
        assert f"missing: {tool}" in done.stderr or tool in done.stderr


def test_an_old_compiler_is_told_apart_from_none(tmp_path: Path) -> None:
    awk = shutil.which("awk")
    assert awk is not None
    (tmp_path / "awk").symlink_to(awk)
    for name, says in (("git", ""), ("cc", ""), ("cargo", ""), ("rustc", "rustc 1.70.0 (x)"), ("python3", "")):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\necho '{says}'\n")
        tool.chmod(0o755)
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["missing: rustc 1.89 or later (found 1.70.0)", "    rustup update stable"]


def test_a_client_that_cannot_be_installed_is_named_and_keeps_no_other_away(tmp_path: Path) -> None:
    for name, does in (("id", "#!/bin/sh\necho 0\n"), ("apt-get", APT_GET.format(place=tmp_path))):
        (tmp_path / name).write_text(does)
        (tmp_path / name).chmod(0o755)
    cp = shutil.which("cp")
    assert cp is not None
    (tmp_path / "cp").symlink_to(cp)
    done = run(tmp_path, "clients")
    asked = [line.split("Timeout=60 ")[-1] for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked[0] == "update -qq"
    assert asked[1].startswith("chromium chromium-driver fio libnbd-bin")
    assert asked[2:5] == ["chromium", "chromium-driver", "fio"]
    named = done.stderr.split("apt install ")[1].split()
    assert {"chromium", "chromium-driver", "libnbd-bin"} <= set(named)
    assert "fio" not in named
    assert done.returncode == 0


def test_the_demo_installs_no_tool_of_developers(tmp_path: Path) -> None:
    """Without a group that it names, maturin installs the one called dev: 1.2 GB."""
    make = shutil.which("make")
    assert make is not None
    asked = subprocess.run(
        [make, "--dry-run", "--always-make", "demo", f"VENV={tmp_path}"],
        cwd=SCRIPTS.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    installs = [line for line in asked.splitlines() if " install " in line or "maturin develop" in line]
    assert any("maturin develop --group build " in line for line in installs)
    assert not any("--group dev" in line or "--group docs" in line for line in installs)
    project = (SCRIPTS.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^build = \["flit_core==[\d.]+", "maturin==[\d.]+"\]$', project, re.MULTILINE)
