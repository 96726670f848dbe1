#!/bin/sh
# Fail unless all records that are counted are there.
# The Python of the system has libnbd, one of an environment may not.
PATH=/usr/bin:$PATH exec nbdsh -u "$COFLASH_NBD" -c - <<'END'
count = int.from_bytes(h.pread(8, 0), "little")
missing = [
    number
    for number in range(1, count + 1)
    if h.pread(4096, number * 4096) != number.to_bytes(8, "little") * 512
]
if missing:
    raise SystemExit(f"{count} records are counted, and these are not there: {missing}")
END
