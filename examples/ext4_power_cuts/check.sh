#!/bin/sh
# Replay the journal of the file system as a mount does, and fail unless it is sound then. Needs nbdcopy and e2fsck; for
# xfs root, a loop device and xfs_repair.
set -eu
image=$(mktemp)
trap 'rm "$image"' EXIT
nbdcopy "$COFLASH_NBD" "$image"
case $(blkid -p -o value -s TYPE "$image") in
xfs)
  mnt=$(mktemp -d)
  mount -o loop "$image" "$mnt"
  umount "$mnt"
  rmdir "$mnt"
  xfs_repair -n -f "$image"
  ;;
*)
  e2fsck -fp -E journal_only "$image" || [ $? -eq 1 ]
  e2fsck -fn "$image"
  ;;
esac
