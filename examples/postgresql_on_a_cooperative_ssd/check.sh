#!/bin/sh
# Fail unless the file system is sound, PostgreSQL recovers, and the bank has all that was committed. Needs nbdcopy,
# e2fsck and debugfs.
set -eu
. "$(dirname "$0")/postgres.sh"
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
chmod 711 "$place"
nbdcopy "$COFLASH_NBD" "$place/image"
e2fsck -fp -E journal_only "$place/image" || [ $? -eq 1 ]
e2fsck -fn "$place/image"
mkdir "$place/files"
debugfs -R "rdump /bank $place/files" "$place/image" 2> /dev/null
[ "$(id -u)" != 0 ] || chown -R postgres "$place/files"
chmod -R u=rwX,go= "$place/files"
committed=$(tail -c 512 "$place/image" | tr -d ' \0')
begin "$place/files/bank"
found=$(sql "SELECT count(*), coalesce(max(number), 0), (SELECT sum(balance) FROM account) FROM transfer")
end fast
expected="at least ${committed:-0} transactions, all up to the last, and 100000 in all accounts"
echo "$found" | {
  IFS='|' read -r count last money
  [ "$count" -ge "${committed:-0}" ] && [ "$count" = "$last" ] && [ "$money" = 100000 ]
} || { echo "count|last|money is $found; $expected are expected" >&2 && exit 1; }
