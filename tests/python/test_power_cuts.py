"""Power cuts as clients see them: connections end, no success follows a loss, and docs/device.md holds."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from coflash import CoflashError, Scenario, device
from coflash.policies import policies
from processes import COFLASH, begin
from raw_nbd import FLUSH, FUA, NO_HOLE, PAGE, READ, TRIM, WRITE, ZERO, Client, Vanished
from served_devices import scenario

OLD, NEW = 1, 2
_CACHE, _HOST, _VOLATILE = {"cache.size": "5%"}, {"cache.placement": "host"}, {"cache.volatile": True}
PLACES: dict[str, dict[str, Any]] = {
    "uncached": {},
    "kept": _CACHE,
    "volatile": {**_CACHE, **_VOLATILE},
    "host": {**_CACHE, **_HOST},
    "host-volatile": {**_CACHE, **_HOST, **_VOLATILE},
}


def promise(made: Scenario) -> str:
    """What of the answered writes is there after a cut that clients see, as the table of docs/device.md has it."""
    keys = made.to_dict()
    if keys["cache"]["volatile"]:
        return "flushed"
    return "committed" if keys["cooperation"]["name"] == "cdm-consistent" else "answered"


def is_in_host(made: Scenario) -> bool:
    return bool(made.to_dict()["cache"]["placement"] == "host")


def served() -> Iterator[Any]:
    """Every registered scheme with every place and kind of cache, as far as it can be served."""
    (schemes,) = (family.policies for family in policies() if family.key == "cooperation")
    for scheme, (place, keys) in itertools.product(schemes, PLACES.items()):
        try:
            made = scenario("none").with_({**keys, "cooperation": {"name": scheme.name}})
            made.check()
        except CoflashError:  # a scheme needs another cache
            continue
        yield pytest.param(made, id=f"{scheme.name}-{place}")
    grants = {**PLACES["host"], "host.protecting": "grants", "cooperation": {"name": "cdm-consistent"}}
    yield pytest.param(scenario("none").with_(grants), id="grants")
    yield pytest.param(scenario("queued"), id="queued")


SERVED = list(served())


def sides(made: Scenario) -> list[str]:
    return ["device", "host", "both"] if is_in_host(made) else ["device", "both"]


def goes_on(made: Scenario, side: str) -> bool:
    """Whether the host keeps its power, and its clients with it."""
    return side == "device" and is_in_host(made)


def after(made: Scenario, old: list[int], new: list[int]) -> list[list[int]]:
    """What pages may be whose last write was answered and not flushed."""
    if promise(made) == "answered":
        return [[one] for one in new]
    if promise(made) == "flushed":
        return [[one, other] for one, other in zip(old, new, strict=True)]
    return [[one] for one in old]


@pytest.mark.parametrize("made", SERVED)
def test_a_cut_ends_every_connection_and_leaves_what_was_promised(made: Scenario, tmp_path: Path) -> None:
    for side in sides(made):
        with device.serve(made, tmp_path / side) as disk:
            one, other, third = (Client(disk.address) for _ in range(3))
            one.write(0, 100, OLD)
            one.ask(FLUSH)
            other.write(100, 1, NEW, FUA)
            one.write(0, 20, NEW)
            third.write(30, 10, NEW)
            third.ask(TRIM, 60 * PAGE, 10 * PAGE)
            third.ask(ZERO, 80 * PAGE, 10 * PAGE)
            loss = disk.cut(seed=4, side=side)
            told = disk.look()
            if goes_on(made, side):
                assert (loss.writes, loss.connections) == (0, 0)
                assert "no connection ended" in loss.told
                assert any("the host went on" in line for line in told)
                assert third.pages(0, 20) == [NEW] * 20, "nothing is lost"
                one.ask(FLUSH)
                assert (one.pages(60, 10), one.pages(80, 10)) == ([0] * 10, [0] * 10)
                continue
            assert told == [loss.told]
            assert loss.connections == 3
            assert all(client.has_vanished() for client in (one, other, third))
            lost = {"answered": (0, 0), "flushed": (2, 30 * PAGE), "committed": (4, 50 * PAGE)}[promise(made)]
            assert (loss.writes, loss.bytes) == lost
            assert ("no answered write is lost" in loss.told) == (lost == (0, 0))
            again = Client(disk.address)
            assert again.pages(100, 1) == [NEW], "FUA"
            found = again.pages(0, 100)
            # Every scheme but one keeps trims.
            zeros = OLD if promise(made) == "committed" else 0
            old = [OLD] * 60 + [zeros] * 10 + [OLD] * 10 + [zeros] * 10 + [OLD] * 10
            new = [NEW] * 20 + [OLD] * 10 + [NEW] * 10 + old[40:]
            for page, (value, allowed) in enumerate(zip(found, after(made, old, new), strict=True)):
                assert value in allowed, f"{side}: page {page}"
            if loss.pages is not None:
                assert loss.pages == sum(value != wanted for value, wanted in zip(found, new, strict=True))
            again.ask(FLUSH)
            again.write(0, 1, OLD)
        assert all(device.twin(session) == {} for session in device.sessions(tmp_path / side))


@pytest.mark.parametrize("made", SERVED)
@pytest.mark.parametrize("cut_after", ["flush=2", "writes=40"])
def test_what_is_under_way_at_a_cut_is_never_answered_with_success(
    made: Scenario, cut_after: str, tmp_path: Path
) -> None:
    for side in sides(made):
        with device.serve(made, tmp_path / side, cut_after=cut_after, side=side, seed=7) as disk:
            client, idle = Client(disk.address), Client(disk.address)
            flushed, answered, writes, flushes = 0, 0, {}, {}
            try:
                # Ahead of the answers, with a flush after every sixteen writes.
                for number in range(192):
                    writes[client.send(WRITE, number * PAGE, data=bytes([NEW]) * PAGE)] = number
                    if number % 16 == 15:
                        flushes[client.send(FLUSH)] = answered
                        cookie = -1
                        while cookie not in flushes:
                            cookie, error, _ = client.answer()
                            assert error == 0, "no answer is better than one that may be wrong"
                            answered += cookie in writes
                        flushed = flushes[cookie]
            except Vanished:
                pass
            has_ended = not goes_on(made, side)
            assert any("cut" in line for line in disk.look())
            if not has_ended:
                assert not client.sent
                assert client.pages(0, 192) == [NEW] * 192
                continue
            assert client.has_vanished() and idle.has_vanished()
            sure = answered if promise(made) == "answered" else flushed
            assert not sure or Client(disk.address).pages(0, sure) == [NEW] * sure


@pytest.mark.parametrize("made", [one for one in SERVED if promise(one.values[0]) != "flushed"])
@pytest.mark.parametrize(
    ("command", "first", "count", "flags"),
    [
        (WRITE, 3 * PAGE, 131 * PAGE, 0),
        (WRITE, 3 * PAGE + 512, 700 * PAGE, 0),
        (TRIM, 0, 1500 * PAGE, 0),
        (ZERO, 512, 1500 * PAGE, 0),
        (ZERO, 512, 700 * PAGE, NO_HOLE),
    ],
)
def test_an_answered_request_of_several_pages_is_there_whole_or_not_at_all(
    made: Scenario, command: int, first: int, count: int, flags: int, tmp_path: Path
) -> None:
    size = 1600 * PAGE
    with device.serve(made, tmp_path / "device") as disk:
        for before in (0, 60):
            client = Client(disk.address)
            client.write(0, 1600, OLD)
            client.ask(FLUSH)
            # Others wait for the same commit.
            for page in range(before):
                client.write(1540 + page, 1, OLD)
            data = bytes([NEW]) * count if command == WRITE else b""
            client.ask(command, first, count, data, flags)
            disk.cut(seed=before, side="both")
            found = Client(disk.address).ask(READ, 0, size)
            old = bytes([OLD]) * size
            new = bytearray(old)
            new[first : first + count] = data or bytes(count)
            assert found == new or (promise(made) == "committed" and found == old)
    assert all(device.twin(session) == {} for session in device.sessions(tmp_path / "device"))


def test_answers_that_are_held_back_do_not_come_after_a_cut(tmp_path: Path) -> None:
    # A year for each page: the answer never comes by itself.
    slow = scenario("volatile").with_({"cache.size": "0B", "cache.volatile": False, "timing.page_program": "1000000s"})
    with device.serve(slow, tmp_path / "device", emulate=True) as disk:
        client = Client(disk.address)
        client.send(WRITE, 0, data=bytes([NEW]) * PAGE)
        while disk.metrics is not None and not disk.metrics["host_writes_pages"]:
            continue
        loss = disk.cut()
        assert (loss.writes, loss.connections) == (0, 1)
        assert client.has_vanished()


def test_what_an_ended_connection_had_sent_has_no_effect_later(tmp_path: Path) -> None:
    with device.serve(scenario("none"), tmp_path / "device") as disk:
        for _ in range(20):
            client = Client(disk.address)
            for _ in range(1000):
                client.send(WRITE, 0, data=bytes([OLD]) * 512)
            disk.cut()
            again = Client(disk.address)
            again.write(0, 1, NEW)
            assert client.has_vanished()
            assert again.pages(0, 1) == [NEW]


def test_a_silent_client_of_the_control_socket_delays_nobody(tmp_path: Path) -> None:
    with ExitStack() as open_, device.serve(scenario("cdm"), tmp_path / "device") as disk:
        silent = [open_.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(20)]
        for one in silent:
            one.connect(str(tmp_path / "device" / "control"))
        silent[0].sendall(b"cut dev")
        assert disk.cut().connections == 0
        # It is still listened to.
        silent[0].sendall(b"ice 3\n")
        assert json.loads(silent[0].recv(4096))["Ok"]["writes"] == 0
        silent[1].sendall(b"reboot\n")
        assert json.loads(silent[1].recv(4096)) == {"Err": '"reboot" was given; "cut SIDE SEED" or "info" is allowed'}


def test_idle_clients_do_not_hold_others_out_and_their_number_has_a_limit(tmp_path: Path) -> None:
    with device.serve(scenario("none"), tmp_path / "many") as disk:
        idle = [Client(disk.address) for _ in range(100)]
        idle.append(Client(disk.address))
        assert idle[-1].pages(0, 1) == [0]
    with device.serve(scenario("none"), tmp_path / "two", connections=2) as disk:
        idle = [Client(disk.address) for _ in range(2)]
        with pytest.raises(Vanished):
            Client(disk.address)
        while not (told := disk.look()):  # the server says why after it has closed the connection
            pass
        assert "2 connections are open" in told[0]


def test_an_address_that_other_machines_reach_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    for listen in ("0.0.0.0:0", "[::]:0", "192.0.2.1:10809"):
        with pytest.raises(CoflashError, match=r"no password and no encryption.*127\.0\.0\.1.*--insecure"):
            device.serve(scenario("none"), tmp_path / "device", listen=listen)
        assert not (tmp_path / "device").exists()
    with device.serve(scenario("none"), tmp_path / "device", listen="0.0.0.0:0", insecure=True) as disk:
        port = disk.address.rpartition(":")[2]
        client = Client(f"nbd://127.0.0.1:{port}")
        assert client.pages(0, 1) == [0]
        assert disk.cut().connections == 1
        assert client.has_vanished()


def test_the_command_says_what_a_cut_took_and_so_does_the_server(tmp_path: Path) -> None:
    folder, file = str(tmp_path / "device"), tmp_path / "scenario.toml"
    file.write_text(scenario("volatile").to_toml())
    with begin(*COFLASH, "serve", str(file), "--device", folder) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        client = Client(server.stdout.readline().strip())
        for page in range(64):
            client.write(page, 1, NEW)
        with begin(*COFLASH, "device", "cut", folder) as cut:
            told, _ = cut.communicate()
        assert told == (
            "the power of the device was cut: 64 pages are lost, of 64 answered writes (256KiB) that no flush "
            "followed; connections ended: 1; it is on again\n"
        )
        assert told.strip() in server.stderr.readline()
        assert client.has_vanished()
