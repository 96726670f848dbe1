"""Write the recorded database of the laboratory's page: the requests of some pages of the shipped trace.

The page's drive is small, so a part of the trace's pages is kept, chosen by a hash of their address: their popularity
is that of all. Neighbours within 64 KiB are kept together, and a request is cut to those of its pages that are kept. A
flush is kept where something was written since the last one. A record has 12 bytes: see lab/core/src/recorded.rs. With
--csv, the same requests are written as a trace that `coflash run` reads.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

from coflash import trace

SHIPPED = Path(__file__).parents[1] / "examples" / "traces" / "pgbench-oltp-400k.iolog.zst"
KEPT_ONE_OF = 108
"""One of this number of runs of neighbours is kept: together they fit the page's drive."""
_NEIGHBOURS_BYTES = 64 << 10
_PAGE_BYTES = 4096
_SECTOR_BYTES = 512
_READ, _WRITE, _TRIM, _FLUSH = range(4)
_WORDS = ("read", "write", "trim", "flush")
_MIXER = 0x9E37_79B9_7F4A_7C15

Request = tuple[int, int, int, int]
"""Microseconds since the start, operation, offset, length in bytes."""


def _is_kept(offset: int) -> bool:
    mixed = (offset // _NEIGHBOURS_BYTES * _MIXER) % 2**64
    return (mixed ^ mixed >> 29) // 256 % KEPT_ONE_OF == 0


def _parts(offset: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the kept parts of a request: runs of whole neighbourhoods, cut to the request."""
    start = end = offset
    while end < offset + length:
        until = min((end // _NEIGHBOURS_BYTES + 1) * _NEIGHBOURS_BYTES, offset + length)
        if _is_kept(end):
            end = until
            continue
        if start < end:
            yield start, end - start
        start = end = until
    if start < end:
        yield start, end - start


def kept(source: Path = SHIPPED) -> list[Request]:
    """Return the requests of the page."""
    found: list[Request] = []
    written = False
    for time_ns, op, offset, length in _requests(source):
        if op == _FLUSH:
            if written:
                found.append((time_ns // 1000, op, 0, 0))
            written = False
            continue
        parts = [(time_ns // 1000, op, *part) for part in _parts(offset, length)]
        written |= op == _WRITE and bool(parts)
        found += parts
    return found


def _requests(source: Path) -> list[tuple[int, int, int, int]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.parquet")
        trace.convert(source, file)
        query = 'select time_ns, op, "offset", length from read_parquet(?)'
        return duckdb.connect().execute(query, [str(file)]).fetchall()


def records(requests: list[Request]) -> bytes:
    """Return requests as the page reads them."""
    columns = np.array(requests, np.int64).T
    gaps = np.diff(columns[0], prepend=0)
    words = (gaps, columns[2] // _SECTOR_BYTES, columns[3] // _SECTOR_BYTES | columns[1] << 30)
    return np.stack(words, axis=1).astype("<u4").tobytes()


def csv(requests: list[Request]) -> str:
    """Return requests as coflash's own format of text."""
    lines = (f"{1000 * time_us},{_WORDS[op]},{offset},{length}" for time_us, op, offset, length in requests)
    return "\n".join(["ns,op,offset,size", *lines, ""])


def main() -> None:
    """Write the records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--csv", type=Path, help="write the same requests as a trace, too")
    arguments = parser.parse_args()
    requests = kept()
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    arguments.file.write_bytes(records(requests))
    if arguments.csv:
        arguments.csv.write_text(csv(requests), "utf-8")
    ranges = ((offset // _PAGE_BYTES, (offset + length) // _PAGE_BYTES) for _, _, offset, length in requests)
    pages = {page for first, end in ranges for page in range(first, end)}
    print(f"{arguments.file}: {len(requests):,} requests of {len(pages):,} pages")


if __name__ == "__main__":
    main()
