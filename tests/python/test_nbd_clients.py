"""Third-party clients: libnbd, nbdcopy, fio, qemu."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbd_clients import client, libnbd, memory_disk, served_device, served_memory

MIB = 1 << 20
SIZE = 64 * MIB


@pytest.fixture(scope="module")
def program() -> str:
    return memory_disk()


@pytest.fixture(params=["memory", "device"])
def uri(request: pytest.FixtureRequest, program: str, tmp_path: Path) -> Iterator[str]:
    """A disk in memory, or a device on the firmware."""
    socket = str(tmp_path / "a socket")
    if request.param == "memory":
        disk = served_memory(program, SIZE, socket)
    else:
        disk = served_device(tmp_path / "device", "ssd", "--size", f"{SIZE}B", "--listen", socket)
    with disk as uri:
        yield uri


def test_nbdinfo_hears_of_all_abilities(uri: str) -> None:
    told = json.loads(client("nbdinfo", "--json", uri))
    assert (told["protocol"], told["TLS"], told["structured"]) == ("newstyle-fixed", False, True)
    export = told["exports"][0]
    assert export["contexts"] == ["base:allocation"]
    assert export["export-size"] == SIZE
    assert {name: value for name, value in export.items() if name.startswith(("can_", "is_", "block_"))} == {
        "is_rotational": False,
        "is_read_only": False,
        **{f"can_{what}": True for what in ("cache", "df", "fast_zero", "flush", "fua", "multi_conn", "trim", "zero")},
        "block_size_minimum": 1,
        "block_size_preferred": 4096,
        "block_size_maximum": 32 * MIB,
    }
    listed = json.loads(client("nbdinfo", "--list", "--json", uri))
    assert [one["export-name"] for one in listed["exports"]] == [export["export-name"]]


def test_an_export_that_is_not_there_is_refused_by_name(uri: str) -> None:
    other = uri.replace(":///?", ":///other?")
    script = f"try:\n    nbd.NBD().connect_uri({other!r})\nexcept nbd.Error as error:\n    print(error.string)\n"
    assert "server has no export named 'other'" in libnbd(uri, script)


def test_nbdinfo_maps_what_is_written_and_trimmed(uri: str) -> None:
    def mapped() -> list[tuple[int, int, str]]:
        extents = json.loads(client("nbdinfo", "--map", "--json", uri))
        return [(one["offset"], one["length"], one["description"]) for one in extents]

    assert mapped() == [(0, SIZE, "hole,zero")]
    libnbd(uri, f"h.pwrite(b'x' * {MIB}, {2 * MIB})")
    parts = [(0, 2 * MIB, "hole,zero"), (2 * MIB, MIB, "data"), (3 * MIB, SIZE - 3 * MIB, "hole,zero")]
    assert mapped() == parts
    libnbd(uri, f"h.trim({MIB}, {2 * MIB})")
    assert mapped() == [(0, SIZE, "hole,zero")]
    libnbd(uri, f"h.pwrite(b'x' * {MIB}, {2 * MIB}); h.zero({MIB // 2}, {2 * MIB})")
    assert mapped()[1] == (2 * MIB + MIB // 2, MIB // 2, "data")


def test_any_byte_is_written_alone(uri: str) -> None:
    libnbd(
        uri,
        """\
import random
random.seed(15)
size = 100_000
model = bytearray(size)
for step in range(1_000):
    offset = random.randrange(size)
    length = random.randrange(1, min(size - offset, 9_000) + 1)
    what = random.choice(["write", "write", "fua", "zero", "no hole", "read", "read whole", "trim", "flush", "cache"])
    part = slice(offset, offset + length)
    if what in {"write", "fua"}:
        model[part] = random.randbytes(length)
        h.pwrite(bytes(model[part]), offset, nbd.CMD_FLAG_FUA if what == "fua" else 0)
    elif what in {"zero", "no hole"}:
        model[part] = bytes(length)
        h.zero(length, offset, nbd.CMD_FLAG_NO_HOLE if what == "no hole" else 0)
    elif what == "trim":
        h.trim(length, offset)
        model[part] = h.pread(length, offset)  # either the old data or zeros
    elif what == "flush":
        h.flush()
    elif what == "cache":
        h.cache(length, offset)
    elif what == "read whole":
        chunks = []
        got = h.pread_structured(length, offset, lambda data, at, *_: chunks.append(len(data)), nbd.CMD_FLAG_DF)
        assert got == model[part] and chunks == [length], (step, chunks)
    else:
        assert h.pread(length, offset) == model[part], (step, what, offset, length)
assert h.pread(size, 0) == model
""",
    )


def test_wrong_requests_are_refused_and_the_connection_goes_on(uri: str) -> None:
    script = f"""\
import errno
h.set_strict_mode(0)
def refused(do):
    try:
        do()
    except nbd.Error as error:
        return error.errno
