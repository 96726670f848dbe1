"""The live page of a served device: its access, and what it is told."""

from __future__ import annotations

import base64
import http.client
import json
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from coflash import CoflashError
from coflash.cli import app, live_display
from coflash.device import Recorded
from coflash.report import lab, live
from coflash.report.live import LivePage
from coflash.report.local import Request
from pages import until


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LivePage]:
    monkeypatch.setattr(lab, "BROUGHT", tmp_path / "lab.html")
    (tmp_path / "lab.html").write_text("<title>coflash lab</title>", "utf-8")
    with LivePage("<b>disk</b>") as page:
        yield page


def tell(page: LivePage, session: str, operations: bytes, *news: str) -> None:
    """Say what flash did, to a page with one client."""
    page.tell([Recorded(Path(session), operations, b"", 0)], 1, news)


def get(page: LivePage, path: str, host: str | None = None, **headers: str) -> http.client.HTTPResponse:
    address = urlsplit(page.address)
    connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=1_000)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", address.netloc if host is None else host)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    return connection.getresponse()


def events(page: LivePage, seen: object = 0) -> list[Any]:
    """The events after the last one that was seen: their numbers and their data."""
    answer = get(page, f"{urlsplit(page.address).path}operations?after={seen}")
    found: list[Any] = json.loads(answer.read())
    return found


def test_only_its_own_address_shows_it(page: LivePage) -> None:
    path = urlsplit(page.address).path
    assert get(page, path).status == 200
    port = urlsplit(page.address).port
    assert len(path) > 20, "it cannot be guessed"
    for wrong in ("/", "/operations", path[:-1], path[:-2] + "x/", path + "x", "/../etc/passwd"):
        assert get(page, wrong).status == 404, wrong
    for host in ("evil.example", f"evil.example:{port}", "localhost", ""):
        for path_too in (path, f"{path}operations"):
            assert get(page, path_too, host).status == 403, "a site that names this machine as its own"


def test_silent_browsers_leave_room_for_the_process(page: LivePage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Request, "timeout", None)  # however long the machine takes to accept them
    address = urlsplit(page.address)
    silent = [socket.create_connection(("127.0.0.1", address.port or 0)) for _ in range(40)]
    until(lambda: len(select.select(silent, [], [], 0)[0]) == 8)  # those that are closed: it has 32 connections at most
    for connection in silent:
        connection.close()

    def has_room() -> bool:
        try:
            return get(page, address.path).status == 200
        except ConnectionError:  # it has not seen yet that they are closed
            return False

    until(has_room)


def test_the_address_names_the_device_and_the_page_is_the_laboratory(page: LivePage) -> None:
    assert urlsplit(page.address).fragment == "live=%3Cb%3Edisk%3C%2Fb%3E"
    assert get(page, urlsplit(page.address).path).read() == b"<title>coflash lab</title>"


def test_without_the_laboratory_there_is_no_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab, "BROUGHT", tmp_path / "lab.html")
    monkeypatch.setattr(lab, "BUILT", tmp_path / "index.html")
    done = CliRunner().invoke(app, ["serve", "demo", "--device", str(tmp_path / "ssd"), "--dashboard"])
    assert isinstance(done.exception, CoflashError)
    assert "make lab builds it" in str(done.exception)
    assert not (tmp_path / "ssd").exists()


def test_a_page_that_opens_late_or_again_is_told_what_it_has_not_seen(page: LivePage) -> None:
    for number in range(3):
        tell(page, "sessions/0001", f"{number}".encode())
    told = events(page)
    assert [number for number, _ in told] == [1, 2, 3]
    assert [base64.b64decode(one["operations"]) for _, one in told] == [b"0", b"1", b"2"]
    assert events(page, 2) == told[2:]
    assert events(page, 3) == []
    for unknown in ("9" * 5000, "-1", "x", 4):
        assert events(page, unknown) == told, "an open page of another server"
    tell(page, "sessions/0001", b"3")
    assert base64.b64decode(events(page, 3)[0][1]["operations"]) == b"3"


def test_flash_at_work_is_told_by_session_and_the_oldest_of_it_goes(
    page: LivePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(page, "sessions/0001", b"one")
    tell(page, "sessions/0001", b"")
    tell(page, "sessions/0002", b"", "the power was cut")
    told = [one for _, one in events(page)]
    assert [(one["session"], base64.b64decode(one["operations"]), one["told"]) for one in told] == [
        ("0001", b"one", []),
        ("0002", b"", ["the power was cut"]),
    ]
    monkeypatch.setattr(live, "_HISTORY_BYTES", 3000)
    for _ in range(9):
        tell(page, "sessions/0002", bytes(1200))
    assert [number for number, _ in events(page)] == [11], "what a page that opens late is told is bounded"


def test_numbers_are_told_though_flash_rests(page: LivePage) -> None:
    tell(page, "sessions/0001", b"")
    page.tell([Recorded(Path("sessions/0001"), b"", b"", 0)], 1, (), [{"label": "busy dies"}])
    assert [one["numbers"] for _, one in events(page)] == [[], [{"label": "busy dies"}]]


def test_a_number_of_the_page_is_what_grew_in_a_second_and_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    tiles = live_display.Tiles()

    def take(host: float, programs: float, requests: float, mean_ns: float, busy: float) -> list[dict[str, Any]]:
        nonlocal now
        now += 1.0
        counts = {"host_writes_pages": host, "programs_pages.host": host, "programs_pages.gc": programs - host}
        spared = {"gc_copies_pages": programs - host, "gc_drops_pages": 0.0, "gc_spared_pages": programs - host}
        load = {"load.requests": requests, "load.response_mean_ns": mean_ns}
        return tiles.take({**counts, **spared, **load, "die_utilisation": busy, "simulated_ns": now * 1e9})

    assert take(0, 0, 5, 9e9, 0.0) == []
    take(100, 200, 10, 1e6, 0.5)
    told = {tile["label"]: tile for tile in take(200, 600, 30, 3e6, 0.5)}
    assert {label: (tile["now"], tile["minute"]) for label, tile in told.items()} == {
        "write amplification": ("4.000", "3.000"),
        "copies spared, of what GC met": ("50.0\u00a0%", "50.0\u00a0%"),
        "busy dies": ("50.0\u00a0%", "75.0\u00a0%"),
        "mean response of the server": ("3 ms", "2.50 ms"),
    }
    assert told["write amplification"]["course"] == [2.0, 4.0]
    outrun = {tile["label"]: tile for tile in take(200, 600, 0, 0.0, 3.0)}
    assert outrun["busy dies"]["now"] == "100.0\u00a0%", "clients may outrun the device"
    for _ in range(70):
        idle = {tile["label"]: tile for tile in take(200, 600, 0, 0.0, 0.5)}
    assert idle["write amplification"]["now"] == "\u2013", "nothing is written"


def test_after_its_end_nobody_is_told_anything(page: LivePage) -> None:
    assert events(page) == []
    page.stop()
    with pytest.raises(ConnectionRefusedError):
        events(page)
