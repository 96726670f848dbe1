"""Convert a trace of a service of large language models to a trace of a store of key-value blocks, which coflash reads.

Such a trace has a JSON object for each request, with the prefix of its prompt as hashes of blocks of tokens:

    dialect    time                              hashes        tokens of a block
    Mooncake   ms since the start                numbers       512
    Bailian    s; requests belong to a `turn`    numbers       16
    LiteLLM    ms since 1970                     hexadecimal   512

    python examples/kv_traces/convert.py conversation.jsonl -o conversation.csv
    coflash run demo --trace conversation.csv

Each hash is a block of keys and values. Its first use writes it behind all earlier blocks, each further use reads it.
No block ever leaves: `workload.remap = "modulo"` lays the blocks on a device that is smaller than all of them, which
is then written from its begin to its end, again and again. A token has 128 KiB, and the tokens of a block follow from
the lengths of prompts: each prompt has a hash for each of its blocks. The last block of a prompt counts as a whole one.

It needs nothing but Python, and keeps nothing but the place of each block in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

TOKEN_BYTES = 128 << 10
"""The keys and values of a token."""

USUAL_TOKENS, SIZES = 512, [1 << power for power in range(16, -1, -1)]
"""The tokens of a block if the trace does not tell, and those that are looked for."""

SAMPLE_BYTES = 64 << 10
"""The beginning of a trace, whose prompts tell the tokens of a block."""

END_NS = 2.0**64

UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
"""The nanoseconds of a unit of time."""

DATES = {9.4e14: "us", 9.4e11: "ms", 9.4e8: "s"}
"""The unit of times from such a number on, which are dates from 2000 on."""

WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class TraceError(Exception):
    """A trace that cannot be converted, with its file and line."""


def tokens_of(lines: Iterable[bytes]) -> int | None:
    """Return the tokens of a block: the power of two that gives all prompts as many hashes as they have."""
    prompts = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            request = json.loads(line)
            prompts.append((int(request["input_length"]), len(request["hash_ids"])))
    prompts = [(tokens, hashes) for tokens, hashes in prompts if tokens > 0 and hashes > 1]

    def fits(size: int) -> bool:
        # The last block may have a hash only if it is full.
        begun = all(-(-tokens // size) == hashes for tokens, hashes in prompts)
        return begun or all(tokens // size == hashes for tokens, hashes in prompts)

    return next(filter(fits, SIZES), None) if prompts else None


@dataclass
class Store:
    """A store of key-value blocks: what a trace does to it, line by line."""

    name: str
    """The name of the trace in errors."""
    block_bytes: int
    unit: str | None
    """The unit of times; that of the first line if None."""
    places: dict[int, int] = field(default_factory=dict)
    """The place of each block, in blocks."""
    asked: int = 0
    """The blocks that were asked for."""
    dates: bool = False
    origin_ns: int | None = None

    def rows(self, lines: Iterable[bytes]) -> Iterator[str]:
        """Yield the accesses of a trace as lines of coflash's CSV.

        Raises:
            TraceError: A line is no request, or none is one.
        """
        for number, line in enumerate(lines, 1):
            text = line.strip(b"\0 \t\r\n")
            if text and not text.startswith(b"#"):
                yield from self._accesses(text, number)
        if not self.asked:
            raise TraceError(f"{self.name}: has no requests")

    def _accesses(self, text: bytes, number: int) -> Iterator[str]:
        """Yield the accesses of a request."""
        request = self._request(text, number)
        time_ns = self._time_ns(request, number)
        for given in request["hash_ids"]:
            block = self._block(given, number)
            self.asked += 1
            op = "read" if block in self.places else "write"
            place = self.places.setdefault(block, len(self.places))
            yield f"{time_ns},{op},{place * self.block_bytes},{self.block_bytes}\n"

    def _request(self, text: bytes, number: int) -> dict[str, Any]:
        """Return the object of a line, with its time as a `timestamp`."""
        try:
            request = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._wrong(number, f"request: is no JSON: {error}") from error
        if isinstance(request, dict) and "created_time" in request:
            request.setdefault("timestamp", request["created_time"])
        if not isinstance(request, dict) or not {"timestamp", "hash_ids"} <= request.keys():
            raise self._wrong(number, "request: is no object with timestamp and hash_ids")
        if not isinstance(request["hash_ids"], list):
            raise self._wrong(number, f"hash_ids: {request['hash_ids']!r} is no list")
        return request

    def _time_ns(self, request: dict[str, Any], number: int) -> int:
        """Return the time of a request since the start: that of the first one if times are dates."""
        timestamp = request["timestamp"]
        if isinstance(timestamp, bool) or not isinstance(timestamp, int | float):
            raise self._wrong(number, f"timestamp: {timestamp!r} is no number")
        if self.unit is None:
            date = next((unit for least, unit in DATES.items() if timestamp >= least), None)
            self.unit = date or ("s" if {"turn", "chat_id"} & request.keys() else "ms")
        time_ns = float(timestamp) * UNITS[self.unit] if 0 <= timestamp < END_NS else END_NS
        if time_ns >= END_NS:
            raise self._wrong(number, f"timestamp: {timestamp} is not a time from 0 to below 2^64 ns")
        if self.origin_ns is None:
            self.dates = time_ns >= 9.4e17
            self.origin_ns = int(time_ns) if self.dates else 0
        return max(0, int(time_ns) - self.origin_ns)

    def _block(self, given: object, number: int) -> int:
        """Return a hash as a number: of a longer one in hexadecimal digits the last 64 bits."""
        if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 1 << 64:
            return given
        with contextlib.suppress(ValueError):
            if isinstance(given, str) and given.removeprefix("0x").isalnum():
                return int(given, 16) & (1 << 64) - 1
        raise self._wrong(number, f"hash_ids: {given!r} is not a number below 2^64 or hexadecimal digits")

    def _wrong(self, number: int, problem: str) -> TraceError:
        return TraceError(f"{self.name}:{number}: {problem}")

    def told(self) -> str:
        """Return how the times were read, and what the store did."""
        words = f"{WORDS[self.unit or 'ms']} since {'1970' if self.dates else 'the start'}"
        return (
            f"times in {words}; {self.asked} blocks of {self.block_bytes} bytes were asked for: {len(self.places)} "
            "different ones are written once and read from then on"
        )


def convert(name: str, lines: Iterator[bytes], out: TextIO, block: int | None = None, unit: str | None = None) -> str:
    """Write a trace as CSV, and return how it was read.

    Args:
        name: The name of the trace in errors.
        lines: Its lines.
        out: Where it is written to.
        block: The bytes of a block; by the lengths of prompts if None.
        unit: The unit of times, of `UNITS`; by the first line if None.

    Raises:
        TraceError: It is no such trace.
    """
    sample, size = [], 0
    while size < SAMPLE_BYTES and (line := next(lines, None)) is not None:
        sample.append(line)
        size += len(line)
    tokens = tokens_of(sample)
    store = Store(name, block or (tokens or USUAL_TOKENS) * TOKEN_BYTES, unit)
    out.write("ns,op,offset,size\n")
    out.writelines(store.rows(itertools.chain(sample, lines)))
    if block:
        return store.told()
    how = "as the lengths of prompts tell" if tokens else "as is usual"
    return f"{store.told()}; a block has {tokens or USUAL_TOKENS} tokens, {how} (--block gives its bytes)"


def written(file: Path, out: Path | None, block: int | None = None, unit: str | None = None) -> str:
    """Convert a file to a new one, or to the standard output, and return how it was read.

    Raises:
        TraceError: The file is no such trace, or one of the two cannot be opened.
    """
    with contextlib.ExitStack() as opened:
        try:
            source = sys.stdin.buffer if str(file) == "-" else opened.enter_context(file.open("rb"))
            target = opened.enter_context(out.open("x", encoding="utf-8")) if out else sys.stdout
        except FileExistsError as error:
            raise TraceError(f"{out}: exists; delete it or name another") from error
        except OSError as error:
            raise TraceError(f"{error.filename}: cannot be opened: {error.strerror}") from error
        try:
            return convert(str(file), iter(source), target, block, unit)
        except BaseException:
            if out:  # a part of a trace is none
                out.unlink()
            raise


def main() -> None:
    """Convert the trace that is given. Exit status 2 means an argument or a file that cannot be used."""
    about = (__doc__ or "").splitlines()[0]
    options = argparse.ArgumentParser(prog="python examples/kv_traces/convert.py", description=about)
    options.add_argument("file", type=Path, metavar="FILE", help="JSON lines; - is the standard input")
    options.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="write the trace to this new file, instead of showing it"
    )
    options.add_argument("--block", type=int, metavar="BYTES", help="the size of a block")
    options.add_argument("--unit", choices=UNITS, help="the unit of times")
    given = options.parse_args()
    if given.block is not None and given.block < 1:
        options.error(f"--block: {given.block} was given; a number from 1 is allowed")
    try:
        print(f"note: {written(given.file, given.out, given.block, given.unit)}", file=sys.stderr)
    except (TraceError, OSError) as error:  # a full disk
        options.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
