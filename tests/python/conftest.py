"""What tests of many modules share: results made by hand, results of small runs, and a browser."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

from coflash import Histogram, Result, Scenario, Table, run
from coflash.report import lab
from coflash.results.result import Arrays
from coflash.results.subject import Subject
from pages import complaints, look, messages
from processes import PATIENCE_S

MIB = 2**20
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# No test goes by the clock: examples have no deadline.
settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("without a clock")


def pytest_configure() -> None:
    """Lets Control-C reach the processes of tests: a shell that starts make in the background has it ignored.

    Files of tests need not outlive the machine: a worker does not wait for the disk, which is thousands of times.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _: None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what tests have recorded of their work, with --verbose."""
    if terminalreporter.config.get_verbosity() > 0:
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
            for name, value in report.user_properties:
                terminalreporter.write_line(f"{report.duration:7.0f} s  {report.head_line}: {name}: {value}")


def response(mean: float) -> dict[str, float]:
    quantiles = {"p50": 1, "p90": 2, "p99": 5, "p99_9": 20, "p99_99": 50, "max": 80}
    return {"count": 1000, "mean": mean, "stddev": mean / 2, **{name: int(mean * by) for name, by in quantiles.items()}}


def document(copies: int, drops: int = 0, mean: float = 200e3) -> dict[str, Any]:
    programs = {"host": 0, "evict": 1000, "gc": copies, "refresh": 0, "wear_levelling": 0, "destage": 0, "metadata": 16}
    return {
        "coflash": "0.1.0",
        "scenario": {"name": "by hand"},
        "scenario_hash": f"{copies:08x}",
        "seed": 7,
        "workload": {
            "description": "made <by> hand",
            "inputs": [{"file": "t", "bytes": 1, "sha256": "0f"}],
            "remarks": ["A remark."],
        },
        "metrics": {
            "requests": 1000,
            "host_writes_pages": 1000,
            "ftl_writes_pages": 1000,
            "programs_pages": programs,
            "gc_copies_pages": copies,
            "gc_drops_pages": drops,
            "drop_rewrites_pages": drops // 2,
            "erases_blocks": 40,
            "waf_host": sum(programs.values()) / 1000,
            "waf_ftl": sum(programs.values()) / 1000,
            "cache": {"read_hits": 1, "read_misses": 2, "write_hits": 3, "write_misses": 4, "hit_ratio": 0.4},
            "response_ns": {"all": response(mean), "read": response(mean / 2), "write": response(mean * 2)},
            "simulated_ns": 4_000_000_000,
        },
        "simulator": {"wall_seconds": 0.1, "requests_per_second": 1e6, "peak_rss_bytes": 50 * MIB},
    }


def make_result(copies: int = 900, drops: int = 0, mean: float = 200e3) -> Result:
    values = np.array([100_000, 200_000, 400_000, 9_000_000], np.uint64)
    counts = np.array([500, 400, 99, 1], np.uint64)
    windows = np.arange(4, dtype=np.uint64)
    arrays = Arrays(
        histograms={
            "all": Histogram(values, counts),
            "read": Histogram(values, counts),
            "write": Histogram(values, counts),
        },
        series=Table(
            {
                "start_ns": windows * 1_000_000_000,
                "host_writes_pages": np.array([500, 0, 250, 250], np.uint64),
                "programs_host_pages": np.array([0, 0, 0, 0], np.uint64),
                "programs_gc_pages": np.array([500, 0, 250, 250], np.uint64),
                "response_mean_ns": np.array([2e5, np.nan, 3e5, 2.5e5]),
            }
        ),
        erase_counts=np.array([3, 1, 4, 1, 5], np.uint32),
    )
    return Result(document(copies, drops, mean), arrays)


@pytest.fixture
def result() -> Result:
    return make_result()


@pytest.fixture
def comparison() -> Subject:
    """Runs without a cache, then under two schemes at two sizes."""
    return Subject(
        title="A & B",
        question="Which is <better>?",
        baseline="none",
        results=(
            make_result(1200),
            make_result(1000),
            make_result(700, drops=250, mean=150e3),
            make_result(800),
            make_result(400, drops=300, mean=100e3),
        ),
    )


@pytest.fixture(scope="session")
def results() -> list[Result]:
    """Runs of three cache sizes under two schemes, each with two seeds."""
    base = Scenario.load("demo").with_(
        {
            "flash.channels": 2,
            "flash.blocks_per_plane": 96,
            "flash.pages_per_block": 32,
            "workload.requests_max": 20_000,
            "workload.synthetic": {"generator": "uniform", "read_share": "30%"},
        }
    )
    varied = itertools.product(("none", "cdm"), ("1MiB", "2MiB", "4MiB"), (1, 2))
    return [
        run(base.with_({"cooperation": {"name": scheme}, "cache.size": size, "seed": seed}))
        for scheme, size, seed in varied
    ]


@pytest.fixture
def built() -> Path:
    """The folder that `make lab` writes."""
    if not lab.BUILT.is_file():
        pytest.skip("the laboratory is not built, and nothing of it is tested: make lab, which names what it needs")
    return lab.BUILT.parent


@pytest.fixture
def node(built: Path) -> str:  # noqa: ARG001
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is missing (Debian, Ubuntu: apt install nodejs)")
    return found


@pytest.fixture
def browser(chromium: WebDriver) -> WebDriver:
    """The browser on an empty page: that of an earlier test would go on to ask for its server, and complain."""
    chromium.get("about:blank")
    look(chromium, 1280)
    complaints(chromium)
    messages(chromium)
    return chromium


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """A real browser: Debian's packages chromium and chromium-driver, or any other Chromium on the path."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver_path = shutil.which("chromedriver")
    if not (program and driver_path):
        pytest.skip("needs Chromium and its driver (Debian, Ubuntu: apt install chromium chromium-driver)")
    options = Options()
    options.binary_location = program
    for flag in (*BROWSER_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.timeouts = {"pageLoad": 1000 * PATIENCE_S, "script": 1000 * PATIENCE_S}
    driver = webdriver.Chrome(options=options, service=Service(driver_path))
    try:
        yield driver
    finally:
        driver.quit()
