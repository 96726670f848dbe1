#!/bin/sh
# Mount the file system of the served device, and run a command there. MNT is where it is mounted, DISK the device as a
# file; OPTIONS are those of mount. With CALLS strace adds the calls of the command to that file, for calls.py. Needs root, nbdfuse
# and loop devices.
set -eu
place=$(mktemp -d)
mkdir "$place/disk" "$place/mnt"
export DISK="$place/disk/nbd" MNT="$place/mnt"
nbdfuse "$place/disk" "$COFLASH_NBD" &
until [ -e "$DISK" ]; do
  kill -0 $!
  sleep 0.05
done
# Lazily: the kernel may still hold the loop device for a moment. nbdfuse ends when it lets go.
trap 'umount "$MNT" 2> /dev/null || true; umount --lazy "$place/disk"; wait; rm -r "$place"' EXIT
mount -o "loop${OPTIONS:+,$OPTIONS}" "$DISK" "$MNT"
${CALLS:+strace -f -ttt -T -y -s 40 -A -o "$CALLS" -e trace=file,desc,sync} "$@"
