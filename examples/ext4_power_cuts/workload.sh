#!/bin/sh
# Write and rename files on the file system of the device, each with fsync. The number of the last one goes to the last
# sector of the device, past the file system.
set -eu
[ -n "${MNT:-}" ] || exec "$(dirname "$0")/../mounted.sh" "$0"
last=$(($(stat -c %s "$DISK") / 512 - 1))
for number in $(seq "${FILES:-20}"); do
  yes "file $number" | head -c 20000 > "$MNT/new"
  sync "$MNT/new"
  mv "$MNT/new" "$MNT/file$number"
  sync "$MNT"
  printf '%-512d' "$number" | dd of="$DISK" bs=512 seek="$last" conv=notrunc status=none
done
