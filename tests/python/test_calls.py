"""The calls behind the requests of a power cut, as strace writes them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "ext4_power_cuts"))

from calls import calls_of, explained, sender, unsynced

TRACE = """\
10  5.000100 openat(AT_FDCWD</m>, "new", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</m/new> <0.000050>
11  5.000200 write(3</m/new>, "a = 1 <b>"..., 64 <unfinished ...>
10  5.000250 stat("/m/none", 0x7f) = -1 ENOENT (No such file or directory) <0.000010>
11  5.000300 <... write resumed>) = 64 <0.000100>
10  5.001000 fsync(3</m/new>)         = 0 <0.500000>
10  5.600000 rename("/m/new", "/m/refs/heads/one") = 0 <0.000010>
10  5.700000 write(1</dev/null>, "done", 4) = 4 <0.000010>
10  5.800000 fsync(4</m>) = 0 <0.100000>
10  5.950000 +++ exited with 0 +++
"""
SYNCED = TRACE + "[pid 12] 6.0 fsync(5</m/refs/heads>) = 0 <0.1>\n"


def test_a_request_was_sent_by_the_last_call_under_way_else_by_the_one_before() -> None:
    calls = calls_of(TRACE)
    assert len(calls) == 7
    assert sender(calls, 5.000220) == 'in write(3</m/new>, "a = 1 <b>"..., 64)'
    assert sender(calls, 5.3) == "in fsync(3</m/new>)"
    assert sender(calls, 5.65) == 'after rename("/m/new", "/m/refs/heads/one")'
    assert sender(calls, 1.0) == "before any call"


def test_a_name_needs_a_sync_of_its_directory() -> None:
    rename = 'rename("/m/new", "/m/refs/heads/one") was followed by no fsync of /m/refs/heads'
    assert unsynced(calls_of(TRACE), 9.0) == [rename]
    assert unsynced(calls_of(TRACE), 5.55) == [
        'openat(AT_FDCWD</m>, "new", O_WRONLY|O_CREAT|O_EXCL, 0666) was followed by no fsync of /m'
    ]
    assert unsynced(calls_of(SYNCED), 9.0) == []
    assert unsynced(calls_of(SYNCED), 6.05) == [rename], "the sync was under way at the cut"
    failed = SYNCED.replace("fsync(5</m/refs/heads>) = 0", "fsync(5</m/refs/heads>) = -1 EIO (Input/output error)")
    assert unsynced(calls_of(failed), 9.0) == [rename]


def test_data_needs_a_sync_of_its_file_under_any_name() -> None:
    trace = TRACE.replace("fsync(3</m/new>)  ", "close(3</m/new>)  ")
    (write, _) = unsynced(calls_of(trace), 9.0)
    assert write == "write to /m/refs/heads/one was followed by no fsync of /m/refs/heads/one"
    later = trace + "12 6.0 fdatasync(3</m/refs/heads/one>) = 0 <0.1>\n"
    assert len(unsynced(calls_of(later), 9.0)) == 1, "the directory alone"
    removed = trace + '12 6.0 unlink("/m/refs/heads/one") = 0 <0.1>\n'
    assert unsynced(calls_of(removed), 9.0) == ['unlink("/m/refs/heads/one") was followed by no fsync of /m/refs/heads']


def test_a_failure_is_told_with_the_calls_of_its_own_run() -> None:
    request = {"number": 3, "kind": "write", "length": 512, "offset": 0, "arrived_ns": 1_650_000_000}
    before = '9 3.0 rename("a", "b") = 0 <0.1>\n'
    failure = {"story": "state 1: power was cut\n", "power_on_s": 4.0, "lost": [request], "kept": [], "fatal": []}
    assert [*explained(failure, calls_of(before + TRACE))] == [
        "state 1: power was cut",
        '  must be lost: request 3, write of 512 bytes at 0, after rename("/m/new", "/m/refs/heads/one")',
        '  rename("/m/new", "/m/refs/heads/one") was followed by no fsync of /m/refs/heads before the cut',
    ]
