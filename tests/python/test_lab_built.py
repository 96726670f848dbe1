"""The laboratory's page as a file: what builds it, what serves it, and what is said where something is missing."""

from __future__ import annotations

import http.client
import subprocess
from pathlib import Path
from threading import Thread

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from typer.testing import CliRunner

import lab_records
from coflash import CoflashError
from coflash.cli import app
from coflash.report import lab
from pages import complaints, find, run, until

ROOT = Path(__file__).parents[2]


def test_the_recorded_database_fits_the_drive_and_keeps_the_popularity_of_pages() -> None:
    requests = lab_records.kept()
    assert 4000 < len(requests) < 60_000
    pages = [page for _, _, offset, length in requests for page in range(offset // 4096, (offset + length) // 4096)]
    assert 3000 < len(set(pages)) < 3500
    assert all(offset % 4096 == length % 4096 == 0 for _, _, offset, length in requests)
    assert len(lab_records.records(requests)) == 12 * len(requests)


def test_a_server_shows_the_page_to_this_machine_alone(built: Path) -> None:
    with lab.server() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for path, host, status in [("/", None, 200), ("/index.html", None, 200), ("/x", None, 404), ("/", "evil", 403)]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=1_000)
            connection.request("GET", path, headers={} if host is None else {"Host": host})
            answer = connection.getresponse()
            assert answer.status == status, path
            assert (answer.read() == (built / "index.html").read_bytes()) == (status == 200)
        server.shutdown()


def test_without_the_page_the_command_says_what_builds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("BROUGHT", "BUILT"):
        monkeypatch.setattr(lab, name, tmp_path / "none" / "index.html")
    failed = CliRunner().invoke(app, ["lab"])
    assert isinstance(failed.exception, CoflashError)
    assert "make lab" in str(failed.exception)


@pytest.mark.parametrize(("wanted", "status"), [([], 1), (["all"], 1), (["possible"], 0)])
def test_without_its_tools_all_that_is_missing_is_said_at_once(tmp_path: Path, wanted: list[str], status: int) -> None:
    build = [str(ROOT / "scripts/lab"), "python", "packages", str(tmp_path / "out"), *wanted]
    done = subprocess.run(build, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert list(tmp_path.iterdir()) == []
    said = done.stderr.splitlines()
    missing = (
        "npm: https://nodejs.org",
        "a clang that compiles for browsers: ",
        "a Rust compiler for browsers: rustup target add ",
    )
    for line, start in zip(said[1:4], missing, strict=True):
        assert line.strip().startswith(start)
    assert said[4] == (
        "On Debian and Ubuntu: apt install nodejs npm clang llvm rustc-web rust-web-src cargo-web lld-19"
    )


def test_node_alone_builds_the_page_of_records(node: str, tmp_path: Path, browser: WebDriver) -> None:
    packages = ROOT / ".venv/node"
    subprocess.run([node, str(ROOT / "lab/page/build.mjs"), str(packages), str(tmp_path)], check=True)
    assert [file.name for file in tmp_path.iterdir()] == ["records.html"]
    browser.get((tmp_path / "records.html").as_uri())
    until(lambda: run(browser, "return document.body.dataset.ready"))
    assert find(browser, "#recording").is_displayed()
    assert not find(browser, "#run").is_displayed()
    assert complaints(browser) == []


def test_what_shows_records_needs_no_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab, "BROUGHT", tmp_path / "lab.html")
    monkeypatch.setattr(lab, "BUILT", tmp_path / "built" / "index.html")
    with pytest.raises(CoflashError, match="needs nothing but npm"):
        lab.page(needs_kernel=False)
    (tmp_path / "records.html").write_text("records", "utf-8")
    assert lab.page(needs_kernel=False) == "records"
    with pytest.raises(CoflashError, match="make lab"):
        lab.page()


@pytest.mark.parametrize("screen", [True, False])
def test_the_command_opens_the_browser_where_there_is_a_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, screen: bool
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0") if screen else monkeypatch.delenv("DISPLAY", raising=False)
    opened: list[str] = []
    (tmp_path / "lab.html").write_text("page", "utf-8")
    monkeypatch.setattr(lab, "BROUGHT", tmp_path / "lab.html")
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", lambda _: None)
    done = CliRunner().invoke(app, ["lab"])
    assert done.exit_code == 0
    assert opened == ([done.output.split()[0]] if screen else [])
