#!/bin/sh
# Copy an empty file system of SIZE to the device: ext4, by default of 64 MiB, or FS=xfs of 300 MiB, its least. Needs its mkfs and
# nbdcopy. Blocks are as large as a page: FUSE and a loop device may take half a failed page for a success.
set -eu
image=$(mktemp)
trap 'rm "$image"' EXIT
case ${FS:=ext4} in
ext4) size=${SIZE:-64M} blocks=4096 ;;
xfs) size=${SIZE:-300M} blocks=size=4096 ;;
*) echo "\"$FS\" was given; ext4 or xfs is allowed" >&2 && exit 2 ;;
esac
truncate -s "$size" "$image"
"mkfs.$FS" -q -b "$blocks" "$image"
nbdcopy --flush "$image" "$COFLASH_NBD"
