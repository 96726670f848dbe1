#!/bin/sh
# Copy an empty ext4 of 64 MiB to the device. Needs mkfs.ext4 and nbdcopy.
set -eu
image=$(mktemp)
trap 'rm "$image"' EXIT
truncate -s 64M "$image"
mkfs.ext4 -q -F "$image"
nbdcopy --flush "$image" "$COFLASH_NBD"
