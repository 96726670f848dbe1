#!/bin/sh
# Fail unless recovery finds each page: its image in the log, or the page itself.
# The Python of the system has libnbd, one of an environment may not.
PATH=/usr/bin:$PATH exec nbdsh -u "$COFLASH_NBD" -c - <<'END'
import hashlib

BLOCK, LOG, PAGES = 4096, 32, 8


def read(place):
    """Return the number and the page of a block, or None."""
    text = bytes(h.pread(BLOCK, place * BLOCK))
    if text[16:48] != hashlib.sha256(text[:16]).digest():
        return None
    return int.from_bytes(text[:8], "little"), int.from_bytes(text[8:16], "little")


begin = read(0)
if begin is not None:
    found, number = set(), begin[0]
    while (record := read(1 + number % LOG)) is not None and record[0] == number:
        found.add(record[1])
        number += 1
    for page in range(PAGES):
        if page not in found and read(1 + LOG + page) is None:
            raise SystemExit(f"page {page} is neither in the log from record {begin[0]} on nor in its place")
END
