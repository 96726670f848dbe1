"""A test of Rust that hangs fails by its name, and none is left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rust_tests import WARNED_S, run

_WARNING = "has been running for over 60 seconds"


def program(*lines: str, then: str = "") -> list[str]:
    """Return a program that says these lines, as Rust's harness does, and then goes on."""
    return [sys.executable, "-c", f"print({chr(10).join(lines)!r}, flush=True); {then}", "--quiet"]


def test_a_test_that_hangs_fails_by_its_name(capfd: pytest.CaptureFixture[str]) -> None:
    hangs = program(
        "test quick ... ok", f"test store::hangs {_WARNING}", then="import threading; threading.Event().wait()"
    )
    assert run(hangs, WARNED_S) != 0
    out, err = capfd.readouterr()
    assert "test store::hangs ... FAILED: it has not ended after 60 seconds" in err
    assert "quick" not in out


def test_a_test_that_takes_long_but_ends_passes(capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        run(program(f"test slow {_WARNING}", "test slow - should panic ... ok", "test result: ok. 1 passed"), 1e6) == 0
    )
    assert capfd.readouterr().out.splitlines() == [f"test slow {_WARNING}", "test result: ok. 1 passed"]


def test_the_exit_code_is_that_of_the_program(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(program("test wrong ... FAILED", then="raise SystemExit(101)")) == 101
    assert "test wrong ... FAILED" in capfd.readouterr().out


def test_a_library_that_cargo_does_not_test_has_no_tests_of_its_own() -> None:
    root = Path(__file__).parents[2]
    manifests = [*(root / "crates").rglob("Cargo.toml")]
    untested = [file.parent for file in manifests if "\ntest = false\n" in file.read_text("utf-8")]
    assert untested
    sources = (file for crate in untested for file in (crate / "src").rglob("*.rs"))
    assert [file for file in sources if "#[test]" in file.read_text("utf-8")] == [], "move them to its tests/"
