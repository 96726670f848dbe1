#!/bin/sh
# Transfer money between the accounts of the bank. When a transaction is committed its number goes to the last sector of
# the device, past the file system. With PAUSE a transaction begins after a checkpoint, and stays open for so many
# seconds: meanwhile a server with ../postgresql_trims/deallocate_logged_pages.patch deallocates the page it changed.
set -eu
[ -n "${MNT:-}" ] || exec "$(dirname "$0")/../mounted.sh" "$0"
. "$(dirname "$0")/postgres.sh"
chmod 711 "$(dirname "$MNT")"
begin "$MNT/bank"
last=$(($(stat -c %s "$DISK") / 512 - 1))
for number in $(seq "${TRANSFERS:-10}"); do
  [ -z "${PAUSE:-}" ] || sql CHECKPOINT
  sql "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = $((number % 100));
       ${PAUSE:+SELECT pg_sleep($PAUSE);}
       UPDATE account SET balance = balance + 1 WHERE id = $((number * 7 % 100));
       INSERT INTO transfer VALUES ($number); COMMIT"
  printf '%-512s' "$number" | dd of="$DISK" bs=512 seek="$last" conv=notrunc status=none
  echo "$number"
done
end immediate
