#!/bin/sh
# Write and rename files on the ext4 of the device, each with fsync. Needs root, nbdfuse and loop devices.
set -eu
place=$(mktemp -d)
mkdir "$place/disk" "$place/mnt"
nbdfuse "$place/disk" "$COFLASH_NBD" &
until [ -e "$place/disk/nbd" ]; do sleep 0.05; done
trap 'umount "$place/mnt" 2> /dev/null || true; fusermount -u "$place/disk"; wait; rm -r "$place"' EXIT
mount -o "loop${OPTIONS:+,$OPTIONS}" "$place/disk/nbd" "$place/mnt"
for number in $(seq "${FILES:-20}"); do
  head -c 20000 /dev/urandom > "$place/mnt/new"
  sync "$place/mnt/new"
  mv "$place/mnt/new" "$place/mnt/file$number"
  sync "$place/mnt"
done
