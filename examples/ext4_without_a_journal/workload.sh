#!/bin/sh
# Mount the file system of the device, and carry out transactions on it.
set -eu
here=$(dirname "$0")
[ -n "${MNT:-}" ] || exec "$here/../mounted.sh" "$0"
exec "${PYTHON:-python3}" "$here/workload.py"
