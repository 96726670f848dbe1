#!/bin/sh
# Change pages whose images go to a log first, and trim each page that the log holds; a checkpoint writes the pages back.
# With ORDER=1 a page is trimmed once its image is durable; without, this program forgets that.
# Block 0 says from which record recovery begins, blocks 1 to 32 are the log, blocks 33 to 40 the pages.
# The Python of the system has libnbd, one of an environment may not.
PATH=/usr/bin:$PATH exec nbdsh -u "$COFLASH_NBD" -c - <<'END'
import hashlib
import os

BLOCK, LOG, PAGES = 4096, 32, 8


def block(number, page):
    text = number.to_bytes(8, "little") + page.to_bytes(8, "little")
    return (text + hashlib.sha256(text).digest()).ljust(BLOCK, b"\1")


def place(page):
    return (1 + LOG + page) * BLOCK


for page in range(PAGES):
    h.pwrite(block(0, page), place(page))
h.flush()
h.pwrite(block(1, 0), 0)
h.flush()
changed = {}
for number in range(1, 41):
    page = number * 5 % PAGES
    h.pwrite(block(number, page), (1 + number % LOG) * BLOCK)
    if os.environ.get("ORDER") == "1":
        h.flush()
    if page not in changed:
        h.trim(BLOCK, place(page))
    h.flush()
    changed[page] = number
    if number % 12 == 0:
        for page, latest in changed.items():
            h.pwrite(block(latest, page), place(page))
        h.flush()
        h.pwrite(block(number + 1, 0), 0)
        h.flush()
        changed = {}
END
