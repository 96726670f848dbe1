#!/bin/sh
# Append records to a log, a block each. The first sector of the device says how many there are.
# With ORDER=1 a record is durable before the number that counts it; without, this program forgets that.
# The Python of the system has libnbd, one of an environment may not.
PATH=/usr/bin:$PATH exec nbdsh -u "$COFLASH_NBD" -c - <<'END'
import os

for number in range(1, 25):
    h.pwrite(number.to_bytes(8, "little") * 512, number * 4096)
    if os.environ.get("ORDER") == "1":
        h.flush()
    h.pwrite(number.to_bytes(8, "little") * 64, 0)
    h.flush()
END
