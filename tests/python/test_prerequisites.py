from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "prerequisites"


def run(path: Path) -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh")
    assert shell is not None
    return subprocess.run([shell, str(SCRIPT)], env={"PATH": str(path)}, capture_output=True, text=True, check=False)


def test_an_empty_machine_is_told_everything_it_lacks(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    for tool in ("git", "cc, a C compiler", "cargo and rustc 1.88", "Python 3.10"):
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
    assert done.stderr.splitlines() == ["missing: rustc 1.88 or later (found 1.70.0)", "    rustup update stable"]
