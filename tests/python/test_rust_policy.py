"""The crate of one's own in `examples/`: it builds against coflash as a library, without a network, and runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_crate_of_ones_own_builds_and_its_policy_is_used() -> None:
    if not (cargo := shutil.which("cargo")):
        pytest.skip("cargo is missing")
    # What coflash's own tests have built is used again.
    options = ["--offline", "--locked", "--quiet", "--target-dir", str(ROOT / "target")]
    begun = [cargo, "run", *options, "--manifest-path", str(ROOT / "examples" / "rust_policy" / "Cargo.toml")]
    done = subprocess.run(begun, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r"^(\S+) +write amplification ([\d.]+)$", done.stdout, re.M))
    assert found.keys() == {"greedy", "cost-benefit", "external"}
    assert len(set(found.values())) == 3
    assert all(float(waf) > 1 for waf in found.values())
