#!/bin/sh
# Fail unless the file system is sound, and the bank on it has all that was committed. Needs nbdcopy, e2fsck and debugfs.
set -eu
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
nbdcopy "$COFLASH_NBD" "$place/image"
e2fsck -fp -E journal_only "$place/image" || [ $? -eq 1 ]
e2fsck -fn "$place/image"
mkdir "$place/files"
debugfs -R "rdump / $place/files" "$place/image" 2> /dev/null
python3 "$(dirname "$0")/bank.py" check "$place/files" "$place/image"
