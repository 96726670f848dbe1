"""The compiled core and Rust's tests share their compiled dependencies: all have the same features."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def features(*packages: str) -> set[str]:
    """Each crate that is built for some packages, with its features."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is missing")
    tree = [cargo, "tree", "--offline", "--locked", "--prefix=none", "--format={p} {f}", *packages]
    done = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {re.sub(r" \(\*\)$", "", line) for line in done.stdout.splitlines()}


def test_the_core_needs_no_crate_with_other_features() -> None:
    core = features("--package=coflash-python", "--edges=normal,build")
    assert any(line.startswith("rand ") for line in core)
    assert core - features("--workspace", "--edges=normal,build,dev") == set(), "add their features to Cargo.toml"
