#!/bin/sh
# Fail unless the file system is sound, after its journal was replayed where it has one. Unless it has the whole of a transaction (the
# last one that the last sector tells of, or the one after it), write a line to $TORN. Needs nbdcopy, e2fsck and debugfs.
set -eu
place=$(mktemp -d)
image="$place/image" files="$place/files"
trap 'rm -r "$place"' EXIT
mkdir "$files"
nbdcopy "$COFLASH_NBD" "$image"
if dumpe2fs -h "$image" 2> /dev/null | grep -q has_journal; then
  e2fsck -fp -E journal_only "$image" > /dev/null || [ $? -eq 1 ]
fi
e2fsck -fn "$image"
debugfs -R "rdump / $files" "$image" 2> /dev/null
last=$(tail -c 512 "$image" | tr -d '\0 ')
[ "${last:-0}" -eq 0 ] && exit
"${PYTHON:-python3}" "$(dirname "$0")/check.py" "$files" "$last"
