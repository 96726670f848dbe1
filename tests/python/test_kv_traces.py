"""Traces of services of large language models, which `examples/kv_traces` converts."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import coflash
from coflash import CoflashError, Table
from kv_traces.convert import TraceError, convert

ROOT = Path(__file__).parents[2]
INPUTS = ROOT / "tests" / "inputs"
MIB, MS, S = 1 << 20, 10**6, 10**9
HEAD = '{"timestamp": 0, "hash_ids": [1]}\n'

Request = tuple[int, str, int, int]


def converter(*arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(ROOT / "examples/kv_traces/convert.py"), *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, check=False)


def rows(text: str, block: int | None = None, unit: str | None = None) -> tuple[list[Request], str]:
    """Return the requests of a trace, and how it was read."""
    out = io.StringIO()
    told = convert("t", iter(text.encode().splitlines(keepends=True)), out, block, unit)
    head, *lines = out.getvalue().splitlines()
    assert head == "ns,op,offset,size"
    parts = (line.split(",") for line in lines)
    return [(int(time), op, int(offset), int(size)) for time, op, offset, size in parts], told


def of_blocks(block_bytes: int, *accesses: tuple[int, str, int]) -> list[Request]:
    return [(time_ns, op, place * block_bytes, block_bytes) for time_ns, op, place in accesses]


@pytest.mark.parametrize(
    ("name", "expected", "told"),
    [
        (
            "mooncake",
            of_blocks(
                64 * MIB,
                *((3 * S, "write", place) for place in range(3)),
                *((6 * S, op, place) for op, place in (("read", 0), ("read", 1), ("write", 3))),
            ),
            ["times in milliseconds since the start", "a block has 512 tokens, as the lengths of prompts tell"],
        ),
        (
            "bailian",
            of_blocks(
                2 * MIB,
                *((61_500 * MS, "write", place) for place in range(3)),
                *((91_500 * MS, op, place) for op, place in (("read", 0), ("read", 1), ("write", 3), ("write", 4))),
            ),
            ["times in seconds since the start", "a block has 16 tokens"],
        ),
        (
            "litellm",
            of_blocks(
                64 * MIB,
                *((0, "write", place) for place in range(2)),
                *((30 * S, op, place) for op, place in (("read", 0), ("read", 1), ("write", 2))),
            ),
            ["times in milliseconds since 1970", "a block has 512 tokens", "5 blocks of 67108864 bytes", "3 different"],
        ),
    ],
)
def test_each_dialect_becomes_a_trace_that_coflash_reads(
    name: str, expected: list[Request], told: list[str], tmp_path: Path
) -> None:
    out, table = tmp_path / "t.csv", tmp_path / "t.parquet"
    ran = converter(INPUTS / f"{name}.jsonl", "-o", out)
    assert ran.returncode == 0, ran.stderr
    assert all(part in ran.stderr.decode() for part in told), ran.stderr
    assert coflash.trace.info([out]).formats == ["coflash"]
    coflash.trace.convert([out], table)
    read = Table.read_parquet(table)
    columns = (read[column].tolist() for column in ("time_ns", "op", "offset", "length"))
    operations = ("read", "write")
    assert [(time, operations[op], *place) for time, op, *place in zip(*columns, strict=True)] == expected
    refused = converter(INPUTS / f"{name}.jsonl", "-o", out)
    assert refused.returncode == 2 and b"exists" in refused.stderr, "no file is written over"


def test_a_trace_passes_through_pipes() -> None:
    ran = converter("-", "--block", "10", "--unit", "s", given=(HEAD + HEAD.replace("0", "1.5")).encode())
    assert ran.stdout == b"ns,op,offset,size\n0,write,0,10\n1500000000,read,0,10\n"


def test_a_block_is_written_once_and_read_from_then_on() -> None:
    text = (
        '\n{"timestamp": 0, "input_length": 900, "output_length": 5, "hash_ids": [7, 8]}\n\n# so far\r\n'
        ' {"timestamp": 1.5, "hash_ids": [7, 9]}\r\n{"timestamp": 2, "hash_ids": []}\n'
        '{"created_time": 2, "hash_ids": ["8", "0x00000000000000000007"]}'
    )
    found, told = rows(text, 10)
    assert found == of_blocks(
        10, (0, "write", 0), (0, "write", 1), *((1_500_000, op, at) for op, at in (("read", 0), ("write", 2))),
        (2 * MS, "read", 1), (2 * MS, "read", 0),
    )  # fmt: skip
    assert "6 blocks of 10 bytes were asked for: 3 different ones are written once and read from then on" in told


@pytest.mark.parametrize(("first", "unit"), [(1_750_000_000, "s"), (1.75e12, "ms"), (1_750_000_000_000_000, "us")])
def test_dates_begin_at_the_first_request(first: float, unit: str) -> None:
    later = first + 2 * {"s": 1, "ms": 1000, "us": MS}[unit]
    text = "".join(f'{{"timestamp": {time}, "hash_ids": [1]}}\n' for time in (first, later))
    found, told = rows(text, 1)
    assert [time for time, *_ in found] == [0, 2 * S]
    assert "since 1970" in told and rows(text, 1, unit) == (found, told)


def test_the_memory_does_not_grow_with_the_requests() -> None:
    taken = 0

    def lines() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield HEAD.encode()

    class EnoughError(Exception):
        """The end of what is looked at."""

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            if taken > 10_000:
                raise EnoughError
            return len(text)

    with pytest.raises(EnoughError):
        convert("t", lines(), Out())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"timestamp": 0}', "request: is no object with timestamp and hash_ids"),
        ('{"timestamp": 0, "hash_ids": 1}', "hash_ids: 1 is no list"),
        ('{"timestamp": 0, "hash_ids": [-1]}', "hash_ids: -1 is not a number below 2^64 or hexadecimal digits"),
        ('{"timestamp": 0, "hash_ids": [true]}', "hash_ids: True is not"),
        ('{"timestamp": 0, "hash_ids": ["xyz"]}', "hash_ids: 'xyz' is not"),
        ('{"timestamp": 0, "hash_ids": [""]}', "hash_ids: '' is not"),
        ("[[[[", "request: is no JSON"),
        ("[" * 100_000, "request: is no JSON"),
        ("[1]", "request: is no object"),
        ('{"timestamp": "1", "hash_ids": [1]}', "timestamp: '1' is no number"),
        ('{"timestamp": -1, "hash_ids": [1]}', "timestamp: -1 is not a time from 0 to below 2^64 ns"),
        ('{"timestamp": NaN, "hash_ids": [1]}', "timestamp: nan is not"),
        ('{"timestamp": 1e300, "hash_ids": [1]}', "timestamp: 1e+300 is not"),
        (json.dumps({"timestamp": 10**400, "hash_ids": [1]}), "timestamp: 1000"),
    ],
)
def test_a_malformed_request_is_named_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(TraceError) as error:
        rows(f"{HEAD}{line}\n")
    assert str(error.value).startswith(f"t:2: {problem}"), error.value


def test_what_cannot_be_converted_leaves_no_file(tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.jsonl", tmp_path / "t.csv"
    bad.write_text(f"{HEAD}nonsense\n", encoding="utf-8")
    for file, says in (
        (bad, f"error: {bad}:2: request: is no JSON"),
        (tmp_path / "absent", f"error: {tmp_path / 'absent'}: cannot be opened: No such file"),
    ):
        ran = converter(file, "-o", out)
        assert ran.returncode == 2 and ran.stderr.decode().startswith(says), ran.stderr
        assert not out.exists()
    with pytest.raises(TraceError, match=r"^t: has no requests"):
        rows('{"timestamp": 0, "hash_ids": []}\n')
    assert converter(bad, "--block", "0").returncode == 2


def test_coflash_names_the_converter() -> None:
    with pytest.raises(CoflashError, match=r"python examples/kv_traces/convert\.py FILE -o TRACE\.csv"):
        coflash.trace.info([INPUTS / "mooncake.jsonl"])