size = {SIZE}
print(refused(lambda: h.pread(512, size)), refused(lambda: h.pread(512, size - 1)), refused(lambda: h.pread(0, 0)))
print(refused(lambda: h.pwrite(b'x' * 512, size - 1)), refused(lambda: h.zero(512, size)))
print(refused(lambda: h.trim(512, size)), refused(lambda: h.cache(1, size)), refused(lambda: h.trim(1, 0, 1 << 9)))
h.pwrite(b'still here', 5)
print(h.pread(10, 5).decode())
"""
    assert libnbd(uri, script).splitlines() == [
        "EINVAL EINVAL EINVAL",
        "ENOSPC ENOSPC",
        "EINVAL EINVAL EINVAL",
        "still here",
    ]


def test_connections_see_one_disk(uri: str) -> None:
    script = """\
handles = [h] + [connected() for _ in range(7)]
for step in range(100):
    writer, reader = handles[step % 8], handles[(step * 3 + 1) % 8]
    writer.pwrite(step.to_bytes(4, 'big') * 1000, step)
    writer.flush()
    assert reader.pread(4000, step) == step.to_bytes(4, 'big') * 1000, step
"""
    libnbd(uri, script)


def test_many_are_under_way_at_once(uri: str) -> None:
    script = """\
buffers = [nbd.Buffer.from_bytearray(bytearray([n % 251]) * (1 + 97 * n)) for n in range(300)]
starts = [100_000 * n + n for n in range(300)]
for buffer, start in zip(buffers, starts):
    h.aio_pwrite(buffer, start)
while h.aio_in_flight():
    h.poll(-1)
    while h.aio_in_flight() and (cookie := h.aio_peek_command_completed()) > 0:
        assert h.aio_command_completed(cookie)
assert all(h.pread(1 + 97 * n, start) == bytes([n % 251]) * (1 + 97 * n) for n, start in enumerate(starts))
"""
    libnbd(uri, script)


def test_nbdcopy_brings_a_disk_there_and_back(uri: str, tmp_path: Path) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    content = bytearray(SIZE)
    for at in range(0, SIZE, 3 * MIB):
        content[at : at + 777_777] = f"{at:016}".encode() * (777_777 // 16 + 1)
    del content[SIZE:]
    there.write_bytes(content)
    client("nbdcopy", "--connections=4", "--flush", str(there), uri)
    client("nbdcopy", "--connections=4", uri, str(back))
    assert back.read_bytes() == content
    assert client("qemu-img", "compare", "-f", "raw", "-F", "raw", str(there), uri).strip() == "Images are identical."


def test_fio_verifies_what_it_wrote(uri: str) -> None:
    job = (
        "--name=odd", "--ioengine=nbd", f"--uri={uri}", "--rw=randrw", "--iodepth=32", "--size=16m", "--randseed=15",
        "--bsrange=512-20k", "--bs_unaligned=1", "--verify=crc32c", "--verify_fatal=1", "--fsync=64",
        "--verify_state_save=0",  # a file in the folder where the tests run
    )  # fmt: skip
    said = client("fio", *job)
    assert "err= 0" in said, said


def test_qemu_reads_and_writes_at_odd_offsets(uri: str) -> None:
    commands = [
        "write -P 7 0 64k", "write -P 3 7 100001", "read -P 7 0 7", "read -P 3 7 100001", "flush",
        "write -f -P 9 513 1", "read -P 9 513 1", "read -P 3 514 99494",
        "write -z 4095 8195", "read -P 0 4095 8195", "write -z -u 1M 1M", "discard 2M 1M",
        "aio_write -P 5 33333 65537", "aio_write -P 6 133333 65537", "aio_flush",
        "read -P 5 33333 65537", "read -P 6 133333 65537",
    ]  # fmt: skip
    said = client("qemu-io", "-f", "raw", *(part for command in commands for part in ("-c", command)), uri)
    assert "failed" not in said, said
    assert len(re.findall(r"^(?:wrote|read|discard) ", said, re.MULTILINE)) == len(commands) - 2, said


def test_qemu_converts_and_maps(uri: str, tmp_path: Path) -> None:
    client("qemu-io", "-f", "raw", "-c", "write -P 5 1M 1M", uri)
    extents = json.loads(client("qemu-img", "map", "--output=json", "-f", "raw", uri))
    assert [(one["start"], one["length"], one["data"]) for one in extents] == [
        (0, MIB, False),
        (MIB, MIB, True),
        (2 * MIB, SIZE - 2 * MIB, False),
    ]
    image = tmp_path / "disk.qcow2"
    client("qemu-img", "convert", "-f", "raw", "-O", "qcow2", uri, str(image))
    client("qemu-img", "convert", "-n", "-f", "qcow2", "-O", "raw", str(image), uri)
    assert "identical" in client("qemu-img", "compare", "-f", "qcow2", "-F", "raw", str(image), uri)


def test_garbage_on_one_connection_is_nothing_to_another(uri: str, tmp_path: Path) -> None:
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", bytes(100), b"\0\0\0\1IHAVEOPT" + b"\xff" * 8):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(tmp_path / "a socket"))
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(4096):
                pass
    assert client("nbdinfo", "--size", uri).strip() == str(SIZE)


def test_tcp_serves_the_same(program: str) -> None:
    with served_memory(program, SIZE, "127.0.0.1:0") as uri:
        assert client("nbdinfo", "--size", uri).strip() == str(SIZE)
        client("qemu-io", "-f", "raw", "-c", "write -P 3 7 100001", "-c", "read -P 3 7 100001", uri)
