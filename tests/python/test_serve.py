"""The live report: it shows the results so far, and only to this machine."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from typer.testing import CliRunner

from coflash import CoflashError, Result
from coflash.cli import app
from coflash.report.serve import STATE, server
from conftest import make_result
from pages import complaints, find, texts, until


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def made(place: Path) -> Iterator[ThreadingHTTPServer]:
    place.mkdir()
    with server([place]) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one
        one.shutdown()


@pytest.fixture
def get(made: ThreadingHTTPServer) -> Callable[..., str]:
    def get(path: str, host: str | None = None) -> str:
        address = f"127.0.0.1:{made.server_port}"
        asked = urllib.request.Request(f"http://{address}{path}", headers={"Host": host or address})
        with urllib.request.urlopen(asked) as answer:  # noqa: S310 - the address is ours
            text: str = answer.read().decode()
            return text

    return get


def test_the_page_is_of_what_there_is_and_its_state_changes_with_it(place: Path, get: Callable[..., str]) -> None:
    assert "No results as yet" in get("/")
    states = [get(STATE)]
    make_result(100).save(place / "a")
    states.append(get(STATE))
    assert "1 result so far" in get("/")
    make_result(200).save(place / "b")
    states.append(get(STATE))
    page = get("/")
    assert "2 results so far" in page and states[-1] in page
    Result.load(place / "b").with_document(make_result(300).document).save(place / "b", force=True)
    states += [get(STATE), get(STATE)]
    assert len(set(states)) == 4 and states[-1] == states[-2]
    (place / "b" / "result.json").write_text("{", "utf-8")
    assert "result.json: is no result" in get("/")


def test_no_other_machine_and_no_other_site_gets_it(made: ThreadingHTTPServer, get: Callable[..., str]) -> None:
    assert made.server_address[0] == "127.0.0.1"
    assert get("/", host=f"localhost:{made.server_port}")
    for path, host in (("/", "example.org"), (STATE, f"example.org:{made.server_port}"), ("/etc/passwd", None)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(path, host)
        with refused.value:
            assert refused.value.code == (403 if host else 404)
    with pytest.raises(CoflashError, match="--port"):
        server([Path()], port=made.server_port)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--serve", "-o", "r.html"], "--serve: has no effect on a file"),
        (["--serve", "--format", "pdf"], "--serve: has no effect on a file or on figures"),
        (["--port", "8000"], "--port: has no effect without --serve"),
        (["--columns", "2"], "--columns: has no effect on a page"),
        (["--annotate", "1MiB=x"], "--annotate: has no effect on a page"),
    ],
)
def test_options_without_effect_are_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path), *options])
    assert isinstance(done.exception, CoflashError)
    assert message in str(done.exception)


def test_a_page_that_is_watched_takes_new_results_and_keeps_its_view(
    browser: WebDriver, made: ThreadingHTTPServer, place: Path
) -> None:
    for requests in (100, 200):
        make_result(requests).save(place / str(requests))
    browser.get(f"http://127.0.0.1:{made.server_port}/")
    assert texts(browser, ".remarks li")[0] == "2 results so far; this page updates."
    find(browser, "#search").send_keys("seed=1")
    until(lambda: "#view?" in browser.current_url)
    make_result(300).save(place / "300")
    until(lambda: texts(browser, ".remarks li")[:1] == ["3 results so far; this page updates."])
    assert find(browser, "#search").get_attribute("value") == "seed=1"
    assert complaints(browser) == []
