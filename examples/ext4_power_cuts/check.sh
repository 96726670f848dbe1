#!/bin/sh
# Replay the journal of the file system as a mount does, and fail unless it is sound then, and has whole every file that the
# last sector tells of. Needs nbdcopy, e2fsck and debugfs; for xfs root, a loop device and xfs_repair.
set -eu
place=$(mktemp -d)
image="$place/image" files="$place/files"
trap 'rm -r "$place"' EXIT
mkdir "$files"
nbdcopy "$COFLASH_NBD" "$image"
case $(blkid -p -o value -s TYPE "$image") in
xfs)
  mkdir "$place/mnt"
  mount -o loop,nouuid "$image" "$place/mnt" # other checks may have it mounted, too
  cp -r "$place/mnt/." "$files"
  umount "$place/mnt"
  xfs_repair -n -f "$image"
  ;;
*)
  e2fsck -fp -E journal_only "$image" || [ $? -eq 1 ]
  e2fsck -fn "$image"
  debugfs -R "rdump / $files" "$image" 2> /dev/null
  ;;
esac
last=$(tail -c 512 "$image" | tr -d '\0 ')
for number in $(seq "${last:-0}"); do
  yes "file $number" | head -c 20000 | cmp - "$files/file$number"
done
