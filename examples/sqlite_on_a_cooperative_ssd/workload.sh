#!/bin/sh
# Transfer money between the accounts of a bank in SQLite, on the file system of the device.
set -eu
[ -n "${MNT:-}" ] || exec "$(dirname "$0")/../mounted.sh" "$0"
python3 "$(dirname "$0")/bank.py" transfer
