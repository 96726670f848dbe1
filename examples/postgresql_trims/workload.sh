#!/bin/sh
# Transfer money between the accounts of the bank of ../postgresql_on_a_cooperative_ssd, in transactions that stay open
# for a while: meanwhile the page that was changed is deallocated. Its number goes to the last sector when it is
# committed. OPTIONS=discard,commit=1 mounts so that a hole is soon a trim.
set -eu
[ -n "${MNT:-}" ] || exec "$(dirname "$0")/../mounted.sh" "$0"
. "$(dirname "$0")/../postgresql_on_a_cooperative_ssd/postgres.sh"
chmod 711 "$(dirname "$MNT")"
begin "$MNT/bank"
last=$(($(stat -c %s "$DISK") / 512 - 1))
for number in $(seq "${TRANSFERS:-3}"); do
  sql "CHECKPOINT"
  sql "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = $((number % 100)); SELECT pg_sleep(2.5);
       UPDATE account SET balance = balance + 1 WHERE id = $((number * 7 % 100));
       INSERT INTO transfer VALUES ($number); COMMIT"
  printf '%-512s' "$number" | dd of="$DISK" bs=512 seek="$last" conv=notrunc status=none
  echo "$number"
done
end immediate
