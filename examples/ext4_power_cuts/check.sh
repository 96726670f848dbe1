#!/bin/sh
# Replay the journal of the file system as a mount does, and fail unless it is sound then. Needs nbdcopy and e2fsck.
set -eu
image=$(mktemp)
trap 'rm "$image"' EXIT
nbdcopy "$COFLASH_NBD" "$image"
e2fsck -fp -E journal_only "$image" || [ $? -eq 1 ]
e2fsck -fn "$image"
