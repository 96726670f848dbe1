"""Served devices: third-party clients verify them, and every session has its twin."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars
import pytest

from coflash import CoflashError, Result, device
from coflash._core import REVISION
from nbd_clients import needs
from processes import PATIENCE_S
from raw_nbd import FLUSH, PAGE, READ, TRIM, WRITE, ZERO, Client
from served_devices import PROMISES, SCHEMES, scenario

EXAMPLE = Path(__file__).parents[2] / "examples/missing_flush"
BYTES = 8 << 20
READ_ONLY = "; the device is read-only: what was answered can be read, and changes are refused"
Serving = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """`coflash serve` of a scenario as a process, and its address; at the end there is no process left."""
    processes = []

    def start(name: str, *options: str) -> tuple[subprocess.Popen[str], str]:
        file = tmp_path / "scenario.toml"
        file.write_text(scenario(name).to_toml())
        command = [sys.executable, "-m", "coflash", "serve", str(file), "--device", str(tmp_path / "device"), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_without_descriptors_for_more_connections_the_others_are_served(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    served = f"{sys.executable} -m coflash serve ssd --size 64MiB --device {folder} --listen 127.0.0.1:0"
    command = ["/bin/sh", "-c", f"ulimit -n 64; exec {served}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().strip()
        first = Client(address)
        place = ("127.0.0.1", int(address.rsplit(":", 1)[1].rstrip("/")))
        others = [socket.create_connection(place) for _ in range(100)]
        assert "Too many open files" in process.stderr.readline()
        first.write(0, 4, 7)
        for other in others:
            other.close()
        second = Client(address)
        assert second.pages(0, 4) == [7] * 4
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


def call(*arguments: str | Path) -> str:
    command = [str(argument) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def io(address: str, *commands: str) -> None:
    arguments = [argument for command in commands for argument in ("-c", command)]
    out = call("qemu-io", "-f", "raw", *arguments, address)
    assert "failed" not in out, out


def check_sessions(folder: Path, number: int) -> None:
    """Every session has a result and a twin, and the container is whole."""
    found = device.sessions(folder)
    assert len(found) == number
    for session in found:
        assert device.twin(session) == {}, session
    assert device.check(folder) == []


@pytest.mark.parametrize("scheme", ["cdm", "host-consistent", "queued"])
def test_what_flash_does_is_recorded_as_it_happens_session_by_session(scheme: str, tmp_path: Path) -> None:
    rows = {"operations": 0, "copies": 0, "erases": 0, "victims": 0}

    def take() -> list[str]:
        sessions = []
        for part in served.recorded():
            sessions.append(part.session.name)
            assert part.left_out == 0
            if part.operations:
                operations = polars.read_parquet(part.operations)
                rows["operations"] += operations.height
                rows["copies"] += operations.filter(kind="copy", cause="gc").height
                rows["erases"] += operations.filter(kind="erase").height
            if part.decisions:
                decisions = polars.read_parquet(part.decisions)
                assert decisions["chosen"].all()
                rows["victims"] += decisions.height
        return sessions

    rng = random.Random(2)
    with device.serve(scenario(scheme), tmp_path / "device") as served:
        assert take() == ["0001"], "it begins to record"
        for _ in range(3):
            client = Client(served.address)
            for _ in range(1000):
                client.write(rng.randrange(BYTES // PAGE), 1, 1)
            client.ask(FLUSH)
            assert take() == ["0001"]
        metrics = served.metrics
        assert metrics is not None
        if scheme == "queued":  # an operation is told when it ends, and this device is behind its client
            while rows["erases"] == 0:
                take()
        else:
            assert rows["copies"] == metrics.gc_copies_pages > 0
            assert rows["erases"] == metrics.erases_blocks > 0
        assert rows["victims"] > 0
        served.cut(side="device")
        before = dict(rows)
        client = Client(served.address)
        for _ in range(1000):
            client.write(rng.randrange(BYTES // PAGE), 1, 1)
        # A host that goes on with its cache goes on with its session.
        assert take() == (["0001"] if scheme == "host-consistent" else ["0001", "0002"])
        grown = {what for what in rows if rows[what] > before[what]}
        assert grown >= {"operations", "erases", "victims"}, "GC of the device that came back is recorded, too"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_served_device_is_a_disk_and_its_sessions_have_twins(scheme: str, tmp_path: Path) -> None:
    needs("nbdcopy", "qemu-io", "nbdinfo")
    folder, image, copy = tmp_path / "device", tmp_path / "image", tmp_path / "copy"
    image.write_bytes(random.Random(1).randbytes(BYTES))
    with device.serve(scenario(scheme), folder, size="8MiB") as served:
        assert str(BYTES) in call("nbdinfo", "--size", served.address)
        for _ in range(4):  # GC has work
            call("nbdcopy", "--flush", image, served.address)
        io(served.address, "write -P 7 1000 5000", "write -z 40960 8192", "discard 81920 4096", "flush")
        io(served.address, "read -P 7 1000 5000", "read -P 0 40960 8192", "read -P 0 81920 4096")
        assert '"type": 3' in call("nbdinfo", "--map", "--json", served.address), "there is a hole"
        call("nbdcopy", served.address, copy)
        before = copy.read_bytes()
    expected = bytearray(image.read_bytes())
    expected[1000:6000] = b"\7" * 5000
    expected[40960:49152] = bytes(8192)
    expected[81920:86016] = bytes(4096)
    assert before == expected
    copy.unlink()
    with device.serve(None, folder) as served:
        call("nbdcopy", served.address, copy)
        assert copy.read_bytes() == expected, "after a restart"
        io(served.address, "write -P 9 0 1M", "flush")
        served.cut(seed=3, side="both")
        io(served.address, "read -P 9 0 1M", "write -P 5 1M 1M")
    check_sessions(folder, 3)
    result = Result.load(device.sessions(folder)[0] / "result")
    assert result.metrics["erases_blocks"] > 50


def test_power_is_cut_in_the_request_that_was_named(tmp_path: Path) -> None:
    needs("qemu-io")
    folder = tmp_path / "device"
    with device.serve(scenario("consistent"), folder, listen="127.0.0.1:0", cut_after="flush=2", seed=4) as served:
        assert served.address.startswith("nbd://127.0.0.1:")
        io(served.address, "write -P 1 0 64k", "flush")
        lost = ["/usr/bin/env", "qemu-io", "-f", "raw", "-c", "write -P 2 64k 64k", "-c", "flush", served.address]
        subprocess.run(lost, capture_output=True, check=False)
        problems = served.look()
        io(served.address, "read -P 1 0 64k")
    assert any("cut" in problem for problem in problems), problems
    check_sessions(folder, 2)


def test_a_failed_write_of_the_container_is_told_once(tmp_path: Path) -> None:
    needs("qemu-io")
    served = device.serve(scenario("none"), tmp_path / "device")
    command, pipe = ["qemu-io", "-f", "raw", served.address], subprocess.PIPE
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        # As on a full disk, each write of a file fails.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            told = []
            for _ in range(3):
                client.stdin.write("write -f 0 64k\n")
                assert "failed: No space left on device" in client.stdout.readline()
                told.append(served.look())
            client.stdin.write("quit\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with pytest.raises(CoflashError, match="File too large"):
        served.stop()
    reason = "writing data failed: File too large (os error 27)"
    assert told == [
        [f"{reason}; the device is read-only: what was answered can be read, and changes are refused"],
        [],
        [],
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let tests mount")
    yield disk
    call("umount", disk)


@pytest.mark.parametrize("scheme", ["none", "volatile", "cdm", "consistent", "host-cdm"])
def test_a_device_on_a_full_disk_can_be_read_and_opened_for_reading(scheme: str, small_disk: Path) -> None:
    needs("qemu-io")
    folder, filler = small_disk / "device", small_disk / "filler"
    read = [f"read -P {block % 250 + 1} {block * 256}k 256k" for block in range(16)]

    def refused(address: str, *options: str) -> str:
        command = ["qemu-io", "-f", "raw", *options, address, "-c", "write -P 9 6M 1M", "-c", "flush"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    served = device.serve(scenario(scheme), folder)
    io(served.address, *(line.replace("read", "write") for line in read), "flush")
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))
    assert "No space left on device" in refused(served.address)
    (told,) = served.look()
    assert told.endswith(READ_ONLY)
    command = ["qemu-io", "-r", "-f", "raw", *(word for line in read for word in ("-c", line)), served.address]
    for _ in range(2):
        assert "failed" not in call(*command)
    assert device.refusal(folder) == told.split(";")[0]
    served.cut(seed=1)  # it recovers from what it has in memory
    assert "failed" not in call(*command)
    with pytest.raises(CoflashError, match="No space"):
        served.stop()
    with device.serve(None, folder) as again:
        assert "read-only" in again.look()[-1]
        assert "failed" not in call(*command)
    filler.unlink()
    with device.serve(None, folder) as again:
        assert again.look() == []
        io(again.address, *read, "write -P 9 6M 1M", "flush", "read -P 9 6M 1M")
    assert device.check(folder) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_refused_change_leaves_what_the_next_power_on_finds(scheme: str, small_disk: Path) -> None:
    folder, filler = small_disk / "device", small_disk / "filler"
    pages, size = 400, 400 * PAGE
    served = device.serve(scenario(scheme), folder)
    client = Client(served.address)
    client.write(0, pages, 1)
    client.ask(FLUSH)
    client.write(100, 50, 2)  # answered, and not flushed
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(PAGE))
    refused = b"".join(
        [
            client.request(WRITE, PAGE + 512, data=bytes([3]) * (250 * PAGE)),
            client.request(TRIM, 260 * PAGE + 512, 20 * PAGE),
            client.request(ZERO, 300 * PAGE + 512, 20 * PAGE),
            client.request(WRITE, 303 * PAGE, data=bytes([4]) * (90 * PAGE)),
            client.request(FLUSH),
        ]
    )
    client.transmit(refused)
    assert {client.answer()[1] for _ in range(5)} == {errno.ENOSPC}
    found = client.ask(READ, 0, size)
    assert found[: PAGE + 512] == bytes([1]) * (PAGE + 512)
    assert found[393 * PAGE :] == bytes([1]) * (7 * PAGE)
    assert set(found) <= {0, 1, 2, 3, 4}
    if PROMISES.get(scheme, "answered") == "answered":
        assert 1 not in found[100 * PAGE : 150 * PAGE], "what was answered is not undone"
    assert client.ask(READ, 7 * PAGE + 5, 300 * PAGE) == found[7 * PAGE + 5 : 307 * PAGE + 5]
    served.cut(seed=1, side="both")
    assert Client(served.address).ask(READ, 0, size) == found, "after a power cut"
    with pytest.raises(CoflashError, match="No space"):
        served.stop()
    with device.serve(None, folder) as again:
        assert Client(again.address).ask(READ, 0, size) == found, "opened for reading"
    filler.unlink()
    with device.serve(None, folder) as again:
        assert Client(again.address).ask(READ, 0, size) == found, "with room again"


def test_a_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    folder, trace = tmp_path / "device", tmp_path / "trace.csv"
    with pytest.raises(CoflashError, match="No such file"):
        device.serve(scenario("none"), folder, socket=tmp_path / "missing" / "nbd", trace=trace)
    assert list(tmp_path.iterdir()) == []
    with device.serve(scenario("none"), folder, trace=trace):
        pass
    before = sorted(folder.rglob("*"))
    with pytest.raises(CoflashError, match="No such file"):
        device.serve(None, folder, socket=tmp_path / "missing" / "nbd")
    assert sorted(folder.rglob("*")) == before


def test_a_session_without_requests_has_its_twin(tmp_path: Path) -> None:
    with device.serve(scenario("cdm"), tmp_path / "device") as served:
        served.cut(seed=1)
    check_sessions(tmp_path / "device", 2)


@pytest.mark.parametrize("scheme", ["host-nvm", "host-cdm", "host-consistent"])
def test_a_host_goes_on_with_its_cache_when_its_device_loses_power(scheme: str, tmp_path: Path) -> None:
    needs("qemu-io")
    folder = tmp_path / "device"
    with device.serve(scenario(scheme), folder, cut_after="writes=3", seed=4) as served:
        # No request fails, and nothing is lost, flushed or not.
        io(served.address, *(f"write -P {number} {number}M 1M" for number in range(7)))
        problems = served.look()
        assert any("the host went on" in problem for problem in problems), problems
        served.cut(seed=5)
        io(served.address, *(f"read -P {number} {number}M 1M" for number in range(7)), "discard 0 1M", "flush")
        assert served.sessions == []
        for side in ("host", "both"):
            served.cut(seed=6, side=side)
            io(served.address, "read -P 0 0 1M", *(f"read -P {number} {number}M 1M" for number in range(1, 7)))
            assert len(served.sessions) == 1 + (side == "both")
    assert len(list(folder.glob("sessions/0001/restart-*.zst"))) == 2
    check_sessions(folder, 3)


def test_the_command_line_serves_until_it_is_interrupted(serving: Serving, tmp_path: Path) -> None:
    needs("qemu-io")
    folder, coflash = tmp_path / "device", [sys.executable, "-m", "coflash"]
    process, address = serving("cdm", "--emulate")
    io(address, "write -P 1 0 64k", "read -P 1 0 64k")
    call(*coflash, "device", "cut", folder, "--seed", "5")
    io(address, "read -P 1 0 64k")
    assert "journal bytes" in call(*coflash, "device", "info", folder)
    busy = subprocess.run([*coflash, "device", "check", folder], capture_output=True, text=True, check=False)
    assert busy.returncode == 2
    assert "another process" in busy.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    assert call(*coflash, "device", "twin", folder).split() == ["0001:", "equal", "0002:", "equal"]
    assert "8 MiB" in call(*coflash, "device", "info", folder)
    assert "nothing is damaged" in call(*coflash, "device", "check", folder)


def test_a_session_of_another_revision_is_not_compared_with_its_simulation(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    with device.serve(scenario("cdm"), folder):
        pass
    (session,) = device.sessions(folder)
    assert device.twin(session) == {}
    kept = session / "result" / "result.json"
    document = json.loads(kept.read_text("utf-8"))
    kept.write_text(json.dumps({**document, "revision": REVISION + 1}), encoding="utf-8")
    told = f"is of revision {REVISION + 1} of results .* a simulation is of revision {REVISION} "
    with pytest.raises(CoflashError, match=told):
        device.twin(session)
    command = [sys.executable, "-m", "coflash", "device", "twin", str(folder)]
    twin = subprocess.run(command, capture_output=True, text=True, check=False)
    assert twin.returncode == 1
    assert f"revision {REVISION + 1}" in twin.stderr


def test_emulated_answers_come_when_the_device_gives_them_and_the_load_is_measured(tmp_path: Path) -> None:
    needs("fio")
    # Without a map, so that pages are read that were written.
    job = ["--name=job", "--ioengine=nbd", "--rw=randrw", "--bs=4k", "--size=1m", "--io_size=6m", "--norandommap"]
    job += ["--iodepth=8", "--fsync=16"]
    for emulated in (True, False):
        folder = tmp_path / str(emulated)
        with device.serve(scenario("queued"), folder, emulate=emulated) as served:
            call("fio", *job, f"--uri={served.address}")
            numbers = served.measured()
            again = served.measured()
        assert numbers["load.requests"] >= numbers["requests"]
        assert numbers["load.requests"] > 1_000
        assert 0 < numbers["load.queue_depth"] <= 8
        assert numbers["load.response_mean_ns"] > 0
        assert again["load.requests"] == 0, "the load since the last call"
        assert "load.response_mean_ns" not in again
        assert ("response_ns.all.mean" in numbers) == emulated
        if emulated:
            assert numbers["load.requests"] == numbers["requests"]
            assert numbers["load.response_mean_ns"] >= numbers["response_ns.all.mean"] > 10_000
        check_sessions(folder, 1)


@pytest.mark.parametrize("scheme", ["none", "nvm", "cdm"])
def test_answered_writes_survive_the_end_of_the_process(serving: Serving, scheme: str, tmp_path: Path) -> None:
    needs("fio", "qemu-io")
    folder = tmp_path / "device"
    process, address = serving(scheme)
    # fio leaves without a flush.
    job = ["--name=job", "--ioengine=nbd", "--rw=write", "--bs=20k", "--size=400k", "--buffer_pattern=0x07"]
    call("fio", *job, f"--uri={address}")
    process.kill()
    process.wait()
    with device.serve(None, folder) as served:
        io(served.address, "read -P 7 0 400k")
    # As if the process had been killed between the two files.
    (folder / "sessions/0001/session.json").write_text('{"end_ns": 1, "was_cut": false}')
    assert [session.name for session in device.sessions(folder)] == ["0002"], "the first has no result"
    check_sessions(folder, 1)


def test_a_device_goes_on_with_other_policies_but_not_with_another_layout(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    first = scenario("cdm")
    device.serve(first, folder).stop()
    device.serve(first.with_({"gc.victim": "fifo", "timing.page_read": "9us"}), folder).stop()
    with pytest.raises(CoflashError, match=r'cooperation.*"none" and was "cdm"'):
        device.serve(first.with_({"cooperation": {"name": "none"}}), folder)
    with pytest.raises(CoflashError, match=r"cache.size is .*10%"):
        device.serve(first.with_(cache__size="10%"), folder)
    with pytest.raises(CoflashError, match=r"there is no device; `coflash serve demo --device"):
        device.serve(None, tmp_path / "other")
    with pytest.raises(CoflashError, match=rf"nobody serves the device \(.*`coflash serve --device {folder}` does"):
        device.cut(folder, 0, "device")
    with pytest.raises(CoflashError, match=r'"soon" was given; "writes=N"'):
        device.serve(first, folder, cut_after="soon")
    lost = {"controller.volatile": True, "controller.write_buffer": "1MiB"}
    for place in ({"host_buffer.size": "1MiB"}, lost):
        with pytest.raises(CoflashError, match=f"{next(iter(place))}.*cannot be served"):
            device.serve(scenario("nvm").with_(place), tmp_path / "other")
    with pytest.raises(CoflashError, match=r"host\.protecting.*cdm-consistent"):
        device.serve(scenario("host-cdm").with_({"host.protecting": "grants"}), tmp_path / "other")
    with pytest.raises(CoflashError, match=r'side: "host" was given; with the cache in the device'):
        device.serve(first, folder, cut_after="flush=1", side="host")
    with pytest.raises(CoflashError, match=r'side: "left" was given; "host", "device" or "both"'):
        device.serve(first, folder, cut_after="flush=1", side="left")
    assert not (tmp_path / "other").exists()


def test_an_address_holds_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with device.serve(scenario("none"), "device") as served:
        assert served.address == f"nbd+unix:///?socket={tmp_path}/device/nbd"


def test_a_damaged_container_is_told(tmp_path: Path) -> None:
    needs("qemu-io")
    folder = tmp_path / "device"
    with device.serve(scenario("none"), folder) as served:
        io(served.address, "write -P 1 0 1M", "flush")
    data = folder / "data"
    content = bytearray(data.read_bytes())
    place = content.index(b"\1" * 512)
    content[place] ^= 4
    data.write_bytes(content)
    assert any("byte 0 of its data is damaged; its code mends it" in line for line in device.check(folder))
    with device.serve(None, folder) as served:
        io(served.address, "read -P 1 0 1M")
    content[place + 1] ^= 4
    data.write_bytes(content)
    assert any("checksum" in line for line in device.check(folder))
    with device.serve(None, folder) as served:
        told = []
        for is_cut in (False, False, True):
            if is_cut:
                served.cut(seed=1)
            command = ["qemu-io", "-f", "raw", served.address, "-c", "read 0 1M"]
            assert b"Input/output error" in subprocess.run(command, capture_output=True, check=False).stdout
            told.append([line for line in served.look() if "checksum" in line])
    assert [len(lines) for lines in told] == [1, 0, 1], told


def explore(folder: Path, *, ordered: bool, points: int) -> device.Explored:
    environment = f"ORDER={int(ordered)}"
    run, check = f"{environment} {EXAMPLE}/append.sh", f"{EXAMPLE}/check.sh"
    return device.explore(scenario("none"), folder, run, check, points=points, seed=1)


def test_a_missing_flush_is_found_and_its_device_kept(tmp_path: Path) -> None:
    needs("nbdsh")
    sound = explore(tmp_path / "sound", ordered=True, points=12)
    assert (sound.flushes, sound.failed) == (48, 0)
    assert sound.states > sound.flushes
    found = explore(tmp_path / "found", ordered=False, points=24)
    assert found.failed > 0
    failure = Path(found.failures[0])
    assert "are not there" in (failure / "failure.txt").read_text()
    with device.serve(None, failure) as served:
        check = subprocess.run(
            [EXAMPLE / "check.sh"], env={**os.environ, "COFLASH_NBD": served.address}, capture_output=True, check=False
        )
    assert b"are not there" in check.stderr
    with pytest.raises(CoflashError, match="the workload failed"):
        device.explore(None, tmp_path / "found", "exit 3", "true")


def test_a_page_that_is_trimmed_before_its_image_is_durable_is_found(tmp_path: Path) -> None:
    needs("nbdsh")
    folder = EXAMPLE.parent / "trimmed_page"
    sound, found = (
        device.explore(
            scenario("none"),
            tmp_path / order,
            f"ORDER={order} {folder}/store.sh",
            f"{folder}/check.sh",
            points=points,
            seed=1,
        )
        for order, points in (("1", 12), ("0", 24))
    )
    assert (sound.flushes, sound.failed) == (88, 0)
    assert found.failed > 0
    assert "is neither in the log from record" in (Path(found.failures[0]) / "failure.txt").read_text()


def test_an_atomic_unit_is_never_torn(tmp_path: Path) -> None:
    needs("nbdsh")
    run = """PATH=/usr/bin:$PATH nbdsh -u "$COFLASH_NBD" -c 'h.pwrite(b"1" * 4096, 8192)'"""
    check = """PATH=/usr/bin:$PATH nbdsh -u "$COFLASH_NBD" -c 'assert len(set(h.pread(4096, 8192))) == 1'"""
    failed = [
        device.explore(scenario("none"), tmp_path / "device", run, check, points=20, atomic=atomic).failed
        for atomic in ("512B", "4KiB")
    ]
    assert failed[0] > 0
    assert failed[1] == 0
    with pytest.raises(CoflashError, match='atomic: "100B" was given; a multiple of 512B, such as "4KiB", is allowed'):
        device.explore(None, tmp_path / "device", run, check, atomic="100B")
