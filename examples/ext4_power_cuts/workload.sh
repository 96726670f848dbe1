#!/bin/sh
# Write and rename files on the file system of the device, each with fsync.
set -eu
[ -n "${MNT:-}" ] || exec "$(dirname "$0")/../mounted.sh" "$0"
for number in $(seq "${FILES:-20}"); do
  head -c 20000 /dev/urandom > "$MNT/new"
  sync "$MNT/new"
  mv "$MNT/new" "$MNT/file$number"
  sync "$MNT"
done
